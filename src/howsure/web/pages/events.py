"""What goes on, as it happens: a page that shows a run, or several, is told when something of them has changed, and
asks for what is new. Nothing but that is said here, so that nothing is shown that the page itself would not show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from howsure.errors import NotFound
from howsure.model.run import Run, RunState
from howsure.web.pages.runs import LIVE
from howsure.web.sharing import Page, caller_of, gallery_of, is_still_known

LOOK_SECONDS = 0.5
SILENCE_SECONDS = 15.0
KNOWN_SECONDS = 5.0
"""So often it is asked anew whether whoever listens may still do so."""
MOST = 50
CHANGED = b"event: changed\ndata: 1\n\n"
ENDED = b"event: end\ndata: 1\n\n"
STILL_THERE = b": still there\n\n"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Seen(Struct, frozen=True):
    """What there is now: something that is unlike when it has changed, and whether more may come."""

    like: Hashable
    goes_on: bool


Look = Callable[[], Awaitable[Seen]]


async def told(request: Request, look: Look) -> AsyncIterator[bytes]:
    """`changed` whenever something has, and at first; `end` when nothing more will."""
    shown: Seen | None = None
    silent = known = 0.0
    while not await request.is_disconnected():
        if known >= KNOWN_SECONDS:
            known = 0.0
            if not await is_still_known(request):
                return
        seen = await look()
        if shown is None or seen.like != shown.like:
            shown, silent = seen, 0.0
            yield CHANGED
        elif silent >= SILENCE_SECONDS:
            silent = 0.0
            yield STILL_THERE
        if not seen.goes_on:
            yield ENDED
            return
        await asyncio.sleep(LOOK_SECONDS)
        silent, known = silent + LOOK_SECONDS, known + LOOK_SECONDS


def as_it_is(run: Run) -> Hashable:
    counts = run.counts
    return run.id, run.state, counts.passed, counts.failed, counts.errored, counts.skipped, run.error


async def of_run(request: Request) -> Response:
    gallery, within, run_id = gallery_of(request), caller_of(request).within, request.path_params["run_id"]
    await gallery.summary(run_id, within)

    async def look() -> Seen:
        try:
            run = (await gallery.summary(run_id, within)).run
        except NotFound:
            return Seen(None, goes_on=False)
        return Seen(as_it_is(run), run.state in LIVE)

    return stream(request, look)


async def of_all(request: Request) -> Response:
    """Of every run that goes on, the newest so many. One that was interrupted may: only its job says so."""
    gallery, within = gallery_of(request), caller_of(request).within

    async def look() -> Seen:
        faces = await request.app.state.run_faces(within)
        maybe = [face for face in faces if face.state in (*LIVE, RunState.INTERRUPTED)][:MOST]
        runs = [summary.run for summary in await gallery.these([face.id for face in maybe])] if maybe else []
        # The list is made of these same faces, which may be a second old: it goes on for as long as they say so.
        states = [*(face.state for face in maybe), *(run.state for run in runs)]
        return Seen((len(faces), *states, *map(as_it_is, runs)), any(state in LIVE for state in states))

    return stream(request, look)


def stream(request: Request, look: Look) -> Response:
    return StreamingResponse(told(request, look), media_type="text/event-stream", headers=HEADERS)


def routes() -> list[Page]:
    return [Page("/events", of_all), Page("/runs/{run_id}/events", of_run)]
