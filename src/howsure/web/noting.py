"""Whatever is written through a page is noted, as what is written through the API is: who, what, when, how it ended."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

from starlette.requests import Request

from howsure.services.hosting.callers import Caller
from howsure.services.hosting.host import Host
from howsure.store.service.logs import Deed

WRITES_NOTHING = "writes_nothing"
"""Set in a request's state by those that are sent like a form and change nothing."""


async def note(request: Request, asking: Caller, status: int) -> None:
    if getattr(request.state, WRITES_NOTHING, False):
        return
    host: Host = request.app.state.host
    deed = Deed(
        id=str(uuid4()),
        organization_id=asking.within.home,
        at=datetime.now(UTC),
        actor=asking.name,
        action=f"{request.method} {pattern(request)}",
        subject=request.url.path,
        status=status,
        request_id=getattr(request.state, "request_id", ""),
    )
    await host.store.audit.add(deed)


def pattern(request: Request) -> str:
    """The address with the names of its parts in their places."""
    path: str = request.url.path
    for name, value in request.path_params.items():
        path = path.replace(f"/{value}", f"/{{{name}}}", 1)
    return path
