"""Files of any shape brought in as documents, and documents written out as any shape, with what that shape cannot
hold."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct

from howsure.dialects.strict_json import parse
from howsure.kit import Kit
from howsure.model.document import Document, DocumentKind
from howsure.services.converting import ENDINGS, Converted, convert
from howsure.services.converting import Order as Conversion
from howsure.services.hosting.drafting import object_in
from howsure.services.hosting.host import Host
from howsure.services.hosting.materials import on_disk

Json = dict[str, Any]
SHAPES = tuple(name for name in ENDINGS if name in ("explain", "golden", "simulation", "test-set", "legal"))
"""The dialects that cases can be written out as."""


class Written(Struct, frozen=True):
    """A document as a file of some shape, with what became of its cases on the way."""

    content: bytes
    ending: str
    report: Converted | None = None


async def written_as(host: Host, document: Document, shape: str) -> Written:
    """The document as a file; `shape` "" gives it as it is."""
    if not shape:
        path = await asyncio.to_thread(on_disk, document, host.work.data_folder / "documents")
        return Written(await asyncio.to_thread(path.read_bytes), path.suffix)
    return await asyncio.to_thread(_converted, host, document, shape)


def _converted(host: Host, document: Document, shape: str) -> Written:
    source = on_disk(document, host.work.data_folder / "documents")
    with TemporaryDirectory() as folder:
        return _as_shape(host.work.kit, source, shape, Path(folder))


def _as_shape(kit: Kit, source: Path, shape: str, folder: Path) -> Written:
    ending = ENDINGS[shape][0] if shape in ENDINGS else ""
    output = folder / f"out{ending}"
    report = convert(Conversion(paths=(str(source),), to=shape, output=output), kit)
    return Written(output.read_bytes(), ending, report)


async def brought_in(host: Host, kind: DocumentKind, content: bytes, name: str) -> Json:
    """A file of any shape as the body of a new document; a dataset is kept as it is, and not read here."""
    return await asyncio.to_thread(READERS[kind], host.work.kit, content, name)


def _as_it_is(kit: Kit, content: bytes, name: str) -> Json:
    value = object_in(content.decode("utf-8-sig", "replace"))
    return {"name": Path(name).stem, **value}


def _as_test_set(kit: Kit, content: bytes, name: str) -> Json:
    """A test set stays one; anything else is converted into one."""
    value, problems = parse(content, file=name)
    if not problems and isinstance(value, dict) and isinstance(value.get("items"), list):
        return {"name": Path(name).stem, **value}
    with TemporaryDirectory() as folder:
        source = Path(folder) / (Path(name).name or "file.jsonl")
        source.write_bytes(content)
        (out := Path(folder) / "made").mkdir()
        made = msgspec.json.decode(_as_shape(kit, source, "test-set", out).content, type=Json)
    return {**made, "name": Path(name).stem}


READERS: dict[DocumentKind, Callable[[Kit, bytes, str], Json]] = {
    DocumentKind.RUBRIC: _as_it_is,
    DocumentKind.QUESTION_SET: _as_it_is,
    DocumentKind.TEST_SET: _as_test_set,
}
