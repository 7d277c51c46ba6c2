"""The noise of a run, split into the agent's part and the judge's: possible where cases were repeated and judges were
asked several times (votes, or the members of a panel). Loads numpy: import it where a comparison is asked for, not
where a run starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from howsure.model.comparison import VarianceComponents, VarianceEstimate
from howsure.model.result import Result
from howsure.model.score import Score
from howsure.stats.intervals import Estimate
from howsure.stats.variance import split_variance
from howsure.store.store import Store

LOOKED_AT = 5000
"""Results that are read at most: the votes are in their bodies, and more results would add little."""
PAGE = 500

GradedUnit = tuple[str, str]
"""A case and, of a grader that answers several, the rule or criterion."""
Judgements = dict[str, dict[GradedUnit, list[list[float]]]]
"""By grader and unit: the tries, each with the values that the judge gave it."""


async def read_noise(
    store: Store, run_id: str, candidate: str | None = None, *, second: bool = False
) -> list[VarianceComponents]:
    """One split for each grader whose judge was asked more than once about some try, where cases were tried more than
    once; none where the two parts cannot be told apart."""
    judged: Judgements = {}
    after, seen = None, 0
    while seen < LOOKED_AT:
        page = await store.results(run_id, after=after, limit=PAGE, candidate=candidate)
        collect_judgements(judged, page)
        seen += len(page)
        if len(page) < PAGE or not any(_is_asked_again(each) for each in judged.values()):
            break
        after = page[-1].position
    return split_noise(judged, second=second)


def collect_judgements(judged: Judgements, results: Iterable[Result]) -> None:
    """Add the values that judges gave in these results."""
    for result in results:
        for grade in result.grades:
            if isinstance(grade, Score) and (values := judge_values(grade)):
                unit = (result.case.id, grade.part.id if grade.part else "")
                judged.setdefault(grade.name, {}).setdefault(unit, []).append(values)


def judge_values(score: Score) -> list[float]:
    """Every value that a judge gave: each vote of each member of a panel, or the score's own value where the judge was
    asked once. Empty for what a program measured."""
    panel = score.details.get("panel")
    members = [each for each in panel if isinstance(each, Mapping)] if isinstance(panel, Sequence) else []
    values = (
        [value for member in members for value in (_votes(member) or _numbers([member.get("value")]))]
        if members
        else _votes(score.details)
    )
    return values or ([score.value] if score.judge else [])


def _votes(details: Mapping[str, Any]) -> list[float]:
    votes = details.get("votes")
    given = [each.get("value") for each in votes if isinstance(each, Mapping)] if isinstance(votes, Sequence) else []
    return _numbers(given)


def _numbers(values: Iterable[object]) -> list[float]:
    return [float(value) for value in values if isinstance(value, int | float) and isfinite(value)]


def split_noise(judged: Judgements, *, second: bool = False) -> list[VarianceComponents]:
    """The split of each grader for which both parts are known."""
    found = []
    for grader, units in judged.items():
        tries = list(units.values())
        if not _is_asked_again(units) or all(len(each) < 2 for each in tries):
            continue
        parts = split_variance(tries)
        if parts.agent is None or parts.judge is None:
            continue
        found.append(
            VarianceComponents(
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


def _is_asked_again(units: Mapping[GradedUnit, Sequence[Sequence[float]]]) -> bool:
    return any(len(values) > 1 for tries in units.values() for values in tries)


def _spread(estimate: Estimate) -> VarianceEstimate:
    return VarianceEstimate(estimate.value, estimate.interval)
