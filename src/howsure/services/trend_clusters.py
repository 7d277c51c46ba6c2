"""The rates of one run where its results belong together: repeats of one case, Explain cases of one scenario. A summary
only counts; here the results themselves are read, so that the interval can allow for it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from howsure.model.run import Run
from howsure.model.verdict import Verdict
from howsure.services.gates.reading import scenarios
from howsure.stats.estimates import Estimate
from howsure.stats.rates import for_rate
from howsure.store.queries.columns import OUTCOMES, VERDICTS, Attempts, Measured
from howsure.store.store import Store

PASS_RATE = "pass rate"
PASSED, FAILED = "passed", "failed"

Verdicts = tuple[list[bool], list[Hashable]]
"""Whether each passed, and the cluster it belongs to."""


async def clustered_rates(store: Store, run: Run, candidate: str | None = None) -> dict[str, Estimate]:
    """The pass rate and that of each grader with a mark, by name; empty where every result stands for itself."""
    grouped = await scenarios(store, run)
    if run.pins.repeat == 1 and not grouped:
        return {}
    attempts, measured = await store.columns(run.id)
    return rates_of(attempts, measured, grouped, candidate)


def rates_of(
    attempts: Attempts, measured: Sequence[Measured], grouped: Mapping[str, str], candidate: str | None = None
) -> dict[str, Estimate]:
    """Pure: `grouped` names the scenario of a case; other cases are clusters of their own repeats."""
    own = dict(_clusters(attempts, grouped, candidate))
    found: dict[str, Verdicts] = {PASS_RATE: ([], [])}
    for position, code in zip(attempts.positions, attempts.verdicts, strict=True):
        verdict = VERDICTS[code]
        if position in own and verdict in (Verdict.PASSED, Verdict.FAILED):
            _add(found, PASS_RATE, own[position], passed=verdict is Verdict.PASSED)
    for each in measured:
        if each.part_id is None and candidate in (None, each.candidate):
            for position, code in zip(each.positions, each.outcomes, strict=True):
                if position in own and OUTCOMES[code] in (PASSED, FAILED):
                    _add(found, each.name, own[position], passed=OUTCOMES[code] == PASSED)
    rates = {name: for_rate(verdicts, clusters=clusters) for name, (verdicts, clusters) in found.items() if verdicts}
    return {name: rate for name, rate in rates.items() if rate is not None}


def _clusters(attempts: Attempts, grouped: Mapping[str, str], candidate: str | None) -> Iterator[tuple[int, str]]:
    for position, case, name in zip(attempts.positions, attempts.cases, attempts.candidates, strict=True):
        if candidate in (None, attempts.candidate_names[name]):
            id = attempts.case_ids[case]
            yield position, grouped.get(id, id)


def _add(found: dict[str, Verdicts], name: str, cluster: str, *, passed: bool) -> None:
    verdicts, clusters = found.setdefault(name, ([], []))
    verdicts.append(passed)
    clusters.append(cluster)
