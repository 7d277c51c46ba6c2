"""The agreement on a run: between people and the judge, between people, and every disagreement with the words of both.
Also the labels as a file, and the calibration of the judge with them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.model.calibration import VerdictFigures
from howsure.model.label import HumanLabel, Opinion
from howsure.model.run import Run
from howsure.reports.figures import NOTHING, Rate, format_percent, pluralize
from howsure.reports.headlines import grader_name
from howsure.reports.run_facts import without_folders
from howsure.reports.safe_text import make_inert, one_line
from howsure.services.host.agreement import annotator_agreement, compare_verdicts
from howsure.services.host.labels import (
    GradeKey,
    LabelledGrade,
    calibrate_run,
    grades_for_labels,
    judge_opinion,
    label_comparisons,
    write_label_lines,
)
from howsure.services.host.roles import Permission
from howsure.services.judge.agreement import FAIL, PASS, SILENT
from howsure.services.judge.labels import GradeWithLabels
from howsure.web.pages.label import MIN_ANSWERS, WORDS, grade_title
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, host_of, number_in_query, requested_run

MAX_LABELS = 200
"""The figures use at most this many labels, the newest ones; the page says so."""
PAGE_SIZE = 40
"""Disagreements per page."""


class GraderAgreement(Struct, frozen=True, kw_only=True):
    """The agreement on one grader, or on all."""

    name: str
    n: int
    agreement: str
    kappa: str
    confusion: tuple[tuple[str, tuple[int, ...]], ...] = ()


class Disagreement(Struct, frozen=True, kw_only=True):
    """One grade on which people and the judge, or people among themselves, disagree."""

    text: str
    grader: str
    case_id: str
    address: str
    people: tuple[tuple[str, str, str], ...]
    judge: str
    reason: str


class AgreementPage(Struct, frozen=True, kw_only=True):
    """What the page shows: of `unlike` disagreements those from `first` on. `left_out` older labels are in no
    figure."""

    answer: str
    run_id: str
    run_name: str
    judge: str
    people: tuple[tuple[str, int], ...]
    other_opinions: int
    measures: tuple[GraderAgreement, ...]
    among: str
    disagreements: tuple[Disagreement, ...]
    first: int
    unlike: int
    further: str
    may_write: bool
    left_out: int


def _answer(labels: Sequence[HumanLabel], measures: Sequence[GraderAgreement], disagreements: int) -> str:
    if not labels:
        return "Nobody has labelled this run yet."
    whole = measures[0] if measures else None
    if whole is None or not whole.n:
        return f"{pluralize(len(labels), 'label')}, but the judge gave no pass or fail on any of these grades."
    doubt = f", too few to say more (n {whole.n})" if whole.n < MIN_ANSWERS else ""
    return f"People and the judge agree on {whole.agreement}{doubt}; {pluralize(disagreements, 'disagreement')} below."


def find_disagreements(
    labels: Sequence[HumanLabel], grades: Mapping[GradeKey, LabelledGrade]
) -> list[tuple[list[HumanLabel], LabelledGrade]]:
    """The labels and the judge's grade of everything they disagree on."""
    by_grade: dict[GradeKey, list[HumanLabel]] = {}
    for label in labels:
        by_grade.setdefault(label.about, []).append(label)
    disagreements = []
    for own, labelled in [(own, grades[key]) for key, own in by_grade.items() if key in grades]:
        opinions = {label.opinion.value for label in own if label.opinion is not Opinion.CANNOT_TELL}
        judge = judge_opinion(labelled.grade)
        if len(opinions) > 1 or (judge != "none" and opinions - {judge}):
            disagreements.append((own, labelled))
    return disagreements


def _disagreement(run: Run, labels: Sequence[HumanLabel], labelled: LabelledGrade) -> Disagreement:
    grade = labelled.grade
    return Disagreement(
        text=one_line(grade_title(grade), 300),
        grader=make_inert(grader_name(grade.name)),
        case_id=make_inert(labelled.case_id),
        address=f"/runs/{run.id}/cases/{labelled.position}",
        people=tuple((make_inert(each.labeler), WORDS[each.opinion], one_line(each.why, 300)) for each in labels),
        judge=judge_opinion(grade).replace("_", " ").replace("none", "no verdict"),
        reason=one_line(grade.reason, 400),
    )


