"""People's labels on a run's answers, ready to be compared with all verdicts of its judge: labels from a file or from
the store become verdicts, and these become the columns that `stats/rate_correction.py` takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.calibration import PeopleVerdict
from howsure.model.run import Run
from howsure.model.score import Score
from howsure.model.verdict import Verdict
from howsure.services.judge.labels import (
    GradedAnswer,
    GradeWithLabels,
    Label,
    LabelFile,
    pair_labels,
    read_graded_answers,
    read_labels,
)
from howsure.services.workspace import Workspace
from howsure.store.run_columns import OUTCOMES, VERDICTS
from howsure.store.store import Store

STORED = "stored"
"""In place of a file of labels: the labels in the database."""
Answers = Mapping[str, Sequence[GradedAnswer]]
AnswerKey = tuple[str, int]
"""A case and a repeat."""
JudgeVerdicts = Mapping[AnswerKey, bool]


async def load_labels(work: Workspace, store: Store, run: Run, sources: Sequence[str]) -> LabelFile:
    """The labels about a run: of files, or those that the store has."""
    if STORED not in sources:
        scales = {each.name: each.scale for each in (await store.summary(run.id)).graders}
        files = [read_labels(Path(source), work.kit, scales) for source in sources]
        labels = tuple(label for file in files for label in file.labels)
        return LabelFile(path=", ".join(sources), sha256="", labels=labels).about(run)
    stored = [
        Label(
            case_id=each.case_id,
            grader=each.grader,
            value=each.opinion.passed,
            candidate=each.candidate,
            repeat=each.repeat,
            criterion=each.part_id,
            annotator=each.labeler,
            line=number,
            drawn=each.drawn,
        )
        for number, each in enumerate(await store.labels.of_run(run.id), start=1)
        if each.opinion.passed is not None
    ]
    if not stored:
        raise PlanRefused(f"run {run.name!r} has no labels yet: `howsure label next {run.id[:8]}` says what to label")
    return LabelFile(path=f"the labels of run {run.name!r}", sha256="", labels=tuple(stored))


async def read_people(work: Workspace, store: Store, run: Run, sources: Sequence[str]) -> list[PeopleVerdict]:
    """People's labels on a run, from files of labels or from the store."""
    labels = await load_labels(work, store, run, sources)
    answers = await read_graded_answers(store.iterate(run.id), labels.graders)
    return people_verdicts(pair_labels(labels, answers), answers)


def people_verdicts(things: Sequence[GradeWithLabels], answers: Answers) -> list[PeopleVerdict]:
    """The labelled grades on which both people and the judge have a verdict. If every judged answer is labelled,
    nothing was drawn, so all are equally likely. If people labelled all criteria of an answer, and a case passes if all
    of them do, the case has their verdict as well."""
    found = [
        PeopleVerdict(
            case_id=thing.case_id,
            candidate=thing.candidate,
            repeat=thing.repeat,
            grader=thing.grader,
            criterion=thing.criterion,
            passed=thing.people_passed,
            judge=thing.passed,
            drawn=thing.drawn,
        )
        for thing in things
        if thing.people_passed is not None and thing.passed is not None
    ]
    found += _whole_cases(found, answers)
    labelled = Counter((each.grader, each.criterion, each.candidate) for each in found)
    judged = Counter(
        (grade.name, grade.part.id if grade.part else "", answer.candidate)
        for several in answers.values()
        for answer in several
        for grade in answer.grades
        if isinstance(grade, Score) and grade.passed is not None
    )
    every = {key for key, count in labelled.items() if judged[key] == count}
    return [
        replace(each, drawn=each.drawn or 1.0) if (each.grader, each.criterion, each.candidate) in every else each
        for each in found
    ]


def _whole_cases(parts: Sequence[PeopleVerdict], answers: Answers) -> Iterator[PeopleVerdict]:
    by_answer: dict[tuple[str, str, str, int], dict[str, PeopleVerdict]] = {}
    for each in parts:
        by_answer.setdefault((each.grader, each.case_id, each.candidate, each.repeat), {})[each.criterion] = each
    graders = {each.grader for each in parts} - {each.grader for each in parts if not each.criterion}
    judged: dict[str, dict[tuple[str, str, int], tuple[bool, set[str]]]] = {}
    for case_id, several in answers.items():
        for answer in several:
            for grader in graders:
                own = [each for each in answer.grades if each.name == grader and isinstance(each, Score)]
                criteria = {each.part.id: each.passed for each in own if each.part is not None}
                whole = next((each.passed for each in own if each.part is None), None)
                if whole is None or not criteria:
                    continue
                if whole is not all(criteria.values()):
                    graders = graders - {grader}
                    continue
                judged.setdefault(grader, {})[case_id, answer.candidate, answer.repeat] = (whole, set(criteria))
    for (grader, case_id, candidate, repeat), labelled in by_answer.items():
        whole_case = judged.get(grader, {}).get((case_id, candidate, repeat)) if grader in graders else None
        if whole_case is not None and whole_case[1] <= set(labelled):
            passed = all(labelled[each].passed for each in whole_case[1])
            one = next(iter(labelled.values()))
            yield replace(one, criterion="", passed=passed, judge=whole_case[0])


class RunVerdicts(Struct, frozen=True):
    """The judge's verdicts on every answer of a run: by grader, criterion ("" for whole cases) and candidate; the
    verdicts of the cases themselves have the grader ""."""

    by_grade: Mapping[tuple[str, str, str], JudgeVerdicts]

    def candidates(self) -> list[str]:
        return list(dict.fromkeys(candidate for grader, _, candidate in self.by_grade if not grader))

    def deciding(self, graders: Collection[str], candidate: str) -> str:
        """The grader whose verdicts are those of the cases; "" if there is none."""
        verdicts = self.by_grade.get(("", "", candidate), {})
        return next((each for each in graders if self.by_grade.get((each, "", candidate)) == verdicts), "")


async def read_run_verdicts(store: Store, run: Run, criteria: Collection[str]) -> RunVerdicts:
    """All verdicts of a run; no case and no conversation is read."""
    attempts, measured = await store.columns(run.id)
    keys: dict[int, tuple[str, AnswerKey]] = {}
    found: dict[tuple[str, str, str], dict[AnswerKey, bool]] = {}
    for at, position in enumerate(attempts.positions):
        candidate = attempts.candidate_names[attempts.candidates[at]]
        keys[position] = candidate, (attempts.case_ids[attempts.cases[at]], attempts.repeats[at])
        if (verdict := VERDICTS[attempts.verdicts[at]]) in (Verdict.PASSED, Verdict.FAILED):
            found.setdefault(("", "", candidate), {})[keys[position][1]] = verdict is Verdict.PASSED
    outcomes = [
        (column.name, column.part_id or "", position, OUTCOMES[code])
        for column in measured
        for position, code in zip(column.positions, column.outcomes, strict=True)
    ]
    known = {(name, part) for name, part, _, _ in outcomes}
    outcomes += [
        (grade.name, grade.part_id, grade.position, grade.outcome)
        for grade in await store.part_grades(run.id, sorted(criteria))
        if (grade.name, grade.part_id) not in known
    ]
    for name, part, position, outcome in outcomes:
        if outcome in ("passed", "failed") and position in keys:
            candidate, answer = keys[position]
            found.setdefault((name, part, candidate), {})[answer] = outcome == "passed"
    return RunVerdicts(found)
