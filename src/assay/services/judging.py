"""Who judges a run: a recording, the offline judge, a live model behind the one door, or nobody."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Protocol

from msgspec import Struct

from assay.dialects.finding import digest
from assay.errors import ConfigInvalid, NotFound, PlanRefused, Problem
from assay.judges.base import Judge
from assay.judges.guard import GuardedJudge
from assay.judges.live import LiveJudge
from assay.judges.offline.judge import OfflineJudge
from assay.judges.prompt_files import prompts_fingerprint
from assay.judges.recorded import RecordedJudge
from assay.llm.base import Cache, LanguageModel
from assay.llm.budget import Spending, check_priced, parse_budget
from assay.llm.budget import Spent as Booked
from assay.llm.cache import NoCache
from assay.llm.costs import priced
from assay.llm.door import Door, Fittings, Habits
from assay.llm.specs import ModelSpec, parse
from assay.llm.tracing import to_file
from assay.model.run import Spent
from assay.prices.table import PriceTable
from assay.services.fingerprints import fingerprint
from assay.services.paths import stored
from assay.store.replies import ReplyCache
from assay.version import __version__

RECORDED = "recorded"
OFFLINE = "offline"
NONE = "none"


class Source(Protocol):
    """Gives every lane of a run its judge."""

    @property
    def warnings(self) -> Sequence[Problem]: ...

    def at(self, candidate: str, repeat: int) -> Judge: ...


class Offline:
    """The judge that needs no model."""

    warnings: tuple[Problem, ...] = ()

    def at(self, candidate: str, repeat: int) -> Judge:
        return OfflineJudge()


class Live:
    """A model. Repeats have caches of their own: they are asked again, not copied."""

    warnings: tuple[Problem, ...] = ()

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def at(self, candidate: str, repeat: int) -> Judge:
        return GuardedJudge(LiveJudge(self._model, self._model.name, namespace=f"repeat {repeat}"))


class Wanted(Struct, frozen=True, kw_only=True):
    """What the options say of judging."""

    judge: str
    concurrency: int = 8
    cache: Path | None = None
    trace: Path | None = None
    budget: str = ""
    before: Spent | None = None
    prices: PriceTable | None = None


class Judging(Struct, frozen=True, kw_only=True):
    """The judge of a run while it runs. `spec` and `sha256` are what the run pins; `spent` tells what it cost."""

    spec: str = ""
    sha256: str = ""
    source: Source | None = None
    spent: Callable[[], Spent | None] = lambda: None

    @property
    def is_recorded(self) -> bool:
        return self.spec.startswith(f"{RECORDED}:")


@asynccontextmanager
async def judging(wanted: Wanted) -> AsyncIterator[Judging]:
    """The judge that was asked for. A live one has its connections open inside this block only."""
    kind, _, rest = wanted.judge.partition(":")
    if kind in ("", NONE):
        yield Judging()
    elif wanted.judge == OFFLINE:
        yield Judging(spec=OFFLINE, sha256=fingerprint([OFFLINE, __version__]), source=Offline())
    elif kind == RECORDED:
        yield _recorded(rest)
    else:
        async with AsyncExitStack() as stack:
            yield await _live(wanted, stack)


def _recorded(file: str) -> Judging:
    if not file:
        raise PlanRefused("--judge recorded: needs a file: recorded:FILE")
    path = Path(file)
    if not path.is_file():
        raise NotFound(f"{path}: no such recording of a judge")
    return Judging(spec=f"{RECORDED}:{stored(path)}", sha256=digest(path), source=RecordedJudge.load(path))


async def _live(wanted: Wanted, stack: AsyncExitStack) -> Judging:
    spec = parse(wanted.judge, os.environ)
    spending = _spending(wanted, spec)
    cache: Cache = NoCache()
    if wanted.cache is not None:
        cache = await stack.enter_async_context(ReplyCache.open(wanted.cache))
    fittings = Fittings(
        cache=cache,
        budget=spending,
        prices=wanted.prices,
        trace=None if wanted.trace is None else to_file(stack.enter_context(_opened(wanted.trace))),
    )
    # The HTTP client takes a quarter of a second to import: only runs that ask a model pay for it.
    opening = import_module("assay.llm.opening")
    door: Door = await stack.enter_async_context(
        opening.open_door(os.environ, Habits(concurrency=wanted.concurrency), fittings)
    )
    model = door.model(spec)
    pinned = [str(spec), prompts_fingerprint()]
    return Judging(
        spec=wanted.judge, sha256=fingerprint(pinned), source=Live(model), spent=lambda: _spent(door, wanted, spending)
    )


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("ab")
    except OSError as error:
        raise ConfigInvalid(f"--trace {path}: cannot be written: {error.strerror}") from error


def _spending(wanted: Wanted, spec: ModelSpec) -> Spending | None:
    if not wanted.budget:
        return None
    allowance = parse_budget(wanted.budget)
    check_priced(allowance, priced([spec], wanted.prices or PriceTable.load()))
    before = wanted.before or Spent()
    return Spending(allowance, time.monotonic, Booked(usd=before.usd, tokens=before.tokens, seconds=before.seconds))


def _spent(door: Door, wanted: Wanted, spending: Spending | None) -> Spent:
    """What the run has cost, with what it had cost before it was resumed."""
    before, now = wanted.before or Spent(), door.total
    return Spent(
        usd=before.usd + now.cost_usd,
        tokens=before.tokens + now.prompt_tokens + now.completion_tokens + now.thinking_tokens,
        seconds=spending.spent.seconds if spending else before.seconds,
        calls=before.calls + now.answered,
        cached=before.cached + now.cached,
        unpriced=before.unpriced + now.unpriced,
    )