def agreement_figures(grades: Sequence[GradeWithLabels]) -> tuple[tuple[GraderAgreement, ...], str]:
    """The agreement of people and judge on each grader, and that of people with each other in words."""
    overall, graders = compare_verdicts(grades)
    groups = [("all together", overall)] if len(graders) > 1 else []
    groups += [(make_inert(grader_name(name)), own) for name, own in graders.items()]
    people = annotator_agreement(grades)
    among = ""
    if people:
        names, share = ", ".join(make_inert(name) for name in people.people), Rate(people.agreed, people.grades)
        alpha = f", Krippendorff's α {NOTHING if people.alpha is None else format(people.alpha, '.2f')}."
        among = (
            f"{names} labelled {pluralize(people.grades, 'grade')} together and agree on {share.percent} "
            f"[{share.bounds}]{': too few to say more.' if people.grades < MIN_ANSWERS else alpha}"
        )
    return tuple(_grader_agreement(name, own) for name, own in groups), among


def _grader_agreement(name: str, figures: VerdictFigures) -> GraderAgreement:
    share, n, agreement, kappa = figures.agreement, figures.agreement.n, NOTHING, NOTHING
    if share.value is not None:
        low, high = share.interval or (0.0, 1.0)
        agreement = f"{format_percent(share.value)} [{100 * low:.0f}–{100 * high:.0f}] of {pluralize(n, 'verdict')}"
    if figures.kappa.value is not None and n < MIN_ANSWERS:
        kappa = f"too few to say (n {n})"
    elif figures.kappa.value is not None:
        bounds = " [{:.2f} to {:.2f}]".format(*figures.kappa.interval) if figures.kappa.interval else ""
        kappa = f"{figures.kappa.value:.2f}{bounds}"
    counts = [(word, tuple(figures.confusion[word][said] for said in (PASS, FAIL, SILENT))) for word in (PASS, FAIL)]
    return GraderAgreement(name=name, n=n, agreement=agreement, kappa=kappa, confusion=tuple(counts))


async def _run_and_labels(request: Request) -> tuple[Run, list[HumanLabel]]:
    run = await requested_run(request)
    return run, await host_of(request).store.labels.of_run(run.id, caller_of(request).within)


async def show(request: Request) -> Response:
    caller, store, run = caller_of(request), host_of(request).store, await requested_run(request)
    start = number_in_query(request, "start")
    labels = await store.labels.newest(run.id, MAX_LABELS, caller.within)
    grades = await grades_for_labels(store, run, labels)
    people = await store.labels.counts([run.id], caller.within)
    # The bootstrap takes some tens of milliseconds: in a thread.
    measures, among = await asyncio.to_thread(agreement_figures, label_comparisons(labels, grades, run.counts))
    disagreements = find_disagreements(labels, grades)
    shown = disagreements[start : start + PAGE_SIZE]
    page = AgreementPage(
        answer=_answer(labels, measures, len(disagreements)),
        left_out=sum(each.number for each in people) - len(labels),
        run_id=run.id,
        run_name=run.name or run.id[:8],
        judge=without_folders(run.pins.request.judge) or "nobody",
        people=tuple((make_inert(each.labeler), each.number) for each in people),
        other_opinions=sum(label.opinion.passed is None for label in labels),
        measures=measures,
        among=among,
        disagreements=tuple(_disagreement(run, own, grade) for own, grade in shown),
        first=start + 1 if shown else 0,
        unlike=len(disagreements),
        further=f"/label/{run.id}/agreement?start={start + PAGE_SIZE}"
        if start + PAGE_SIZE < len(disagreements)
        else "",
        may_write=caller.may(Permission.EDIT),
    )
    return respond(request, "agreement.html", page)


async def download_labels(request: Request) -> Response:
    """The file that `howsure judge calibrate` reads."""
    run, labels = await _run_and_labels(request)
    headers = {"Content-Disposition": f'attachment; filename="labels-{run.id[:8]}.jsonl"'}
    return Response(write_label_lines(labels), media_type="application/x-ndjson", headers=headers)


async def calibrate(request: Request) -> Response:
    """Calibrate the judge of the run with its labels."""
    run, labels = await _run_and_labels(request)
    await calibrate_run(host_of(request), run, labels)
    return RedirectResponse("/judges", 303)


ROUTES = [
    PageRoute("/label/{run_id}/agreement", show),
    PageRoute("/label/{run_id}/labels.jsonl", download_labels, Permission.EXPORT),
    PageRoute("/label/{run_id}/calibrate", calibrate, Permission.EDIT, "POST"),
]
