"""The documents of a case: the text of text files, the text of PDFs where the optional `pypdf` is installed, and
pictures for models that see. A note stands for a document that cannot be read or shown, so that a judge knows of it; a
flag on the case tells people of it, and of a document that is cut."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from msgspec import Struct

from howsure.errors import ModelRefused
from howsure.judges.attachment_paths import find_document
from howsure.judges.dataset_policies import POLICIES, dataset_policy
from howsure.judges.quotations import cut_middle, prefix_lines
from howsure.llm.base import ModelRequest
from howsure.llm.messages import Image
from howsure.model.case import Attachment, Case, SingleTurn
from howsure.model.dataset_policy import DatasetPolicy
from howsure.model.flag import Flag

DOCUMENT_CHARACTERS = 40_000
"""Characters of one document that are shown, unless the settings say otherwise."""
UNREAD, CUT = "document_unread", "document_cut"
"""The kinds of flags."""
PICTURE_CAP = 3_750_000
"""Bytes of one picture: five megabytes as text, the smallest limit of any provider."""
MAX_PICTURES = 8
"""Pictures of one case: the smallest limit of any provider."""
CACHED_PICTURES = 8

NO_PDF = "a PDF, and the optional package `pypdf` that reads it is not installed: install howsure with the extra `pdf`"
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


class DocumentText(Struct, frozen=True):
    """The text of a document, or why it has none that can be shown. `image`: it is a picture that is shown."""

    text: str = ""
    unread: str = ""
    image: int = 0


def read_text(path: Path) -> DocumentText:
    """The text of a file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        return DocumentText(unread=f"this document could not be read: {error.strerror}")
    if content.startswith(_PDF_HEADER):
        return _pdf_text(content)
    if b"\x00" in content:
        return DocumentText(unread="not a text: it cannot be shown")
    try:
        return DocumentText(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return DocumentText(unread="not a text in UTF-8: it cannot be shown")


class Documents:
    """Reads attachments from the folders of the datasets, each text once. Without `pictures`, pictures are only named.
    `characters`: how many of one document are shown. `policies`, by their id, say which datasets show theirs."""

    def __init__(
        self,
        folders: Sequence[Path] = (),
        *,
        pictures: bool = True,
        characters: int = DOCUMENT_CHARACTERS,
        policies: Mapping[str, DatasetPolicy] = POLICIES,
    ) -> None:
        self.pictures = pictures
        self.characters = characters
        self.policies = policies
        self._folders = tuple(folders)
        self._texts: dict[Path, DocumentText] = {}
        self._image = lru_cache(CACHED_PICTURES)(read_image)

    def of(self, case: Case, *, pictures: bool = True) -> str:
        """All documents of a case, each under its name; nothing where the case's policy leaves them out. Without
        `pictures`, whoever reads this takes text alone."""
        documents = self._read(self._attachments(case), pictures)
        return "\n\n".join(
            f"[document {number}] {name}\n{prefix_lines(self._show(document))}"
            for number, (name, document) in enumerate(documents, start=1)
        )

    def flags(self, case: Case, *, pictures: bool = True) -> Iterator[Flag]:
        """What a reader of the result must know: which documents nobody could read, and which were cut."""
        for name, document in self._read(self._attachments(case), pictures):
            if document.unread:
                yield Flag(UNREAD, f"{name}: {document.unread}")
            elif len(document.text) > self.characters:
                yield Flag(CUT, f"{name}: {self.characters:,} of {len(document.text):,} characters are shown")

    def images(self, case: Case) -> tuple[Image, ...]:
        """Its pictures, in the order in which `of` numbers them."""
        attachments = self._attachments(case)
        if not attachments or not self.pictures:
            return ()
        found = map(self._find, (each.path for each in attachments))
        paths = (path for path in found if isinstance(path, Path) and _can_be_shown(path))
        return tuple(self._image(path) for path, _ in zip(paths, range(MAX_PICTURES), strict=False))

    def _show(self, document: DocumentText) -> str:
        if document.image:
            return f"(a picture: image {document.image} of those that come with this message)"
        return f"({document.unread})" if document.unread else cut_middle(document.text, self.characters)

    def _read(self, attachments: Sequence[Attachment], pictures: bool) -> Iterator[tuple[str, DocumentText]]:
        """Each document under its name."""
        shown = 0
        for attachment in attachments:
            name = " ".join((attachment.title or attachment.path).split())
            path = self._find(attachment.path)
            if isinstance(path, str):
                yield name, DocumentText(unread=path or "this document was not found, and nobody has read it")
            elif media_type(path):
                shown += _can_be_shown(path)
                yield name, self._picture(path, shown, pictures)
            else:
                if path not in self._texts:
                    self._texts[path] = read_text(path)
                yield name, self._texts[path]

    def _picture(self, path: Path, number: int, shown: bool) -> DocumentText:
        if not self.pictures:
            why = "a picture, and pictures are not shown in this run: nobody has seen it"
        elif not shown:
            why = "a picture, and this target takes text alone"
        elif not _can_be_shown(path):
            why = f"a picture of more than {PICTURE_CAP / 1e6:g} MB: it cannot be shown, and nobody has seen it"
        elif number > MAX_PICTURES:
            why = f"a picture after the first {MAX_PICTURES}: it cannot be shown, and nobody has seen it"
        else:
            return DocumentText(image=number)
        return DocumentText(unread=why)

    def _attachments(self, case: Case) -> tuple[Attachment, ...]:
        if not isinstance(case.input, SingleTurn) or not case.input.attachments:
            return ()
        return case.input.attachments if dataset_policy(case, self.policies).attachments else ()

    def _find(self, path: str) -> Path | str:
        """The file in the first folder that has it, or why it is not shown."""
        found = [find_document(path, folder) for folder in self._folders]
        return next((each for each in found if isinstance(each, Path)), next(iter(found), ""))


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


def _can_be_shown(path: Path) -> bool:
    return bool(media_type(path)) and path.stat().st_size <= PICTURE_CAP


def _pdf_text(content: bytes) -> DocumentText:
    try:
        pypdf: Any = import_module("pypdf")
    except ImportError:
        return DocumentText(unread=NO_PDF)
    try:
        pages = [page.extract_text() for page in pypdf.PdfReader(BytesIO(content)).pages]
    except (pypdf.errors.PyPdfError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        return DocumentText(unread=f"this PDF could not be read: {type(error).__name__}")
    text = "\n\n".join(pages).strip()
    return DocumentText(text) if text else DocumentText(unread="this PDF has no text: its pages are pictures")
