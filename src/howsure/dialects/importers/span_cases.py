"""A case out of the spans of one run, as importers of traces make it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from howsure.dialects.documents import Json
from howsure.dialects.golden_schema import labels
from howsure.dialects.importers.base import text_hash
from howsure.dialects.importers.span_talk import account_of
from howsure.dialects.json_places import Spot
from howsure.errors import Problem
from howsure.model.case import Case, Script, World
from howsure.model.transcript import Span


def case_of_spans(
    spans: Sequence[Span], id: str, spot: Spot, kept: Json, asked: Any = None, answered: Any = None
) -> Iterator[Case | Problem]:
    """The case; a problem where nothing tells what the user said. `kept` is what the source says beside the spans."""
    account = account_of(spans, asked, answered)
    if not account.turns:
        message = "nothing in these spans tells what the user said"
        hint = "were inputs and outputs recorded? many tracing libraries leave them out unless they are asked to"
        found = ", ".join(dict.fromkeys(span.name for span in spans)) or "no spans"
        yield spot.problem("no-user-inputs", message, expected="messages put to a model", found=found[:120], hint=hint)
        return
    if not account.transcript.answer:
        yield spot.warning("no-answer", f"no answer was recorded in the run {id}; it is empty")
    metadata = {**kept, **({"agent_name": account.agent} if account.agent else {})}
    yield Case(
        id=id or f"sim-{text_hash(account.turns)}",
        input=Script(turns=account.turns),
        world=World.GOLDEN,
        labels=labels({}, agent=account.agent, repeat="1"),
        metadata=metadata,
        tools=account.tools,
        recorded=account.transcript,
    )
