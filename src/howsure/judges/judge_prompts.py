"""The prompts of judges: files under prompts/, each with its name, version, scale and inputs in its head, and how a
grader's question becomes the messages to a language model. Prompts are read once, checked as they are read, and pinned
by their hash, so that a run says which words its judge was asked with.

A judge gets a constant system prompt, the question with its anchors, everything that others wrote as quoted data, and
the shape of the reply as a JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import yaml
from msgspec import Struct, convert

from howsure.config import AnswerRendering
from howsure.errors import JudgeFailed
from howsure.judges.base import Question
from howsure.judges.dataset_policies import dataset_policy
from howsure.judges.documents import NO_DOCUMENTS, Documents
from howsure.judges.judge_inputs import DOCUMENTS, show_inputs
from howsure.judges.quotations import TEXT_CAP, quote_blocks
from howsure.llm.messages import ChatMessage, Image
from howsure.model.dataset_policy import CriterionStyle, ReferenceStyle
from howsure.model.score import UNIT, Scale
from howsure.model.transcript import Role

SUFFIX = ".md"
REPLY = "reply"
BATCHED = "_batched"
EARLIER_REPLY, PROBLEM = "earlier_reply", "what_was_wrong"
NOT_APPLICABLE = "n/a"
HASH_LENGTH = 8

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_CRITERION_PROMPTS = {style: f"weighted_criterion_{style.value}" for style in CriterionStyle}
_REFERENCE_PROMPTS = {ReferenceStyle.PLAIN: "reference_answer", ReferenceStyle.LEXAM: "reference_answer_lexam"}
_VARIANTS = {
    "rubric": ("rubric_rule",),
    "weighted_criteria": tuple(_CRITERION_PROMPTS.values()),
    "reference_answer": tuple(_REFERENCE_PROMPTS.values()),
}
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


class ReplyKind(Enum):
    """What a judge is asked to end its reply with. The values are names of files in prompts/parts/."""

    RATING = "rating"
    GRADE = "grade"
    CHECK = "check"
    VERDICTS = "verdicts"
    CHECKS = "checks"
    RATINGS = "ratings"
    GRADES = "grades"


class PromptHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The head of a judge's prompt file. `may_not_apply`: the judge may say so instead of ruling."""

    name: str
    version: int
    reply: ReplyKind
    inputs: tuple[str, ...]
    scale: tuple[float, float] = (0, 1)
    may_not_apply: bool = False


class Prompt(Struct, frozen=True, kw_only=True, cache_hash=True):
    """One kind of question; `{input}` marks where each input goes. `sha8` covers the shared parts too."""

    head: PromptHead
    body: str
    sha8: str

    @property
    def name(self) -> str:
        return self.head.name

    @property
    def version(self) -> str:
        return f"{self.head.name}@{self.head.version}:{self.sha8}"

    @property
    def scale(self) -> Scale:
        return Scale(*self.head.scale) if self.head.scale != (0, 1) else UNIT

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers."""
        return self.head.reply is ReplyKind.RATING


class PlainPromptHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The head of a prompt file that is not a judge's question about a case."""

    name: str
    version: int
    inputs: tuple[str, ...] = ()


class PlainPrompt(Struct, frozen=True, kw_only=True):
    """A prompt file with a plain head: its name, its text, and the version that pins it."""

    name: str
    body: str
    version: str


def read_plain_prompt(file: Traversable, shared: str = "") -> PlainPrompt:
    """The prompt of a file, checked against its head. `shared`: other words that its version pins."""
    text = file.read_text("utf-8")
    _, front, body = text.split("---\n", 2)
    head = convert(yaml.safe_load(front), PlainPromptHead)
    if sorted(placeholders(body)) != sorted(head.inputs):
        raise ValueError(f"{file.name}: its placeholders are {placeholders(body)}, its head says {head.inputs}")
    digest = sha256((text + shared).encode()).hexdigest()[:HASH_LENGTH]
    return PlainPrompt(name=head.name, body=body.strip(), version=f"{head.name}@{head.version}:{digest}")


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """The text with its placeholders replaced in one pass: the inserted values are not searched again."""
    pieces = list(_split_placeholders(text))
    for place in range(1, len(pieces), 2):
        pieces[place] = values.get(pieces[place], f"{{{pieces[place]}}}")
    return "".join(pieces)


