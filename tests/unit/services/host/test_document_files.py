"""Documents as files: their references, their names, written once and whole."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from howsure.errors import ConfigInvalid, NotFound
from howsure.model.document import Document, DocumentKind
from howsure.services.host.document_files import (
    DocumentReference,
    document_path,
    is_reference,
    read_reference,
    reference_to,
)
from howsure.store.documents import DocumentDraft
from howsure.store.store import Store


async def a_document(folder: Path, kind: DocumentKind = DocumentKind.DATASET, name: str = "cases.jsonl") -> Document:
    async with await Store.open(folder / "a.db") as store:
        draft = DocumentDraft(body=b'{"id": "q1"}\n', name=name, dialect="legal")
        return await store.documents.create(kind, "d1", draft)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("document:dataset/d1@2", DocumentReference(DocumentKind.DATASET, "d1", 2)),
        ("document:test_set/a/b c@10", DocumentReference(DocumentKind.TEST_SET, "a/b c", 10)),
        ("document:dataset/d1", DocumentReference(DocumentKind.DATASET, "d1")),
        ("document:rubric/ä@1", DocumentReference(DocumentKind.RUBRIC, "ä", 1)),
    ],
)
def test_a_reference_reads_as_it_was_written(text: str, wanted: DocumentReference) -> None:
    assert is_reference(text)
    assert read_reference(text) == wanted
    assert str(wanted) == text


@pytest.mark.parametrize("text", ["document:", "document:dataset/", "document:dream/d1@1"])
def test_what_names_no_document_is_refused(text: str) -> None:
    with pytest.raises(NotFound, match="names no document; expected document:KIND/ID@VERSION"):
        read_reference(text)


async def test_a_document_is_written_once_under_a_name_that_its_content_decides(tmp_path: Path) -> None:
    document = await a_document(tmp_path)
    assert str(reference_to(document)) == "document:dataset/d1@1"
    path = document_path(document, tmp_path / "documents")
    assert (path.name, path.read_bytes()) == ("cases.jsonl", b'{"id": "q1"}\n')
    before = path.stat().st_mtime_ns
    assert document_path(document, tmp_path / "documents") == path
    assert path.stat().st_mtime_ns == before
    assert [each.name for each in path.parent.iterdir()] == ["cases.jsonl"]


async def test_a_file_that_was_cut_short_is_written_again(tmp_path: Path) -> None:
    document = await a_document(tmp_path)
    path = document_path(document, tmp_path / "documents")
    path.write_bytes(b'{"id"')
    assert document_path(document, tmp_path / "documents").read_bytes() == b'{"id": "q1"}\n'


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", ".hidden", "a" * 300, "\x00", "", "x/y\\z"])
async def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    document = msgspec.structs.replace(await a_document(tmp_path), name=name)
    folder = tmp_path / "documents"
    path = document_path(document, folder)
    assert path.resolve().is_relative_to(folder.resolve())
    assert path.parent.parent == folder
    assert path.suffix == ".jsonl"


async def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    document = await a_document(tmp_path)
    (tmp_path / "documents").write_text("a file is in the way")
    with pytest.raises(ConfigInvalid, match="cannot be written"):
        document_path(document, tmp_path / "documents")
