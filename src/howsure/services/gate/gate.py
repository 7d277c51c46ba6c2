"""The gates of a run: those of the settings, those the run is pinned to, and those of the command line. Deciding them
needs numpy and scipy, which take as long to import as a small run takes: only a run that has a gate loads them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module

from msgspec.structs import replace

from howsure.model.summary import GateOutcome, GateRuling, Summary
from howsure.policies.gates import read_anytime_gate, read_gates
from howsure.services.workspace import Workspace
from howsure.store.store import Store

LOOKED = " This interval is that of a fixed number of cases; the run stopped because of what it saw."


def combine_gates(work: Workspace, expressions: Sequence[str]) -> tuple[str, ...]:
    """The gates of `howsure.yaml`, then the given ones; an expression that cannot be read is refused before anything
    runs."""
    expressions = (*work.settings.gates, *expressions)
    return tuple(gate.expression for gate in read_gates(expressions)) if expressions else ()


async def rule_on_gates(
    store: Store, summary: Summary, expressions: Sequence[str] | None = None, *, pinned: bool = True
) -> Summary:
    """The summary with a ruling on each gate: those of the run (`pinned`), first that of `until_sure`, and the given
    ones."""
    pins = summary.run.pins
    expressions = (*(pins.request.gates if pinned else ()), *(expressions or ()))
    sure = pins.sure if pinned else ()
    if pinned and pins.request.until_sure and not sure:
        text, looks = "It is not decided yet: the run has not ended.", (0, summary.run.counts.total)
        undecided = GateOutcome.INCONCLUSIVE
        sure = (GateRuling(expression=pins.request.until_sure, outcome=undecided, reason=text, looks=looks),)
    if not expressions:
        return replace(summary, gates=sure) if sure else summary
    rulings = await asyncio.to_thread(import_module, "howsure.services.gate.rulings")
    found: tuple[GateRuling, ...] = await rulings.make_rulings(store, summary, read_gates(expressions))
    if pins.stopped_early:
        found = tuple(replace(each, reason=each.reason + LOOKED) if each.interval else each for each in found)
    return replace(summary, gates=(*sure, *found))


async def decide_gates(
    work: Workspace, name: str, expressions: Sequence[str], labels: Sequence[str] = (), *, anytime: bool = False
) -> Summary:
    """`howsure gate`: decide the given gates on a stored run; without any, its own gates, or else those of the
    settings. With `labels` (files, or `stored`), pass rates are those that people would give. `anytime`: with intervals
    that hold at every look."""
    read_gates(expressions)
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        request, summary = run.pins.request, await store.summary(run.id)
        if anytime:
            own = (request.until_sure,) if request.until_sure else request.gates or work.settings.gates
            gates = tuple(read_anytime_gate(each, finished=True) for each in expressions or own)
            looks = import_module("howsure.services.run.until_sure")
            found: tuple[GateRuling, ...] = await looks.rule_at_every_look(store, run, gates)
            return replace(summary, gates=found)
        if not expressions and (request.gates or request.until_sure):
            ruled = await rule_on_gates(store, summary)
        else:
            ruled = await rule_on_gates(store, summary, expressions or work.settings.gates, pinned=False)
        if not labels or not ruled.gates:
            return ruled
        corrections = import_module("howsure.services.gate.label_rulings")
        corrected: Summary = await corrections.correct_rulings(work, store, ruled, labels)
        return corrected
