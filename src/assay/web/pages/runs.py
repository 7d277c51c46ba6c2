"""The runs: what changed, what needs me? Newest first, each with both its scores, how sure they are, and its counts."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from assay.model.document import DocumentKind
from assay.model.run import Counts, RunState, Spent
from assay.model.summary import Summary, Tally
from assay.reports.figures import Rate, counted, utc
from assay.services.hosting.materials import is_reference, read_reference
from assay.services.hosting.viewing import STATES, Names
from assay.store.queries.runs import cursor
from assay.web.rendering import respond
from assay.web.sharing import Page, caller_of, gallery_of, place_in, place_of

LIMIT = 50


class Line(Struct, frozen=True, kw_only=True):
    """One run."""

    id: str
    name: str
    agent: str
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


class RunsPage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    answer: str
    lines: tuple[Line, ...]
    agent_id: str
    status: str
    statuses: tuple[str, ...]
    further: str

    @property
    def is_filtered(self) -> bool:
        return bool(self.agent_id or self.status)

    @property
    def is_live(self) -> bool:
        return any(line.is_live for line in self.lines)


def runs_page(
    summaries: Sequence[Summary], names: Names, *, agent_id: str = "", status: str = "", further: str = ""
) -> RunsPage:
    lines = tuple(_line(summary, names) for summary in summaries)
    return RunsPage(
        answer=_answer(lines, bool(agent_id or status), bool(further)),
        lines=lines,
        agent_id=agent_id,
        status=status,
        statuses=tuple(STATES),
        further=further,
    )


def _answer(lines: Sequence[Line], filtered: bool, more: bool) -> str:
    if not lines:
        return "No run is like that." if filtered else "No runs yet."
    live = sum(line.is_live for line in lines)
    broken = sum(line.state in ("failed", "interrupted", "out of budget") for line in lines)
    told = counted(len(lines), "run") + (" and more" if more else "")
    going = f", {live} going on" if live else ", none going on"
    return f"{told}{going}{f', {broken} that did not reach the end' if broken else ''}."


def _line(summary: Summary, names: Names) -> Line:
    run = summary.run
    model = run.pins.agent.model if run.pins.agent else None
    return Line(
        id=run.id,
        name=run.name or run.id[:8],
        agent=(run.pins.agent.name if run.pins.agent else "") or run.pins.agent_key,
        model=model.model if model else "",
        cases=_cases(summary, names),
        rubric=_rubric(summary, names),
        verdicts=Rate(run.counts.passed, run.counts.passed + run.counts.failed),
        criteria=_rate(summary.criteria),
        rules=_rate(summary.rules),
        counts=run.counts,
        cost=_cost(run.spent),
        took=_took(summary),
        created=(utc(run.created_at) or "")[:16].replace("T", " "),
        state=run.state.value.replace("_", " "),
        is_live=run.state in (RunState.PENDING, RunState.RUNNING),
    )


def _rate(tally: Tally | None) -> Rate | None:
    return Rate(tally.passed, tally.passed + tally.failed) if tally else None


def _cases(summary: Summary, names: Names) -> str:
    """The test set with its version, or the files."""
    told = []
    for pin in summary.run.pins.datasets:
        kept = read_reference(pin.path) if is_reference(pin.path) else None
        name = names.get(kept.kind, {}).get(kept.id, "") if kept else ""
        version = kept.version if kept else pin.version
        told.append((name or pin.name or pin.path.rsplit("/", 1)[-1]) + (f" v{version}" if version else ""))
    return ", ".join(told)


def _rubric(summary: Summary, names: Names) -> str:
    rubric = summary.run.pins.rubric
    if rubric is None:
        return ""
    return f"{names.get(DocumentKind.RUBRIC, {}).get(rubric.id, rubric.name)} v{rubric.version}"


def _cost(spent: Spent | None) -> str:
    """A dash where nothing is known: calls without a price are not free."""
    if spent is None or (not spent.usd and spent.unpriced):
        return "–"
    return f"${spent.usd:.2f}" if spent.usd >= 0.01 or not spent.usd else f"${spent.usd:.4f}"


def _took(summary: Summary) -> str:
    run = summary.run
    if run.started_at is None or run.completed_at is None:
        return "–"
    seconds = (run.completed_at - run.started_at).total_seconds()
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


async def show(request: Request) -> Response:
    asking, query = caller_of(request), request.query_params
    status = query.get("status", "") if query.get("status", "") in STATES else ""
    agent_id = query.get("agent_id", "")
    summaries, last = await gallery_of(request).summaries(
        limit=LIMIT,
        before=place_in(query.get("after", "")),
        agent_id=agent_id or None,
        status=status or None,
        within=asking.within,
    )
    names = await gallery_of(request).names(summaries, asking.within)
    kept = {name: value for name, value in (("agent_id", agent_id), ("status", status)) if value}
    further = f"/?{urlencode({**kept, 'after': place_of(cursor(last))})}" if last else ""
    page = runs_page(summaries, names, agent_id=agent_id, status=status, further=further)
    return respond(request, "runs.html", page)


def routes() -> list[Page]:
    return [Page("/", show)]
