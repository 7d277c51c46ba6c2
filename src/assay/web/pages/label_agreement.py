"""How far people and the judge agree on a run, how far people agree among themselves, and where they do not: each
disagreement with both their words. The labels as a file, and a calibration made of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.model.label import HumanLabel, Opinion
from assay.model.run import Run
from assay.reports.figures import NOTHING, Rate, counted
from assay.reports.inert import inert, one_line
from assay.services.hosting.agreeing import Agreement, Together, agreement, together
from assay.services.hosting.labelling import About, Question, as_lines, calibrated, grades_about, judge_word, things
from assay.services.trust.pairing import Thing
from assay.store.service.keys import Scope
from assay.web.pages.label_words import FEWEST, WORDS
from assay.web.rendering import respond
from assay.web.sharing import Page, caller_of, host_of

MOST = 1_000
"""Labels that figures are drawn from: beyond, the newest count."""
LISTED = 200


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
    """What the page shows."""

    answer: str
    run_id: str
    run_name: str
    judge: str
    people: tuple[tuple[str, int], ...]
    other_opinions: int
    measures: tuple[Measure, ...]
    among: str
    disagreements: tuple[Disagreement, ...]
    further: int
    may_write: bool


class Figures(Struct, frozen=True, kw_only=True):
    """What was computed of the labels."""

    measures: tuple[Measure, ...] = ()
    among: str = ""


def agreement_page(
    run: Run, labels: Sequence[HumanLabel], asked: Mapping[About, Question], figures: Figures
) -> AgreementPage:
    unlike = disagreements(run, labels, asked)
    names = [label.labeler for label in labels]
    return AgreementPage(
        answer=_answer(labels, figures, len(unlike)),
        run_id=run.id,
        run_name=run.name or run.id[:8],
        judge=run.pins.judge or "nobody",
        people=tuple((inert(name), names.count(name)) for name in dict.fromkeys(names)),
        other_opinions=sum(label.opinion.passed is None for label in labels),
        measures=figures.measures,
        among=figures.among,
        disagreements=tuple(unlike[:LISTED]),
        further=max(0, len(unlike) - LISTED),
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


def disagreements(run: Run, labels: Sequence[HumanLabel], asked: Mapping[About, Question]) -> list[Disagreement]:
    together: dict[About, list[HumanLabel]] = {}
    for label in labels:
        together.setdefault(label.about, []).append(label)
    found = [(about, said, asked.get(about)) for about, said in together.items()]
    return [_disagreement(run, said, question) for _, said, question in found if question and _unlike(said, question)]


def _unlike(said: Sequence[HumanLabel], question: Question) -> bool:
    words = {label.opinion.value for label in said if label.opinion is not Opinion.CANNOT_TELL}
    judge = judge_word(question.grade)
    return len(words) > 1 or (judge != "none" and bool(words - {judge}))


def _disagreement(run: Run, said: Sequence[HumanLabel], question: Question) -> Disagreement:
    grade = question.grade
    return Disagreement(
        text=one_line(grade.part.text if grade.part else grade.name, 300),
        grader=inert(grade.name),
        case_id=inert(question.result.case.id),
        address=f"/runs/{run.id}/cases/{question.result.position}",
        people=tuple((inert(each.labeler), WORDS[each.opinion], one_line(each.why, 300)) for each in said),
        judge=judge_word(grade).replace("_", " ").replace("none", "no verdict"),
        reason=one_line(grade.reason, 400),
    )


def figures_of(about: Sequence[Thing]) -> Figures:
    """With intervals drawn anew from whole cases: some tens of milliseconds of work, so not for the loop."""
    graders = list(dict.fromkeys(thing.grader for thing in about))
    groups = [("all together", about)] if len(graders) != 1 else []
    groups += [(inert(name), [thing for thing in about if thing.grader == name]) for name in graders]
    several = together(about)
    return Figures(
        measures=tuple(_measure(name, agreement(some)) for name, some in groups if some),
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


async def _found(request: Request) -> tuple[Run, list[HumanLabel]]:
    asking, store = caller_of(request), host_of(request).store
    run = await store.run(request.path_params["run_id"], asking.within)
    return run, await store.labels.of_run(run.id, asking.within)


async def show(request: Request) -> Response:
    run, labels = await _found(request)
    asked = await grades_about(host_of(request).store, run, labels[-MOST:])
    figures = await asyncio.to_thread(figures_of, things(labels[-MOST:], asked))
    page = agreement_page(run, labels, asked, figures)
    writes = caller_of(request).may(Scope.WRITE)
    return respond(request, "agreement.html", replace(page, may_write=writes))


async def file(request: Request) -> Response:
    """What `assay judge calibrate` reads."""
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
