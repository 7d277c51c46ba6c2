"""The charts of a run: seconds, dollars and tokens of its answers, each as a histogram. A chart is numbers in percent
of the picture; the templates draw it as SVG, which needs no script."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from random import Random

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.run import Run
from howsure.reports.figures import pluralize
from howsure.reports.run_facts import spending_text
from howsure.store.results import CostTotals
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, host_of, requested_run

BINS = 24


class HistogramBar(Struct, frozen=True):
    """The number of values between two others."""

    x: float
    width: float
    height: float
    said: str


class Histogram(Struct, frozen=True, kw_only=True):
    """The distribution of values; `middle` is the median, `high` the 95th percentile, `…_at` their places on the
    axis."""

    title: str
    bars: tuple[HistogramBar, ...]
    n: int
    missing: int
    low: str
    middle: str
    high: str
    most: str
    middle_at: float
    high_at: float


def histogram(title: str, values: Sequence[float | None], unit: str) -> Histogram | None:
    """From zero to the largest value; None where no value is known."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    top = known[-1] or 1.0
    numbers = [0] * BINS
    for value in known:
        numbers[min(int(BINS * value / top), BINS - 1)] += 1
    most, wide = max(numbers), 100 / BINS
    middle, high = quantile(known, 0.5), quantile(known, 0.95)
    return Histogram(
        title=title,
        bars=tuple(
            HistogramBar(
                round(place * wide + 0.2, 2),
                round(wide - 0.4, 2),
                round(100 * number / most, 1),
                f"{number:,} between {amount(top * place / BINS, unit)} and {amount(top * (place + 1) / BINS, unit)}",
            )
            for place, number in enumerate(numbers)
            if number
        ),
        n=len(known),
        missing=len(values) - len(known),
        low=amount(known[0], unit),
        middle=amount(middle, unit),
        high=amount(high, unit),
        most=amount(known[-1], unit),
        middle_at=round(100 * middle / top, 2),
        high_at=round(100 * high / top, 2),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    return ordered[max(ceil(share * len(ordered)) - 1, 0)]


def amount(value: float, unit: str) -> str:
    """Three significant digits: `1.24 s`, `0.00031 $`, `1,240 tokens`."""
    return f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"


SAMPLE_SIZE = 150
"""Of more results, a random sample of this size is read: more would not change the picture."""


class ChartsPage(Struct, frozen=True, kw_only=True):
    run_id: str
    run_name: str
    answer: str
    spent: str
    charts: tuple[Histogram, ...]
    looked_at: int
    results: int


def charts_page(run: Run, costs: Sequence[CostTotals]) -> ChartsPage:
    charts = (
        histogram("time of an answer", [cost.seconds for cost in costs], "s"),
        histogram("cost of an answer", [cost.usd for cost in costs], "$"),
        histogram("tokens of an answer", [cost.tokens for cost in costs], "tokens"),
    )
    known = tuple(chart for chart in charts if chart)
    return ChartsPage(
        run_id=run.id,
        run_name=run.name or run.id[:8],
        answer=_answer(run, known, len(costs)),
        spent=spending_text(run.spent) if run.spent else "",
        charts=known,
        looked_at=len(costs),
        results=run.counts.completed,
    )


def sample_positions(run: Run) -> list[int] | None:
    """The positions of the sample, the same each time; None: all results are read."""
    if run.counts.completed <= SAMPLE_SIZE:
        return None
    return sorted(Random(run.id).sample(range(run.counts.total), SAMPLE_SIZE))


def _answer(run: Run, charts: Sequence[Histogram], answers: int) -> str:
    if not charts:
        return "Nobody recorded what the answers took."
    text = "; ".join(f"{each.title}: {each.middle} as a rule, 95 of 100 under {each.high}" for each in charts)
    completed = run.counts.completed
    sample = f" Of {pluralize(answers, 'answer')} drawn by chance from {pluralize(completed, 'result')}."
    sampled = sample if completed > SAMPLE_SIZE else ""
    return f"{text[:1].upper()}{text[1:]}.{sampled}"


async def show(request: Request) -> Response:
    run = await requested_run(request)
    costs = await host_of(request).store.costs(run.id, sample_positions(run))
    return respond(request, "charts.html", charts_page(run, costs))


ROUTES = [PageRoute("/runs/{run_id}/charts", show)]
