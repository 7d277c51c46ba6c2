"""The list of runs: those in progress first, then the newest, each with its pass rates, intervals and counts. Every
filter is part of the address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import asdict, replace
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.model.run import Counts, ModelSpending, RunState
from howsure.model.summary import Summary
from howsure.reports.figures import NOTHING, Rate, format_dollars, pass_rate_of, pluralize, short_time
from howsure.reports.run_facts import answer_time, answers_cost
from howsure.reports.safe_text import short_case_id
from howsure.services.host.document_files import is_reference, read_reference
from howsure.services.host.roles import Permission
from howsure.services.host.run_views import DocumentNames
from howsure.store.browse import RunPreview
from howsure.store.store import Store
from howsure.web.pages.run_actions import available_actions
from howsure.web.pages.run_cases import Facet
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, decode_cursor, encode_cursor, host_of, run_views_of

LIMIT = 12
MAX_CACHED = 5000
MAX_CHOICES = 100
"""How many agents and test sets a filter lists; others can be named in the address."""
LIVE = (RunState.RUNNING, RunState.PENDING)
BROKEN = (RunState.FAILED, RunState.INTERRUPTED, RunState.OUT_OF_BUDGET)


class RunLine(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    agent: str
    agent_id: str
    model: str
    cases: str
    rubric: str
    verdicts: Rate
    criteria: Rate | None
    rules: Rate | None
    counts: Counts
    cost: str
    took: str
    created: str
    state: str
    is_live: bool
    deeds: tuple[str, ...]


def run_line(summary: Summary, names: DocumentNames, own: Container[str] = ()) -> RunLine:
    """`own`: the runs that the service queued, which it can stop and resume."""
    run, rubric = summary.run, summary.run.pins.rubric
    model = run.pins.agent.model if run.pins.agent else None
    return RunLine(
        id=run.id,
        name=run.name or run.id[:8],
        agent=run.pins.agent_name,
        agent_id=run.pins.agent_key,
        model=model.model if model else "",
        cases=_dataset_names(summary, names),
        rubric=f"{names.get(DocumentKind.RUBRIC, {}).get(rubric.id, rubric.name)} v{rubric.version}" if rubric else "",
        verdicts=pass_rate_of(run.counts),
        criteria=pass_rate_of(summary.criteria) if summary.criteria else None,
        rules=pass_rate_of(summary.rules) if summary.rules else None,
        counts=run.counts,
        cost=answers_cost(summary.answers) or cost(run.spent),
        took=answer_time(summary.answers),
        created=short_time(run.created_at),
        state=run.state.value.replace("_", " "),
        is_live=run.state in (RunState.PENDING, RunState.RUNNING),
        deeds=available_actions(run.state, run.counts.errored, run.id in own),
    )


def _dataset_names(summary: Summary, names: DocumentNames) -> str:
    """The test set with its version, or the files."""
    texts = []
    for pin in summary.run.pins.datasets:
        reference = read_reference(pin.path) if is_reference(pin.path) else None
        name = names.get(reference.kind, {}).get(reference.id, "") if reference else ""
        version = reference.version if reference else pin.version
        texts.append((name or pin.name or pin.path.rsplit("/", 1)[-1]) + (f" v{version}" if version else ""))
    return ", ".join(texts)


def cost(spent: ModelSpending | None) -> str:
    """A dash where the cost is unknown: calls without a price are not free."""
    if spent is None or (not spent.usd and spent.unpriced):
        return NOTHING
    return format_dollars(spent.usd)


class RunFilter(Struct, frozen=True, kw_only=True):
    """The filters, as in the address."""

    status: str = ""
    agent_id: str = ""
    test: str = ""
    q: str = ""

    def query(self, **changes: str) -> str:
        return urlencode({name: value for name, value in asdict(replace(self, **changes)).items() if value})

    @property
    def active(self) -> tuple[tuple[str, str], ...]:
        """The name, in words, and the value of every filter that is set."""
        words = {"status": "state", "agent_id": "agent", "test": "test set", "q": "search"}
        return tuple((words[name], value) for name, value in asdict(self).items() if value)


class RunsPage(Struct, frozen=True, kw_only=True):
    answer: str
    lines: tuple[RunLine, ...]
    wanted: RunFilter
    states: tuple[Facet, ...]
    agents: tuple[Facet, ...]
    tests: tuple[Facet, ...]
    total: int
    matching: int
    going: int
    further: str
    may_run: bool
    address: str
    cleared: tuple[tuple[str, str, str], ...]

    @property
    def is_live(self) -> bool:
        return bool(self.going) or any(line.is_live for line in self.lines)


@lru_cache(maxsize=MAX_CACHED)
def _test_names(tests: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The test sets of a run as an address names them: by the id of a document or the name of a file. Cached: every
    page needs the names for every run, and most runs have the same tests."""
    return tuple(
        read_reference(path).id if is_reference(path) else name or path.rsplit("/", 1)[-1] for path, name in tests
    )


