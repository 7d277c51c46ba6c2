"""The page of one run: its pass rate with intervals, counts, gates, the failures that are most frequent over the whole
run, and its cases, failures first. The list of cases is in `run_cases.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.run_request import OFFLINE, RUN_PREFIX
from howsure.model.score import Grade
from howsure.model.summary import Summary
from howsure.policies.verdicts import CRITERIA, RUBRIC, deciding_grades
from howsure.reports.figures import Rate, pass_rate_of
from howsure.reports.html.run_head import LIVE, RunHead, head_fields
from howsure.reports.run_facts import asked_judge, judge_name
from howsure.reports.safe_text import one_line
from howsure.services.gate.gate import rule_on_gates
from howsure.store.browse import RunPageContent, RunPageQuery
from howsure.store.summaries import FailureCount
from howsure.web.pages import run_cases
from howsure.web.pages.run_actions import allowed_actions
from howsure.web.pages.run_cases import ALL, CaseFilter
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
    "not for deciding. Grade the same answers again with a judge that is a model."
)


class RunPage(RunHead, frozen=True, kw_only=True):
    id: str
    name: str
    state: str
    offline: str
    verdicts: Rate
    pins: tuple[tuple[str, str], ...]
    common: tuple[CommonFailure, ...]
    chips: tuple[run_cases.Facet, ...]
    facets: tuple[run_cases.FacetGroup, ...]
    chosen: CaseFilter
    cases: tuple[run_cases.CaseLine, ...]
    grid: run_cases.CheckGrid | None
    showing: str
    looked_through: run_cases.SearchedRange | None
    further: str
    back: str
    cleared: tuple[tuple[str, str, str], ...]
    deeds: tuple[str, ...]
    judge: str
    judged: str
    agent_id: str
    has_rubric: bool
    earlier: str
    is_live: bool
    address: str
    error: str


def run_page(
    summary: Summary, content: RunPageContent, chosen: CaseFilter, after: int | None, actions: Sequence[str] = ()
) -> RunPage:
    """`actions`: what the caller may do with the run."""
    run, listed, common = summary.run, content.listed, common_failures(content)
    judge, judged = who_judged(summary)
    return RunPage(
        **head_fields(summary),
        id=run.id,
        name=run.name or run.id[:8],
        state=run.state.value.replace("_", " "),
        offline=WHAT_OFFLINE_MEANS if run.pins.request.judge == OFFLINE and asked_judge(summary) else "",
        verdicts=pass_rate_of(run.counts),
        pins=tuple(_pins(summary)),
        common=common,
        chips=run_cases.chips(run, chosen, content.flaky),
        facets=run_cases.facets(summary, content.tags, chosen),
        chosen=chosen,
        cases=run_cases.case_lines(run, content.results, chosen, content.tries),
        grid=run_cases.check_grid(run, content.results, chosen),
        showing=run_cases.describe_page(listed, run.counts.completed),
        looked_through=run_cases.searched_range(listed),
        further=run_cases.next_page_address(run.id, chosen, listed),
        back=run_cases.previous_page_address(run.id, chosen, listed),
        cleared=tuple(
            (run_cases.WORDS[name], words, f"/runs/{run.id}?{chosen.query(**{name: ''})}#cases")
            for name, words in _in_words(chosen, common)
        ),
        deeds=tuple(actions),
        judge=judge,
        judged=judged,
        agent_id=run.pins.agent_key,
        has_rubric=run.pins.rubric is not None,
        earlier=regraded_run_id(run),
        is_live=run.state in LIVE,
        address=run_cases.page_address(run.id, chosen, after),
        error=run.error,
    )


def who_judged(summary: Summary) -> tuple[str, str]:
    """In a word, and in a sentence."""
    pins = summary.run.pins
    if pins.imported:
        return pins.imported.tool, f"Grades are those that {pins.imported.tool} gave. Nobody judged anything here."
    if not pins.request.judge or not asked_judge(summary):
        return "nobody", "Nobody: every grade was computed by program."
    if pins.request.judge == OFFLINE:
        return OFFLINE, WHAT_OFFLINE_MEANS
    name = judge_name(pins)
    return name, f"Grades that need a judge were given by `{name}`; all others by program."


def _in_words(chosen: CaseFilter, common: Sequence[CommonFailure]) -> list[tuple[str, str]]:
    """The filters that are set; a criterion or rule by its text, where the page tells it."""
    texts = {each.part_id: each.text for each in common if each.part_id}
    values = [(name, texts.get(value, value) if name == "part" else value) for name, value in chosen.active]
    return [(name, run_cases.UNNAMED if value == "-" else value) for name, value in values]


def regraded_run_id(run: Run) -> str:
    """The id of the run whose answers this one grades again; "" where it grades its own."""
    graded = [pin.path.removeprefix(RUN_PREFIX) for pin in run.pins.responses if pin.path.startswith(RUN_PREFIX)]
    return graded[0] if graded else ""


def _pins(summary: Summary) -> list[tuple[str, str]]:
    pins = summary.run.pins
    files = [
        (f"dataset {pin.name or PurePath(pin.path).name}", pin.sha256) for pin in (*pins.datasets, *pins.responses)
    ]
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
    kind: str = ""
    grader: str
    text: str
    severity: str = ""
    component: str = ""
    number: int
    query: str
    part_id: str = ""
    decides: bool = True


def common_failures(content: RunPageContent) -> tuple[CommonFailure, ...]:
    """The failures over the whole run: the counts come from the store, the words from one result of each."""
    described = describe_failures(_shown_failures(content.failing), content.examples)
    return (*described[:FAILURES_SHOWN], *errored_failures(content.errored, content.run.counts.errored))


def example_positions(counts: Sequence[FailureCount]) -> set[int]:
    return {position for each in _shown_failures(counts) for position in (each.first, each.last)}


def _shown_failures(counts: Sequence[FailureCount]) -> list[FailureCount]:
    return without_summed_graders(counts)[:FAILURES_READ]


def without_summed_graders(counts: Sequence[FailureCount]) -> list[FailureCount]:
    """Without the graders whose criteria or rules decide, and are counted themselves. A weighted sum decides itself."""
    in_parts = {each.name for each in counts if each.part_id is not None} & {CRITERIA, RUBRIC}
    return [each for each in counts if each.part_id is not None or each.name not in in_parts]


def describe_failures(counts: Sequence[FailureCount], examples: Mapping[int, Result]) -> list[CommonFailure]:
    """Failures in words. Where an id stands for a different criterion in each case, the failures of that grader are
    counted together."""
    groups: dict[tuple[str, str, str], list[FailureCount]] = {}
    for each in counts:
        grades = [_find_grade(examples.get(position), each) for position in (each.first, each.last)]
        texts = {grade.part.text for grade in grades if grade and grade.part}
        if grades[0] is not None:
            part_id = "" if len(texts) > 1 else each.part_id or ""
            groups.setdefault((each.name, each.outcome, part_id), []).append(each)
    failures = [_common_failure(own, part_id, examples) for (_, _, part_id), own in groups.items()]
    return sorted(failures, key=lambda each: (not each.decides, -each.number, SEVERITIES.index(each.severity)))


def _common_failure(counts: Sequence[FailureCount], part_id: str, examples: Mapping[int, Result]) -> CommonFailure:
    count, example = counts[0], examples[counts[0].first]
    grade = _find_grade(example, count)
    part = grade.part if grade and part_id else None
    text = "" if count.part_id is None else "criteria of single cases"
    return CommonFailure(
        mark=MARKS[count.outcome],
        kind=KINDS.get(count.name, ""),
        grader=one_line(count.name, MAX_TEXT),
        text=one_line(part.text or part.id, MAX_TEXT) if part else text,
        severity=part.severity.value if part and part.severity else "",
        component=one_line(part.scope, MAX_TEXT) if part else "",
        number=sum(each.number for each in counts),
        query=CaseFilter(verdict=ALL, grader=count.name, part=part_id).query(),
        part_id=part_id,
        decides=any(each is grade for each in deciding_grades(example)),
    )


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
            grader=kind,
            text=message + more,
            number=number,
            query=CaseFilter(verdict="errored").query(),
        )
        for (kind, message), number in kinds.most_common(4)
    ]


async def show(request: Request) -> Response:
    caller, store, run_views = caller_of(request), host_of(request).store, run_views_of(request)
    chosen = run_cases.read_case_filter(request.query_params)
    query = RunPageQuery(
        filter=lambda run: chosen.result_filter(run.counts.failed),
        examples=lambda failing: sorted(example_positions(failing)),
        after=run_cases.read_start(decode_cursor(request.query_params.get("after", ""))),
        limit=run_cases.LIMIT,
        errored=ERRORED_READ,
    )
    summary, content = await run_views.page_content(
        request.path_params["run_id"], query, caller.within, (chosen, query.after)
    )
    # Gates are not decided before the end: they would be read at another moment than the counts.
    ruled = summary if summary.run.state in LIVE else await rule_on_gates(store, summary)
    actions = await allowed_actions(store, summary.run, caller)
    return respond(request, "run.html", run_page(ruled, content, chosen, query.after, actions))


ROUTES = [PageRoute("/runs/{run_id}", show)]
