"""The cases whose verdict differs between the sides, with the graders, rules and criteria that flipped with them; and
the flaky cases, whose own repeats disagree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from howsure.model.case import opening
from howsure.model.comparison import CaseFlip, FlakinessSource, FlakyCase, TryCounts
from howsure.model.result import Result
from howsure.model.verdict import Verdict
from howsure.services.compare.pairs import PASSED, PairedUnits, SideColumns, UnitMeans, Whole, verdict_means
from howsure.store.run_columns import OUTCOMES
from howsure.store.store import Store

DETAILED = 500
"""Flips whose graders and criteria are named; of more flips, only the cases are listed."""
LOOKED_AT = 200
"""Flaky cases whose transcripts are read to find out whether the agent or the judge varies."""
WORDED = 120
"""How many flips at each end of the list name their rules and criteria in words; the others only name the grader."""
QUOTED, QUESTION_LENGTH = 20, 120
"""How many of the clearest flips of each direction say what was asked, and how many characters of it."""
DECIDED = ("passed", "failed")

Outcomes = Mapping[str, frozenset[str]]
"""How each grader, rule and criterion of a unit ended, over its tries."""


class _FlippedPair(Struct, frozen=True):
    """A pair whose pass rate differs: its index among the pairs, and its tries on both sides."""

    pair: int
    first: TryCounts
    second: TryCounts


async def find_flips(store: Store, aligned: PairedUnits, changed: Collection[str] = ()) -> tuple[CaseFlip, ...]:
    """The flips: those that got worse first, the largest change first. `changed` cases are marked. A repeated case has
    flipped if more than half of its tries have: two of three passed after three of three is what chance makes."""
    flipped = [each for each in _turned(aligned) if is_flip(each.first, each.second)]
    turned = sorted(flipped, key=lambda each: each.second.rate - each.first.rate)
    shown = [*turned[:DETAILED], *turned[max(DETAILED, len(turned) - DETAILED) :]]
    before = await _outcomes(store, aligned.first, aligned.in_first[[each.pair for each in shown]])
    after = await _outcomes(store, aligned.second, aligned.in_second[[each.pair for each in shown]])
    first_cases, second_cases = aligned.first.first_cases().tolist(), aligned.second.first_cases().tolist()
    ones, others = aligned.in_first.tolist(), aligned.in_second.tolist()
    texts = await _part_texts(store, aligned, [*turned[:WORDED], *turned[-WORDED:]])
    lost = [each.pair for each in turned if each.second.rate < each.first.rate]
    gained = sorted(turned[len(lost) :], key=lambda each: each.first.rate - each.second.rate)
    quoted = {*lost[:QUOTED], *(each.pair for each in gained[:QUOTED])}
    made = []
    for each in turned:
        one, other = ones[each.pair], others[each.pair]
        id, other_id = aligned.first.case_id(first_cases[one]), aligned.second.case_id(second_cases[other])
        graders = _changed(before.get(one, {}), after.get(other, {}))
        own = texts.get(other, {})
        made.append(
            CaseFlip(
                case_id=id,
                other_id="" if other_id == id else other_id,
                first=each.first,
                second=each.second,
                graders=graders,
                causes=tuple(dict.fromkeys(own.get(name) or name.partition(":")[0] for name in graders)),
                question=await _question(store, aligned.second, other_id) if each.pair in quoted else "",
                changed=id in changed,
            )
        )
    return tuple(made)


async def _question(store: Store, half: SideColumns, id: str) -> str:
    found = await store.results(half.side.run_id, case_id=id, candidate=half.side.candidate, limit=1)
    return " ".join((found[0].case.name or opening(found[0].case.input)).split())[:QUESTION_LENGTH] if found else ""


def is_flip(first: TryCounts, second: TryCounts) -> bool:
    """Whether the pass rates of a case differ by more than a half: with one try each, whenever the verdicts differ."""
    apart = abs(first.passed * second.judged - second.passed * first.judged)
    return 2 * apart > first.judged * second.judged


async def _part_texts(store: Store, aligned: PairedUnits, flips: Sequence[_FlippedPair]) -> dict[int, dict[str, str]]:
    """The words of each rule and criterion (`rubric:ID`) in the units of the second side that flipped."""
    half = aligned.second
    mine = np.isin(half.units, aligned.in_second[[each.pair for each in flips]])
    unit_of = dict(zip(half.positions[mine].tolist(), half.units[mine].tolist(), strict=True))
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for result in await store.result_grades(half.side.run_id, list(unit_of)):
        parts = [(grade.name, grade.part) for grade in result.grades if grade.part]
        found[unit_of[result.position]] |= {f"{name}:{part.id}": part.text for name, part in parts}
    return found


def _turned(aligned: PairedUnits) -> list[_FlippedPair]:
    before, after = verdict_means(aligned.first), verdict_means(aligned.second)
    both = before.known[aligned.in_first] & after.known[aligned.in_second]
    # Cross-multiplied, so that a third is a third on both sides.
    ones = before.sums[aligned.in_first] * after.counts[aligned.in_second]
    others = after.sums[aligned.in_second] * before.counts[aligned.in_first]
    pairs = np.flatnonzero(both & (ones != others))
    tries = zip(_tries(before, aligned.in_first[pairs]), _tries(after, aligned.in_second[pairs]), strict=True)
    return [_FlippedPair(pair, *both_tries) for pair, both_tries in zip(pairs.tolist(), tries, strict=True)]


def _tries(means: UnitMeans, units: Whole) -> Iterator[TryCounts]:
    passed, judged = (each[units].astype(np.int64).tolist() for each in (means.sums, means.counts))
    return map(TryCounts, passed, judged)


async def _outcomes(store: Store, half: SideColumns, units: Whole) -> dict[int, Outcomes]:
    """How every grader, rule and criterion ended in these units."""
    mine = np.isin(half.units, units)
    unit_of = dict(zip(half.positions[mine].tolist(), half.units[mine].tolist(), strict=True))
    found: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for (name, part_id), measured in half.measured.items():
        if part_id is None:
            positions, codes = np.asarray(measured.positions), np.asarray(measured.outcomes)
            own = np.isin(positions, half.positions[mine])
            for position, code in zip(positions[own].tolist(), codes[own].tolist(), strict=True):
                found[unit_of[position]][name].add(OUTCOMES[code])
    for part in await store.part_outcomes(half.side.run_id, list(unit_of)):
        found[unit_of[part.position]][(f"{part.name}:{part.part_id}")].add(part.outcome)
    return {unit: {name: frozenset(ended) for name, ended in own.items()} for unit, own in found.items()}


def _changed(before: Outcomes, after: Outcomes) -> tuple[str, ...]:
    """The names of what was decided on both sides, but differently."""
    return tuple(
        name
        for name in before
        if name in after
        and before[name] != after[name]
        and not before[name].isdisjoint(DECIDED)
        and not after[name].isdisjoint(DECIDED)
    )


async def find_flaky(store: Store, half: SideColumns, *, second: bool) -> list[FlakyCase]:
    """The cases of a side that were tried several times with different verdicts."""
    by_case: dict[int, list[int]] = defaultdict(list)
    judged = half.verdicts <= 1
    for case, verdict in zip(half.cases[judged].tolist(), half.verdicts[judged].tolist(), strict=True):
        by_case[case].append(verdict)
    disagreeing = [(case, verdicts) for case, verdicts in by_case.items() if len(set(verdicts)) > 1]
    made = []
    for place, (case, verdicts) in enumerate(disagreeing):
        id = half.case_id(case)
        blame = FlakinessSource.UNKNOWN
        if place < LOOKED_AT:
            blame = flakiness_source(
                await store.results(half.side.run_id, case_id=id, candidate=half.side.candidate, limit=1000)
            )
        tries = TryCounts(verdicts.count(PASSED), len(verdicts))
        made.append(FlakyCase(case_id=id, second=second, tries=tries, blame=blame))
    return made


def flakiness_source(results: Sequence[Result]) -> FlakinessSource:
    """The judge, if the same conversation was judged both ways; the agent, if different conversations were."""
    decided = [each for each in results if each.verdict in (Verdict.PASSED, Verdict.FAILED)]
    same: list[tuple[tuple[Any, ...], set[Verdict]]] = []
    for each in decided:
        if (said := each.transcript) is None:
            return FlakinessSource.UNKNOWN
        # What a judge sees: everything said and done. Times, costs and spans do not matter.
        seen = (said.answer, said.messages, said.steps, said.state)
        known = next((ended for before, ended in same if before == seen), None)
        if known is None:
            same.append((seen, {each.verdict}))
        else:
            known.add(each.verdict)
    judge = any(len(ended) > 1 for _, ended in same)
    agent = len({verdict for _, ended in same if len(ended) == 1 for verdict in ended}) > 1
    return {
        (True, True): FlakinessSource.BOTH,
        (True, False): FlakinessSource.JUDGE,
        (False, True): FlakinessSource.AGENT,
    }.get((judge, agent), FlakinessSource.UNKNOWN)