def filter_runs(previews: Sequence[RunPreview], chosen: RunFilter) -> Sequence[RunPreview]:
    """The runs that match all filters except the search."""
    if not (chosen.status or chosen.agent_id or chosen.test):
        return previews
    return [
        preview
        for preview in previews
        if (not chosen.status or preview.state.value == chosen.status)
        and (not chosen.agent_id or preview.agent_id == chosen.agent_id)
        and (not chosen.test or chosen.test in _test_names(preview.tests))
    ]


@lru_cache(maxsize=MAX_CACHED)
def _search_text(*texts: str) -> str:
    """The text that a search looks through, cached."""
    return " ".join(texts).casefold()


def runs_after(previews: Sequence[RunPreview], after: str | None) -> Sequence[RunPreview]:
    """The runs after the run with this id; all where it is not in the list."""
    start = next((number for number, preview in enumerate(previews, 1) if preview.id == after), 0)
    return previews[start:]


def choices(
    counts: Iterable[tuple[str, int]], chosen: str, words: Mapping[str, str] | None = None
) -> tuple[Facet, ...]:
    """The values of a filter with their numbers of runs, the most frequent first."""
    known = words or {}
    numbers: Counter[str] = Counter()
    for value, number in counts:
        if value:
            numbers[value] += number
    if chosen:
        numbers.setdefault(chosen, 0)
    return tuple(
        Facet(value, known.get(value) or value, number, value == chosen)
        for value, number in numbers.most_common(MAX_CHOICES)
    )


class RunMatches(Struct, frozen=True):
    """All runs, those that match the search, and of these the ones that match all filters."""

    all_runs: Sequence[RunPreview]
    searched: Sequence[RunPreview]
    filtered: Sequence[RunPreview]


def match_runs(previews: Sequence[RunPreview], chosen: RunFilter) -> RunMatches:
    """The search looks through the name, id and agent of each run. Runs in progress come first."""
    searched, text = previews, chosen.q.casefold()
    if text:
        searched = [
            each for each in previews if text in _search_text(each.name, each.id, each.agent_id, each.agent_name)
        ]
    matching = filter_runs(searched, chosen)
    if live := [preview for preview in matching if preview.state in LIVE]:
        matching = [*live, *(preview for preview in matching if preview.state not in LIVE)]
    return RunMatches(previews, searched, matching)


def runs_page(
    runs: RunMatches,
    lines: Sequence[RunLine],
    chosen: RunFilter,
    *,
    words: Mapping[str, str] | None = None,
    further: str = "",
    may_run: bool = False,
) -> RunsPage:
    """`words`: what agents and documents are called, by their ids."""
    previews, searched, matching = runs.all_runs, runs.searched, runs.filtered
    # What each filter offers are the runs that match the other filters.
    states = [preview.state for preview in filter_runs(searched, replace(chosen, status=""))]
    agents = Counter([preview.agent_id for preview in filter_runs(searched, replace(chosen, agent_id=""))])
    tests = Counter([preview.tests for preview in filter_runs(searched, replace(chosen, test=""))])
    return RunsPage(
        answer=answer(previews, matching, chosen, words or {}),
        lines=tuple(lines),
        wanted=chosen,
        states=choices([(state.value, states.count(state)) for state in RunState if state in states], chosen.status),
        agents=choices(agents.items(), chosen.agent_id, words),
        tests=choices([(name, n) for names, n in tests.items() for name in _test_names(names)], chosen.test, words),
        total=len(previews),
        matching=len(matching),
        going=sum(preview.state in LIVE for preview in matching),
        further=further,
        may_run=may_run,
        address=f"/?{chosen.query()}" if chosen.active else "/",
        cleared=tuple(
            (word, (words or {}).get(value) or value, f"/?{chosen.query(**{name: ''})}")
            for (word, value), name in zip(chosen.active, [n for n, v in asdict(chosen).items() if v], strict=True)
        ),
    )


