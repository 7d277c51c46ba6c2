"""The demo data, with one click: five small runs go into the queue, each under an id of its own, so that a second click
makes no second one."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.services.hosting.trial import load_demo
from howsure.store.service.keys import Scope
from howsure.web.sharing import Page, caller_of, host_of


async def load(request: Request) -> Response:
    await load_demo(host_of(request), caller_of(request).within)
    return RedirectResponse("/", 303)


def routes() -> list[Page]:
    return [Page("/demo", load, Scope.RUN, "POST")]
