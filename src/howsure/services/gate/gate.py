"""The gates of a run: those of the settings, those the run is pinned to, and those of the command line. Deciding them
needs numpy and scipy, which take as long to import as a small run takes: only a run that has a gate loads them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from msgspec.structs import replace

from howsure.model.summary import GateRuling, Summary
from howsure.policies.gate_expressions import read_gates
from howsure.services.workspace import Workspace
from howsure.store.store import Store


def combine_gates(work: Workspace, expressions: Sequence[str]) -> tuple[str, ...]:
    """The gates of `howsure.yaml`, then the given ones; an expression that cannot be read is refused before anything
    runs."""
    expressions = (*work.settings.gates, *expressions)
    return tuple(gate.expression for gate in read_gates(expressions)) if expressions else ()


async def rule_on_gates(
    store: Store, summary: Summary, expressions: Sequence[str] | None = None, *, pinned: bool = True
) -> Summary:
    """The summary with a ruling on each gate: those the run is pinned to (`pinned`), and the given ones."""
    expressions = (*(summary.run.pins.request.gates if pinned else ()), *(expressions or ()))
    if not expressions:
        return summary
    rulings = import_module("howsure.services.gate.rulings")
    found: tuple[GateRuling, ...] = await rulings.make_rulings(store, summary, read_gates(expressions))
    return replace(summary, gates=found)


async def decide_gates(work: Workspace, name: str, expressions: Sequence[str]) -> Summary:
    """`howsure gate`: decide the given gates on a stored run; without any, its own gates, or else those of the
    settings."""
    read_gates(expressions)
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        chosen = tuple(expressions) or run.pins.request.gates or work.settings.gates
        return await rule_on_gates(store, await store.summary(run.id), chosen, pinned=False)
