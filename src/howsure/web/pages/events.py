"""Server-sent events: a page that shows runs in progress is told when one of them has changed, and then loads the new
content. The events carry no content, so that nothing is shown that the page itself would not show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from howsure.errors import NotFound
from howsure.model.run import Run, RunState
from howsure.services.host.keys import caller_still_valid
from howsure.web.pages.runs import LIVE
from howsure.web.routes import PageRoute, caller_of, host_of, run_views_of

POLL_SECONDS = 0.5
KEEP_ALIVE_SECONDS = 15.0
KEY_CHECK_SECONDS = 2.0
"""How often the key or the session of the listener is checked again."""
MAX_RUNS = 50
CHANGED = b"event: changed\ndata: 1\n\n"
ENDED = b"event: end\ndata: 1\n\n"
KEEP_ALIVE = b": still there\n\n"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class RunSnapshot(Struct, frozen=True):
    """The state of the runs as a key that differs when something changed, and whether more changes may come."""

    key: Hashable
    is_live: bool


TakeSnapshot = Callable[[], Awaitable[RunSnapshot]]


async def event_stream(request: Request, take_snapshot: TakeSnapshot) -> AsyncIterator[bytes]:
    """`changed` at first and after every change; `end` when no more changes will come."""
    shown: RunSnapshot | None = None
    silent = since_check = 0.0
    while not await request.is_disconnected():
        if since_check >= KEY_CHECK_SECONDS:
            since_check = 0.0
            if not await caller_still_valid(host_of(request), caller_of(request)):
                return
        snapshot = await take_snapshot()
        if shown is None or snapshot.key != shown.key:
            shown, silent = snapshot, 0.0
            yield CHANGED
        elif silent >= KEEP_ALIVE_SECONDS:
            silent = 0.0
            yield KEEP_ALIVE
        if not snapshot.is_live:
            yield ENDED
            return
        await asyncio.sleep(POLL_SECONDS)
        silent, since_check = silent + POLL_SECONDS, since_check + POLL_SECONDS


def run_state_key(run: Run) -> Hashable:
    counts = run.counts
    return run.id, run.state, counts.passed, counts.failed, counts.errored, counts.skipped, counts.damaged, run.error


async def stream_run(request: Request) -> Response:
    run_views, within, run_id = run_views_of(request), caller_of(request).within, request.path_params["run_id"]
    await run_views.summary(run_id, within)

    async def take_snapshot() -> RunSnapshot:
        try:
            run = (await run_views.summary(run_id, within)).run
        except NotFound:
            return RunSnapshot(None, is_live=False)
        return RunSnapshot(run_state_key(run), run.state in LIVE)

    return stream_response(request, take_snapshot)


async def stream_runs(request: Request) -> Response:
    """The newest runs in progress. An interrupted run may be one: only its job in the queue says so."""
    run_views, within = run_views_of(request), caller_of(request).within

    async def take_snapshot() -> RunSnapshot:
        previews = await request.app.state.run_previews(within)
        candidates = [preview for preview in previews if preview.state in (*LIVE, RunState.INTERRUPTED)][:MAX_RUNS]
        summaries = await run_views.brief_summaries([preview.id for preview in candidates]) if candidates else []
        runs = [summary.run for summary in summaries]
        # The list of runs shows the same previews, which may be two seconds old: both are live as long as the previews.
        states = [*(preview.state for preview in candidates), *(run.state for run in runs)]
        return RunSnapshot((len(previews), *states, *map(run_state_key, runs)), any(state in LIVE for state in states))

    return stream_response(request, take_snapshot)


def stream_response(request: Request, take_snapshot: TakeSnapshot) -> Response:
    return StreamingResponse(event_stream(request, take_snapshot), media_type="text/event-stream", headers=HEADERS)


ROUTES = [PageRoute("/events", stream_runs), PageRoute("/runs/{run_id}/events", stream_run)]
