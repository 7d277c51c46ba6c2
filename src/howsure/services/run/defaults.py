"""What a run is given where nobody said otherwise: the judge, simulator, concurrency and gates of the settings."""

from __future__ import annotations

from msgspec.structs import replace

from howsure.model.run_request import OFFLINE, RunRequest
from howsure.services.gate.gate import combine_gates
from howsure.services.workspace import Workspace


def apply_settings(work: Workspace, options: RunRequest) -> RunRequest:
    """The options, with the settings for what they leave open. Gates are added to those of the settings."""
    settings = work.settings
    return replace(
        options,
        judge=options.judge or settings.judge or OFFLINE,
        simulator=options.simulator or settings.simulator,
        engine=options.engine or settings.engine.value,
        concurrency=settings.max_concurrency if options.concurrency is None else options.concurrency,
        batch_criteria=options.batch_criteria or settings.batch_criteria,
        gates=combine_gates(work, options.gates),
    )
