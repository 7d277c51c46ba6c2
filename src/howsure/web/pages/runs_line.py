"""One run as one line: who was tried on what, both scores with their doubt, counts that add up, cost, time, state."""

from __future__ import annotations

from collections.abc import Container

from msgspec import Struct

from howsure.model.document import DocumentKind
from howsure.model.run import Counts, RunState, Spent
from howsure.model.summary import Summary, Tally
from howsure.reports.figures import Rate, utc
from howsure.services.hosting.materials import is_reference, read_reference
from howsure.services.hosting.viewing import Names
from howsure.web.pages.steering import deeds


class Line(Struct, frozen=True, kw_only=True):
    """One run."""

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


def line_of(summary: Summary, names: Names, own: Container[str] = ()) -> Line:
    """`own`: the runs that are the service's, so that it may stop them and go on with them."""
    run = summary.run
    model = run.pins.agent.model if run.pins.agent else None
    return Line(
        id=run.id,
        name=run.name or run.id[:8],
        agent=(run.pins.agent.name if run.pins.agent else "") or run.pins.agent_key,
        agent_id=run.pins.agent_key,
        model=model.model if model else "",
        cases=_cases(summary, names),
        rubric=_rubric(summary, names),
        verdicts=Rate(run.counts.passed, run.counts.passed + run.counts.failed),
        criteria=_rate(summary.criteria),
        rules=_rate(summary.rules),
        counts=run.counts,
        cost=cost(run.spent),
        took=_took(summary),
        created=(utc(run.created_at) or "")[:16].replace("T", " "),
        state=run.state.value.replace("_", " "),
        is_live=run.state in (RunState.PENDING, RunState.RUNNING),
        deeds=deeds(run.state, run.counts.errored, run.id in own),
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


def cost(spent: Spent | None) -> str:
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
