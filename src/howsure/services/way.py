"""The way to the models of a run: one door for the judges and those under test, with its cache, budget and limits."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path
from typing import IO

from msgspec import Struct, field

from howsure.config import PanelSettings
from howsure.errors import ConfigInvalid
from howsure.judges.documents import Documents
from howsure.llm.base import Budget, Cache
from howsure.llm.budget import Spending, check_priced, parse_budget
from howsure.llm.budget import Spent as Booked
from howsure.llm.cache import NoCache
from howsure.llm.costs import priced
from howsure.llm.door import ATTEMPT_SECONDS, Door, Fittings, Gates, Habits
from howsure.llm.retry import Retry
from howsure.llm.specs import ModelSpec
from howsure.llm.tracing import to_file
from howsure.model.calls import CallSettings, Patience, Rates
from howsure.model.run import Spent
from howsure.prices.table import PriceTable
from howsure.store.replies import ReplyCache


class Among(Struct, frozen=True, kw_only=True):
    """What a run shares with the other processes that work on it, in place of what it has where it is alone."""

    cache: Cache | None = None
    budget: Budget | None = None
    gates: Gates | None = None


class Wanted(Struct, frozen=True, kw_only=True):
    """What the options and settings say of asking models. `models` are those under test, asked with `target_settings`;
    attachments are looked for in `folders`, and pictures among them are shown where `images` says so. `batch`: one call
    rules on all criteria of a case. `among`: where several processes work on the run."""

    judge: str
    concurrency: int = 8
    cache: Path | None = None
    trace: Path | None = None
    budget: str = ""
    before: Spent | None = None
    prices: PriceTable | None = None
    panel: PanelSettings | None = None
    models: tuple[str, ...] = ()
    simulator: str = ""
    simulator_settings: CallSettings = CallSettings()
    folders: tuple[Path, ...] = ()
    attempt_seconds: float = ATTEMPT_SECONDS
    judge_settings: CallSettings = CallSettings()
    target_settings: CallSettings = CallSettings()
    batch: bool = False
    images: bool = True
    rates: Mapping[str, Rates] = field(default_factory=dict)
    retry: Patience = Patience()
    among: Among | None = None


class Way(Struct, frozen=True):
    """The open door, and what went through it."""

    door: Door
    spent: Callable[[], Spent]
    documents: Documents


async def open_way(wanted: Wanted, specs: Sequence[ModelSpec], stack: AsyncExitStack) -> Way:
    among = wanted.among or Among()
    spending = None if wanted.among else _spending(wanted, specs)
    cache: Cache = NoCache() if among.cache is None else among.cache
    if wanted.cache is not None and among.cache is None:
        cache = await stack.enter_async_context(ReplyCache.open(wanted.cache))
    fittings = Fittings(
        cache=cache,
        budget=spending if among.budget is None else among.budget,
        gates=among.gates,
        prices=wanted.prices,
        trace=None if wanted.trace is None else to_file(stack.enter_context(_opened(wanted.trace))),
    )
    # The HTTP client takes a quarter of a second to import: only runs that ask a model pay for it.
    opening = import_module("howsure.llm.opening")
    door: Door = await stack.enter_async_context(opening.open_door(os.environ, habits(wanted), fittings))
    return Way(door, lambda: _spent(door, wanted, spending), Documents(wanted.folders, pictures=wanted.images))


def habits(wanted: Wanted) -> Habits:
    patience = wanted.retry
    retry = Retry(attempts=patience.attempts, seconds=patience.seconds, first_contact=patience.first_contact)
    return Habits(
        concurrency=wanted.concurrency, attempt_seconds=wanted.attempt_seconds, retry=retry, rates=wanted.rates
    )


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("ab")
    except OSError as error:
        raise ConfigInvalid(f"--trace {path}: cannot be written: {error.strerror}") from error


def _spending(wanted: Wanted, specs: Sequence[ModelSpec]) -> Spending | None:
    if not wanted.budget:
        return None
    allowance = parse_budget(wanted.budget)
    check_priced(allowance, priced(specs, wanted.prices or PriceTable.load()))
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
