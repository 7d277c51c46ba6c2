"""The text of the documents that a case brings: text files, and PDF where the optional `pypdf` is installed. What
cannot be read is said to be so in its place: a judge should know that there was a document it did not see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from assay.judges.dataset_policies import policy_of
from assay.judges.quoting import cut, prefixed
from assay.model.case import Attachment, Case, SingleTurn

DOCUMENT_CAP = 40_000
"""Characters of one document."""

NO_PDF = "(a PDF, and the optional package `pypdf` that reads it is not installed: install assay with the extra `pdf`)"
_PDF = b"%PDF-"


class Documents:
    """Reads attachments from the folders of the datasets; each file once."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = tuple(folders)
        self._texts: dict[Path, str] = {}

    def of(self, case: Case) -> str:
        """All documents of a case, each under its name; nothing where the case's policy leaves them out."""
        given = case.input.attachments if isinstance(case.input, SingleTurn) else ()
        return "\n\n".join(self._shown(given)) if policy_of(case).attachments else ""

    def _shown(self, attachments: Sequence[Attachment]) -> Iterator[str]:
        for number, attachment in enumerate(attachments, start=1):
            name = " ".join((attachment.title or attachment.path).split())
            yield f"[document {number}] {name}\n{prefixed(cut(self._text(attachment.path), DOCUMENT_CAP))}"

    def _text(self, path: str) -> str:
        found = self._found(path)
        if found is None:
            return "(this document was not found, and nobody has read it)"
        if found not in self._texts:
            self._texts[found] = text_of(found)
        return self._texts[found]

    def _found(self, path: str) -> Path | None:
        for folder in self._folders:
            whole = (folder / path).resolve()
            if whole.is_relative_to(folder.resolve()) and whole.is_file():
                return whole
        return None


def text_of(path: Path) -> str:
    """What the file says, or in brackets why that is not known."""
    try:
        content = path.read_bytes()
    except OSError as error:
        return f"(this document could not be read: {error.strerror})"
    if content.startswith(_PDF):
        return _pdf_text(content)
    try:
        return content.decode("utf-8-sig") if b"\x00" not in content else "(not a text: it cannot be shown)"
    except UnicodeDecodeError:
        return "(not a text in UTF-8: it cannot be shown)"


def _pdf_text(content: bytes) -> str:
    try:
        pypdf: Any = import_module("pypdf")
    except ImportError:
        return NO_PDF
    try:
        pages = [page.extract_text() for page in pypdf.PdfReader(BytesIO(content)).pages]
    except (pypdf.errors.PyPdfError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        return f"(this PDF could not be read: {type(error).__name__})"
    return "\n\n".join(pages).strip() or "(this PDF has no text: its pages are pictures)"
