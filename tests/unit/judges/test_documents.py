"""The documents of a case, or why they cannot be read."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from assay.judges.dataset_policies import CriterionStyle, ReferenceStyle, policy_of
from assay.judges.documents import NO_PDF, Documents, text_of
from assay.model.case import Attachment, Case, SingleTurn
from assay.testing import a_case


def a_case_with(*paths: str) -> Case:
    return Case(id="1", input=SingleTurn(message="?", attachments=tuple(Attachment(path=path) for path in paths)))


def test_each_document_stands_under_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\ntwo")
    (tmp_path / "b.md").write_text("three", "utf-8")
    assert Documents([tmp_path]).of(a_case_with("a.txt", "b.md")) == (
        "[document 1] a.txt\n| one\n| two\n\n[document 2] b.md\n| three"
    )


def test_a_document_is_looked_for_in_every_folder_and_never_outside(tmp_path: Path) -> None:
    inside = tmp_path / "data"
    inside.mkdir()
    (inside / "a.txt").write_text("in", "utf-8")
    (tmp_path / "secret.txt").write_text("OUT", "utf-8")
    shown = Documents([tmp_path / "nowhere", inside]).of(a_case_with("a.txt", "../secret.txt"))
    assert "| in" in shown
    assert "OUT" not in shown
    assert "[document 2] ../secret.txt\n| (this document was not found, and nobody has read it)" in shown


def test_a_long_document_is_cut_aloud(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 50_000, "utf-8")
    assert "⟦10000 of 50000 characters were cut out here⟧" in Documents([tmp_path]).of(a_case_with("a.txt"))


def test_cases_without_documents_have_none() -> None:
    assert Documents().of(a_case()) == ""


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\x00\x01", "(not a text: it cannot be shown)"),
        (b"\xff\xfe\xfa", "(not a text in UTF-8: it cannot be shown)"),
        ("Ünï".encode(), "Ünï"),
    ],
)
def test_what_is_no_text_is_said_to_be_none(tmp_path: Path, content: bytes, text: str) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(content)
    assert text_of(file) == text


def test_a_file_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    assert text_of(tmp_path) == "(this document could not be read: Is a directory)"


def test_a_pdf_without_its_reader_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    file = tmp_path / "a.pdf"
    file.write_bytes(b"%PDF-1.7 ...")
    assert text_of(file) == NO_PDF


@pytest.mark.parametrize(
    ("pages", "text"),
    [
        (["one", "two"], "one\n\ntwo"),
        ([""], "(this PDF has no text: its pages are pictures)"),
        (ValueError("broken"), "(this PDF could not be read: ValueError)"),
    ],
)
def test_a_pdf_is_read_page_by_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: list[str] | Exception, text: str
) -> None:
    def reader(content: Any) -> SimpleNamespace:
        if isinstance(pages, Exception):
            raise pages
        return SimpleNamespace(pages=[SimpleNamespace(extract_text=lambda page=page: page) for page in pages])

    fake = ModuleType("pypdf")
    fake.PdfReader = reader  # type: ignore[attr-defined]
    fake.errors = SimpleNamespace(PyPdfError=RuntimeError)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pypdf", fake)
    file = tmp_path / "a.pdf"
    file.write_bytes(b"%PDF-1.7")
    assert text_of(file) == text


@pytest.mark.parametrize(
    ("metadata", "criteria", "reference", "quantised"),
    [
        ({}, CriterionStyle.GRADED, ReferenceStyle.PLAIN, False),
        ({"policy_id": "prbench_v1"}, CriterionStyle.BINARY, ReferenceStyle.PLAIN, False),
        ({"policy_id": "lexam_oq_v1"}, CriterionStyle.GRADED, ReferenceStyle.LEXAM, True),
        ({"policy_id": "apexv1_extended_v1"}, CriterionStyle.GRADED, ReferenceStyle.PLAIN, False),
        ({"policy_id": "from_the_future_v9"}, CriterionStyle.GRADED, ReferenceStyle.PLAIN, False),
        ({"policy_id": ["odd"]}, CriterionStyle.GRADED, ReferenceStyle.PLAIN, False),
    ],
)
def test_an_unknown_policy_is_the_default(
    metadata: dict[str, Any], criteria: CriterionStyle, reference: ReferenceStyle, quantised: bool
) -> None:
    policy = policy_of(a_case(metadata=metadata))
    assert (policy.criteria, policy.reference, policy.quantised, policy.attachments) == (
        criteria,
        reference,
        quantised,
        True,
    )