@lru_cache(maxsize=512)
def _split_placeholders(text: str) -> Sequence[str]:
    """The text between the placeholders and, every second one, their names. A run uses the same few texts."""
    return tuple(_PLACEHOLDER.split(text))


def placeholders(text: str) -> list[str]:
    return _PLACEHOLDER.findall(text)


@cache
def load_prompts() -> Mapping[str, Prompt]:
    """Every prompt, by its name."""
    return {prompt.name: prompt for prompt in _read_folder(files("howsure.judges") / "prompts")}


@cache
def load_batched_prompts() -> Mapping[str, Prompt]:
    """The prompts that ask about all criteria at once, by the name of the prompt that asks about one."""
    batches = _read_folder(files("howsure.judges") / "prompts" / "batches")
    return {prompt.name.removesuffix(BATCHED): prompt for prompt in batches}


@cache
def prompt_part(name: str) -> str:
    """A text that prompts share."""
    return (files("howsure.judges") / "prompts" / "parts" / f"{name}{SUFFIX}").read_text("utf-8").strip()


def prompt_names(grader: str) -> tuple[str, ...]:
    """The prompts that a grader may use; none for an unknown grader."""
    return _VARIANTS.get(grader) or ((grader,) if grader in load_prompts() else ())


@cache
def prompts_fingerprint() -> str:
    """One hash over all prompts, pairs and batches included: it changes with any word that a judge is asked with."""
    versions = [prompt.version for prompt in (*load_prompts().values(), *load_batched_prompts().values())]
    pairs = files("howsure.judges") / "prompts" / "pairs"
    texts = [file.read_text("utf-8") for file in sorted(pairs.iterdir(), key=lambda file: file.name)]
    return sha256("\n".join((*versions, *texts)).encode()).hexdigest()


def _read_folder(folder: Traversable) -> list[Prompt]:
    prompts = [_read_prompt(file) for file in folder.iterdir() if file.name.endswith(SUFFIX)]
    return sorted(prompts, key=lambda prompt: prompt.name)


def _read_prompt(file: Traversable) -> Prompt:
    text = file.read_text("utf-8")
    _, front, body = text.split("---\n", 2)
    head = convert(yaml.safe_load(front), PromptHead)
    names = placeholders(body)
    if sorted(names) != sorted((*head.inputs, REPLY)) or file.name != head.name + SUFFIX:
        raise ValueError(f"{file.name}: its placeholders are {names}, its head says {head.name} and {head.inputs}")
    pictures = ("pictures",) if DOCUMENTS in head.inputs else ()
    parts = ("system", head.reply.value, "not_applicable", "repair", "closing", *pictures)
    shared = "".join(prompt_part(name) for name in parts)
    return Prompt(head=head, body=body.strip(), sha8=sha256((text + shared).encode()).hexdigest()[:HASH_LENGTH])


def choose_prompt(question: Question) -> Prompt:
    """The prompt of a question: by its grader, and for legal cases by their policy."""
    policy = dataset_policy(question.case, question.policies)
    return _choose_prompt(question.grader, policy.criteria, policy.reference, bool(question.parts))


@cache
def _choose_prompt(grader: str, criteria: CriterionStyle, reference: ReferenceStyle, batched: bool) -> Prompt:
    names = prompt_names(grader)
    if not names:
        raise JudgeFailed(f"there is no prompt for the grader {grader!r}")
    styles = (_CRITERION_PROMPTS[criteria], _REFERENCE_PROMPTS[reference])
    name = next((name for name in names if name in styles), names[0])
    return load_batched_prompts()[name] if batched else load_prompts()[name]


