"""The page of one run: its pass rate with intervals, counts, gates, the failures that are most frequent over the whole
run, and its cases, failures first. The list of cases is in `run_cases.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.result import Result
from howsure.model.run import Run, RunState
from howsure.model.run_request import OFFLINE, RUN_PREFIX
from howsure.model.score import Grade
from howsure.model.summary import GateOutcome, GateRuling, GraderSummary, SliceCounts, Summary
from howsure.model.verdict import Verdict
from howsure.reports.figures import Rate, pass_rate_of
from howsure.reports.html.page import check_rows, grader_row, interval_in_words, verdict_segments
from howsure.reports.run_facts import (
    OUTCOME_CLASSES,
    asked_judge,
    gate_name,
    gates_conclusion,
    graders_by_name,
    judge_name,
    run_facts,
    run_notes,
    run_sentence,
    run_warning,
    slice_groups,
)
from howsure.reports.safe_text import one_line
from howsure.services.gate.gate import rule_on_gates
from howsure.store.store import Store
from howsure.store.summaries import FailureCount
from howsure.web.pages.run_actions import allowed_actions
from howsure.web.pages.run_cases import (
    ALL,
    LIMIT,
    CaseFilter,
    CaseLine,
    CaseListing,
    CheckGrid,
    Facet,
    FacetGroup,
    SearchedRange,
    case_lines,
    check_grid,
    chips,
    describe_page,
    facets,
    next_page_address,
    read_case_filter,
    read_start,
    searched_range,
)
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, decode_cursor, host_of, run_views_of

FAILURES_SHOWN = 10
FAILURES_READ = 14
"""More than are shown: some are counted together."""
ERRORED_READ = 20
MAX_TEXT = 200
KINDS = {"rubric": "RUBRIC", "criteria": "CRITERIA", "weighted_criteria": "CRITERIA"}
SEVERITIES = ("high", "medium", "low", "")
MARKS = {"failed": "failed", "error": "errored"}
WHAT_OFFLINE_MEANS = (
    "No model was asked: words were compared and counted. Good for trying things out and for catching gross failures; "
    "not for deciding. Give a judge (--judge provider:model) and grade the same answers again."
)


class ScoreLine(Struct, frozen=True, kw_only=True):
    """A score of the run: criteria, rules, or the rules of one component."""

    name: str
    rate: Rate
    scoped: bool
    not_judged: int


class GraderLine(Struct, frozen=True, kw_only=True):
    """A grader over all cases."""

    name: str
    candidate: str
    rate: Rate
    mean: str
    needed: str
    n: int
    absent: str


class GateLine(Struct, frozen=True, kw_only=True):
    name: str
    outcome: str
    looks: str
    reason: str


class RunPage(Struct, frozen=True, kw_only=True):
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
    gates: tuple[GateLine, ...]
    gates_said: str
    candidates: tuple[tuple[str, Rate], ...]
    checks: tuple[ScoreLine, ...]
    graders: tuple[GraderLine, ...]
    slices: tuple[tuple[str, tuple[tuple[SliceCounts, Rate], ...]], ...]
    common: tuple[CommonFailure, ...]
    chips: tuple[Facet, ...]
    facets: tuple[FacetGroup, ...]
    chosen: CaseFilter
    cases: tuple[CaseLine, ...]
    grid: CheckGrid | None
    showing: str
    looked_through: SearchedRange | None
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
    shown: CaseListing,
    *,
    common: Sequence[CommonFailure] = (),
    facet_groups: Sequence[FacetGroup] = (),
    flaky: int = 0,
    actions: Sequence[str] = (),
) -> RunPage:
    """`actions`: what the caller may do with the run."""
    run = summary.run
    return RunPage(
        id=run.id,
        name=run.name or run.id[:8],
        state=run.state.value.replace("_", " "),
        answer=run_sentence(summary),
        meaning=interval_in_words(summary),
        warning=run_warning(summary),
        offline=WHAT_OFFLINE_MEANS if run.pins.request.judge == OFFLINE and asked_judge(summary) else "",
        verdicts=pass_rate_of(run.counts),
        counts=tuple(verdict_segments(run.counts)),
        total=run.counts.total,
        facts=tuple((name, value) for name, value in run_facts(run) if name != "error"),
        pins=tuple(_pins(summary)),
        notes=tuple(run_notes(summary)),
        gates=tuple(_gate_line(gate) for gate in summary.gates),
        gates_said=gates_conclusion(summary.gates) if summary.gates else "",
        candidates=tuple((name, pass_rate_of(counts)) for name, counts in summary.candidates.items()),
        checks=tuple(
            ScoreLine(name=name, rate=rate, scoped=scoped, not_judged=tally.errored + tally.skipped)
            for name, tally, rate, scoped in check_rows(summary)
        ),
        graders=tuple(_grader_line(grader) for grader in graders_by_name(summary)),
        slices=tuple(
            (label, tuple((each, pass_rate_of(each.counts)) for each in own)) for label, own in slice_groups(summary)
        ),
        common=tuple(common),
        chips=chips(run, shown.chosen, flaky),
        facets=tuple(facet_groups),
        chosen=shown.chosen,
        cases=case_lines(run, shown.results, shown.chosen, shown.tries),
        grid=check_grid(run, shown.results, shown.chosen),
        showing=describe_page(shown, run.counts.completed),
        looked_through=searched_range(shown.listed),
        further=next_page_address(run.id, shown),
        cleared=tuple(
            (name, value, f"/runs/{run.id}?{shown.chosen.query(**{name: ''})}#cases")
            for name, value in shown.chosen.active
        ),
        deeds=tuple(actions),
        judge=judge_name(run.pins),
        agent_id=run.pins.agent_key,
        has_rubric=run.pins.rubric is not None,
        earlier=regraded_run_id(run),
        is_live=run.state in (RunState.PENDING, RunState.RUNNING),
        error=run.error,
    )


def regraded_run_id(run: Run) -> str:
    """The id of the run whose answers this one grades again; "" where it grades its own."""
    graded = [pin.path.removeprefix(RUN_PREFIX) for pin in run.pins.responses if pin.path.startswith(RUN_PREFIX)]
    return graded[0] if graded else ""


def _grader_line(grader: GraderSummary) -> GraderLine:
    row = grader_row(grader)
    return GraderLine(
        name=grader.name,
        candidate=grader.candidate,
        rate=pass_rate_of(grader),
        mean=str(row["mean"]),
        needed=str(row["needed"]),
        n=grader.scored,
        absent=str(row["absent"]),
    )


def _gate_line(gate: GateRuling) -> GateLine:
    # Inconclusive is doubt, not an error.
    looks = "doubtful" if gate.outcome is GateOutcome.INCONCLUSIVE else OUTCOME_CLASSES[gate.outcome]
    return GateLine(name=gate_name(gate), outcome=gate.outcome.value, looks=looks, reason=gate.reason)


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


class CommonFailure(Struct, frozen=True, kw_only=True):
    """A failure that occurs in `number` results; `query` is the filter that shows them."""

    mark: str
    kind: str
    grader: str
    text: str
    severity: str
    component: str
    number: int
    query: str


async def common_failures(store: Store, run: Run, counts: Sequence[FailureCount]) -> tuple[CommonFailure, ...]:
    """The failures over the whole run: the counts come from the store, the words from one result of each."""
    shown = without_summed_graders(counts)[:FAILURES_READ]
    positions = sorted({position for each in shown for position in (each.first, each.last)})
    examples = {result.position: result for result in await store.browse.results_at(run.id, positions)}
    errored = await store.results(run.id, limit=ERRORED_READ, verdict=Verdict.ERRORED) if run.counts.errored else []
    return (*describe_failures(shown, examples)[:FAILURES_SHOWN], *errored_failures(errored, run.counts.errored))


def without_summed_graders(counts: Sequence[FailureCount]) -> list[FailureCount]:
    """Without the graders whose criteria or rules are counted themselves."""
    in_parts = {each.name for each in counts if each.part_id is not None}
    return [each for each in counts if each.part_id is not None or each.name not in in_parts]


def describe_failures(counts: Sequence[FailureCount], examples: Mapping[int, Result]) -> list[CommonFailure]:
    """Failures in words. Where an id stands for a different criterion in each case, the failures of that grader are
    counted together."""
    failures: list[CommonFailure] = []
    of_single_cases: Counter[tuple[str, str]] = Counter()
    for each in counts:
        first, last = (_find_grade(examples.get(position), each) for position in (each.first, each.last))
        if first is None:
            continue
        texts = {grade.part.text if grade.part else grade.name for grade in (first, last or first)}
        if each.part_id is not None and len(texts) > 1:
            of_single_cases[each.name, each.outcome] += each.number
        else:
            part = first.part
            failures.append(
                CommonFailure(
                    mark=MARKS[each.outcome],
                    kind=KINDS.get(each.name, ""),
                    grader=one_line(each.name, MAX_TEXT),
                    text=one_line(part.text or part.id, MAX_TEXT) if part else "",
                    severity=part.severity.value if part and part.severity else "",
                    component=one_line(part.scope, MAX_TEXT) if part else "",
                    number=each.number,
                    query=CaseFilter(verdict=ALL, grader=each.name, part=each.part_id or "").query(),
                )
            )
    for (name, outcome), number in of_single_cases.items():
        failures.append(
            CommonFailure(
                mark=MARKS[outcome],
                kind=KINDS.get(name, ""),
                grader=one_line(name, MAX_TEXT),
                text="criteria of single cases",
                severity="",
                component="",
                number=number,
                query=CaseFilter(verdict=ALL, grader=name).query(),
            )
        )
    return sorted(failures, key=lambda each: (-each.number, SEVERITIES.index(each.severity)))


def _find_grade(result: Result | None, count: FailureCount) -> Grade | None:
    own = [grade for grade in result.grades if grade.name == count.name] if result else []
    return next((grade for grade in own if (grade.part.id if grade.part else None) == count.part_id), None)


def errored_failures(results: Sequence[Result], errored: int) -> list[CommonFailure]:
    """Errors of the target or of a grader, most frequent first."""
    kinds = Counter(
        (one_line(failure.kind, MAX_TEXT), one_line(failure.message, MAX_TEXT))
        for result in results
        for failure in result.failures
    )
    more = "" if errored <= len(results) else f" (of the first {len(results)} that errored)"
    return [
        CommonFailure(
            mark="errored",
            kind="",
            grader=kind,
            text=message + more,
            severity="",
            component="",
            number=number,
            query=CaseFilter(verdict="errored").query(),
        )
        for (kind, message), number in kinds.most_common(4)
    ]


async def show(request: Request) -> Response:
    caller, store, run_views = caller_of(request), host_of(request).store, run_views_of(request)
    summary = await run_views.summary(request.path_params["run_id"], caller.within)
    run, chosen = summary.run, read_case_filter(request.query_params)
    after = read_start(decode_cursor(request.query_params.get("after", "")))
    listed = await store.browse.result_page(run.id, chosen.result_filter(run.counts.failed), after, LIMIT)
    results = await store.browse.results_at(run.id, listed.positions)
    repeated = run.pins.request.repeat > 1
    tries = await store.browse.repeat_verdicts(run.id, [each.case.id for each in results]) if repeated else {}
    page = run_page(
        await rule_on_gates(store, summary),
        CaseListing(results=results, chosen=chosen, listed=listed, tries=tries),
        common=await common_failures(store, run, await run_views.failing(run.id)),
        facet_groups=facets(summary, await store.browse.tag_counts(run), chosen),
        flaky=await store.browse.count_flaky(run.id) if repeated else 0,
        actions=await allowed_actions(store, run, caller),
    )
    return respond(request, "run.html", page)


ROUTES = [PageRoute("/runs/{run_id}", show)]
