"""Which of two answers is better, asked in both orders: a judge whose preference flips with the order prefers nothing,
and is never counted as having chosen. prompts/pairs/pairwise.md has the words; `order_agreement` says how often the
order decided."""

from __future__ import annotations

import re
from asyncio import gather
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import yaml
from msgspec import Struct, convert, field
from msgspec.structs import replace

from howsure.errors import JudgeFailed
from howsure.judges.asking import ruling
from howsure.judges.base import Judge, Question, Reply
from howsure.judges.embedded import without_thinking
from howsure.judges.fields import fields_of, reason_in
from howsure.judges.guard import NAME as NOT_ASKED
from howsure.judges.guard import is_blank
from howsure.judges.inputs import INPUTS, Asked
from howsure.judges.panel import seated, summed
from howsure.judges.prompt_files import HEX, filled, placeholders
from howsure.judges.prompting import NO_DOCUMENTS
from howsure.judges.quoting import blocks
from howsure.judges.reading import opened, values_and_prose
from howsure.judges.rulings import NoValue, Unreadable
from howsure.judges.voting import bench_of
from howsure.model.case import user_turns
from howsure.model.transcript import Transcript
from howsure.stats.agreement import Agreed

GRADER = "pairwise"
LONGEST = 80
"""Characters of a reply that says nothing but a preference."""
KEYS = ("better", "winner", "preferred", "preference", "choice", "verdict")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "evidence": {"type": "array", "items": {"type": "string"}},
        "better": {"type": "string", "enum": ["first", "second", "tie"]},
    },
    "required": ["reason", "evidence", "better"],
    "additionalProperties": False,
}

_WORD = re.compile(
    r"\W*(?:(?:the|answer|output|response|option|assistant|model|better|winner|is)\b\W*)*"
    r"(?P<said>first|second|tie|tied|equal|both|neither|none|[12ab])\W*(?:(?:answer|output|response|one)\W*)?",
    re.IGNORECASE,
)


class Place(Enum):
    """What a judge says of the two that it is shown."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"


class Order(Enum):
    """Whose answer is shown first."""

    AB = "ab"
    BA = "ba"


class Preference(Enum):
    """What the two orders amount to. Only A and B are wins."""

    A = "a"
    B = "b"
    TIE = "tie"
    INCONSISTENT = "inconsistent"


_PLACES = {
    **dict.fromkeys(("first", "1", "a"), Place.FIRST),
    **dict.fromkeys(("second", "2", "b"), Place.SECOND),
    **dict.fromkeys(("tie", "tied", "equal", "both", "neither", "none"), Place.TIE),
}
_MEANT = {
    (Order.AB, Place.FIRST): Preference.A,
    (Order.AB, Place.SECOND): Preference.B,
    (Order.BA, Place.FIRST): Preference.B,
    (Order.BA, Place.SECOND): Preference.A,
}


class Pick(Struct, frozen=True, kw_only=True):
    """What the judge said in one order."""

    place: Place
    reason: str = ""

    def meant(self, order: Order) -> Preference:
        return _MEANT.get((order, self.place), Preference.TIE)


class Comparison(Struct, frozen=True, kw_only=True):
    """Both orders and what they amount to. `members` are the comparisons of a panel, by name; it has no picks."""

    preference: Preference
    picks: Mapping[Order, Pick] = field(default_factory=dict)
    judge: str = ""
    cost_usd: float | None = None
    members: Mapping[str, Comparison] = field(default_factory=dict)

    @property
    def won(self) -> bool:
        return self.preference in (Preference.A, Preference.B)


async def compare(judge: Judge, question_a: Question, question_b: Question) -> Comparison:
    """Whose answer is better: two questions about one case, that differ in their transcript. `JudgeFailed` when the
    judge cannot be read in one of the orders, or a panel is split."""
    if question_a.case.id != question_b.case.id or question_a.part != question_b.part:
        raise ValueError(f"{question_a.case.id!r} and {question_b.case.id!r}: only answers to one case can be compared")
    if (silent := _of_silence(question_a.transcript, question_b.transcript)) is not None:
        return Comparison(preference=silent, judge=NOT_ASKED, cost_usd=0.0)
    bench = bench_of(judge, asked(question_a, question_b, Order.AB))
    if bench is None:
        return await _both(judge, question_a, question_b)
    names = seated(bench, question_a)
    found = await gather(*(_member(judge, replace(question_a, member=name), question_b) for name in names))
    return _panel(judge, dict(zip(names, found, strict=True)))


def order_agreement(comparisons: Iterable[Comparison]) -> Agreed:
    """In how many of the pairs both orders gave the same answer. Pairs that nobody was asked about do not count."""
    judged = [each for each in _single(comparisons) if each.picks]
    return Agreed(agreed=sum(each.preference is not Preference.INCONSISTENT for each in judged), n=len(judged))


def first_place(comparisons: Iterable[Comparison]) -> Agreed:
    """Of the picks that contradict each other, how many fell on what was shown first: half, without a bias."""
    flipped = [each for each in _single(comparisons) if each.preference is Preference.INCONSISTENT]
    places = Counter(pick.place for each in flipped for pick in each.picks.values())
    return Agreed(agreed=places[Place.FIRST], n=places[Place.FIRST] + places[Place.SECOND])


def _single(comparisons: Iterable[Comparison]) -> Iterator[Comparison]:
    """Those of single judges: a panel's members each for itself."""
    for each in comparisons:
        yield from each.members.values() or (each,)


