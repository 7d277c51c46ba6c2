"""The prompts: files under prompts/, each with its name, version, scale and inputs at its head. Read once, checked as
they are read, and pinned by their hash: a run says which words its judge was asked with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

import yaml
from msgspec import Struct, convert

from howsure.judges.dataset_policies import CriterionStyle, ReferenceStyle
from howsure.model.score import UNIT, Scale

ENDING = ".md"
REPLY = "reply"
HEX = 8
BATCHED = "_batched"

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_VARIANTS = {
    "rubric": ("rubric_rule",),
    "weighted_criteria": tuple(style.value for style in CriterionStyle),
    "reference_answer": tuple(style.value for style in ReferenceStyle),
}


class ReplyKind(Enum):
    """What a judge is asked to end its reply with. The values are names of files in prompts/parts/."""

    RATING = "rating"
    GRADE = "grade"
    CHECK = "check"
    VERDICTS = "verdicts"
    CHECKS = "checks"
    RATINGS = "ratings"
    GRADES = "grades"


class Head(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The head of a prompt file. `may_not_apply`: the judge may say so instead of ruling."""

    name: str
    version: int
    reply: ReplyKind
    inputs: tuple[str, ...]
    scale: tuple[float, float] = (0, 1)
    may_not_apply: bool = False


class Prompt(Struct, frozen=True, kw_only=True, cache_hash=True):
    """One kind of question in words; `{input}` marks where each input goes. `sha8` covers the shared parts too."""

    head: Head
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


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its placeholders replaced, in one pass: what is put in is never looked at again."""
    pieces = list(_pieces(text))
    for place in range(1, len(pieces), 2):
        pieces[place] = values.get(pieces[place], f"{{{pieces[place]}}}")
    return "".join(pieces)


@lru_cache(maxsize=512)
def _pieces(text: str) -> Sequence[str]:
    """What stands between the placeholders and, every second one, their names. A run asks with the same few texts."""
    return tuple(_PLACEHOLDER.split(text))


def placeholders(text: str) -> list[str]:
    return _PLACEHOLDER.findall(text)


@cache
def prompts() -> Mapping[str, Prompt]:
    """Every prompt, by its name."""
    folder = files("howsure.judges") / "prompts"
    read = [_prompt(file) for file in folder.iterdir() if file.name.endswith(ENDING)]
    return {prompt.name: prompt for prompt in sorted(read, key=lambda prompt: prompt.name)}


@cache
def batched_prompts() -> Mapping[str, Prompt]:
    """The prompts that ask about all criteria at once, by the name of the one that asks about each."""
    folder = files("howsure.judges") / "prompts" / "batches"
    read = [_prompt(file) for file in folder.iterdir() if file.name.endswith(ENDING)]
    return {prompt.name.removesuffix(BATCHED): prompt for prompt in sorted(read, key=lambda prompt: prompt.name)}


@cache
def part(name: str) -> str:
    """A text that prompts share."""
    return (files("howsure.judges") / "prompts" / "parts" / f"{name}{ENDING}").read_text("utf-8").strip()


def prompt_names(grader: str) -> tuple[str, ...]:
    """The prompts that a grader may use; none when it is unknown here."""
    return _VARIANTS.get(grader) or ((grader,) if grader in prompts() else ())


def prompt_version(grader: str) -> str:
    """`criteria@1:0f3a…`: which words a grader's judge is asked with. Empty when it has none."""
    return "+".join(prompts()[name].version for name in prompt_names(grader))


@cache
def prompts_fingerprint() -> str:
    """One hash over all prompts, of pairs and batches too: it changes when any word that a judge is asked with does."""
    versions = [prompt.version for prompt in (*prompts().values(), *batched_prompts().values())]
    pairs = files("howsure.judges") / "prompts" / "pairs"
    texts = [file.read_text("utf-8") for file in sorted(pairs.iterdir(), key=lambda file: file.name)]
    return sha256("\n".join((*versions, *texts)).encode()).hexdigest()


def _prompt(file: Traversable) -> Prompt:
    text = file.read_text("utf-8")
    _, front, body = text.split("---\n", 2)
    head = convert(yaml.safe_load(front), Head)
    found = placeholders(body)
    if sorted(found) != sorted((*head.inputs, REPLY)) or file.name != head.name + ENDING:
        raise ValueError(f"{file.name}: its placeholders are {found}, its head says {head.name} and {head.inputs}")
    pictures = ("pictures",) if "documents" in head.inputs else ()
    said = ("system", head.reply.value, "not_applicable", "repair", "closing", *pictures)
    shared = "".join(part(name) for name in said)
    return Prompt(head=head, body=body.strip(), sha8=sha256((text + shared).encode()).hexdigest()[:HEX])
