"""`howsure compare A B --labels`: the differences by people's labels on some answers of each side, beside those by the
judge. Prediction-powered and cross-fitted: see `stats/rate_correction.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.calibration import PeopleVerdict
from howsure.model.comparison import Comparison, Conclusion, PairComparison, Side
from howsure.model.run import Run
from howsure.model.score import Interval
from howsure.services.judge.correct import judged_answers
from howsure.services.judge.labels import read_labels
from howsure.services.judge.people_verdicts import (
    STORED,
    AnswerKey,
    JudgeVerdicts,
    RunVerdicts,
    read_people,
    read_run_verdicts,
)
from howsure.services.workspace import Workspace
from howsure.stats.paired_differences import paired_rates
from howsure.stats.rate_correction import RateCorrection, correct_difference


class CorrectedDifference(Struct, frozen=True, kw_only=True):
    """The difference (second minus first) of one grader or criterion, corrected by people's labels. `decides`: this
    grader decides the verdicts. `rate` None: it could not be corrected, for `reason`."""

    first: str
    second: str
    grader: str
    criterion: str = ""
    decides: bool = False
    labels: tuple[int, int] = (0, 0)
    judge_interval: Interval | None = None
    rate: RateCorrection | None = None
    conclusion: Conclusion = Conclusion.CANNOT_TELL
    reason: str = ""


class LabelledSide(Struct, frozen=True):
    """One side: all verdicts of its run, and people's labels."""

    side: Side
    verdicts: RunVerdicts
    people: Sequence[PeopleVerdict]

    def judged(self, grader: str, criterion: str) -> JudgeVerdicts:
        return self.verdicts.by_grade.get((grader, criterion, self.side.candidate), {})

    def labelled(self, grader: str, criterion: str) -> list[PeopleVerdict]:
        key = grader, criterion, self.side.candidate
        return [each for each in self.people if (each.grader, each.criterion, each.candidate) == key]


async def correct_comparison(
    work: Workspace, comparison: Comparison, sources: Sequence[str]
) -> tuple[CorrectedDifference, ...]:
    """Every difference that both sides have labels for. Raises `PlanRefused` where none can be corrected."""
    if any(side.group for pair in comparison.pairs for side in (pair.first, pair.second)):
        raise PlanRefused("--labels corrects runs and candidates, not groups of cases (--pair)")
    sides: dict[str, tuple[Run, RunVerdicts, list[PeopleVerdict]]] = {}
    async with await work.store(read_only=True) as store:
        for run_id in dict.fromkeys(side.run_id for pair in comparison.pairs for side in (pair.first, pair.second)):
            run = await store.run(run_id)
            people = await read_people(work, store, run, sources)
            criteria = {each.criterion for each in people if each.criterion}
            sides[run_id] = run, await read_run_verdicts(store, run, criteria), people
    _check_runs(work, [run for run, _, _ in sides.values()], sources)
    found: list[CorrectedDifference] = []
    for pair in comparison.pairs:
        first, second = (LabelledSide(side, *sides[side.run_id][1:]) for side in (pair.first, pair.second))
        found += _corrections(pair, first, second, comparison)
    if not any(each.rate for each in found):
        reason = found[0].reason if found else "no grader has labels on both sides"
        raise PlanRefused(f"the labels correct nothing: {reason}")
    return tuple(found)


def _check_runs(work: Workspace, runs: Sequence[Run], sources: Sequence[str]) -> None:
    """Refuse labels that do not name their run: they might be about the answers of either."""
    if len(runs) < 2 or STORED in sources:
        return
    for source in sources:
        for label in read_labels(Path(source), work.kit, None).labels:
            if not label.run:
                raise PlanRefused(
                    f"{source}, line {label.line}: the label may be about an answer of either run: say which with "
                    f"`run` ({' or '.join(run.name or run.id[:8] for run in runs)})"
                )


def _corrections(
    pair: PairComparison, first: LabelledSide, second: LabelledSide, comparison: Comparison
) -> list[CorrectedDifference]:
    keys = dict.fromkeys((each.grader, each.criterion) for each in (*first.people, *second.people))
    graders = [grader for grader, criterion in keys if not criterion]
    decides = first.verdicts.deciding(graders, first.side.candidate)
    if decides != second.verdicts.deciding(graders, second.side.candidate):
        decides = ""
    found = [
        _correct(
            CorrectedDifference(
                first=pair.first.name,
                second=pair.second.name,
                grader=grader,
                criterion=criterion,
                decides=grader == decides and not criterion,
            ),
            first,
            second,
            comparison,
        )
        for grader, criterion in keys
    ]
    # What decides comes first, then whole cases, then criteria.
    return sorted(found, key=lambda each: (not each.decides, bool(each.criterion)))


def _correct(
    difference: CorrectedDifference, first: LabelledSide, second: LabelledSide, comparison: Comparison
) -> CorrectedDifference:
    """Over the cases that the judge decided on both sides."""
    key = difference.grader, difference.criterion
    shared = {case for case, _ in first.judged(*key)} & {case for case, _ in second.judged(*key)}
    numbers: dict[str, int] = {}
    sides = []
    for side in (first, second):
        judged = {answer: passed for answer, passed in side.judged(*key).items() if answer[0] in shared}
        answers, reason = judged_answers(judged, side.labelled(*key), numbers)
        sides.append(answers)
        if reason:
            return replace(difference, reason=f"{side.side.name}: {reason}")
    rate = correct_difference(*sides, confidence=comparison.confidence)
    assert rate is not None
    before, after = (_case_rates(side.judged(*key), numbers) for side in (first, second))
    judge = paired_rates(before, after, confidence=comparison.confidence)
    low, high = rate.interval
    conclusion = Conclusion.BETTER if low > 0 else Conclusion.WORSE if high < 0 else Conclusion.CANNOT_TELL
    if -comparison.margin <= low and high <= comparison.margin and low <= 0 <= high:
        conclusion = Conclusion.EQUAL
    labels = [int(np.count_nonzero(each.labelled)) for each in sides]
    return replace(
        difference,
        rate=rate,
        conclusion=conclusion,
        labels=(labels[0], labels[1]),
        judge_interval=judge.interval if judge else None,
    )


def _case_rates(judged: Mapping[AnswerKey, bool], numbers: Mapping[str, int]) -> list[float]:
    """The share of passes of each shared case, in the order of their numbers."""
    tries: dict[str, list[bool]] = {case: [] for case in numbers}
    for (case, _), passed in judged.items():
        if case in tries:
            tries[case].append(passed)
    return [sum(each) / len(each) for each in tries.values()]
