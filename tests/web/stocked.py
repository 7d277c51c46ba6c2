"""A store with something on every page: two runs of a shop's refunds with a newer one that breaks and fixes some, a run
with criteria and rules, one with repeats, one that is full of hostile text, and one that is going on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from hostile import HOSTILE, HTML, hostile_results, hostile_summary, without_nul
from howsure.model.result import Result
from howsure.model.run import Run, RunState
from howsure.model.score import Score
from howsure.model.transcript import Span
from howsure.model.verdict import Verdict
from howsure.store.leases import this_owner
from howsure.store.store import Store
from unit.reports.northwind import (
    AGENT,
    MOMENT,
    RUBRIC,
    SUPPORT_PINS,
    a_run,
    counts_of,
    refund_results,
    support_results,
)

OLDER, NEWER, SUPPORT, AGAIN, NASTY, GOING = (str(UUID(int=number, version=4)) for number in range(1, 7))
NASTY_TEXT = HTML[0]
PAGES = {
    "runs": "/",
    "runs filtered": "/?status=completed&q=support",
    "run": f"/runs/{SUPPORT}",
    "run all": f"/runs/{OLDER}?verdict=all",
    "run repeats": f"/runs/{AGAIN}?verdict=all",
    "charts": f"/runs/{OLDER}/charts",
    "triage": f"/runs/{SUPPORT}/triage",
    "case": f"/runs/{OLDER}/cases/2",
    "case rules": f"/runs/{SUPPORT}/cases/0",
    "case errored": f"/runs/{OLDER}/cases/10",
    "case repeats": f"/runs/{AGAIN}/cases/2",
    "compare": f"/compare?run={OLDER}&run={NEWER}",
    "compare strangers": f"/compare?run={OLDER}&run={SUPPORT}",
    "compare case": f"/compare/case?run={OLDER}&run={NEWER}&case=refund-03",
    "agents": "/agents",
    "agent": "/agent?id=northwind-support",
    "missing": "/runs/00000000-0000-4000-8000-00000000ffff",
}
"""Every page of runs, cases, comparisons and agents."""


async def stock(store: Store) -> None:
    pins = {"agent": replace(AGENT, id="northwind-support")}
    await keep(store, OLDER, with_spans(refund_results()), name="support-v1", pins=pins)
    await keep(store, NEWER, otherwise(refund_results()), name="support-v2", pins=pins, minutes=10)
    await keep(store, SUPPORT, support_results(), name="leave", pins={**SUPPORT_PINS, "judge": "offline"}, minutes=20)
    await keep(store, AGAIN, repeated(), name="again", pins={"repeat": 2}, minutes=30)
    await hostile(store)
    await going(store)


async def keep(store: Store, id: str, results: Sequence[Result], *, minutes: int = 0, **fields: Any) -> Run:
    """A completed run, so many minutes after the first."""
    placed = [replace(each, position=place) for place, each in enumerate(results)]
    at = MOMENT + timedelta(minutes=minutes)
    run = replace(a_run(counts_of(placed), id=id, **fields), created_at=at, started_at=at, completed_at=at)
    await store.create_run(run)
    await store.save(id, placed)
    await store.set_state(id, RunState.COMPLETED, completed_at=at)
    return run


def with_spans(results: Sequence[Result]) -> list[Result]:
    second = 1_000_000_000
    spans = (
        Span(name="invocation", span_id="a", start_ns=second, end_ns=3 * second),
        Span(name="call_llm", span_id="b", parent_id="a", start_ns=second, end_ns=2 * second),
    )
    return [
        replace(each, transcript=replace(each.transcript, spans=spans)) if each.transcript else each for each in results
    ]


def otherwise(results: Sequence[Result]) -> list[Result]:
    """A newer version: what failed first passes now, and what passed first fails."""
    failed = next(each for each in results if each.verdict is Verdict.FAILED)
    passed = next(each for each in results if each.verdict is Verdict.PASSED)
    turned = {failed.case.id: (Verdict.PASSED, 1.0), passed.case.id: (Verdict.FAILED, 0.0)}
    return [_turned(each, *turned[each.case.id]) if each.case.id in turned else each for each in results]


def _turned(result: Result, verdict: Verdict, value: float) -> Result:
    mark = Score(name="tool_usage_accuracy", value=value, pass_mark=1.0, reason="turned")
    others = tuple(grade for grade in result.grades if grade.name != "tool_usage_accuracy")
    said = replace(result.transcript, answer="Your refund is on its way today.") if result.transcript else None
    return replace(result, verdict=verdict, grades=(mark, *others), transcript=said, reasons=("it turned",))


def repeated() -> list[Result]:
    """Every case twice; the third does not end the same way both times."""
    once = refund_results()
    again = [replace(each, repeat=2) for each in once]
    third = next(place for place, each in enumerate(again) if each.verdict is Verdict.FAILED)
    again[third] = _turned(again[third], Verdict.PASSED, 1.0)
    return [each for pair in zip(once, again, strict=True) for each in pair]


async def hostile(store: Store) -> None:
    results = hostile_results(HOSTILE)
    run = hostile_summary(results, NASTY_TEXT).run
    candidates = tuple(map(without_nul, HOSTILE))
    shown = replace(
        run,
        id=NASTY,
        pins=replace(run.pins, request=replace(run.pins.request, candidates=candidates, gates=())),
        organization_id="",
    )
    await store.create_run(shown)
    await store.save(NASTY, results)
    await store.set_state(NASTY, RunState.COMPLETED, completed_at=MOMENT, error=NASTY_TEXT)


async def going(store: Store) -> None:
    """A run that this process works on: three of twelve are done."""
    results = refund_results()[:3]
    made = a_run(counts_of(results, 12), id=GOING, name="going on")
    run = replace(made, state=RunState.RUNNING, created_at=MOMENT + timedelta(hours=1), completed_at=None)
    await store.create_run(run)
    await store.claim(GOING, this_owner(""), store._clock())
    await store.save(GOING, results)
    await store.heartbeat(GOING)


__all__ = ["PAGES", "RUBRIC", "stock"]
