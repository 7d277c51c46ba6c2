"""The gates of a run: those of the settings, of its pins and of the command line. Deciding them needs numpy and scipy,
which take as long to import as a small run takes: only a run that has a gate pays for it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from msgspec.structs import replace

from howsure.model.gate import GateRuling
from howsure.model.summary import Summary
from howsure.policies.gate_reading import read_gates
from howsure.services.workspace import Workspace
from howsure.store.store import Store


def wanted_gates(work: Workspace, given: Sequence[str]) -> tuple[str, ...]:
    """The gates of `howsure.yaml`, then those given; every one that cannot be read is refused before anything runs."""
    return tuple(gate.expression for gate in read_gates((*work.settings.gates, *given)))


async def gated(store: Store, summary: Summary, given: Sequence[str] | None = None, *, pinned: bool = True) -> Summary:
    """The summary with a ruling on each gate: those the run is pinned to, and those given."""
    own = summary.run.pins.gates if pinned else ()
    gates = read_gates((*own, *(given or ())))
    if not gates:
        return summary
    ruling = import_module("howsure.services.gates.ruling")
    found: tuple[GateRuling, ...] = await ruling.rulings(store, summary, gates)
    return replace(summary, gates=found)


async def decide(work: Workspace, name: str, given: Sequence[str]) -> Summary:
    """An existing run held against the gates given; without any, against its own and then those of the settings."""
    read_gates(given)
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        chosen = tuple(given) or run.pins.gates or work.settings.gates
        return await gated(store, await store.summary(run.id), chosen, pinned=False)
