"""Requests for runs, as orders."""

from __future__ import annotations

from howsure.api.wire.orders import Wanted
from howsure.services.hosting.ordering import Order


def order_of(given: Wanted, **source: str | int | None) -> Order:
    """What a request asks for; `source` says where the cases come from, and for which agent."""
    named = {name: value for name, value in source.items() if value is not None}
    return Order(
        rubric_id=given.rubric_id or "",
        rubric_version=given.rubric_version,
        config_id=given.config_id or "",
        target=given.target or "",
        judge=given.eval_model or "",
        simulator=given.simulator or "",
        profile=given.profile or "",
        component_scope=given.component_scope or "",
        component_ids=tuple(given.component_ids),
        case_ids=tuple(given.item_ids),
        state=given.initial_payload,
        repeat=given.repeat,
        limit=given.limit,
        concurrency=given.concurrency,
        budget=given.budget or "",
        gates=tuple(given.gates),
        name=given.name or "",
        engine=given.engine or "",
        **named,  # type: ignore[arg-type]
    )
