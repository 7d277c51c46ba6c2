"""Documents as files, where a run can read them: `document:KIND/ID@VERSION` names one, and any worker can write it
down. The content decides the file's name, so that it is written once and never changes."""

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

from howsure.errors import ConfigInvalid, NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.model.run import Pins
from howsure.services.hosting.questions import DIALECT, as_dataset
from howsure.services.hosting.shapes import body_of, file_of
from howsure.services.options import RunOptions
from howsure.services.paths import stored
from howsure.services.remote import Far, fetched, is_address, unread
from howsure.services.workspace import Workspace
from howsure.store.store import Store

PREFIX = "document:"
_REFERENCE = re.compile(r"document:(?P<kind>[a-z_]+)/(?P<id>[^@]+)@(?P<version>[1-9][0-9]*)")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
ENDINGS = {"golden": ".json", "test-set": ".json", "legal": ".jsonl", "explain": ".jsonl"}


class Reference(Struct, frozen=True):
    """One version of one document."""

    kind: DocumentKind
    id: str
    version: int

    def __str__(self) -> str:
        return f"{PREFIX}{self.kind.value}/{self.id}@{self.version}"


def is_reference(text: str) -> bool:
    return text.startswith(PREFIX)


def read_reference(text: str) -> Reference:
    found = _REFERENCE.fullmatch(text)
    kinds = [kind.value for kind in DocumentKind]
    if found is None or found["kind"] not in kinds:
        raise NotFound(f"{text!r} names no document; expected document:KIND/ID@VERSION, KIND one of {', '.join(kinds)}")
    return Reference(DocumentKind(found["kind"]), found["id"], int(found["version"]))


def reference_to(document: Document) -> Reference:
    return Reference(document.kind, document.id, document.edition.version)


class Materials(Struct, frozen=True):
    """The files that were written down for a run, with what they are."""

    files: dict[str, str]

    def referred(self, pins: Pins) -> Pins:
        """The pins with references in place of the files, which lie elsewhere on every machine."""
        datasets = tuple(replace(pin, path=self.files.get(pin.path, pin.path)) for pin in pins.datasets)
        pooled = pins.criteria_from and replace(
            pins.criteria_from, path=self.files.get(pins.criteria_from.path, pins.criteria_from.path)
        )
        return replace(pins, datasets=datasets, criteria_from=pooled)


async def written_down(
    store: Store, options: RunOptions, folder: Path, within: AccessScope = EVERYWHERE, *, fetch: bool = True
) -> tuple[RunOptions, Materials]:
    """The options with files in place of references and addresses. A deleted document's versions can still be read.
    `within` is whose run it is: two organisations may call their agents by the same id. Without `fetch` files at
    addresses stay there: only the names of their copies are told."""
    files: dict[str, str] = {}

    async def file(text: str) -> str:
        if not is_reference(text):
            return text
        wanted = read_reference(text)
        document = await store.documents.get(wanted.kind, wanted.id, wanted.version, within=within, deleted=True)
        path = await asyncio.to_thread(on_disk, document, folder)
        files[stored(path)] = text
        return str(path)

    async def far(address: str) -> list[str]:
        copies = folder.parent / "remote"
        found = await asyncio.to_thread(fetched, address, copies) if fetch else [Far(address, unread(address, copies))]
        files.update({stored(each.path): each.address for each in found})
        return [str(each.path) for each in found]

    datasets: list[str] = []
    for path in options.datasets:
        datasets += await far(path) if is_address(path) else [await file(path)]
    single = {name: await file(getattr(options, name)) for name in ("rubric", "agent", "criteria_from")}
    return replace(options, datasets=tuple(datasets), **single), Materials(files)


def own_folders(work: Workspace) -> tuple[Path, ...]:
    """Where our own files lie, which nobody who asks has any use for."""
    return (work.data_folder.absolute(), work.data_folder, Path(gettempdir()))


def bare(text: str, folders: Sequence[Path]) -> str:
    """The text, with what lies in these folders called by its name alone."""
    for folder in folders:
        text = re.sub(re.escape(f"{folder}/") + r"(?:[\w.-]+/)*", "", text)
    return text


def on_disk(document: Document, folder: Path) -> Path:
    asked = document.kind is DocumentKind.QUESTION_SET
    content = as_dataset(document.name, body_of(document)) if asked else file_of(document)
    shown = _UNSAFE.sub("-", document.name)[:60].strip("-.") or document.kind.value
    path = folder / sha256(content).hexdigest()[:32] / (Path(shown).stem + _ending(document, content))
    if path.is_file() and path.stat().st_size == len(content):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, content)
    except OSError as error:
        raise ConfigInvalid(f"{path.parent} cannot be written: {error.strerror}") from error
    return path


def _write(path: Path, content: bytes) -> None:
    """All of it or nothing: another worker may be reading it."""
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    os.replace(file.name, path)


def _ending(document: Document, content: bytes) -> str:
    dialect = DIALECT if document.kind is DocumentKind.QUESTION_SET else document.edition.dialect
    if dialect in ENDINGS or not dialect:
        return ENDINGS.get(dialect, ".json")
    return ".jsonl" if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else ".csv"
