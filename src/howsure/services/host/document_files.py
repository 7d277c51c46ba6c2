"""Documents of the library as files that a run can read. `document:KIND/ID@VERSION` refers to a document, and any
worker can write it to a file. The name of the file contains a hash of its content, so that it never changes."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile, gettempdir

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import NotFound, StorageFault
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.model.run import Pins
from howsure.model.run_request import RunRequest
from howsure.services.files import RemoteFile, copy_path, fetch_files, is_address, stored_path
from howsure.services.host.documents import QUESTION_SET_DIALECT, document_body, file_content, question_set_lines
from howsure.services.workspace import Workspace
from howsure.store.private_files import make_private_folder
from howsure.store.store import Store

PREFIX = "document:"
_REFERENCE = re.compile(r"document:(?P<kind>[a-z_]+)/(?P<id>.+?)(?:@(?P<version>[1-9][0-9]*))?")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
ENDINGS = {"golden": ".json", "test-set": ".json", "legal": ".jsonl", "explain": ".jsonl"}
_ENDING_BY_START = {b"{": ".jsonl", b"[": ".json"}


class DocumentReference(Struct, frozen=True):
    """One version of one document; None: the newest."""

    kind: DocumentKind
    id: str
    version: int | None = None

    def __str__(self) -> str:
        return f"{PREFIX}{self.kind.value}/{self.id}" + (f"@{self.version}" if self.version else "")


def is_reference(text: str) -> bool:
    return text.startswith(PREFIX)


def read_reference(text: str) -> DocumentReference:
    match = _REFERENCE.fullmatch(text)
    kinds = [kind.value for kind in DocumentKind]
    if match is None or match["kind"] not in kinds:
        raise NotFound(f"{text!r} names no document; expected document:KIND/ID@VERSION, KIND one of {', '.join(kinds)}")
    version = int(match["version"]) if match["version"] else None
    return DocumentReference(DocumentKind(match["kind"]), match["id"], version)


def reference_to(document: Document) -> DocumentReference:
    return DocumentReference(document.kind, document.id, document.edition.version)


class DocumentFiles(Struct, frozen=True):
    """The files that were written for a run, and the references that they stand for. `dialect` is the one that was
    asked for."""

    files: dict[str, str]
    dialect: str = ""

    def with_references(self, pins: Pins) -> Pins:
        """The pins with references in place of paths, which differ on every machine."""
        datasets = tuple(replace(pin, path=self.files.get(pin.path, pin.path)) for pin in pins.datasets)
        pool = pins.criteria_from
        if pool is not None:
            pool = replace(pool, path=self.files.get(pool.path, pool.path))
        request = replace(
            pins.request,
            datasets=tuple(pin.path for pin in datasets),
            criteria_from=pool.path if pool else "",
            dialect=self.dialect if self.files else pins.request.dialect,
        )
        return replace(pins, request=request, datasets=datasets, criteria_from=pool)


async def write_documents(
    store: Store, options: RunRequest, folder: Path, scope: AccessScope = EVERYWHERE, *, fetch: bool = True
) -> tuple[RunRequest, DocumentFiles]:
    """The request with files in place of references and addresses. The versions of a deleted document can still be
    read. `scope` is the scope of the run: two organisations may use the same id. Without `fetch`, files at addresses
    are not downloaded; the request then has the paths that their copies would have. A dataset is read in the dialect in
    which it was checked when it was stored: others name files, or fill templates."""
    files: dict[str, str] = {}
    stored: list[str] = []

    async def file(text: str) -> str:
        if not is_reference(text):
            return text
        named = read_reference(text)
        document = await store.documents.get(named.kind, named.id, named.version, within=scope, deleted=True)
        path = await asyncio.to_thread(document_path, document, folder)
        files[stored_path(path)] = text
        stored.append(document.edition.dialect if document.kind is DocumentKind.DATASET else "")
        return str(path)

    async def far(address: str) -> list[str]:
        copies = folder.parent / "remote"
        remote = [RemoteFile(address, copy_path(address, copies))]
        if fetch:
            remote = await asyncio.to_thread(fetch_files, address, copies)
        files.update({stored_path(each.path): each.address for each in remote})
        return [str(each.path) for each in remote]

    datasets: list[str] = []
    for path in options.datasets:
        datasets += await far(path) if is_address(path) else [await file(path)]
    # What grades the conversations of another run reads a file that is made of them.
    dialect = options.dialect or (stored[0] if len(stored) == 1 and not options.criteria_from else "")
    single = {name: await file(getattr(options, name)) for name in ("rubric", "agent", "criteria_from")}
    request = replace(options, datasets=tuple(datasets), dialect=dialect, **single)
    return request, DocumentFiles(files, options.dialect)


def service_folders(work: Workspace) -> tuple[Path, ...]:
    """The folders of the service's own files, which messages to callers must not show."""
    return (work.data_folder.absolute(), work.data_folder, Path(gettempdir()))


def hide_folders(text: str, folders: Sequence[Path]) -> str:
    """The text with only the file names of paths in these folders."""
    for folder in folders:
        if f"{folder}/" in text:
            text = re.sub(re.escape(f"{folder}/") + r"(?:[\w.-]+/)*", "", text)
    return text


def document_path(document: Document, folder: Path) -> Path:
    """The path of the document as a file; it is written if it is not there yet."""
    is_question_set = document.kind is DocumentKind.QUESTION_SET
    content = question_set_lines(document.name, document_body(document)) if is_question_set else file_content(document)
    shown = _UNSAFE.sub("-", document.name)[:60].strip("-.") or document.kind.value
    dialect = QUESTION_SET_DIALECT if is_question_set else document.edition.dialect
    if dialect in ENDINGS or not dialect:
        ending = ENDINGS.get(dialect, ".json")
    else:
        ending = _ENDING_BY_START.get(content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1], ".csv")
    path = folder / sha256(content).hexdigest()[:32] / f"{Path(shown).stem}{ending}"
    if path.is_file() and path.stat().st_size == len(content):
        return path
    try:
        make_private_folder(path.parent)
        # Write the file in one step: another worker may be reading it.
        with NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        os.replace(file.name, path)
    except OSError as error:
        raise StorageFault(f"{path.parent} cannot be written: {error.strerror}") from error
    return path
