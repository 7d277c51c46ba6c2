"""What can be done with a run from its page: stop it, go on, try again, delete; and back to the page. Grading again has
a page of its own: again.py."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import NotFound
from howsure.model.job import Wish
from howsure.model.run import Run, RunState
from howsure.services.hosting import steering
from howsure.services.hosting.callers import Caller
from howsure.services.hosting.host import Host
from howsure.services.hosting.ordering import OFFLINE
from howsure.store.service.keys import Scope
from howsure.store.store import Store
from howsure.web.sharing import Page, caller_of, host_of

DEEDS = ("cancel", "pause", "resume", "retry", "delete")
ANYBODYS = ("regrade", "delete")
"""What can be done with a run that the service did not queue, too."""


def deeds(state: RunState, errored: int, is_own: bool = True) -> tuple[str, ...]:
    """What can be done with a run in this state. One that `howsure run` works on (not `is_own`) is not ours to stop or
    to go on with."""
    if state in (RunState.PENDING, RunState.RUNNING):
        return ("pause", "cancel") if is_own else ()
    again = () if state is RunState.COMPLETED else ("resume",)
    found = (*again, *(("retry",) if errored else ()), "regrade", "delete")
    return found if is_own else tuple(deed for deed in found if deed in ANYBODYS)


async def deeds_of(store: Store, run: Run, asking: Caller) -> tuple[str, ...]:
    """What whoever asks may do with this run."""
    if not asking.may(Scope.RUN):
        return ()
    return deeds(run.state, run.counts.errored, run.id in await store.queue.own([run.id]))


def offered_judges(host: Host) -> tuple[str, ...]:
    """Whom this service may ask."""
    own = host.work.settings.judge
    return tuple(dict.fromkeys((*((own,) if own else ()), *sorted(host.rules.judges), OFFLINE)))


async def steer(request: Request) -> Response:
    host, within = host_of(request), caller_of(request).within
    run_id, deed = request.path_params["run_id"], request.path_params["deed"]
    match deed:
        case "cancel":
            await steering.stop(host, run_id, Wish.CANCEL, within)
        case "pause":
            await steering.stop(host, run_id, Wish.PAUSE, within)
        case "resume":
            await steering.go_on(host, run_id, within)
        case "retry":
            await steering.retry(host, run_id, within)
        case "delete":
            await steering.delete(host, run_id, within)
            return RedirectResponse("/", 303)
        case _:
            raise NotFound(f"{deed!r} is nothing that can be done with a run: {', '.join(DEEDS)} are")
    return RedirectResponse(f"/runs/{run_id}", 303)


def routes() -> list[Page]:
    return [Page("/runs/{run_id}/{deed}", steer, Scope.RUN, "POST")]
