"""Whose noise it is, from a stored run: where cases were repeated and judges asked several times (votes, or the members
of a panel), the spread of each grader's values is split into the agent's part and the judge's.

Loads numpy: import it where a comparison or such a split is asked for, not where a run starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from howsure.model.noise import Noise, Spread
from howsure.model.result import Result
from howsure.model.score import Score
from howsure.stats.estimates import Estimate
from howsure.stats.variance import split
from howsure.store.store import Store

LOOKED_AT = 5000
"""So many results are read: the votes are in their bodies, and more would tell little more."""
PAGE = 500

Unit = tuple[str, str]
"""A case and, of a grader that answers several, the rule or criterion."""
Judged = dict[str, dict[Unit, list[list[float]]]]
"""By grader and unit: the tries, each with what the judge said of it, once or several times."""


async def noise_of(store: Store, run_id: str, candidate: str | None = None, *, second: bool = False) -> list[Noise]:
    """One for each grader whose judge was asked more than once about some try, where cases were tried more than once;
    none where the two parts cannot be told apart."""
    judged: Judged = {}
    after, seen = None, 0
    while seen < LOOKED_AT:
        page = await store.results(run_id, after=after, limit=PAGE, candidate=candidate)
        gather(judged, page)
        seen += len(page)
        if len(page) < PAGE or not any(_is_asked_again(each) for each in judged.values()):
            break
        after = page[-1].position
    return noises(judged, second=second)


def gather(judged: Judged, results: Iterable[Result]) -> None:
    """Add what judges said in these results."""
    for result in results:
        for grade in result.grades:
            if isinstance(grade, Score) and (values := judgements(grade)):
                unit = (result.case.id, grade.part.id if grade.part else "")
                judged.setdefault(grade.name, {}).setdefault(unit, []).append(values)


def judgements(score: Score) -> list[float]:
    """Every value that a judge gave: each vote of each member of a panel; the score's own where it was asked once. None
    for what a program measured."""
    panel = score.details.get("panel")
    members = [each for each in panel if isinstance(each, Mapping)] if isinstance(panel, Sequence) else []
    said = [value for member in members for value in _said(member)] if members else _votes(score.details)
    return said or ([score.value] if score.judge else [])


def _said(member: Mapping[str, Any]) -> list[float]:
    return _votes(member) or _numbers([member.get("value")])


def _votes(details: Mapping[str, Any]) -> list[float]:
    votes = details.get("votes")
    given = [each.get("value") for each in votes if isinstance(each, Mapping)] if isinstance(votes, Sequence) else []
    return _numbers(given)


def _numbers(values: Iterable[object]) -> list[float]:
    return [float(value) for value in values if isinstance(value, int | float) and isfinite(value)]


def noises(judged: Judged, *, second: bool = False) -> list[Noise]:
    """Pure: the split of each grader for which both parts are known."""
    found = []
    for grader, units in judged.items():
        tries = list(units.values())
        if not _is_asked_again(units) or all(len(each) < 2 for each in tries):
            continue
        parts = split(tries)
        if parts.agent is None or parts.judge is None:
            continue
        found.append(
            Noise(
                grader=grader,
                second=second,
                cases=len(tries),
                tries=sum(map(len, tries)),
                judgements=sum(len(values) for each in tries for values in each),
                between_cases=_spread(parts.cases) if parts.cases else None,
                agent=_spread(parts.agent),
                judge=_spread(parts.judge),
            )
        )
    return found


def _is_asked_again(units: Mapping[Unit, Sequence[Sequence[float]]]) -> bool:
    return any(len(values) > 1 for tries in units.values() for values in tries)


def _spread(estimate: Estimate) -> Spread:
    return Spread(estimate.value, estimate.interval)
