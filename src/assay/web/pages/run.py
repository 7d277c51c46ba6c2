"""One run: is it good enough, and what goes wrong? The sentence, both scores with their doubt, counts that add up, the
failures that many cases share, and the cases, failures first."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from assay.errors import NotFound
from assay.model.job import Wish
from assay.model.result import Result
from assay.model.run import RunState
from assay.model.summary import Summary
from assay.model.verdict import Verdict
from assay.reports.figures import Rate, counted
from assay.reports.header import facts, notes, warning
from assay.reports.html.entries import Entry, entry, wrong
from assay.reports.html.saying import check_lines, counted_verdicts, grader_line, meaning
from assay.reports.sentence import rate_of, sentence
from assay.services.gating import gated
from assay.services.hosting import steering
from assay.store.service.keys import Scope
from assay.web.rendering import respond
from assay.web.sharing import Page, caller_of, gallery_of, host_of, place_in, place_of

LIMIT = 50
COMMON = 12
ALL = "all"
DEEDS = ("cancel", "pause", "resume", "retry", "delete")


class CaseLine(Struct, frozen=True):
    """One result in the grid."""

    entry: Entry
    address: str


class CommonFailure(Struct, frozen=True, kw_only=True):
    """What went wrong in several of the results that are shown."""

    mark: str
    grader: str
    text: str
    severity: str
    number: int


class Check(Struct, frozen=True, kw_only=True):
    """A score of the run: criteria, rules, or the rules of one component."""

    name: str
    rate: Rate
    scoped: bool
    not_judged: int


class GraderLine(Struct, frozen=True, kw_only=True):
    """A grader, over all cases."""

    name: str
    rate: Rate
    mean: str
    needed: str
    n: int
    absent: str


class Chip(Struct, frozen=True):
    """A filter that can be chosen."""

    word: str
    number: int
    address: str
    chosen: bool


class RunPage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    id: str
    name: str
    state: str
    answer: str
    meaning: str
    warning: str
    verdicts: Rate
    counts: tuple[tuple[str, int, float, float], ...]
    total: int
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    checks: tuple[Check, ...]
    graders: tuple[GraderLine, ...]
    common: tuple[CommonFailure, ...]
    chips: tuple[Chip, ...]
    cases: tuple[CaseLine, ...]
    showing: str
    further: str
    deeds: tuple[str, ...]
    is_live: bool
    error: str


class Showing(Struct, frozen=True, kw_only=True):
    """Which results are shown, and where the list goes on."""

    results: Sequence[Result]
    verdict: str
    further: str = ""


def run_page(summary: Summary, showing: Showing, may_steer: bool = True) -> RunPage:
    run = summary.run
    graders = [grader_line(grader) for grader in summary.graders]
    return RunPage(
        id=run.id,
        name=run.name or run.id[:8],
        state=run.state.value.replace("_", " "),
        answer=sentence(summary),
        meaning=meaning(summary),
        warning=warning(summary),
        verdicts=rate_of(run.counts),
        counts=tuple(counted_verdicts(run.counts)),
        total=run.counts.total,
        facts=tuple(facts(run)),
        notes=tuple(notes(summary)),
        checks=tuple(
            Check(name=name, rate=rate, scoped=scoped, not_judged=tally.errored + tally.skipped)
            for name, tally, rate, scoped in check_lines(summary)
        ),
        graders=tuple(
            GraderLine(
                name=str(line["name"]),
                rate=Rate(grader.passed, grader.passed + grader.failed),
                mean=str(line["mean"]),
                needed=str(line["needed"]),
                n=grader.scored,
                absent=str(line["absent"]),
            )
            for grader, line in zip(summary.graders, graders, strict=True)
        ),
        common=common_failures(showing.results),
        chips=_chips(summary, showing.verdict),
        cases=tuple(CaseLine(entry(result), address_of(run.id, result)) for result in showing.results),
        showing=f"showing {len(showing.results)} of {counted(run.counts.completed, 'result')}",
        further=showing.further,
        deeds=_deeds(run.state, run.counts.errored) if may_steer else (),
        is_live=run.state in (RunState.PENDING, RunState.RUNNING),
        error=run.error,
    )


def address_of(run_id: str, result: Result) -> str:
    query = {name: value for name, value in (("candidate", result.candidate), ("repeat", result.repeat)) if value}
    return f"/runs/{run_id}/cases/{result.position}?{urlencode(query)}"


def common_failures(results: Sequence[Result]) -> tuple[CommonFailure, ...]:
    """What failed most among these results."""
    numbers: dict[tuple[str, str, str, str], int] = {}
    for result in results:
        for found in wrong(result):
            key = (found.mark, found.grader, found.text, found.severity)
            numbers[key] = numbers.get(key, 0) + 1
    ranked = sorted(numbers.items(), key=lambda each: -each[1])[:COMMON]
    return tuple(
        CommonFailure(mark=mark, grader=grader, text=text, severity=severity, number=number)
        for (mark, grader, text, severity), number in ranked
    )


def _chips(summary: Summary, chosen: str) -> tuple[Chip, ...]:
    counts, address = summary.run.counts, f"/runs/{summary.run.id}"
    numbers = {verdict.value: getattr(counts, verdict.value) for verdict in Verdict}
    chips = [Chip(word, number, f"{address}?verdict={word}", chosen == word) for word, number in numbers.items()]
    return (*chips, Chip(ALL, counts.completed, f"{address}?verdict={ALL}", chosen == ALL))


def _deeds(state: RunState, errored: int) -> tuple[str, ...]:
    """What can be done with a run in this state."""
    if state in (RunState.PENDING, RunState.RUNNING):
        return ("pause", "cancel")
    again = () if state is RunState.COMPLETED else ("resume",)
    return (*again, *(("retry",) if errored else ()), "delete")


async def show(request: Request) -> Response:
    asking, store, query = caller_of(request), host_of(request).store, request.query_params
    summary = await gallery_of(request).summary(request.path_params["run_id"], asking.within)
    verdict = _verdict(summary, query.get("verdict", ""))
    place = place_in(query.get("after", ""))
    after = int(place) if place and place.isdecimal() else None
    wanted = None if verdict == ALL else Verdict(verdict)
    results = await store.results(summary.run.id, after=after, limit=LIMIT, verdict=wanted)
    further = ""
    if len(results) == LIMIT:
        more = urlencode({"verdict": verdict, "after": place_of(str(results[-1].position))})
        further = f"/runs/{summary.run.id}?{more}"
    showing = Showing(results=results, verdict=verdict, further=further)
    return respond(request, "run.html", run_page(await gated(store, summary), showing, asking.may(Scope.RUN)))


def _verdict(summary: Summary, asked: str) -> str:
    """What was asked for; else the failures, where there are some."""
    if asked == ALL or asked in [verdict.value for verdict in Verdict]:
        return asked
    return Verdict.FAILED.value if summary.run.counts.failed else ALL


async def steer(request: Request) -> Response:
    """Cancel, pause, resume, retry or delete, and back to the run."""
    host, within = host_of(request), caller_of(request).within
    run_id, deed = request.path_params["run_id"], request.path_params["deed"]
    match deed:
        case "cancel":
            await steering.stop(host, run_id, Wish.CANCEL, within)
        case "pause":
            await steering.stop(host, run_id, Wish.PAUSE, within)
        case "resume":
            await steering.go_on(host, run_id, within)
        case "retry":
            await steering.retry(host, run_id, within)
        case "delete":
            await steering.delete(host, run_id, within)
            return RedirectResponse("/", 303)
        case _:
            raise NotFound(f"{deed!r} is nothing that can be done with a run: {', '.join(DEEDS)} are")
    return RedirectResponse(f"/runs/{run_id}", 303)


def routes() -> list[Page]:
    return [Page("/runs/{run_id}", show), Page("/runs/{run_id}/{deed}", steer, Scope.RUN, "POST")]
