"""Every error Howsure raises, and the one place that catches everything.

    HowsureError
    ├── InputError            the user can fix it: raised before anything runs; exit 2
    │   ├── DatasetInvalid    a file has problems: all of them, with their places
    │   ├── ConfigInvalid     howsure.yaml, the environment or an option is wrong
    │   │   ├── NotTrusted    the settings of a folder would run code or send secrets, and nobody has allowed it
    │   │   └── StorageFault  the database is damaged, gone or not accessible: its operator must act
    │   │       └── Unreachable   the database cannot be reached or is locked: the same can be done later
    │   ├── DamagedRow        a row of the database cannot be read: `howsure db check` names all of them
    │   ├── UnknownName       a dialect, grader, profile … that nobody registered
    │   ├── PlanRefused       the run cannot give what was asked of it
    │   │   └── RequestRefused    for several reasons: all of them, with the fields of the request
    │   ├── NotFound          no such run, case, file
    │   └── Conflict          it changed under your feet, or exists already
    └── CaseFailure           one case broke: stored as data, verdict `errored`; the other cases go on
        ├── TargetFailed
        │   ├── TargetTimedOut
        │   └── NotRecorded   no answer was recorded for the case, and it is to be left out (`--partial`)
        ├── SimulatorFailed   the user's side could not be played
        ├── JudgeFailed
        ├── GraderFailed
        ├── PolicyFailed      the pass rules broke over the grades
        ├── CaseStopped       it computed for too long, or ended its process: it was stopped from outside
        ├── ModelFailed       a language model gave no answer, after every retry that made sense
        │   ├── ModelRefused  asking again would not help: bad request, wrong key, no such model
        │   └── ModelTimedOut
        └── BudgetReached     not broken: nothing more may be spent. The case was not tried; resume it later

Anything else that escapes is our own fault (exit 1). Signal handlers raise `UserInterrupt` and `ComputeTimeout`
wherever the program is: somebody wants it to end, or a case holds up the others.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from enum import Enum
from threading import current_thread, main_thread
from types import TracebackType
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr

MAX_PROBLEMS = 1_000
"""How many problems of one file or request are listed; others are only counted."""


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

    def __post_init__(self) -> None:
        # It may quote half a character (a lone surrogate), which can neither be printed nor sent.
        for name in ("message", "field", "expected", "found", "hint"):
            if not (text := getattr(self, name)).isascii():
                force_setattr(self, name, text.encode("utf-8", "backslashreplace").decode())

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


class DamagedRow(InputError):
    """A row of the database cannot be read."""


class DatasetInvalid(InputError):
    """A file has problems; none of it was used. `more` counts problems that are not among `problems`."""

    def __init__(self, path: str, problems: Sequence[Problem], more: int = 0) -> None:
        self.path = path
        self.problems = tuple(problems[:MAX_PROBLEMS])
        self.more = more + len(problems) - len(self.problems)
        super().__init__(f"{path}: {self.count}")

    @property
    def count(self) -> str:
        """`1 problem`, `1,000 problems and at least 250 more`."""
        number = len(self.problems)
        more = f" and at least {self.more:,} more" if self.more else ""
        return f"{number:,} problem{'' if number == 1 else 's'}{more}"


class ConfigInvalid(InputError):
    """A setting is wrong."""


class NotTrusted(ConfigInvalid):
    """The settings of a folder are not trusted."""


class StorageFault(ConfigInvalid):
    """The database cannot be used until its operator acts."""


class Unreachable(StorageFault):
    """The database, or a service that was asked, cannot be used just now."""


class UnknownName(InputError):
    """Nobody registered this name."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        super().__init__(f"unknown {kind} {name!r}; known: {', '.join(sorted(known)) or 'none'}")


class PlanRefused(InputError):
    """The run cannot give what was asked of it."""


