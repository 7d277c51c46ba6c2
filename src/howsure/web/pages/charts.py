"""What the answers of a run took: seconds, dollars and tokens, each as a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.run import Run
from howsure.reports.figures import counted
from howsure.reports.header import spending
from howsure.store.queries.tolls import Toll
from howsure.web.charting import Histogram, histogram
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, host_of

LOOKED_AT = 150
"""Of more results so many are drawn by chance: bodies must be read for it, and more would not change the picture."""


class ChartsPage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    run_id: str
    run_name: str
    answer: str
    spent: str
    charts: tuple[Histogram, ...]
    looked_at: int
    results: int


def charts_page(run: Run, tolls: Sequence[Toll]) -> ChartsPage:
    found = (
        histogram("time of an answer", [toll.seconds for toll in tolls], "s"),
        histogram("cost of an answer", [toll.usd for toll in tolls], "$"),
        histogram("tokens of an answer", [toll.tokens for toll in tolls], "tokens"),
    )
    known = tuple(each for each in found if each)
    return ChartsPage(
        run_id=run.id,
        run_name=run.name or run.id[:8],
        answer=_answer(run, known, len(tolls)),
        spent=spending(run.spent) if run.spent else "",
        charts=known,
        looked_at=len(tolls),
        results=run.counts.completed,
    )


def looked_at(run: Run) -> list[int] | None:
    """The positions of those that are drawn, the same each time; None: all are looked at."""
    if run.counts.completed <= LOOKED_AT:
        return None
    return sorted(Random(run.id).sample(range(run.counts.total), LOOKED_AT))


def _answer(run: Run, charts: Sequence[Histogram], answers: int) -> str:
    if not charts:
        return "Nobody recorded what the answers took."
    told = "; ".join(f"{each.title}: {each.middle} as a rule, 95 of 100 under {each.high}" for each in charts)
    completed = run.counts.completed
    drawn = f" Of {counted(answers, 'answer')} drawn by chance from {counted(completed, 'result')}."
    some = drawn if completed > LOOKED_AT else ""
    return f"{told[:1].upper()}{told[1:]}.{some}"


async def show(request: Request) -> Response:
    store = host_of(request).store
    run = await store.run(request.path_params["run_id"], caller_of(request).within)
    return respond(request, "charts.html", charts_page(run, await store.tolls(run.id, looked_at(run))))


def routes() -> list[Page]:
    return [Page("/runs/{run_id}/charts", show)]
