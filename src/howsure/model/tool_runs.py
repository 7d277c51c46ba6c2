"""Results of another tool: what a run knows about the tool, and the tool's own numbers beside ours.
dialects/tool_results reads its files."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from msgspec import Struct, field


class Statistic(Enum):
    """How a tool computes a number from its samples, if we can compute the same. A score is first averaged over the
    repeats of a case."""

    MEAN = "mean"
    STDERR = "stderr"
    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"


class ToolAggregate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A number that the tool computed over its samples. `statistic` None: we do not know how. `ours` is the same over
    the samples that were read (None: it cannot be computed from them). `cases`: only cases whose ids have this prefix
    count."""

    name: str
    value: float
    statistic: Statistic | None = None
    score: str = ""
    cases: str = ""
    ours: float | None = None

    @property
    def agrees(self) -> bool:
        """Whether ours is the tool's number to its printed digits."""
        return self.ours is not None and abs(self.ours - self.value) <= 5e-7 * max(1.0, abs(self.value))


class ToolRun(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run of another tool. `name` is what the tool calls it; `samples` is how many results it says it has (None: it
    does not say); `models` are the models by candidate; `notes` are sentences that a reader must know."""

    tool: str
    version: str = ""
    name: str = ""
    samples: int | None = None
    models: dict[str, str] = field(default_factory=dict)
    started_at: datetime | None = None
    completed_at: datetime | None = None
    aggregates: tuple[ToolAggregate, ...] = ()
    notes: tuple[str, ...] = ()


def one_model(name: object) -> dict[str, str]:
    """The single entry of `models` for a run without candidates."""
    return {"": str(name)} if name else {}
