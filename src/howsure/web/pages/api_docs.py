"""The page of the API: every operation of the description, with a form that sends it. The script reads the description
from the service itself."""

from __future__ import annotations

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.services.host.roles import Permission
from howsure.web.responses import respond
from howsure.web.routes import PageRoute


class ApiDocsPage(Struct, frozen=True):
    """The part that does not come from the description: whether requests need a key."""

    keys_needed: bool
    answer: str = "The API"
    description: str = "/api/v1/openapi.json"


async def show_api_docs(request: Request) -> Response:
    return respond(request, "api-docs.html", ApiDocsPage(keys_needed=request.app.state.keys_needed))


ROUTES = (PageRoute("/docs", show_api_docs, Permission.PUBLIC),)
