"""From a grader's question to what a language model is asked: a constant system prompt, the kind of question with its
anchors, then everything that others wrote, as data, and the shape of the reply as a JSON Schema."""

from __future__ import annotations

from functools import cache
from typing import Any

from assay.errors import JudgeFailed
from assay.judges.base import Question
from assay.judges.dataset_policies import policy_of
from assay.judges.documents import Documents
from assay.judges.inputs import INPUTS, Asked
from assay.judges.prompt_files import REPLY, Prompt, ReplyKind, filled, part, prompt_names, prompts
from assay.judges.quoting import TEXT_CAP, blocks
from assay.judges.turns import user_side
from assay.llm.parts import Message
from assay.model.case import Case, SingleTurn
from assay.model.expectation import CorrectChoice
from assay.model.transcript import Role

EARLIER, WRONG = "earlier_reply", "what_was_wrong"
NOT_APPLICABLE = "n/a"
NO_DOCUMENTS = Documents()

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def prompt_for(question: Question) -> Prompt:
    """The prompt of a question: by its grader, and for legal cases by their policy."""
    names = prompt_names(question.grader)
    if not names:
        raise JudgeFailed(f"there is no prompt for the grader {question.grader!r}")
    policy = policy_of(question.case)
    styled = (policy.criteria.value, policy.reference.value)
    return prompts()[next((name for name in names if name in styled), names[0])]


def messages(question: Question, documents: Documents = NO_DOCUMENTS, cap: int = TEXT_CAP) -> tuple[Message, ...]:
    """What the judge is asked. On a second attempt the first reply comes back, as data, with what was wrong with it."""
    texts = _to_repair(question)
    if question.prompt:
        quoted = blocks(texts, cap)
        said = question.prompt
    else:
        prompt, asked = prompt_for(question), Asked(question, documents)
        quoted = blocks({name: INPUTS[name](asked) for name in prompt.head.inputs} | texts, cap)
        said = filled(prompt.body, quoted | {REPLY: reply_words(prompt)})
    repair = filled(part("repair"), quoted) if texts else ""
    user = "\n\n".join(text for text in (said, repair, part("closing")) if text)
    return Message(Role.SYSTEM, part("system")), Message(Role.USER, user)


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
    return _schema(prompt_for(question))


def legal_prompt(case: Case, documents: Documents = NO_DOCUMENTS) -> tuple[Message, ...]:
    """What a model under test is sent for a legal case: the earlier messages, then context and documents, then the
    prompt, unless the last message of the user says it already, and the options of a choice."""
    given = case.input
    earlier = [Message(message.role, message.content) for message in user_side(case)]
    asked = earlier.pop() if earlier and earlier[-1].role is Role.USER else None
    context = given.context if isinstance(given, SingleTurn) else ""
    tail = [context, documents.of(case), asked.content if asked else "", _options(case)]
    return *earlier, Message(Role.USER, "\n\n".join(text for text in tail if text))


@cache
def _schema(prompt: Prompt) -> dict[str, Any]:
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


def _options(case: Case) -> str:
    lists = [each.choices for each in case.expectations if isinstance(each, CorrectChoice)]
    if not lists:
        return ""
    options = "\n".join(f"{choice.id}. {choice.text}" for choices in lists for choice in choices)
    return f"{options}\n\nEnd with one line: `Answer:` and the letter, or all letters that are right."


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


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
