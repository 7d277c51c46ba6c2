"""The attachments of a case, as files. An address names one by its number; the case says where the file is, which must
be in the folder of its dataset. Pictures and plain text are shown, everything else is downloaded; neither may run
scripts."""

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
from howsure.services.files import native_path
from howsure.services.host.document_files import is_reference
from howsure.store.pages import is_number
from howsure.web.pages.case import result_at
from howsure.web.routes import PageRoute, caller_of, host_of

SAMPLE_BYTES = 8192
"""The first bytes of a file decide whether it is text."""
FILE = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"
POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; sandbox allow-same-origin; frame-ancestors 'none'"
)
"""Nothing may run. The inline styles are those that a browser adds to a picture or a text."""


class AttachmentFile(Struct, frozen=True):
    """A file, its media type, and whether a browser may show it."""

    path: Path
    media: str
    is_shown: bool


def attachments_of(result: Result) -> tuple[Attachment, ...]:
    given = result.case.input
    return given.attachments if isinstance(given, SingleTurn) else ()


def folders_of(run: Run) -> list[Path]:
    """The folders of the datasets of a run. An uploaded dataset has no folder and no files beside it."""
    paths = [Path(native_path(pin.path)) for pin in run.pins.datasets if not is_reference(pin.path)]
    return [path if path.is_dir() else path.parent for path in paths]


def find_attachment(folders: Sequence[Path], named: str) -> AttachmentFile | None:
    """The file of this name in one of the folders; None where there is none, or where the name leads out of the
    folder."""
    for folder in folders:
        try:
            path = (folder / named).resolve()
            if path.is_relative_to(folder.resolve()) and path.is_file():
                picture = media_type(path)
                if picture:
                    return AttachmentFile(path, picture, True)
                return AttachmentFile(path, TEXT, True) if _is_text(path) else AttachmentFile(path, FILE, False)
        except (OSError, ValueError):
            continue
    return None


def _is_text(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(SAMPLE_BYTES)
    if b"\x00" in head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be cut in two.
        return len(head) == SAMPLE_BYTES and error.start > SAMPLE_BYTES - 4
    return True


async def show(request: Request) -> Response:
    store, number = host_of(request).store, request.path_params["number"]
    run = await store.run(request.path_params["run_id"], caller_of(request).within)
    named = attachments_of(await result_at(store, run, request.path_params["position"]))
    if not is_number(number) or not 1 <= int(number) <= len(named):
        raise NotFound(f"this case has no attachment {number}")
    file = await asyncio.to_thread(find_attachment, folders_of(run), named[int(number) - 1].path)
    if file is None:
        raise NotFound("this attachment is not where its dataset lies: what is uploaded brings no files beside it")
    return file_response(file)


def file_response(file: AttachmentFile) -> Response:
    disposition = "inline" if file.is_shown else "attachment"
    headers = {
        "Content-Security-Policy": POLICY,
        "Content-Disposition": f"{disposition}; filename*=UTF-8''{quote(file.path.name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return FileResponse(file.path, media_type=file.media, headers=headers)


def routes() -> list[PageRoute]:
    return [PageRoute("/runs/{run_id}/cases/{position}/attachments/{number}", show)]
