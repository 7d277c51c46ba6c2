"""Statistics over runs: how often each rule held, and who was answerable for failed and errored results. Also the API's
shape of a single result with its attribution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, to_builtins

from howsure.model.access_scope import AccessScope
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.summary import Tally
from howsure.model.verdict import Verdict
from howsure.reports.evaluations import evaluation_result
from howsure.reports.figures import pass_rate_of
from howsure.services.host.run_views import parse_time
from howsure.services.triage.triage import attribute, triage_stored
from howsure.store.store import Store
from howsure.wire.results import FailureAttribution
from howsure.wire.runs import StatsGroup

BY_RULE = "rule"


class StatsQuery(Struct, frozen=True, kw_only=True):
    """Which runs, the newest `limit` of them, and what their results are grouped by."""

    group_by: str
    run_id: str | None = None
    agent_id: str | None = None
    since: str | None = None
    limit: int = 20


async def run_stats(store: Store, query: StatsQuery, scope: AccessScope) -> tuple[int, list[StatsGroup]]:
    """How many runs were counted, and the groups, by their key."""
    since = parse_time("since", query.since)
    if query.run_id is not None:
        found = [await store.run(query.run_id, scope)]
    else:
        found = await store.runs(limit=query.limit, before=None, agent_id=query.agent_id, within=scope)
    runs = [run for run in found if since is None or run.created_at >= since]
    counts = _by_rule if query.group_by == BY_RULE else _by_party
    total = Counter[tuple[str, str]]()
    for run in runs:
        total.update(await counts(store, run))
    return len(runs), [_group(key, total) for key in sorted({key for key, _ in total})]


async def _by_rule(store: Store, run: Run) -> Mapping[tuple[str, str], int]:
    """How often each rule had each outcome."""
    stored = (await store.stored_counts([run.id])).get(run.id) or await store.count(run.id)
    outcomes = stored.rules or {}
    return Counter({(rule, outcome): number for rule, own in outcomes.items() for outcome, number in own.items()})


async def _by_party(store: Store, run: Run) -> Mapping[tuple[str, str], int]:
    """How many results that failed or errored each party is answerable for, as triage finds."""
    findings = (await triage_stored(store, run)).findings
    return Counter((each.party.value, "failed" if each.verdict is Verdict.FAILED else "error") for each in findings)


def _group(key: str, total: Mapping[tuple[str, str], int]) -> StatsGroup:
    own = {outcome: number for (name, outcome), number in total.items() if name == key}
    passed, failed, errored = (own.get(outcome, 0) for outcome in ("passed", "failed", "error"))
    tally = Tally(passed=passed, failed=failed, errored=errored, skipped=sum(own.values()) - passed - failed - errored)
    rate = pass_rate_of(tally)
    return StatsGroup(
        key=key,
        **to_builtins(tally),
        total=tally.total,
        pass_rate=rate.value,
        pass_rate_interval=rate.interval,
    )


def result_shape(run: Run, result: Result) -> dict[str, Any]:
    """The EvaluationResult, with who is answerable where it did not pass."""
    finding = attribute(run, result)
    if finding is None:
        return {**evaluation_result(run, result), "failure_attribution": None}
    blamed = FailureAttribution(
        party=finding.party.value, cause=finding.cause.value, confidence=finding.confidence.value, why=finding.why
    )
    return {**evaluation_result(run, result), "failure_attribution": to_builtins(blamed)}
