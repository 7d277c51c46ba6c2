"""Analyses of stored runs: reports, triage, gates and comparisons. Nothing is run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib import import_module
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from howsure.api.access import Hosted, Reader
from howsure.api.bodies import Key, Name
from howsure.api.errors import JsonAnswer
from howsure.api.http_answers import JSON, known_already
from howsure.api.requests import StrictRoute
from howsure.api.routes.runs import RunId, all_results, etag_header, results_etag, run_views_of
from howsure.api.schemas import answer, errors
from howsure.model.run import worst_outcome
from howsure.model.triage import Triage
from howsure.reports.comparisons import comparison_shape
from howsure.reports.headlines import field_words
from howsure.reports.run_facts import gate_shape
from howsure.services.gate.gate import rule_on_gates
from howsure.services.host.run_requests import check_gates
from howsure.wire import analyses as wire
from howsure.wire.runs import RunReport

router = APIRouter(tags=["runs"], route_class=StrictRoute)
MOST_TRIAGED = 20_000
"""The most results that triage looks into during one request."""


@router.get("/runs/{run_id}/report", responses={**answer(RunReport), **errors(404)})
async def report(request: Request, run_id: RunId, caller: Reader, host: Hosted) -> Response:
    """The run and all its results, as `howsure report -o FILE.json` writes them. Of a run that goes on, results may be
    there that `run` does not count yet."""
    shape = await run_views_of(request).run(run_id, caller.within)
    run = await host.store.run(run_id, caller.within)
    etag = await results_etag(host, run, shape)
    results = await all_results(host, run)

    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"run":' + msgspec.json.encode(shape) + b',"results":'
        async for piece in results:
            yield piece
        yield b"}"

    return known_already(request, etag) or StreamingResponse(pieces(), headers=etag_header(etag), media_type=JSON)


@router.get("/runs/{run_id}/triage", responses={**answer(Triage), **errors(404)})
async def triage(run_id: RunId, caller: Reader, host: Hosted) -> Response:
    """Why results did not pass, and who is answerable: each has one cause. No model is asked."""
    run = await host.store.run(run_id, caller.within)
    if (number := run.counts.failed + run.counts.errored) > MOST_TRIAGED:
        raise HTTPException(422, f"{number:,} results did not pass: more than the {MOST_TRIAGED:,} of one answer")
    # Loaded here, because it loads numpy and scipy, which few other requests need.
    module = await asyncio.to_thread(import_module, "howsure.services.triage.triage")
    found: Triage = await module.triage_stored(host.store, run)
    causes = tuple(replace(each, advice=field_words(each.advice)) for each in found.causes)
    return JsonAnswer(replace(found, causes=causes))


@router.get("/runs/{run_id}/gates", responses={**answer(wire.GateReport), **errors(404)})
async def gates(
    request: Request,
    run_id: RunId,
    caller: Reader,
    host: Hosted,
    gate: Annotated[list[Name] | None, Query(description="Gates to decide besides the run's own")] = None,
) -> Response:
    """Decides the run's own gates, and the given ones."""
    summary = await run_views_of(request).summary(run_id, caller.within)
    await check_gates(host, gate or (), caller.within)
    decided = (await rule_on_gates(host.store, summary, gate)).gates
    outcome = worst_outcome(decided) if decided else None
    return JsonAnswer({"run_id": run_id, "outcome": outcome, "gates": [gate_shape(each) for each in decided]})


@router.get("/compare/{first}/{second}", responses={**answer(wire.ComparisonAnswer), **errors(404)}, tags=["compare"])
async def compare(first: Key, second: Key, caller: Reader, host: Hosted) -> Response:
    """Two runs, case by case: what can be compared, flips both ways, differences with intervals, and a sentence."""
    run_ids = tuple([(await host.store.run(run_id, caller.within)).id for run_id in (first, second)])
    module = await asyncio.to_thread(import_module, "howsure.services.compare.compare")
    comparison = await module.compare_stored(host.store, module.CompareRequest(runs=run_ids))
    return JsonAnswer(comparison_shape(comparison))
