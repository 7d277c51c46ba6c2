"""From a grader's question to what a language model is asked: a constant system prompt, the kind of question with its
anchors, then everything that others wrote, as data, and the shape of the reply as a JSON Schema."""

from __future__ import annotations

from functools import cache
from typing import Any

from howsure.errors import JudgeFailed
from howsure.judges.base import Question
from howsure.judges.dataset_policies import POLICIES, policy_of
from howsure.judges.documents import Documents
from howsure.judges.inputs import INPUTS, Asked
from howsure.judges.prompt_files import REPLY, Prompt, ReplyKind, batched_prompts, filled, part, prompt_names, prompts
from howsure.judges.quoting import TEXT_CAP, blocks
from howsure.llm.parts import Image, Message
from howsure.model.transcript import Role

EARLIER, WRONG = "earlier_reply", "what_was_wrong"
NOT_APPLICABLE = "n/a"
DOCUMENTS = "documents"
NO_DOCUMENTS = Documents()

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def prompt_for(question: Question) -> Prompt:
    """The prompt of a question: by its grader, and for legal cases by their policy."""
    return _prompt(question.grader, policy_of(question.case).id, bool(question.parts))


@cache
def _prompt(grader: str, policy_id: str, together: bool) -> Prompt:
    names = prompt_names(grader)
    if not names:
        raise JudgeFailed(f"there is no prompt for the grader {grader!r}")
    policy = POLICIES[policy_id]
    styled = (policy.criteria.value, policy.reference.value)
    name = next((name for name in names if name in styled), names[0])
    return batched_prompts()[name] if together else prompts()[name]


def messages(question: Question, documents: Documents = NO_DOCUMENTS, cap: int = TEXT_CAP) -> tuple[Message, ...]:
    """What the judge is asked. On a second attempt the first reply comes back, as data, with what was wrong with it."""
    texts = _to_repair(question)
    images: tuple[Image, ...] = ()
    if question.prompt:
        quoted = blocks(texts, cap)
        said = question.prompt
    else:
        prompt, asked = prompt_for(question), Asked(question, documents)
        quoted = blocks({name: INPUTS[name](asked) for name in prompt.head.inputs} | texts, cap)
        quoted[REPLY] = reply_words(prompt)
        said = filled(prompt.body, quoted)
        if DOCUMENTS in prompt.head.inputs:
            images = documents.images(question.case)
    repair = filled(part("repair"), quoted) if texts else ""
    user = "\n\n".join([text for text in (said, images and part("pictures"), repair, part("closing")) if text])
    return Message(Role.SYSTEM, part("system")), Message(Role.USER, user, images)


@cache
def reply_words(prompt: Prompt) -> str:
    """How to reply, in words."""
    low, high = (f"{end:g}" for end in prompt.head.scale)
    words = filled(part(prompt.head.reply.value), {"low": low, "high": high})
    return f"{words}\n{part('not_applicable')}" if prompt.head.may_not_apply else words


def reply_schema(question: Question) -> dict[str, Any] | None:
    """The JSON Schema of the reply: the reason first, so that the value follows from it. None: the grader asks in its
    own words and reads what it asked for."""
    if question.prompt:
        return None
    return schema_of(prompt_for(question))


@cache
def schema_of(prompt: Prompt) -> dict[str, Any]:
    """The JSON Schema of the replies to a prompt."""
    match prompt.head.reply:
        case ReplyKind.RATING:
            low, high = map(int, prompt.head.scale)
            value = _or_not_applicable({"type": "integer", "enum": list(range(low, high + 1))}, prompt)
            return _reply("score", value)
        case ReplyKind.GRADE:
            return _reply("score", _or_not_applicable({"type": "number"}, prompt))
        case ReplyKind.CHECK:
            return _reply("passed", _or_not_applicable({"type": "boolean"}, prompt))
        case ReplyKind.VERDICTS:
            verdict = _object(criterion=_TEXT, reasoning=_TEXT, passed={"type": "boolean"})
            return _reply("verdicts", {"type": "array", "items": verdict})
        case ReplyKind.CHECKS:
            return _verdicts("passed", _or_not_applicable({"type": "boolean"}, prompt))
        case ReplyKind.RATINGS:
            low, high = map(int, prompt.head.scale)
            return _verdicts("score", {"type": "integer", "enum": list(range(low, high + 1))})
        case ReplyKind.GRADES:
            return _verdicts("score", {"type": "number"})


def _to_repair(question: Question) -> dict[str, str]:
    """The reply that could not be read and what was wrong with it: both repeat what the judge had read."""
    if question.attempt == 1 or not question.unreadable:
        return {}
    return {EARLIER: question.replied or "(an empty reply)", WRONG: question.unreadable}


def _or_not_applicable(value: dict[str, Any], prompt: Prompt) -> dict[str, Any]:
    if not prompt.head.may_not_apply:
        return value
    return {"anyOf": [value, {"type": "string", "enum": [NOT_APPLICABLE]}]}


def _reply(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return _object(reason=_TEXT, evidence=_TEXTS, **{key: value})


def _verdicts(key: str, value: dict[str, Any]) -> dict[str, Any]:
    """One for each criterion. Which ids there are is not in the schema: providers work out every new one anew."""
    verdict = _object(criterion_id=_TEXT, reason=_TEXT, evidence=_TEXTS, **{key: value})
    return _object(verdicts={"type": "array", "items": verdict})


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
