"""Every error Howsure raises, and the one place that catches everything.

    HowsureError
    ├── InputError            the user can fix it: raised before anything runs; exit 2
    │   ├── DatasetInvalid    a file has problems: all of them, with their places
    │   ├── ConfigInvalid     howsure.yaml, the environment or an option is wrong
    │   │   └── Unreachable   the database is away or locked: what was to be done can be done later
    │   ├── UnknownName       a dialect, grader, profile … that nobody registered
    │   ├── PlanRefused       the run cannot give what was asked of it
    │   ├── NotFound          no such run, case, file
    │   └── Conflict          it changed under your feet, or exists already
    └── CaseFailure           one case broke: stored as data, verdict `errored`; the other cases go on
        ├── TargetFailed
        │   └── TargetTimedOut
        ├── SimulatorFailed   the user's side could not be played
        ├── JudgeFailed
        ├── GraderFailed
        ├── PolicyFailed      the pass rules broke over the grades
        ├── ModelFailed       a language model gave no answer, after every retry that made sense
        │   ├── ModelRefused  asking again would not help: bad request, wrong key, no such model
        │   └── ModelTimedOut
        └── BudgetReached     not broken: nothing more may be spent. The case was not tried; resume it later

Anything else that escapes is our own fault (exit 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from types import TracebackType

from msgspec import Struct


class Level(Enum):
    """Whether a problem stops the file from being used."""

    ERROR = "error"
    WARNING = "warning"


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong with a file, and where. `code` is stable: scripts may match on it."""

    code: str
    message: str
    file: str = ""
    line: int | None = None
    column: int | None = None
    field: str = ""
    expected: str = ""
    found: str = ""
    hint: str = ""
    level: Level = Level.ERROR

    @property
    def place(self) -> str:
        """`file:line:column`, as editors understand it."""
        return ":".join(str(part) for part in (self.file or None, self.line, self.column) if part is not None)

    def __str__(self) -> str:
        where = " ".join(part for part in (self.place, f"`{self.field}`" if self.field else "") if part)
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}{': ' if where else ''}{self.message}{hint} [{self.code}]"


class HowsureError(Exception):
    """The root of the tree."""


class InputError(HowsureError):
    """The user can fix it."""


class DatasetInvalid(InputError):
    """A file has problems; none of it was used."""

    def __init__(self, path: str, problems: Sequence[Problem]) -> None:
        self.path = path
        self.problems = tuple(problems)
        count = len(self.problems)
        super().__init__(f"{path}: {count} problem{'' if count == 1 else 's'}")


class ConfigInvalid(InputError):
    """A setting is wrong."""


class Unreachable(ConfigInvalid):
    """The database cannot be used just now."""


class UnknownName(InputError):
    """Nobody registered this name."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        super().__init__(f"unknown {kind} {name!r}; known: {', '.join(sorted(known)) or 'none'}")


class PlanRefused(InputError):
    """The run cannot give what was asked of it."""


class NotFound(InputError):
    """No such thing."""


class Conflict(InputError):
    """It changed, or exists already."""


class CaseFailure(HowsureError):
    """One case broke."""


class TargetFailed(CaseFailure):
    """The agent under test, or the way to it, broke."""


class TargetTimedOut(TargetFailed):
    """The agent under test did not answer in time."""


class SimulatorFailed(CaseFailure):
    """The simulated user broke: nothing can be said of the agent."""


class JudgeFailed(CaseFailure):
    """The judge gave nothing that can be read."""


class GraderFailed(CaseFailure):
    """A grader broke."""


class PolicyFailed(CaseFailure):
    """The pass rules broke."""


class ModelFailed(CaseFailure):
    """A language model gave no answer."""


class ModelRefused(ModelFailed):
    """The provider said no, and would again."""


class ModelTimedOut(ModelFailed):
    """The last attempt ended without an answer in time."""


class BudgetReached(CaseFailure):
    """Nothing more may be spent in this run."""


class boundary:
    """`with boundary(TargetFailed, "target 'x'"):` attributes whatever breaks inside to `who`. A `CaseFailure` passes:
    it is attributed already."""

    __slots__ = ("_kind", "_who")

    def __init__(self, kind: type[CaseFailure], who: str) -> None:
        self._kind = kind
        self._who = who

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(error, Exception) and not isinstance(error, CaseFailure):
            said = f": {error}" if str(error) else ""
            raise self._kind(f"{self._who}: {type(error).__name__}{said}") from error
