"""Pages of lists: the body is an array, and headers say where the next page begins. A cursor is opaque, and a page
costs the same wherever it begins."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import Query, Request
from pydantic import StringConstraints
from starlette.exceptions import HTTPException

from howsure.api.errors import JsonAnswer
from howsure.store.pages import is_number

NEXT_CURSOR = "X-Next-Cursor"
LARGEST = 1000
MOST_AT_ONCE = 100_000
"""How many results one answer holds where no page is asked for."""

Limit = Annotated[int, Query(ge=1, le=LARGEST, description="How many at most")]
Cursor = Annotated[
    str | None,
    StringConstraints(max_length=500, pattern=r"^[A-Za-z0-9_=-]*$"),
    Query(description=f"Where to go on: the `{NEXT_CURSOR}` header of the page before"),
]

PAGE_HEADERS: dict[str, Any] = {
    NEXT_CURSOR: {"description": "The cursor of the next page; absent on the last one", "schema": {"type": "string"}},
    "Link": {"description": 'The address of the next page, `rel="next"`', "schema": {"type": "string"}},
}


def read_cursor(cursor: str | None) -> str | None:
    """What a cursor says."""
    if not cursor:
        return None
    try:
        return urlsafe_b64decode(cursor.encode()).decode().replace("\0", "")
    except (Error, ValueError):
        raise HTTPException(
            422, f"cursor: {cursor!r} is none: use the {NEXT_CURSOR} header of the page before"
        ) from None


def read_number(cursor: str | None) -> int | None:
    """The position or version that a cursor says."""
    place = read_cursor(cursor)
    if place is None:
        return None
    if not is_number(place):
        raise HTTPException(422, "cursor: this one is of another list")
    return int(place)


def page(request: Request, shapes: Sequence[Any], place: str | None, total: int | None = None) -> JsonAnswer:
    """An array; `place` is where the next page begins, None on the last one. With a `total` it is an envelope."""
    cursor = None if place is None else urlsafe_b64encode(place.encode()).decode()
    body = list(shapes) if total is None else {"items": list(shapes), "total": total, "next_cursor": cursor}
    if cursor is None:
        return JsonAnswer(body)
    given = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
    address = f"{quote(request.url.path)}?{urlencode([*given, ('cursor', cursor)])}"
    return JsonAnswer(body, headers={NEXT_CURSOR: cursor, "Link": f'<{address}>; rel="next"'})
