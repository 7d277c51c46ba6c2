"""How far people and the judge agree on a run, how far people agree among themselves, and where they do not: each
disagreement with both their words. The labels as a file, and a calibration made of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.model.label import HumanLabel, Opinion
from howsure.model.run import Run
from howsure.reports.figures import NOTHING, Rate, counted
from howsure.reports.inert import inert, one_line
from howsure.services.hosting.agreeing import Agreement, Placed, Together, agreement_of, placed, together
from howsure.services.hosting.labelling import About, Judged, as_lines, calibrated, grades_about, judge_word, things
from howsure.services.trust.pairing import Thing
from howsure.store.service.keys import Scope
from howsure.store.service.labels import Labelled
from howsure.store.service.places import is_number
from howsure.web.pages.label_words import FEWEST, WORDS
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, host_of

MOST = 200
"""Labels that figures are made of while somebody waits: beyond, the newest count, and the page says so."""
LISTED = 40
"""Disagreements on one page."""


class Measure(Struct, frozen=True, kw_only=True):
    """How far two sides agree over one grader, or over all."""

    name: str
    n: int
    agreement: str
    kappa: str
    confusion: tuple[tuple[str, tuple[int, ...]], ...] = ()


class Disagreement(Struct, frozen=True, kw_only=True):
    """One grade of which people and the judge, or people among themselves, do not say the same."""

    text: str
    grader: str
    case_id: str
    address: str
    people: tuple[tuple[str, str, str], ...]
    judge: str
    reason: str


class AgreementPage(Struct, frozen=True, kw_only=True):
    """What the page shows. Of `unlike` disagreements those from `first` on; `left_out` are older labels, beyond those
    that figures and disagreements are made of."""

    answer: str
    run_id: str
    run_name: str
    judge: str
    people: tuple[tuple[str, int], ...]
    other_opinions: int
    measures: tuple[Measure, ...]
    among: str
    disagreements: tuple[Disagreement, ...]
    first: int
    unlike: int
    further: str
    may_write: bool
    left_out: int


class Figures(Struct, frozen=True, kw_only=True):
    """What was computed of the labels."""

    measures: tuple[Measure, ...] = ()
    among: str = ""


class Spoken(Struct, frozen=True, kw_only=True):
    """What people said of a run: the newest labels, the grades that these are about, and how many labels each gave."""

    labels: Sequence[HumanLabel]
    asked: Mapping[About, Judged]
    people: Sequence[Labelled]


def agreement_page(run: Run, spoken: Spoken, figures: Figures, start: int = 0) -> AgreementPage:
    labels, unlike = spoken.labels, disagreeing(spoken.labels, spoken.asked)
    shown = unlike[start : start + LISTED]
    return AgreementPage(
        answer=_answer(labels, figures, len(unlike)),
        left_out=sum(each.number for each in spoken.people) - len(labels),
        run_id=run.id,
        run_name=run.name or run.id[:8],
        judge=run.pins.judge or "nobody",
        people=tuple((inert(each.labeler), each.number) for each in spoken.people),
        other_opinions=sum(label.opinion.passed is None for label in labels),
        measures=figures.measures,
        among=figures.among,
        disagreements=tuple(_disagreement(run, said, question) for said, question in shown),
        first=start + 1 if shown else 0,
        unlike=len(unlike),
        further=f"/label/{run.id}/agreement?start={start + LISTED}" if start + LISTED < len(unlike) else "",
        may_write=False,
    )


def _answer(labels: Sequence[HumanLabel], figures: Figures, unlike: int) -> str:
    if not labels:
        return "Nobody has labelled this run yet."
    whole = figures.measures[0] if figures.measures else None
    if whole is None or not whole.n:
        return f"{counted(len(labels), 'label')}, on nothing that the judge said pass or fail of."
    doubt = f", too few to say more (n {whole.n})" if whole.n < FEWEST else ""
    return f"People and the judge agree on {whole.agreement}{doubt}; {counted(unlike, 'disagreement')} below."


def disagreeing(labels: Sequence[HumanLabel], asked: Mapping[About, Judged]) -> list[tuple[list[HumanLabel], Judged]]:
    """What people said, beside the judge's grade, where they do not say the same."""
    together: dict[About, list[HumanLabel]] = {}
    for label in labels:
        together.setdefault(label.about, []).append(label)
    found = [(said, asked.get(about)) for about, said in together.items()]
    return [(said, question) for said, question in found if question and _unlike(said, question)]


