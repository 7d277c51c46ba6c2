"""Which of two answers is better, asked in both orders. A judge whose preference flips with the order prefers neither
answer and never counts as having chosen. prompts/pairs/pairwise.md has the words; `order_agreement` says how often the
order made no difference."""

from __future__ import annotations

import re
from asyncio import gather
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from howsure.errors import JudgeFailed
from howsure.judges.base import Judge, JudgeReply, Question, voting_procedure
from howsure.judges.embedded_json import strip_thinking
from howsure.judges.empty_answers import EMPTY_ANSWER_RULE, is_blank
from howsure.judges.judge_inputs import INPUTS
from howsure.judges.judge_prompts import PlainPrompt, fill_placeholders, read_plain_prompt, reply_schema
from howsure.judges.panels import total_cost, voting_members
from howsure.judges.quotations import quote_blocks
from howsure.judges.replies import ask_until_readable, find_reason, normalize_fields, split_json_and_prose, unwrap
from howsure.judges.rulings import OFF_SCALE, NoValue, UnparsableReply
from howsure.judges.verdict_sentences import MARK, plain_parts, stated_picks
from howsure.model.case import user_turns
from howsure.model.transcript import Transcript
from howsure.stats.agreement import AgreementCount

GRADER = "pairwise"
LONGEST = 80
"""Characters of a reply that states only a preference."""
KEYS = ("better", "winner", "preferred", "preference", "choice", "verdict")
SCHEMA = reply_schema("better", {"type": "string", "enum": ["first", "second", "tie"]})

_WORD = re.compile(
    r"\W*(?:(?:the|answer|output|response|option|assistant|model|summary|candidate|better|winner|is)\b\W*)*"
    r"(?P<said>first|second|tie|tied|equal|both|neither|none|[12ab])\W*(?:(?:answer|output|response|one)\W*)?",
    re.IGNORECASE,
)


class PickedPosition(Enum):
    """Which of the two answers shown a judge picks."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"


class AnswerOrder(Enum):
    """Whose answer is shown first."""

    AB = "ab"
    BA = "ba"


class Preference(Enum):
    """The result of both orders. Only A and B are wins."""

    A = "a"
    B = "b"
    TIE = "tie"
    INCONSISTENT = "inconsistent"


_POSITIONS = {
    **dict.fromkeys(("first", "1", "a"), PickedPosition.FIRST),
    **dict.fromkeys(("second", "2", "b"), PickedPosition.SECOND),
    **dict.fromkeys(("tie", "tied", "equal", "both", "neither", "none"), PickedPosition.TIE),
}
_PREFERENCES = {
    (AnswerOrder.AB, PickedPosition.FIRST): Preference.A,
    (AnswerOrder.AB, PickedPosition.SECOND): Preference.B,
    (AnswerOrder.BA, PickedPosition.FIRST): Preference.B,
    (AnswerOrder.BA, PickedPosition.SECOND): Preference.A,
}


class Pick(Struct, frozen=True, kw_only=True):
    """The judge's choice in one order."""

    place: PickedPosition
    reason: str = ""

    def meant(self, order: AnswerOrder) -> Preference:
        return _PREFERENCES.get((order, self.place), Preference.TIE)


class PairwiseComparison(Struct, frozen=True, kw_only=True):
    """Both orders and their result. `members` are the comparisons of a panel, by name; a panel has no picks of its
    own."""

    preference: Preference
    picks: Mapping[AnswerOrder, Pick] = field(default_factory=dict)
    judge: str = ""
    cost_usd: float | None = None
    members: Mapping[str, PairwiseComparison] = field(default_factory=dict)

    @property
    def won(self) -> bool:
        return self.preference in (Preference.A, Preference.B)


async def compare_answers(judge: Judge, question_a: Question, question_b: Question) -> PairwiseComparison:
    """Whose answer is better: two questions about one case that differ in their transcript. `JudgeFailed` when a reply
    cannot be read in one of the orders, or a panel is split."""
    if question_a.case.id != question_b.case.id or question_a.part != question_b.part:
        raise ValueError(f"{question_a.case.id!r} and {question_b.case.id!r}: only answers to one case can be compared")
    if (preference := _prefer_nonempty(question_a.transcript, question_b.transcript)) is not None:
        return PairwiseComparison(preference=preference, judge=EMPTY_ANSWER_RULE, cost_usd=0.0)
    procedure = voting_procedure(judge, pairwise_question(question_a, question_b, AnswerOrder.AB))
    if procedure is None:
        return await _ask_both_orders(judge, question_a, question_b)
    names = voting_members(procedure, question_a)
    results = await gather(*(_ask_member(judge, replace(question_a, member=name), question_b) for name in names))
    return _combine_members(judge, dict(zip(names, results, strict=True)))


