"""Access to the models of a run: one client for the judge, the simulated user and the models under test, with cache,
budget and limits."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import IO, Protocol

from msgspec import Struct, field

from howsure.errors import PlanRefused, Problem
from howsure.judges.base import Judge
from howsure.judges.documents import NO_DOCUMENTS, Documents
from howsure.llm.base import Budget, Cache, LanguageModel, ModelSpec
from howsure.llm.budget import Allowance, BudgetMeter, BudgetUse, CommonBudget, check_priced, parse_budget
from howsure.llm.cache import NoCache, RenewedCache
from howsure.llm.call_trace import trace_to_file
from howsure.llm.client import ClientOptions, LimiterFactory, ModelClient
from howsure.llm.costs import known_prices
from howsure.llm.retry import RetryPolicy
from howsure.model.run import ModelSpending
from howsure.model.run_request import DEFAULT_CONCURRENCY, OFFLINE, RunRequest
from howsure.services.workspace import Workspace
from howsure.store.reply_cache import ReplyCache

RECORDED = "recorded"


class JudgeSource(Protocol):
    """Gives each candidate and repeat of a run its judge."""

    @property
    def warnings(self) -> Sequence[Problem]: ...

    def at(self, candidate: str, repeat: int) -> Judge: ...


class OpenModels(Struct, frozen=True, kw_only=True):
    """The judge, the models under test and the model that plays the user, open for a run.

    `judge`, `judge_sha256`, `judge_prompts` (the hash of the prompts) and, of a recording, `recorded_judges` (those
    whose replies it holds) are pinned; `source` is None where there is no judge. `models` are those under test, and
    `target_sha256` pins how live targets are asked. `spent` tells what all cost; `check_budget` raises BudgetReached
    where they may cost no more. `judge_reads`: a live judge is shown the documents, too."""

    judge: str = ""
    judge_sha256: str = ""
    judge_prompts: str = ""
    recorded_judges: tuple[str, ...] = ()
    source: JudgeSource | None = None
    models: Mapping[str, LanguageModel] = field(default_factory=dict)
    target_sha256: str = ""
    simulator: LanguageModel | None = None
    documents: Documents = NO_DOCUMENTS
    judge_reads: bool = False
    spent: Callable[[], ModelSpending | None] = lambda: None
    check_budget: Callable[[], None] = lambda: None

    @property
    def is_recorded(self) -> bool:
        return self.judge.startswith(f"{RECORDED}:")


class SharedAccess(Struct, frozen=True, kw_only=True):
    """What a run shares with the other processes that work on it, in place of what it has where it is alone."""

    cache: Cache | None = None
    budget: Budget | None = None
    limiters: LimiterFactory | None = None


async def open_model_access(
    work: Workspace,
    request: RunRequest,
    specs: Sequence[ModelSpec],
    stack: AsyncExitStack,
    *,
    before: ModelSpending | None = None,
    shared: SharedAccess | None = None,
    budget: CommonBudget | None = None,
) -> tuple[ModelClient, Callable[[], ModelSpending]]:
    """A client that is open as long as `stack`, and a function that returns the spending of the run. `before` is what
    the run had spent before it was resumed; `shared` is set where several processes work on it; `budget` is one that it
    shares with other runs."""
    settings, before, common = work.settings, before or ModelSpending(), shared or SharedAccess()
    meter: BudgetMeter | None = None
    if (request.budget or budget) and shared is None:
        allowance = parse_budget(request.budget) if request.budget else Allowance()
        for each in (allowance, *([budget.allowance] if budget else [])):
            check_priced(each, known_prices(specs, work.prices))
        booked = BudgetUse(usd=before.usd, tokens=before.tokens, seconds=before.seconds)
        meter = BudgetMeter(allowance, time.monotonic, booked, budget)
    cache: Cache = NoCache() if common.cache is None else common.cache
    if request.cache and common.cache is None:
        cache = await stack.enter_async_context(ReplyCache.open(work.replies))
        cache = RenewedCache(cache) if request.asks_anew else cache
    limits = settings.retry
    options = ClientOptions(
        concurrency=request.concurrency or DEFAULT_CONCURRENCY,
        attempt_seconds=settings.attempt_seconds,
        retry=RetryPolicy(attempts=limits.attempts, seconds=limits.seconds, first_contact=limits.first_contact),
        rates=settings.rates,
        providers=work.kit.providers.by_name(),
        cache=cache,
        budget=meter if common.budget is None else common.budget,
        prices=work.prices,
        trace=trace_to_file(stack.enter_context(open_to_append("--trace", request.trace))) if request.trace else None,
        limiters=common.limiters,
    )
    client = await stack.enter_async_context(ModelClient(os.environ, options))
    return client, lambda: _total_spending(client, before, meter)


def open_documents(work: Workspace, request: RunRequest) -> Documents:
    """The documents of the cases: they lie beside the datasets. Where no model is asked, nobody is shown any."""
    if request.judge in ("", OFFLINE) and request.target in ("", RECORDED):
        return NO_DOCUMENTS
    settings = work.settings
    folders = [Path(path) if Path(path).is_dir() else Path(path).parent for path in request.datasets]
    return Documents(
        tuple(folders),
        pictures=settings.images,
        characters=settings.document_characters,
        policies=work.kit.dataset_policies,
    )


def open_to_append(option: str, path: str) -> IO[bytes]:
    try:
        return Path(path).open("ab")
    except OSError as error:
        raise PlanRefused(f"{option} {path}: cannot be written: {error.strerror}") from error


def _total_spending(client: ModelClient, before: ModelSpending, meter: BudgetMeter | None) -> ModelSpending:
    """What the run has cost, with what it had cost before it was resumed."""
    now = client.total
    tokens = now.prompt_tokens + now.completion_tokens + now.thinking_tokens
    own = ModelSpending(usd=now.cost_usd, tokens=tokens, calls=now.answered, cached=now.cached, unpriced=now.unpriced)
    return sum_spending((before, own), meter.spent.seconds if meter else before.seconds)


def sum_spending(parts: Sequence[ModelSpending], seconds: float) -> ModelSpending:
    """The sum of all parts. Their times may overlap, so the caller gives the duration."""
    totals = {name: sum(getattr(each, name) for each in parts) for name in ModelSpending.__struct_fields__}
    return ModelSpending(**{**totals, "seconds": seconds})