def answer(
    previews: Sequence[RunPreview], matching: Sequence[RunPreview], chosen: RunFilter, words: Mapping[str, str]
) -> str:
    if not previews:
        return "No runs yet."
    if not matching:
        return f"No run matches: {', '.join(f'{word} {words.get(value) or value}' for word, value in chosen.active)}."
    states = [preview.state for preview in matching]
    live, broken = (sum(map(states.count, kind)) for kind in (LIVE, BROKEN))
    count = (
        f"{len(matching):,} of {pluralize(len(previews), 'run')}" if chosen.active else pluralize(len(previews), "run")
    )
    going = f"{live:,} going on" if live else "none going on"
    return f"{count}, {going}{f', {broken:,} that did not reach the end' if broken else ''}."


async def filter_words(store: Store, previews: Sequence[RunPreview], within: AccessScope) -> dict[str, str]:
    """What the agents and documents of these runs are called, by their ids: as they are described, else as the newest
    run was told."""
    words = {each.agent_id: each.agent_name for each in reversed(previews) if each.agent_name}
    ids: dict[DocumentKind, set[str]] = {DocumentKind.AGENT: {each.agent_id for each in previews if each.agent_id}}
    for path in {path for each in previews for path, _ in each.tests if is_reference(path)}:
        reference = read_reference(path)
        ids.setdefault(reference.kind, set()).add(reference.id)
    for kind, keys in ids.items():
        words |= {key: name for key, name in (await store.documents.labels(kind, keys, within)).items() if name}
    # Equal names are told apart by their ids.
    shared = {name for name, number in Counter(words.values()).items() if number > 1}
    return {key: f"{name} ({short_case_id(key)})" if name in shared else name for key, name in words.items()}


async def show(request: Request) -> Response:
    caller, query, run_views = caller_of(request), request.query_params, run_views_of(request)
    previews: Sequence[RunPreview] = await request.app.state.run_previews(caller.within)
    chosen = read_run_filter(dict(query))
    runs = match_runs(previews, chosen)
    rest = runs_after(runs.filtered, decode_cursor(query.get("after", "")))
    shown = rest[:LIMIT]
    summaries = await run_views.brief_summaries([preview.id for preview in shown])
    names = await run_views.document_names(summaries, caller.within)
    fields = [(name, value) for name, value in asdict(chosen).items() if value]
    further = f"/?{urlencode([*fields, ('after', encode_cursor(shown[-1].id))])}" if len(rest) > LIMIT else ""
    own = await host_of(request).store.queue.own([preview.id for preview in shown])
    lines = [run_line(summary, names, own) for summary in summaries]
    # The previews may be two seconds old: what the sentence counts is what the lines say.
    states = {summary.run.id: summary.run.state for summary in summaries}
    runs = match_runs([replace(each, state=states.get(each.id, each.state)) for each in previews], chosen)
    words = await filter_words(host_of(request).store, previews, caller.within)
    page = runs_page(runs, lines, chosen, words=words, further=further, may_run=caller.may(Permission.RUN))
    return respond(request, "runs.html", page)


def read_run_filter(query: dict[str, str]) -> RunFilter:
    status = query.get("status", "")
    known = status in [state.value for state in RunState]
    return RunFilter(
        status=status if known else "",
        agent_id=query.get("agent_id", "")[:200],
        test=query.get("test", "")[:200],
        q=query.get("q", "")[:200],
    )


ROUTES = [PageRoute("/", show)]
