"""The eleven measures of the golden world, computed from spans by a program: no judge, no pass mark. One file for each
theme: tokens and cost, latency, tools and agents."""

from __future__ import annotations

from howsure.graders.measures.base import Measure, TraceCache
from howsure.graders.measures.latency import latency
from howsure.graders.measures.tokens import (
    cache_efficiency,
    context_saturation,
    output_density,
    thinking_share,
    token_usage,
)
from howsure.graders.measures.tools import (
    agent_handoffs,
    grounding_utilization,
    sandbox_usage,
    tool_success_rate,
    tool_utilization,
)
from howsure.model.score import OPEN, UNIT, Direction
from howsure.prices.table import PriceTable

ALL = (
    ("token_usage", token_usage, OPEN, Direction.LOWER),
    ("latency_metrics", latency, OPEN, Direction.LOWER),
    ("cache_efficiency", cache_efficiency, UNIT, Direction.HIGHER),
    ("thinking_metrics", thinking_share, UNIT, Direction.NEITHER),
    ("tool_utilization", tool_utilization, OPEN, Direction.NEITHER),
    ("tool_success_rate", tool_success_rate, UNIT, Direction.HIGHER),
    ("grounding_utilization", grounding_utilization, OPEN, Direction.NEITHER),
    ("context_saturation", context_saturation, OPEN, Direction.LOWER),
    ("agent_handoffs", agent_handoffs, OPEN, Direction.NEITHER),
    ("output_density", output_density, OPEN, Direction.NEITHER),
    ("sandbox_usage", sandbox_usage, OPEN, Direction.NEITHER),
)
NAMES = tuple(name for name, *_ in ALL)


def measures(prices: PriceTable | None = None) -> tuple[Measure, ...]:
    """The eleven graders. They share one cache of traces and the prices (without `prices`: the built-in list)."""
    table, traces = prices or PriceTable.load(), TraceCache()
    return tuple(
        Measure(name, measure, scale, direction, prices=table, traces=traces) for name, measure, scale, direction in ALL
    )
