"""`howsure label next`: the questions about the answers that are drawn next, as lines of a file to fill in; and
`howsure label save`, which puts such a file into the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import Struct

from howsure.errors import PlanRefused
from howsure.model.case import Case, opening
from howsure.model.expectation import ReferenceAnswer
from howsure.model.label import HumanLabel, Opinion
from howsure.model.run import Run
from howsure.services.host.labels import LabelInput, LabelQuestion, build_label, label_questions
from howsure.services.judge.draw_labels import DrawKind, DrawnAnswer, draw_answers
from howsure.services.judge.labels import Label, pair_labels, read_graded_answers, read_labels
from howsure.services.judge.people_verdicts import load_labels
from howsure.services.workspace import Workspace
from howsure.store.store import Store

MAX_NUMBER = 10_000
MAX_TEXT = 4_000


class LabelLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a file of labels, to be filled in."""

    case_id: str
    candidate: str
    repeat: int
    grader: str
    criterion_id: str = ""
    question: str = ""
    input: str = ""
    expected: str = ""
    answer: str = ""
    drawn: float
    run: str
    label: str


class LabelDraw(Struct, frozen=True, kw_only=True):
    """What to label next. `answers` counts the drawn answers, each with one question or more; `before` those that are
    labelled already, `all` those that can be drawn."""

    run: str
    name: str
    by: DrawKind
    answers: int
    before: int
    all: int
    questions: tuple[LabelQuestion, ...]

    def lines(self) -> list[LabelLine]:
        return [
            LabelLine(
                case_id=each.result.case.id,
                candidate=each.result.candidate,
                repeat=each.result.repeat,
                grader=each.grade.name,
                criterion_id=each.grade.part.id if each.grade.part else "",
                question=each.grade.part.text if each.grade.part else f"Does it pass on {each.grade.name}?",
                input=opening(each.result.case.input)[:MAX_TEXT],
                expected=_expected(each.result.case)[:MAX_TEXT],
                answer=each.result.transcript.answer[:MAX_TEXT] if each.result.transcript else "",
                drawn=each.drawn or 1.0,
                run=self.run,
                label="",
            )
            for each in self.questions
        ]


def _expected(case: Case) -> str:
    return " / ".join(text for each in case.expectations if isinstance(each, ReferenceAnswer) for text in each.answers)


async def draw_next(work: Workspace, name: str, number: int, by: DrawKind, sources: Sequence[str] = ()) -> LabelDraw:
    """The next `number` answers of a run that have no label in the database or in these files."""
    if not 0 < number <= MAX_NUMBER:
        raise PlanRefused(f"--number is 1 to {MAX_NUMBER:,}, not {number}")
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        labels = (await load_labels(work, store, run, sources)).labels if sources else ()
        return await draw_questions(store, run, number, by, labels)


async def draw_questions(store: Store, run: Run, number: int, by: DrawKind, labels: Sequence[Label] = ()) -> LabelDraw:
    stored = {label.position for label in await store.labels.of_run(run.id)}
    named = {(each.case_id, each.candidate, each.repeat) for each in labels}
    drawn = await draw_answers(store, run, by)
    left = [each for each in drawn if each.position not in stored and not (named and _is_named(each, named))]
    chosen = left[:number]
    chances = {each.position: each.drawn for each in chosen}
    results = {each.position: each for _, each in await store.results_by_id([each.result_id for each in chosen])}
    questions = label_questions([results[place] for place in chances if place in results], chances)
    if chosen and not questions:
        raise PlanRefused(f"nothing in run {run.name!r} can be labelled: no criterion, no rule, and no judged eval")
    return LabelDraw(
        run=run.id,
        name=run.name,
        by=by,
        answers=len(chosen),
        before=len(drawn) - len(left),
        all=len(drawn),
        questions=tuple(questions),
    )


def _is_named(answer: DrawnAnswer, named: Collection[tuple[str, str | None, int | None]]) -> bool:
    """Whether a label is about this answer. One without a candidate or repeat is about the only one there is."""
    keys = ((answer.case_id, who, time) for who in (answer.candidate, None) for time in (answer.repeat, None))
    return any(key in named for key in keys)


async def save_labels(work: Workspace, path: Path, name: str) -> int:
    """Store the labels of a file in the database, as labels of a run, and return their number. Numeric labels are
    refused."""
    async with await work.store() as store:
        run = await store.find_run(name)
        scales = {each.name: each.scale for each in (await store.summary(run.id)).graders}
        file = read_labels(path, work.kit, scales).about(run)
        if numbers := [label.line for label in file.labels if not label.is_verdict]:
            raise PlanRefused(f"{path}, line {numbers[0]}: only pass and fail can be kept, not numbers")
        things = pair_labels(file, await read_graded_answers(store.iterate(run.id), file.graders))
        found: list[HumanLabel] = []
        for thing in things:
            if thing.grade is None:
                continue
            result = await store.result(run.id, thing.case_id, candidate=thing.candidate, repeat=thing.repeat)
            for label in thing.labels:
                answer = LabelInput(Opinion.PASS if label.value else Opinion.FAIL, drawn=label.drawn)
                found.append(build_label(run, LabelQuestion(result, thing.grade), label.annotator, answer))
        for each in found:
            await store.labels.put(each)
    return len(found)