def order_agreement(comparisons: Iterable[PairwiseComparison]) -> AgreementCount:
    """In how many pairs both orders gave the same answer. Pairs that no judge was asked about do not count."""
    judged = [each for each in _by_single_judges(comparisons) if each.picks]
    return AgreementCount(agreed=sum(each.preference is not Preference.INCONSISTENT for each in judged), n=len(judged))


def first_position_picks(comparisons: Iterable[PairwiseComparison]) -> AgreementCount:
    """Of the picks that contradict each other, how many fell on the answer shown first: half, without a bias."""
    flipped = [each for each in _by_single_judges(comparisons) if each.preference is Preference.INCONSISTENT]
    places = Counter(pick.place for each in flipped for pick in each.picks.values())
    return AgreementCount(
        agreed=places[PickedPosition.FIRST], n=places[PickedPosition.FIRST] + places[PickedPosition.SECOND]
    )


def _by_single_judges(comparisons: Iterable[PairwiseComparison]) -> Iterator[PairwiseComparison]:
    """The comparisons of single judges; of a panel, its members'."""
    for each in comparisons:
        yield from each.members.values() or (each,)


def settle_preference(picks: Mapping[AnswerOrder, Pick]) -> Preference:
    """The preference that both orders give; where they differ, none."""
    meant = {pick.meant(order) for order, pick in picks.items()}
    return meant.pop() if len(meant) == 1 else Preference.INCONSISTENT


def pairwise_question(question_a: Question, question_b: Question, order: AnswerOrder) -> Question:
    """The question in the judge's words, with the answers in this order."""
    shown = (question_a, question_b) if order is AnswerOrder.AB else (question_b, question_a)
    first, second = (_answer(each) for each in shown)
    texts = {
        "request": INPUTS["question"](question_a),
        "context": INPUTS["context"](question_a),
        "standard": INPUTS["statement"](question_a) or INPUTS["goal"](question_a),
        "references": INPUTS["references"](question_a),
        "first_answer": first,
        "second_answer": second,
    }
    prompt = fill_placeholders(pairwise_prompt().body, quote_blocks(texts))
    return replace(question_a, grader=GRADER, prompt=prompt, schema=SCHEMA, order=order.value)


def read_pick(content: Any) -> Pick:
    """`first`, `second` or `tie`, in an object, alone, or as a sentence (`Therefore, Output (a) is better.`); or the
    letters and numbers that judges write instead."""
    alone = _parse_position(strip_thinking(content) if isinstance(content, str) else content)
    if alone is not None:
        return Pick(place=alone)
    values, prose = split_json_and_prose(MARK.sub(_spell_choice, content) if isinstance(content, str) else content)
    picks = [_read_object(raw) for each in values if isinstance(raw := unwrap(each), dict)]
    said = [_stated_positions(part) for part in plain_parts(prose)]
    if any(said) and not said[-1]:
        raise UnparsableReply("the reply takes its preference back")
    beside = set[PickedPosition]().union(*said)
    if len({pick.place for pick in picks} | beside) > 1:
        raise UnparsableReply("the reply contradicts itself: it prefers both")
    if not picks and beside:
        return Pick(place=beside.pop(), reason=prose)
    if not picks:
        raise NoValue("no preference in the reply")
    return picks[-1]


def _spell_choice(found: re.Match[str]) -> str:
    """`[[A]]`, `[[B>>A]]` and `\\boxed{2}` as sentences. `[[C]]` and `[[A=B]]` are ties."""
    said = "".join(each for each in found.groups() if each).strip()
    ordered = re.fullmatch(r"([AB12])(>>?|<<?|=)([AB12])", said, re.IGNORECASE)
    if ordered and ordered[2] != "=":
        said = ordered[1] if ">" in ordered[2] else ordered[3]
    return f". I choose {'tie' if (ordered and ordered[2] == '=') or said in ('C', 'c') else said}. "


