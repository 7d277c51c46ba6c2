"""A Run: one execution, with everything that made it pinned, and the rulings on its gates."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from pathlib import PurePath
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from howsure.model.agent import Agent
from howsure.model.leaderboard import JudgeDrift
from howsure.model.rubric import Rubric
from howsure.model.run_request import RunRequest
from howsure.model.score import Interval
from howsure.model.tool_runs import ToolRun


class GateOutcome(Enum):
    """The result of a gate. The whole interval decides: it lies on the good side, on the bad side, or on both."""

    HELD = "held"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


class GateRuling(Struct, frozen=True, kw_only=True):
    """The result of one gate. `interval` None: the value is counted, not estimated. `n` is how many results the value
    is based on; `unjudged` is how many others have no verdict or value. `needed_cases`: about how many more cases would
    settle an inconclusive gate (None: no number would, or none is needed). `candidate` is set if a run has several.
    `looks`: after how many cases of how many it was decided, with an interval that holds at every look; None: the
    interval is that of a run whose size was fixed before it began."""

    expression: str
    outcome: GateOutcome
    reason: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    n: int = 0
    unjudged: int = 0
    needed_cases: int | None = None
    candidate: str = ""
    looks: tuple[int, int] | None = None

    @property
    def is_sure(self) -> bool:
        """Whether it was decided by looking after every case."""
        return self.looks is not None and self.outcome is not GateOutcome.INCONCLUSIVE


def worst_outcome(rulings: tuple[GateRuling, ...]) -> GateOutcome:
    """The result of all gates together: one that failed decides, then one that is inconclusive."""
    outcomes = {ruling.outcome for ruling in rulings}
    order = (GateOutcome.FAILED, GateOutcome.INCONCLUSIVE)
    return next((outcome for outcome in order if outcome in outcomes), GateOutcome.HELD)


class RunState(Enum):
    """Where a run is in its life."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    OUT_OF_BUDGET = "out_of_budget"
    PAUSED = "paused"
    CANCELLED = "cancelled"


