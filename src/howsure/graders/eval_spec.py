"""What a custom eval is made of, as its file declares it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from howsure.graders.case_sources import MISSING
from howsure.graders.judged import Mark
from howsure.model.score import Scale


class Input(Struct, frozen=True, kw_only=True):
    """One declared input. `default` MISSING: the case must have it."""

    source: str
    default: Any = MISSING


class Output(Struct, frozen=True, kw_only=True):
    """The fields of the judge's reply that hold the value and the reason; the others become details."""

    score: str = "score"
    reason: str = "reason"


class EvalSpec(Struct, frozen=True, kw_only=True):
    """One eval as its file declares it. No worlds: all of them. `filters` are labels and the values they may have."""

    name: str
    template: str
    inputs: Mapping[str, Input]
    scale: Scale
    whole: bool = False
    mark: Mark = Mark()
    description: str = ""
    worlds: tuple[str, ...] = ()
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    output: Output = Output()