def judge_messages(
    question: Question,
    documents: Documents = NO_DOCUMENTS,
    cap: int = TEXT_CAP,
    rendering: AnswerRendering = AnswerRendering.AS_IS,
) -> tuple[ChatMessage, ...]:
    """What the judge is asked. A second attempt shows the first reply, as data, with what was wrong with it."""
    repair_texts = {}
    if question.attempt > 1 and question.unreadable:
        repair_texts = {EARLIER_REPLY: question.replied or "(an empty reply)", PROBLEM: question.unreadable}
    images: tuple[Image, ...] = ()
    if question.prompt:
        quoted = quote_blocks(repair_texts, cap)
        text = question.prompt
    else:
        prompt = choose_prompt(question)
        inputs = show_inputs(prompt.head.inputs, question, documents, rendering)
        # Documents have a limit of their own, each.
        quoted = quote_blocks(inputs | repair_texts, cap, whole=(DOCUMENTS,))
        quoted[REPLY] = reply_instructions(prompt)
        text = fill_placeholders(prompt.body, quoted)
        if DOCUMENTS in prompt.head.inputs:
            images = documents.images(question.case)
    repair = fill_placeholders(prompt_part("repair"), quoted) if repair_texts else ""
    texts = (text, images and prompt_part("pictures"), repair, prompt_part("closing"))
    user = "\n\n".join([text for text in texts if text])
    return ChatMessage(Role.SYSTEM, prompt_part("system")), ChatMessage(Role.USER, user, images)


@cache
def reply_instructions(prompt: Prompt) -> str:
    """How to reply, in words."""
    low, high = (f"{end:g}" for end in prompt.head.scale)
    words = fill_placeholders(prompt_part(prompt.head.reply.value), {"low": low, "high": high})
    return f"{words}\n{prompt_part('not_applicable')}" if prompt.head.may_not_apply else words


@cache
def prompt_schema(prompt: Prompt) -> dict[str, Any]:
    """The JSON Schema of the replies to a prompt: the reason first, so that the value follows from it."""
    low, high = prompt.head.scale
    levels = {"type": "integer", "enum": list(range(int(low), int(high) + 1))}
    match prompt.head.reply:
        case ReplyKind.RATING:
            return reply_schema("score", _or_not_applicable(levels, prompt))
        case ReplyKind.GRADE:
            return reply_schema("score", _or_not_applicable({"type": "number"}, prompt))
        case ReplyKind.CHECK:
            return reply_schema("passed", _or_not_applicable({"type": "boolean"}, prompt))
        case ReplyKind.VERDICTS:
            verdict = _object_schema(criterion=_TEXT, reasoning=_TEXT, passed={"type": "boolean"})
            return reply_schema("verdicts", {"type": "array", "items": verdict})
        case ReplyKind.CHECKS:
            return _verdicts_schema("passed", _or_not_applicable({"type": "boolean"}, prompt))
        case ReplyKind.RATINGS:
            return _verdicts_schema("score", levels)
        case ReplyKind.GRADES:
            return _verdicts_schema("score", {"type": "number"})


def _or_not_applicable(value: dict[str, Any], prompt: Prompt) -> dict[str, Any]:
    if not prompt.head.may_not_apply:
        return value
    return {"anyOf": [value, {"type": "string", "enum": [NOT_APPLICABLE]}]}


def reply_schema(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return _object_schema(reason=_TEXT, evidence=_TEXTS, **{key: value})


def _verdicts_schema(key: str, value: dict[str, Any]) -> dict[str, Any]:
    """One verdict for each criterion. The ids are not in the schema: providers compile every new schema anew."""
    verdict = _object_schema(criterion_id=_TEXT, reason=_TEXT, evidence=_TEXTS, **{key: value})
    return _object_schema(verdicts={"type": "array", "items": verdict})


def _object_schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