class DatasetPin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file as it was when the run was planned. `cases` counts those in the file, `selected` those that filters and
    limit leave (None: not known). `id`, `name` and `version` are those in the file. `size`: its bytes (0: not
    known)."""

    path: str
    sha256: str
    size: int = 0
    dialect: str = ""
    cases: int = 0
    selected: int | None = None
    id: str = ""
    name: str = ""
    version: int | None = None


def targets_of(request: RunRequest) -> tuple[str, ...]:
    """Every target: where there are several, each is a candidate."""
    return (request.target,) if isinstance(request.target, str) else request.target


def _is_named_after(candidate: str, target: str) -> bool:
    """Whether a candidate stands for this one of several targets: by its name, with a prompt's or by its model's."""
    return candidate == target or candidate.startswith(f"{target} / ") or target.endswith(f":{candidate}")


class Pins(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that made the run: what was compared can be compared again, or is flagged when it is unlike.

    `request` is what was asked for, with its defaults filled in and its files as they can be found again: given to
    `howsure run` once more, it makes the same run. The other fields hold what the request does not say: the hashes of
    files, prompts and settings, the rubric and the agent as they were, and in `notes` what a reader of the results must
    know that was known before the run, in sentences: what is expected and checked by nobody, what could not be read.
    `documents` are the versions in the service's library of the rubric, the agent and the list of graders.
    `judged` names the graders that may ask the judge (None: not known); `marks` are those of the profile that was asked
    for, where they differ from the built-in ones; `settings` are those that shape the run and were changed; `models`
    are the models under test, by candidate; `imported` is the run of another tool whose results these are. Of a run
    that stops when it is sure: `order_seed` gives the random order of its cases, `sure` is what the looks after every
    case have found. `drift`: what its anchors said of the judge when it had ended.
    """

    request: RunRequest = RunRequest()
    datasets: tuple[DatasetPin, ...] = ()
    responses: tuple[DatasetPin, ...] = ()
    criteria_from: DatasetPin | None = None
    evals: tuple[DatasetPin, ...] = ()
    target_sha256: str = ""
    simulator_sha256: str = ""
    judge_sha256: str = ""
    judge_prompts: str = ""
    recorded_judges: tuple[str, ...] = ()
    policy_sha256: str = ""
    rubric: Rubric | None = None
    rubric_sha256: str = ""
    agent: Agent | None = None
    agent_id: str = ""
    documents: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    judged: tuple[str, ...] | None = None
    marks: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    imported: ToolRun | None = None
    order_seed: int | None = None
    sure: tuple[GateRuling, ...] = ()
    drift: JudgeDrift | None = None
    howsure_version: str = ""

    @property
    def stopped_early(self) -> bool:
        """Whether the run stopped early because it was sure."""
        return bool(self.sure) and all(ruling.is_sure for ruling in self.sure)

    @property
    def target_text(self) -> str:
        """The targets; of several, those that candidates of the run are named after."""
        targets, names = targets_of(self.request), self.request.candidates
        of = {name: [each for each in targets if _is_named_after(name, each)] for name in names}
        if len(targets) > 1 and of and all(of.values()):
            targets = tuple(each for each in targets if any(each in found for found in of.values()))
        return ", ".join(targets)

    @property
    def agent_key(self) -> str:
        """The id of the agent: of the one that is described, or of one of which nothing but the id is known."""
        return self.agent.id if self.agent else self.agent_id

    @property
    def agent_name(self) -> str:
        """The display name of the agent; its id if it has none."""
        return (self.agent.name if self.agent else "") or self.agent_key

    def dataset_name(self, position: int) -> str:
        """The file that the attempt at this position has its case from; "" where that is not known."""
        case = position // (self.request.repeat * max(len(self.request.candidates), 1))
        for pin in self.datasets:
            if len(self.datasets) == 1 or pin.selected is None:
                return PurePath(pin.path).name if len(self.datasets) == 1 else ""
            if case < pin.selected:
                return PurePath(pin.path).name
            case -= pin.selected
        return ""


class ModelSpending(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run has spent on models so far. `unpriced` calls have no known cost and are not in `usd`."""

    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    calls: int = 0
    cached: int = 0
    unpriced: int = 0


class Counts(Struct, frozen=True, kw_only=True):
    """total = passed + failed + errored + skipped + damaged + pending, always. Damaged ones cannot be read.
    `pass_rate_interval` is known where results belong together (repeats of one case, cases of one scenario) and the
    counts alone would promise too much."""

    total: int = 0
    passed: int = 0
    failed: int = 0
    errored: int = 0
    skipped: int = 0
    damaged: int = 0
    pass_rate_interval: Interval | UnsetType = UNSET

    @property
    def completed(self) -> int:
        return self.passed + self.failed + self.errored + self.skipped + self.damaged

    @property
    def pending(self) -> int:
        return self.total - self.completed

    @property
    def pass_rate(self) -> float | None:
        """Of the cases that could be judged; None when none could."""
        judged = self.passed + self.failed
        return self.passed / judged if judged else None

    @property
    def certain_rate(self) -> float:
        """What would have passed if all that errored had failed: what candidates are ordered by."""
        tried = self.passed + self.failed + self.errored
        return self.passed / tried if tried else 0.0


class Run(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One execution."""

    id: str
    name: str
    state: RunState
    pins: Pins
    counts: Counts
    created_at: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None
    error: str = ""
    spent: ModelSpending | None = None
    organization_id: str = ""
    tags: tuple[str, ...] = ()

    @property
    def seconds(self) -> float | None:
        """How long it took; None: it has not ended, or the clock was set back before it went on."""
        if self.started_at is None or self.completed_at is None or self.completed_at < self.started_at:
            return None
        return (self.completed_at - self.started_at).total_seconds()
