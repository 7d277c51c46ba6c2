"""What a user may ask of a run, as the command line and the configuration give it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct, field

from howsure.model.profile import Normalization
from howsure.model.run import Pins
from howsure.services.paths import usable


class RunOptions(Struct, frozen=True, kw_only=True):
    """One run, before anything was read. None and "" mean: not said."""

    datasets: tuple[str, ...]
    dialect: str = ""
    target: str = ""
    responses: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    judge: str = ""
    graders: tuple[str, ...] | None = None
    evals: tuple[str, ...] = ()
    batch_criteria: bool = False
    profile: str = ""
    normalization: Normalization | None = None
    rubric: str = ""
    agent: str = ""
    component_scope: str = ""
    component_ids: tuple[str, ...] = ()
    state: dict[str, Any] = field(default_factory=dict)
    criteria_from: str = ""
    simulator: str = ""
    replays: int = 0
    repeat: int = 1
    limit: int | None = None
    filters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    concurrency: int | None = None
    engine: str = ""
    budget: str = ""
    gates: tuple[str, ...] = ()
    cache: bool = True
    trace: Path | None = None
    record_judge: Path | None = None
    name: str = ""


def options_of(pins: Pins, name: str) -> RunOptions:
    """The options that give the same run again: for `resume` and `retry`."""
    return RunOptions(
        datasets=tuple(usable(pin.path) for pin in pins.datasets),
        dialect=pins.datasets[0].dialect if len({pin.dialect for pin in pins.datasets}) == 1 else "",
        target=pins.target,
        responses=tuple(usable(pin.path) for pin in pins.responses),
        candidates=pins.candidates,
        judge=usable(pins.judge),
        graders=pins.graders,
        evals=tuple(usable(pin.path) for pin in pins.evals),
        batch_criteria=pins.batch_criteria,
        profile=pins.profile,
        normalization=pins.normalization,
        component_scope=pins.component_scope,
        component_ids=pins.component_ids,
        state=pins.state,
        criteria_from=usable(pins.criteria_from.path) if pins.criteria_from else "",
        simulator=pins.simulator,
        replays=pins.replays,
        repeat=pins.repeat,
        limit=pins.limit,
        filters=pins.filters,
        concurrency=pins.concurrency,
        engine=pins.engine,
        budget=pins.budget,
        gates=pins.gates,
        name=name,
    )
