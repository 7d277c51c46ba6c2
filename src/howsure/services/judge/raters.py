"""`howsure judge raters`: how reliable raters of the same answers are, when the truth is unknown. Ratings come from a
file of labels, from labels given on the pages, and from the members of a run's panel. Loads numpy and scipy: imported
only when needed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from howsure.errors import PlanRefused
from howsure.model.leaderboard import RaterGroup, RaterReliability, RatersReport, SettledRating
from howsure.model.score import Grade, Score
from howsure.reports.figures import pluralize
from howsure.services.host.labels import grades_for_labels, label_comparisons
from howsure.services.judge.labels import (
    GradeWithLabels,
    Value,
    pair_labels,
    read_graded_answers,
    read_labels,
    would_pass,
)
from howsure.services.workspace import Workspace
from howsure.stats.raters import MISSING, accuracies, dawid_skene, misfit
from howsure.store.store import Store

FEWEST_RATERS, FEWEST_SHARED, MOST_LEVELS = 3, 10, 10
UNNAMED = "unnamed"
VERDICTS = ("fail", "pass")
UNLIKELY = 0.01
SHARED = (
    "Errors are not independent: some raters share theirs, so answers are less sure than they look, "
    "and raters who do not share them look worse than they are"
)


class _RatedGrade(NamedTuple):
    """One grade of one answer."""

    grader: str
    case_id: str
    candidate: str
    repeat: int
    criterion: str


Ratings = dict[_RatedGrade, dict[str, Value]]
"""The rating of each grade by each rater."""


async def rate_raters(work: Workspace, labels: Path | None, run_name: str) -> RatersReport:
    """The raters of a file of labels, of a run, or of both together."""
    if labels is None and not run_name:
        raise PlanRefused("name a file of labels, or a run whose panel or labels are to be looked at with --run")
    if not run_name:
        assert labels is not None
        rated = _rated_by_people(labels, work)
    else:
        async with await work.store(read_only=True) as store:
            rated = await _rated_in_run(store, work, run_name, labels)
    by_grader: dict[str, Ratings] = {}
    for grade, said in rated.items():
        by_grader.setdefault(grade.grader, {})[grade] = said
    made = {grader: _rate(grader, some) for grader, some in by_grader.items()}
    groups = tuple(each for each in made.values() if isinstance(each, RaterGroup))
    left_out = tuple(f"{grader}: {why}" for grader, why in made.items() if isinstance(why, str))
    if not groups:
        raise PlanRefused(f"the raters cannot be compared: {'; '.join(left_out) or 'no grade has several raters'}")
    return RatersReport(groups=groups, left_out=left_out)


def _rated_by_people(path: Path, work: Workspace) -> Ratings:
    found: Ratings = {}
    for label in read_labels(path, work.kit, None).labels:
        grade = _RatedGrade(label.grader, label.case_id, label.candidate or "", label.repeat or 1, label.criterion)
        found.setdefault(grade, {})[label.annotator or UNNAMED] = label.value
    return found


async def _rated_in_run(store: Store, work: Workspace, name: str, path: Path | None) -> Ratings:
    """The labels on a run with its own judges; without labels, the members of its panel alone."""
    run = await store.find_run(name)
    if path is not None:
        labels = read_labels(path, work.kit, None)
        return _beside(pair_labels(labels, await read_graded_answers(store.iterate(run.id), labels.graders)))
    if given := await store.labels.of_run(run.id):
        return _beside(label_comparisons(given, await grades_for_labels(store, run, given), run.counts))
    return {
        _RatedGrade(
            grade.name, result.case.id, result.candidate, result.repeat, grade.part.id if grade.part else ""
        ): _judges(grade, verdicts=False)
        async for result in store.iterate(run.id)
        for grade in result.grades
        if isinstance(grade, Score) and "panel" in grade.details
    }


def _beside(grades: Iterable[GradeWithLabels]) -> Ratings:
    return {
        _RatedGrade(each.grader, each.case_id, each.candidate, each.repeat, each.criterion): {
            **{label.annotator or UNNAMED: label.value for label in each.labels},
            **_judges(each.grade, verdicts=each.by_verdict),
        }
        for each in grades
    }


def _judges(grade: Grade | None, *, verdicts: bool) -> dict[str, Value]:
    """The ratings of the judges: the members of a panel, or the one judge; as verdicts if people gave verdicts."""
    if not isinstance(grade, Score) or not grade.judge:
        return {}
    ballots = grade.details.get("panel") or [{"judge": grade.judge, "value": grade.value}]
    values = {each["judge"]: float(each["value"]) for each in ballots if each.get("value") is not None}
    if not verdicts:
        return {**values}
    return {name: passed for name, value in values.items() if (passed := would_pass(value, grade)) is not None}


def _rate(grader: str, rated: Ratings) -> RaterGroup | str:
    """The raters of one grader, or the reason why they cannot be compared."""
    names = list(dict.fromkeys(name for said in rated.values() for name in said))
    if len(names) < FEWEST_RATERS:
        return f"{pluralize(len(names), 'rater')}; it takes three to tell who is right"
    shared = sum(len(said) > 1 for said in rated.values())
    if shared < FEWEST_SHARED:
        return f"{pluralize(shared, 'answer')} with several ratings; it takes {FEWEST_SHARED}"
    values = sorted({float(value) for said in rated.values() for value in said.values()})
    ordered = not set(values) <= {0.0, 1.0}
    if ordered and (not all(map(float.is_integer, values)) or values[-1] - values[0] >= MOST_LEVELS):
        return f"the values are not steps of a scale with at most {MOST_LEVELS} levels"
    levels = list(range(int(values[0]), int(values[-1]) + 1)) if ordered else [0, 1]
    words = [str(level) for level in levels] if ordered else list(VERDICTS)
    ratings = np.array(
        [[levels.index(int(said[name])) if name in said else MISSING for name in names] for said in rated.values()]
    )
    model = dawid_skene(ratings, len(levels), ordered=ordered)
    raters = [
        RaterReliability(
            name=name,
            ratings=int((ratings[:, place] != MISSING).sum()),
            accuracy=value,
            interval=interval,
            by_class={word: float(model.confusion[place, at, at]) for at, word in enumerate(words)},
            lean=None if model.leans is None else float(model.leans[place]),
        )
        for place, (name, (value, interval)) in enumerate(zip(names, accuracies(model, ratings), strict=True))
    ]
    best = np.argmax(model.answers, axis=1).tolist()
    settled = [
        SettledRating(
            case_id=grade.case_id,
            candidate=grade.candidate,
            repeat=grade.repeat,
            criterion=grade.criterion,
            answer=words[best[place]],
            chance=float(model.answers[place, best[place]]),
            ratings={name: words[levels.index(int(value))] for name, value in said.items()},
        )
        for place, (grade, said) in enumerate(rated.items())
    ]
    return RaterGroup(
        grader=grader,
        ordered=ordered,
        raters=tuple(sorted(raters, key=lambda rater: -rater.accuracy)),
        settled=tuple(sorted(settled, key=lambda each: (not each.is_disputed, each.chance))),
        notes=(SHARED,) if (fit := misfit(model, ratings)) is not None and fit < UNLIKELY else (),
    )
