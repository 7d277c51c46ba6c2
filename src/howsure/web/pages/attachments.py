"""The documents that a case brings, as files. An address names one by its number: where it lies is said by the case,
and must be in the folder of its dataset. Pictures and plain text are shown, everything else is handed over as a file;
neither may run anything."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from howsure.errors import NotFound
from howsure.judges.documents import media_type
from howsure.model.case import Attachment, SingleTurn
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.services.hosting.materials import is_reference
from howsure.services.paths import usable
from howsure.store.service.places import is_number
from howsure.web.pages.case import result_at
from howsure.web.sharing import Page, caller_of, host_of

LOOKED_AT = 8192
"""Bytes by which text is told from other things."""
FILE = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"
POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; sandbox allow-same-origin; frame-ancestors 'none'"
)
"""Nothing may run. The styles are those that a browser itself gives a picture or a text."""


class Held(Struct, frozen=True):
    """A file, what it is said to be, and whether a browser may show it."""

    path: Path
    media: str
    is_shown: bool


def attachments_of(result: Result) -> tuple[Attachment, ...]:
    given = result.case.input
    return given.attachments if isinstance(given, SingleTurn) else ()


def folders_of(run: Run) -> list[Path]:
    """Where the datasets of a run lie. One that was uploaded lies nowhere, and brought nothing beside it."""
    paths = [Path(usable(pin.path)) for pin in run.pins.datasets if not is_reference(pin.path)]
    return [path if path.is_dir() else path.parent for path in paths]


def held_in(folders: Sequence[Path], named: str) -> Held | None:
    """The file of that name in one of the folders; None where there is none, or where the name leads out of it."""
    for folder in folders:
        try:
            path = (folder / named).resolve()
            if path.is_relative_to(folder.resolve()) and path.is_file():
                return _held(path)
        except (OSError, ValueError):
            continue
    return None


def _held(path: Path) -> Held:
    picture = media_type(path)
    if picture:
        return Held(path, picture, True)
    return Held(path, TEXT, True) if _is_text(path) else Held(path, FILE, False)


def _is_text(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(LOOKED_AT)
    if b"\x00" in head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be cut in two.
        return len(head) == LOOKED_AT and error.start > LOOKED_AT - 4
    return True


async def show(request: Request) -> Response:
    store, number = host_of(request).store, request.path_params["number"]
    run = await store.run(request.path_params["run_id"], caller_of(request).within)
    named = attachments_of(await result_at(store, run, request.path_params["position"]))
    if not is_number(number) or not 1 <= int(number) <= len(named):
        raise NotFound(f"this case has no attachment {number}")
    held = await asyncio.to_thread(held_in, folders_of(run), named[int(number) - 1].path)
    if held is None:
        raise NotFound("this attachment is not where its dataset lies: what is uploaded brings no files beside it")
    return file_of(held)


def file_of(held: Held) -> Response:
    manner = "inline" if held.is_shown else "attachment"
    headers = {
        "Content-Security-Policy": POLICY,
        "Content-Disposition": f"{manner}; filename*=UTF-8''{quote(held.path.name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return FileResponse(held.path, media_type=held.media, headers=headers)


def routes() -> list[Page]:
    return [Page("/runs/{run_id}/cases/{position}/attachments/{number}", show)]