def _unlike(said: Sequence[HumanLabel], question: Judged) -> bool:
    words = {label.opinion.value for label in said if label.opinion is not Opinion.CANNOT_TELL}
    judge = judge_word(question.grade)
    return len(words) > 1 or (judge != "none" and bool(words - {judge}))


def _disagreement(run: Run, said: Sequence[HumanLabel], question: Judged) -> Disagreement:
    grade = question.grade
    return Disagreement(
        text=one_line(grade.part.text if grade.part else grade.name, 300),
        grader=inert(grade.name),
        case_id=inert(question.case_id),
        address=f"/runs/{run.id}/cases/{question.position}",
        people=tuple((inert(each.labeler), WORDS[each.opinion], one_line(each.why, 300)) for each in said),
        judge=judge_word(grade).replace("_", " ").replace("none", "no verdict"),
        reason=one_line(grade.reason, 400),
    )


def figures_of(about: Sequence[Thing]) -> Figures:
    """With intervals drawn anew from whole cases: some tens of milliseconds of work, so not for the loop."""
    graders: dict[str, list[Placed]] = {}
    every = placed(about)
    for thing in every:
        graders.setdefault(thing.grader, []).append(thing)
    groups = [("all together", every)] if len(graders) != 1 else []
    groups += [(inert(name), own) for name, own in graders.items()]
    several = together(about)
    return Figures(
        measures=tuple(_measure(name, agreement_of(some)) for name, some in groups if some),
        among=_among(several) if several else "",
    )


def _measure(name: str, found: Agreement) -> Measure:
    both, only_people, only_judge, neither = found.table
    return Measure(
        name=name,
        n=found.n,
        agreement=_share(Rate(found.agreed, found.n)),
        kappa=_kappa(found),
        confusion=(
            ("pass", (both, only_people, found.silent[0])),
            ("fail", (only_judge, neither, found.silent[1])),
        ),
    )


def _share(rate: Rate) -> str:
    if not rate.judged:
        return NOTHING
    return f"{rate.percent} [{rate.bounds}] of {counted(rate.judged, 'verdict')}"


def _kappa(found: Agreement) -> str:
    if found.kappa is None:
        return NOTHING
    if found.n < FEWEST:
        return f"too few to say (n {found.n})"
    bounds = f" [{found.interval[0]:.2f} to {found.interval[1]:.2f}]" if found.interval else ""
    return f"{found.kappa:.2f}{bounds}"


def _among(found: Together) -> str:
    who, share = ", ".join(inert(name) for name in found.people), Rate(found.agreed, found.things)
    told = f"{who} labelled {counted(found.things, 'grade')} together and agree on {share.percent} [{share.bounds}]"
    if found.things < FEWEST:
        return f"{told}: too few to say more."
    return f"{told}, Krippendorff's α {NOTHING if found.alpha is None else format(found.alpha, '.2f')}."


async def _run(request: Request) -> Run:
    return await host_of(request).store.run(request.path_params["run_id"], caller_of(request).within)


async def _found(request: Request) -> tuple[Run, list[HumanLabel]]:
    run = await _run(request)
    return run, await host_of(request).store.labels.of_run(run.id, caller_of(request).within)


async def show(request: Request) -> Response:
    asking, store, run = caller_of(request), host_of(request).store, await _run(request)
    labels = await store.labels.newest(run.id, MOST, asking.within)
    asked = await grades_about(store, run, labels)
    people = await store.labels.counts([run.id], asking.within)
    figures = await asyncio.to_thread(figures_of, things(labels, asked))
    start = request.query_params.get("start", "")
    spoken = Spoken(labels=labels, asked=asked, people=people)
    page = agreement_page(run, spoken, figures, int(start) if is_number(start) else 0)
    return respond(request, "agreement.html", replace(page, may_write=asking.may(Scope.WRITE)))


async def file(request: Request) -> Response:
    """What `howsure judge calibrate` reads."""
    run, labels = await _found(request)
    headers = {"Content-Disposition": f'attachment; filename="labels-{run.id[:8]}.jsonl"'}
    return Response(as_lines(labels), media_type="application/x-ndjson", headers=headers)


async def measure(request: Request) -> Response:
    """The judge of the run, calibrated with its labels."""
    run, labels = await _found(request)
    await calibrated(host_of(request), run, labels)
    return RedirectResponse("/judges", 303)


def routes() -> list[Page]:
    return [
        Page("/label/{run_id}/agreement", show),
        Page("/label/{run_id}/labels.jsonl", file),
        Page("/label/{run_id}/calibrate", measure, Scope.WRITE, "POST"),
    ]