def _stated_positions(prose: str) -> set[PickedPosition]:
    """What the sentences say, and what stands alone on the last line; a letter, on any (`A` may head what is said of
    A)."""
    lines = prose.splitlines() or [""]
    alone = [line for line in lines if len(line.strip()) < 4 or line is lines[-1]]
    bare = {_parse_position(line) for line in alone if not line.rstrip().endswith(":")}
    return {_POSITIONS[each] for each in stated_picks(prose)} | {each for each in bare if each}


def _read_object(raw: Mapping[str, Any]) -> Pick:
    fields = normalize_fields(raw)
    places = {key: _position_in(fields[key]) for key in KEYS if fields.get(key) is not None}
    if not places:
        raise NoValue(f"no preference among the fields {', '.join(map(repr, fields)) or '(none)'}")
    if None in places.values():
        key = next(key for key, place in places.items() if place is None)
        raise UnparsableReply(f"`{key}` is {fields[key]!r}; expected first, second or tie", OFF_SCALE)
    if len(set(places.values())) > 1:
        raise UnparsableReply(f"the fields contradict each other: {' and '.join(places)}")
    place = next(iter(places.values()))
    assert place is not None
    return Pick(place=place, reason=find_reason(fields)[0])


def _position_in(raw: Any) -> PickedPosition | None:
    said = _stated_positions(raw) if isinstance(raw, str) else {_parse_position(raw)}
    return said.pop() if len(said) == 1 else None


def _parse_position(raw: Any) -> PickedPosition | None:
    """The position, where the text states nothing else."""
    text = raw.replace("_", " ") if isinstance(raw, str) else str(raw) if type(raw) is int and raw in (1, 2) else ""
    found = _WORD.fullmatch(text) if len(text) <= LONGEST and not set("?{") & set(text) else None
    return _POSITIONS[found["said"].lower()] if found else None


async def _ask_both_orders(judge: Judge, question_a: Question, question_b: Question) -> PairwiseComparison:
    results = await gather(
        *(
            ask_until_readable(judge, pairwise_question(question_a, question_b, order), read_pick)
            for order in AnswerOrder
        )
    )
    picks = {order: pick for order, (pick, _) in zip(AnswerOrder, results, strict=True)}
    replies: list[JudgeReply] = [reply for _, reply in results]
    cost = total_cost(reply.cost_usd for reply in replies)
    return PairwiseComparison(
        preference=settle_preference(picks), picks=picks, judge=replies[0].judge or judge.name, cost_usd=cost
    )


async def _ask_member(judge: Judge, question_a: Question, question_b: Question) -> PairwiseComparison | JudgeFailed:
    try:
        return replace(await _ask_both_orders(judge, question_a, question_b), judge=question_a.member)
    except JudgeFailed as failure:
        return failure


def _combine_members(judge: Judge, results: Mapping[str, PairwiseComparison | JudgeFailed]) -> PairwiseComparison:
    """What most members prefer; a preference that flips with the order counts as none."""
    members = {name: each for name, each in results.items() if isinstance(each, PairwiseComparison)}
    if 2 * len(members) <= len(results):
        errors = "; ".join(f"{name}: {each}" for name, each in results.items() if isinstance(each, JudgeFailed))
        raise JudgeFailed(f"the panel has no quorum: {len(members)} of {len(results)} ruled; {errors}")
    counts = Counter(each.preference for each in members.values()).most_common()
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        counted = ", ".join(f"{count} for {preference.value}" for preference, count in counts)
        raise JudgeFailed(f"the panel is split: {counted}")
    cost = total_cost(each.cost_usd for each in members.values())
    return PairwiseComparison(preference=counts[0][0], judge=judge.name, cost_usd=cost, members=members)


def _prefer_nonempty(a: Transcript, b: Transcript) -> Preference | None:
    """An empty answer loses without a judge; None: neither is empty."""
    empty_a, empty_b = (is_blank(each.answer) and not each.tool_calls for each in (a, b))
    if empty_a and empty_b:
        return Preference.TIE
    if empty_a or empty_b:
        return Preference.B if empty_a else Preference.A
    return None


def _answer(question: Question) -> str:
    """The answer; for several turns, everything that the user saw."""
    several = len(user_turns(question.case.input)) > 1
    return INPUTS["conversation" if several else "answer"](question)


@cache
def pairwise_prompt() -> PlainPrompt:
    return read_plain_prompt(files("howsure.judges") / "prompts" / "pairs" / "pairwise.md")
