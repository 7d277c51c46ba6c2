"""One run: is it good enough, and what goes wrong? The sentence, the scores with their doubt, counts that add up, what
fails most over the whole run, and the cases, failures first."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.gate import Outcome
from howsure.model.run import Run, RunState
from howsure.model.summary import Summary
from howsure.reports.figures import Rate
from howsure.reports.gates import LOOKS, conclusion, gate_name
from howsure.reports.header import OFFLINE, facts, judged_by, notes, warning
from howsure.reports.html.saying import check_lines, counted_verdicts, grader_line, meaning
from howsure.reports.sentence import rate_of, sentence
from howsure.services.gating import gated
from howsure.services.runs import EARLIER_RUN
from howsure.web.filtering import Filter, filter_in
from howsure.web.pages.run_cases import CaseLine, Grid, case_lines, grid_of
from howsure.web.pages.run_facets import Facet, Facets, chips, facets, facets_of
from howsure.web.pages.run_failures import CommonFailure, common_failures
from howsure.web.pages.run_shown import LIMIT, LookedThrough, Shown, behind, further, looked_through, showing
from howsure.web.pages.steering import deeds_of
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, gallery_of, host_of, place_in

WHAT_OFFLINE_MEANS = (
    "No model was asked: words were compared and counted. Good for trying things out and for catching gross failures; "
    "not for deciding. Give a judge (--judge provider:model) and grade the same answers again."
)


class Check(Struct, frozen=True, kw_only=True):
    """A score of the run: criteria, rules, or the rules of one component."""

    name: str
    rate: Rate
    scoped: bool
    not_judged: int


class GraderLine(Struct, frozen=True, kw_only=True):
    """A grader, over all cases."""

    name: str
    candidate: str
    rate: Rate
    mean: str
    needed: str
    n: int
    absent: str


class Gate(Struct, frozen=True, kw_only=True):
    """What came of one gate."""

    name: str
    outcome: str
    looks: str
    reason: str


class RunPage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    id: str
    name: str
    state: str
    answer: str
    meaning: str
    warning: str
    offline: str
    verdicts: Rate
    counts: tuple[tuple[str, int, float, float], ...]
    total: int
    facts: tuple[tuple[str, str], ...]
    pins: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    gates: tuple[Gate, ...]
    gates_said: str
    candidates: tuple[tuple[str, Rate], ...]
    checks: tuple[Check, ...]
    graders: tuple[GraderLine, ...]
    common: tuple[CommonFailure, ...]
    chips: tuple[Facet, ...]
    facets: tuple[Facets, ...]
    chosen: Filter
    cases: tuple[CaseLine, ...]
    grid: Grid | None
    showing: str
    looked_through: LookedThrough | None
    further: str
    cleared: tuple[tuple[str, str, str], ...]
    deeds: tuple[str, ...]
    judge: str
    agent_id: str
    has_rubric: bool
    earlier: str
    is_live: bool
    error: str


def run_page(
    summary: Summary,
    shown: Shown,
    *,
    common: Sequence[CommonFailure] = (),
    offered: Sequence[Facets] = (),
    flaky: int = 0,
    may: Sequence[str] = (),
) -> RunPage:
    """`may`: what whoever looks may do with it."""
    run = summary.run
    return RunPage(
        id=run.id,
        name=run.name or run.id[:8],
        state=run.state.value.replace("_", " "),
        answer=sentence(summary),
        meaning=meaning(summary),
        warning=warning(summary),
        offline=WHAT_OFFLINE_MEANS if run.pins.judge == OFFLINE else "",
        verdicts=rate_of(run.counts),
        counts=tuple(counted_verdicts(run.counts)),
        total=run.counts.total,
        facts=tuple((name, value) for name, value in facts(run) if name != "error"),
        pins=tuple(_pins(summary)),
        notes=tuple(notes(summary)),
        gates=tuple(_gates(summary)),
        gates_said=conclusion(summary.gates) if summary.gates else "",
        candidates=tuple((name, rate_of(counts)) for name, counts in summary.candidates.items()),
        checks=tuple(_checks(summary)),
        graders=tuple(_graders(summary)),
        common=tuple(common),
        chips=chips(run, shown.chosen, flaky),
        facets=tuple(offered),
        chosen=shown.chosen,
        cases=case_lines(run, shown.results, shown.chosen, shown.tries),
        grid=grid_of(run, shown.results, shown.chosen),
        showing=showing(shown, run.counts.completed),
        looked_through=looked_through(shown.listed),
        further=further(run.id, shown),
        cleared=_cleared(run, shown.chosen),
        deeds=tuple(may),
        judge=judged_by(run.pins),
        agent_id=run.pins.agent_key,
        has_rubric=run.pins.rubric is not None,
        earlier=earlier(run),
        is_live=run.state in (RunState.PENDING, RunState.RUNNING),
        error=run.error,
    )


def earlier(run: Run) -> str:
    """The id of the run whose answers this one grades again; "" where it grades its own."""
    graded = [pin.path.removeprefix(EARLIER_RUN) for pin in run.pins.responses if pin.path.startswith(EARLIER_RUN)]
    return graded[0] if graded else ""


def _cleared(run: Run, chosen: Filter) -> tuple[tuple[str, str, str], ...]:
    """Each filter, with the address that is without it."""
    return tuple((name, value, f"/runs/{run.id}?{chosen.query(**{name: ''})}#cases") for name, value in chosen.said)


def _checks(summary: Summary) -> list[Check]:
    return [
        Check(name=name, rate=rate, scoped=scoped, not_judged=tally.errored + tally.skipped)
        for name, tally, rate, scoped in check_lines(summary)
    ]


def _graders(summary: Summary) -> list[GraderLine]:
    told = [(grader, grader_line(grader)) for grader in summary.graders]
    return [
        GraderLine(
            name=grader.name,
            candidate=grader.candidate,
            rate=Rate(grader.passed, grader.passed + grader.failed),
            mean=str(line["mean"]),
            needed=str(line["needed"]),
            n=grader.scored,
            absent=str(line["absent"]),
        )
        for grader, line in told
    ]


def _gates(summary: Summary) -> list[Gate]:
    return [
        Gate(name=gate_name(each), outcome=each.outcome.value, looks=_looks(each.outcome), reason=each.reason)
        for each in summary.gates
    ]


def _looks(outcome: Outcome) -> str:
    """What cannot be told is doubt, not breakage."""
    return "doubtful" if outcome is Outcome.INCONCLUSIVE else LOOKS[outcome]


def _pins(summary: Summary) -> list[tuple[str, str]]:
    pins = summary.run.pins
    files = [(f"dataset {pin.path}", pin.sha256) for pin in (*pins.datasets, *pins.responses)]
    known = [
        ("run", summary.run.id),
        *files,
        ("target", pins.target_sha256),
        ("judge", pins.judge_sha256),
        ("judge prompts", pins.judge_prompts),
        ("rubric", pins.rubric_sha256),
        ("policy", pins.policy_sha256),
        ("simulator", pins.simulator_sha256),
        ("made by Howsure", pins.howsure_version),
    ]
    return [(name, value) for name, value in known if value]


async def show(request: Request) -> Response:
    asking, store, gallery = caller_of(request), host_of(request).store, gallery_of(request)
    summary = await gallery.summary(request.path_params["run_id"], asking.within)
    run, chosen = summary.run, filter_in(request.query_params)
    after = behind(place_in(request.query_params.get("after", "")))
    listed = await store.browsing.listed(run.id, chosen.chosen(run.counts.failed), after, LIMIT)
    results = await store.browsing.at(run.id, listed.positions)
    repeated = run.pins.repeat > 1
    tries = await store.browsing.tries(run.id, [each.case.id for each in results]) if repeated else {}
    shown = Shown(results=results, chosen=chosen, listed=listed, tries=tries)
    page = run_page(
        await gated(store, summary),
        shown,
        common=await common_failures(store, run, await gallery.failing(run.id)),
        offered=facets(await facets_of(store, summary), chosen),
        flaky=await store.browsing.flaky(run.id) if repeated else 0,
        may=await deeds_of(store, run, asking),
    )
    return respond(request, "run.html", page)


def routes() -> list[Page]:
    return [Page("/runs/{run_id}", show)]
