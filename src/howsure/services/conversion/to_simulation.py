"""A golden question as a row that is still to be joined with its conversation: its metadata and its agent stand in the
columns that simulation files have for them, so the row says everything and needs no copy of the case. Cases of other
worlds are written as they are, with the whole case in a column of its own."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from howsure.model.case import Case, World
from howsure.services.conversion.ledger import Fitted

COLUMNS = {"metadata": "question_metadata"}
"""What golden files and simulation files call the same thing."""


def to_simulation(case: Case) -> Fitted:
    if case.world != World.GOLDEN or "repeat" in case.labels or any(name in case.metadata for name in COLUMNS.values()):
        return Fitted(case)
    metadata: dict[str, Any] = {COLUMNS.get(key, key): value for key, value in case.metadata.items()}
    agent = case.labels.get("agent")
    if agent and "app_name" not in metadata:
        metadata.setdefault("agent_name", agent)
    return Fitted(structs.replace(case, labels={**case.labels, "repeat": "1"}, metadata=metadata))