class RequestRefused(PlanRefused):
    """Every reason why a request cannot be carried out."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(each.message for each in problems))


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


class NotRecorded(TargetFailed):
    """No answer was recorded for the case: it is skipped."""


class SimulatorFailed(CaseFailure):
    """The simulated user broke: nothing can be said of the agent."""


class JudgeFailed(CaseFailure):
    """The judge gave nothing that can be read. `flag`: the kind of flag that the result gets for its reply."""

    def __init__(self, message: str = "", flag: str = "") -> None:
        super().__init__(message)
        self.flag = flag


class GraderFailed(CaseFailure):
    """A grader broke."""


class PolicyFailed(CaseFailure):
    """The pass rules broke."""


class CaseStopped(CaseFailure):
    """The case blocked the other cases, or ended the process that worked on it."""


class ModelFailed(CaseFailure):
    """A language model gave no answer."""


class ModelRefused(ModelFailed):
    """The provider said no, and would again."""


class ModelTimedOut(ModelFailed):
    """The last attempt ended without an answer in time."""


class BudgetReached(CaseFailure):
    """Nothing more may be spent in this run."""


class UserInterrupt(BaseException):
    """Raised by our own signal handlers. A `KeyboardInterrupt` comes from code that raises it itself."""


class ComputeTimeout(BaseException):
    """Raised inside code of an attempt that has blocked other attempts for too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it blocked other cases for {seconds:g} s (compute_seconds)")


in_attempt: ContextVar[bool] = ContextVar("in_attempt", default=False)
"""Whether the running code belongs to an attempt: only then may a `ComputeTimeout` stop it."""


NUL = "the character U+0000 (NUL)"
"""Not allowed in ids, names and labels: PostgreSQL cannot store it, so SQLite does not either."""
LONGEST_MESSAGE = 20_000
"""How many characters of an error's message are kept."""
_POISON = re.compile("[\ud800-\udfff\0]")
_UNPRINTABLE = re.compile("((?:(?<!\\\\)\\\\+)?)([\ud800-\udfff\0]|u(?:d[89a-f][0-9a-f]{2}|0000))")


def printable(text: str) -> str:
    """The text with half characters and NUL written out: `\\ud800`, `\\u0000`. Backslashes before something that looks
    like that already are doubled, so no two texts become one."""
    return _UNPRINTABLE.sub(lambda it: it[1] * 2 + (it[2] if len(it[2]) > 1 else f"\\u{ord(it[2]):04x}"), text)


def message_of(error: BaseException) -> str:
    """The message of an error, printable and cut, even if its `str` fails."""
    text = "(its message cannot be read)"
    with suppress(Exception):  # it must never break what reports it
        text = str(error)
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[:LONGEST_MESSAGE]}… ({len(text):,} characters)"
    return printable(text) if _POISON.search(text) else text


class boundary:
    """`with boundary(TargetFailed, "target 'x'"):` attributes whatever breaks inside to `who`: errors of every kind,
    and attempts to end the program. A `CaseFailure` passes: it is attributed already. So do a real interrupt and the
    cancellation of the task itself."""

    __slots__ = ("_kind", "_who")

    def __init__(self, kind: type[CaseFailure], who: str) -> None:
        self._kind = kind
        self._who = who

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None or isinstance(error, CaseFailure | UserInterrupt):
            return
        if isinstance(error, MemoryError):
            raise self._kind(f"{self._who}: it needed more memory than this process may use") from error
        if isinstance(error, ComputeTimeout):
            raise self._kind(f"{self._who}: {error}") from error
        if not isinstance(error, Exception):
            if _ends_this_task(error):
                return
            words = " ".join(filter(None, (type(error).__name__, message_of(error))))
            raise self._kind(f"{self._who}: it tried to end the program ({words})") from error
        words = ": ".join(filter(None, (type(error).__name__, message_of(error))))
        raise self._kind(f"{self._who}: {words}") from error


NO_LOOP = object()


def _ends_this_task(error: BaseException) -> bool:
    """Whether the program is interrupted, or this task is cancelled or closed. Otherwise the code inside wants to end
    the program."""
    asyncio: Any = sys.modules.get("asyncio")  # importing it would take longer than all the rest of `--help`
    task: Any = NO_LOOP
    with suppress(RuntimeError):  # there is no loop
        task = asyncio.current_task() if asyncio else NO_LOOP
    if task is NO_LOOP:
        return current_thread() is main_thread()
    several = error if isinstance(error, BaseExceptionGroup) else BaseExceptionGroup("", [error])
    ends = (UserInterrupt, asyncio.CancelledError, GeneratorExit) if task and task.cancelling() else UserInterrupt
    return task is None or several.subgroup(ends) is not None
