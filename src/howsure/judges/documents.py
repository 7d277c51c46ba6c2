"""The documents of a case: the text of text files, the text of PDFs where the optional `pypdf` is installed, and
pictures for models that see. A note stands for a document that cannot be read or shown, so that a judge knows of it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from howsure.errors import ModelRefused
from howsure.judges.dataset_policies import dataset_policy
from howsure.judges.quotations import cut_middle, prefix_lines
from howsure.llm.base import ModelRequest
from howsure.llm.messages import Image
from howsure.model.case import Attachment, Case, SingleTurn

DOCUMENT_CAP = 40_000
"""Characters of one document."""
PICTURE_CAP = 3_750_000
"""Bytes of one picture: five megabytes as text, the smallest limit of any provider."""
MAX_PICTURES = 8
"""Pictures of one case: the smallest limit of any provider."""
CACHED_PICTURES = 8

NO_PDF = (
    "(a PDF, and the optional package `pypdf` that reads it is not installed: install howsure with the extra `pdf`)"
)
_PDF_HEADER = b"%PDF-"
_MAGIC_LENGTH = 12


def media_type(path: Path) -> str:
    """The type of a picture that models can be shown, by its first bytes; empty for anything else."""
    try:
        with path.open("rb") as file:
            head = file.read(_MAGIC_LENGTH)
    except OSError:
        return ""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if head.startswith(b"RIFF") and head[8:] == b"WEBP" else ""


def read_image(path: Path) -> Image:
    return Image(media_type=media_type(path), base64=b64encode(path.read_bytes()).decode())


def read_text(path: Path) -> str:
    """The text of a file, or in brackets why there is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        return f"(this document could not be read: {error.strerror})"
    if content.startswith(_PDF_HEADER):
        return _pdf_text(content)
    try:
        return content.decode("utf-8-sig") if b"\x00" not in content else "(not a text: it cannot be shown)"
    except UnicodeDecodeError:
        return "(not a text in UTF-8: it cannot be shown)"


class Documents:
    """Reads attachments from the folders of the datasets, each text once. Without `pictures`, pictures are only
    named."""

    def __init__(self, folders: Sequence[Path] = (), *, pictures: bool = True) -> None:
        self.pictures = pictures
        self._folders = tuple(folders)
        self._texts: dict[Path, str] = {}
        self._image = lru_cache(CACHED_PICTURES)(read_image)

    def of(self, case: Case) -> str:
        """All documents of a case, each under its name; nothing where the case's policy leaves them out."""
        return "\n\n".join(self._show(_attachments(case)))

    def images(self, case: Case) -> tuple[Image, ...]:
        """Its pictures, in the order in which `of` numbers them."""
        attachments = _attachments(case)
        if not attachments or not self.pictures:
            return ()
        paths = (path for each in attachments if (path := self._find(each.path)) and _can_be_shown(path))
        return tuple(self._image(path) for path, _ in zip(paths, range(MAX_PICTURES), strict=False))

    def _show(self, attachments: Sequence[Attachment]) -> Iterator[str]:
        pictures = 0
        for number, attachment in enumerate(attachments, start=1):
            name = " ".join((attachment.title or attachment.path).split())
            path = self._find(attachment.path)
            if path is not None and media_type(path):
                pictures += _can_be_shown(path)
                text = self._picture_note(path, pictures)
            else:
                text = cut_middle(self._text(path), DOCUMENT_CAP)
            yield f"[document {number}] {name}\n{prefix_lines(text)}"

    def _picture_note(self, path: Path, number: int) -> str:
        """What the text says about a picture."""
        if not self.pictures:
            return "(a picture, and pictures are not shown in this run: nobody has seen it)"
        if not _can_be_shown(path):
            return f"(a picture of more than {PICTURE_CAP / 1e6:g} MB: it cannot be shown, and nobody has seen it)"
        if number > MAX_PICTURES:
            return f"(a picture after the first {MAX_PICTURES}: it cannot be shown, and nobody has seen it)"
        return f"(a picture: image {number} of those that come with this message)"

    def _text(self, path: Path | None) -> str:
        if path is None:
            return "(this document was not found, and nobody has read it)"
        if path not in self._texts:
            self._texts[path] = read_text(path)
        return self._texts[path]

    def _find(self, path: str) -> Path | None:
        for folder in self._folders:
            whole = (folder / path).resolve()
            if whole.is_relative_to(folder.resolve()) and whole.is_file():
                return whole
        return None


NO_DOCUMENTS = Documents()


def picture_hint(failure: Exception, request: ModelRequest) -> str:
    """What to add to a refusal that pictures may have caused."""
    shown = sum(len(message.images) for message in request.messages)
    if not shown or not isinstance(failure, ModelRefused):
        return ""
    return (
        f"; the request showed {shown} picture{'' if shown == 1 else 's'}, and a model that cannot see refuses them:"
        " with `images: false` in howsure.yaml they are named only"
    )


def _attachments(case: Case) -> tuple[Attachment, ...]:
    if not isinstance(case.input, SingleTurn) or not case.input.attachments:
        return ()
    return case.input.attachments if dataset_policy(case).attachments else ()


def _can_be_shown(path: Path) -> bool:
    return bool(media_type(path)) and path.stat().st_size <= PICTURE_CAP


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