def settled(picks: Mapping[Order, Pick]) -> Preference:
    """The preference that both orders give; one that only one of them gives is none."""
    meant = {pick.meant(order) for order, pick in picks.items()}
    return meant.pop() if len(meant) == 1 else Preference.INCONSISTENT


def asked(question_a: Question, question_b: Question, order: Order) -> Question:
    """The question in words, with the answers in this order."""
    shown = (question_a, question_b) if order is Order.AB else (question_b, question_a)
    first, second = (_answer(each) for each in shown)
    about = Asked(question_a, NO_DOCUMENTS)
    texts = {
        "request": INPUTS["question"](about),
        "context": INPUTS["context"](about),
        "standard": INPUTS["statement"](about) or INPUTS["goal"](about),
        "references": INPUTS["references"](about),
        "first_answer": first,
        "second_answer": second,
    }
    prompt = filled(words().body, blocks(texts))
    return replace(question_a, grader=GRADER, prompt=prompt, schema=SCHEMA, order=order.value)


def read_pick(content: Any) -> Pick:
    """`first`, `second` or `tie`, in an object or alone; the letters and numbers that judges write instead."""
    alone = _place(without_thinking(content) if isinstance(content, str) else content)
    if alone is not None:
        return Pick(place=alone)
    values, prose = values_and_prose(content)
    picks = [_object(said) for each in values if isinstance(said := opened(each), dict)]
    if len({pick.place for pick in picks} | ({beside} if (beside := _place(prose)) else set())) > 1:
        raise Unreadable("the reply contradicts itself: it prefers both")
    if not picks:
        raise NoValue("no preference in the reply")
    return picks[-1]


def _object(said: Mapping[str, Any]) -> Pick:
    fields = fields_of(said)
    places = {key: _place(fields[key]) for key in KEYS if fields.get(key) is not None}
    if not places:
        raise NoValue(f"no preference among the fields {', '.join(map(repr, fields)) or '(none)'}")
    if None in places.values():
        key = next(key for key, place in places.items() if place is None)
        raise Unreadable(f"`{key}` is {fields[key]!r}; expected first, second or tie")
    if len(set(places.values())) > 1:
        raise Unreadable(f"the fields contradict each other: {' and '.join(places)}")
    place = next(iter(places.values()))
    assert place is not None
    return Pick(place=place, reason=reason_in(fields)[0])


def _place(said: Any) -> Place | None:
    """Only where nothing but the preference is said."""
    text = said if isinstance(said, str) else str(said) if type(said) is int and said in (1, 2) else ""
    found = _WORD.fullmatch(text) if len(text) <= LONGEST else None
    return _PLACES[found["said"].lower()] if found else None


async def _both(judge: Judge, question_a: Question, question_b: Question) -> Comparison:
    given = await gather(*(ruling(judge, asked(question_a, question_b, order), read_pick) for order in Order))
    picks = {order: pick for order, (pick, _) in zip(Order, given, strict=True)}
    replies: list[Reply] = [reply for _, reply in given]
    cost = summed(reply.cost_usd for reply in replies)
    return Comparison(preference=settled(picks), picks=picks, judge=replies[0].judge or judge.name, cost_usd=cost)


async def _member(judge: Judge, question_a: Question, question_b: Question) -> Comparison | JudgeFailed:
    try:
        return replace(await _both(judge, question_a, question_b), judge=question_a.member)
    except JudgeFailed as failure:
        return failure


def _panel(judge: Judge, found: Mapping[str, Comparison | JudgeFailed]) -> Comparison:
    """What most members prefer; whose preference flips with the order prefers nothing, and is counted as that."""
    members = {name: each for name, each in found.items() if isinstance(each, Comparison)}
    if 2 * len(members) <= len(found):
        errors = "; ".join(f"{name}: {each}" for name, each in found.items() if isinstance(each, JudgeFailed))
        raise JudgeFailed(f"the panel has no quorum: {len(members)} of {len(found)} ruled; {errors}")
    counts = Counter(each.preference for each in members.values()).most_common()
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        said = ", ".join(f"{count} for {preference.value}" for preference, count in counts)
        raise JudgeFailed(f"the panel is split: {said}")
    cost = summed(each.cost_usd for each in members.values())
    return Comparison(preference=counts[0][0], judge=judge.name, cost_usd=cost, members=members)


def _of_silence(a: Transcript, b: Transcript) -> Preference | None:
    """An answer that is not there needs no judge to lose."""
    silent_a, silent_b = (is_blank(each.answer) and not each.tool_calls for each in (a, b))
    if silent_a and silent_b:
        return Preference.TIE
    if silent_a or silent_b:
        return Preference.B if silent_a else Preference.A
    return None


def _answer(question: Question) -> str:
    """The answer; of a conversation of several turns, all that the user saw."""
    several = len(user_turns(question.case.input)) > 1
    return INPUTS["conversation" if several else "answer"](Asked(question, NO_DOCUMENTS))


class Words(Struct, frozen=True):
    """The prompt and the version that pins it."""

    body: str
    version: str


class _Head(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    version: int
    inputs: tuple[str, ...]


@cache
def words() -> Words:
    """prompts/pairs/pairwise.md, checked as it is read."""
    text = (files("howsure.judges") / "prompts" / "pairs" / "pairwise.md").read_text("utf-8")
    _, front, body = text.split("---\n", 2)
    head = convert(yaml.safe_load(front), _Head)
    if sorted(placeholders(body)) != sorted(head.inputs):
        raise ValueError(f"pairwise.md: its placeholders are {placeholders(body)}, its head says {head.inputs}")
    return Words(body.strip(), f"{head.name}@{head.version}:{sha256(text.encode()).hexdigest()[:HEX]}")
