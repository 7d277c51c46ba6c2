"""Documents as text in an editor: the text of a new document, of a stored one or of some of its entries, and the
problems of a text with the lines they are on. Saving a document is in `documents.py`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.agent_files import read_rubric
from howsure.dialects.datasets import validate
from howsure.dialects.strict_json import field_path, parse_json
from howsure.errors import DatasetInvalid, InputError, Level, Problem
from howsure.kit import Kit
from howsure.model.document import Document, DocumentKind
from howsure.reports.safe_text import CONTROLS
from howsure.services.host.documents import (
    DEFAULTS,
    ID_FIELDS,
    MANAGED,
    check_document,
    document_body,
    with_entry_ids,
    write_document,
)
from howsure.services.host.uploads import Upload, check_upload
from howsure.services.workspace import Host
from howsure.store.documents import DocumentDraft

Json = dict[str, Any]
NEW = "new"
LAST_PATH_PART = re.compile(r"(\.[^.\[\]]+|\[[^\[\]]*\])$")
JSON_TOKENS = re.compile(r'(?P<key>"(?>(?:[^"\\]|\\.)*)"?(?=\s*:))|"(?>(?:[^"\\]|\\.)*)"?|[][{}\n]|[^][{},:"\s\ufeff]+')
"""Of valid JSON: names of fields, values, brackets and line ends. A string has no line end in it."""
IN_OBJECT = -1
TEMPORARY_FOLDER = re.compile(re.escape(gettempdir()) + r"/[^/\s]+/")
ENTRIES_PER_PAGE = 25
"""How many entries of a document are edited at a time."""
ENTRIES = {DocumentKind.RUBRIC: "rules", DocumentKind.TEST_SET: "items", DocumentKind.QUESTION_SET: "questions"}


class EntryRange(Struct, frozen=True):
    """The entries on one editor page of a long document: `number` of `of`, from index `start`."""

    start: int
    number: int
    of: int


def entry_range(document: Document, start: int) -> EntryRange | None:
    """The page of entries that begins at `start`; None where all entries fit on one page."""
    if document.kind not in ENTRIES:
        return None
    entries = document_body(document).get(ENTRIES[document.kind])
    if not isinstance(entries, list) or len(entries) <= ENTRIES_PER_PAGE:
        return None
    first = max(0, min(start, len(entries) - 1))
    return EntryRange(first, min(ENTRIES_PER_PAGE, len(entries) - first), len(entries))


def select_entries(document: Document, start: int, number: int) -> Document:
    """The document reduced to some of its entries."""
    listed = ENTRIES[document.kind]
    body = document_body(document)
    body[listed] = (body.get(listed) or [])[start : start + number]
    return replace(document, edition=replace(document.edition, body=msgspec.json.encode(body)))


def editable_text(document: Document, part: EntryRange | None = None) -> str:
    """The document, or some of its entries, as text to edit: without ids, versions and times."""
    if document.kind is DocumentKind.DATASET:
        return document.edition.body.decode("utf-8", "replace")
    shown = {"name": document.name, "agent_id": document.agent_id, **document_body(document)}
    if part is not None:
        listed = ENTRIES[document.kind]
        shown[listed] = shown[listed][part.start : part.start + part.number]
    return CONTROLS.sub(
        # Invisible characters, and those that reverse the text, become JSON escapes of the same meaning.
        lambda match: f"\\u{ord(match.group()):04x}",
        msgspec.json.format(msgspec.json.encode(shown), indent=2).decode(),
    )


def merge_entries(document: Document, part: EntryRange, written: Json) -> Json:
    """The whole document after some of its entries were edited. Entries that are not a list are returned as they are,
    for the check to report."""
    listed = ENTRIES[document.kind]
    entries = document_body(document).get(listed) or []
    own = written.get(listed)
    if not isinstance(own, list):
        return written
    return {**written, listed: [*entries[: part.start], *own, *entries[part.start + part.number :]]}


def starter_text(kind: DocumentKind) -> str:
    """The text that a new document starts from."""
    starters = json.loads(files("howsure.services.host").joinpath("starters.json").read_bytes())
    return json.dumps(starters[kind.value], indent=2) if kind.value in starters else ""


def parse_object(text: str) -> Json:
    """The JSON object in the text; DatasetInvalid with every problem of the JSON."""
    value, problems = parse_json(text.encode(), file="text")
    if problems:
        raise DatasetInvalid("text", problems)
    if not isinstance(value, dict):
        message = "one object is expected, between { and }"
        raise DatasetInvalid("text", [Problem(code="wrong-type", message=message, line=1)])
    return value


async def find_problems(host: Host, kind: DocumentKind, text: str, name: str = "", dialect: str = "") -> list[Problem]:
    """Every error and warning, in the order of the lines."""
    if kind is DocumentKind.DATASET:
        try:
            await check_upload(host, Upload(content=text.encode(), name=name, dialect=dialect))
        except DatasetInvalid as error:
            return [replace(each, file="") for each in error.problems]
        except InputError as error:
            return [Problem(code="unknown-shape", message=hide_temporary_path(error))]
        return []
    try:
        body = parse_object(text)
    except DatasetInvalid as error:
        return list(error.problems)
    problems = await asyncio.to_thread(_document_problems, host.work.kit, kind, body)
    # Finding the lines takes longer than all the checks: only when there is a problem.
    lines = field_lines(text) if problems else {}
    located = [replace(each, line=line_of(lines, each.field), column=None, file="") for each in problems]
    return sorted(located, key=lambda each: (each.line or 0, each.level is Level.WARNING))


def hide_temporary_path(error: InputError) -> str:
    """The message without the temporary folder in which the text was checked."""
    return TEMPORARY_FOLDER.sub("", str(error)).replace("\n", " ")


def _document_problems(kit: Kit, kind: DocumentKind, body: Json) -> list[Problem]:
    full = with_entry_ids(kind, {**DEFAULTS[kind], **body})
    head = {name: value for name, value in full.items() if name not in (ID_FIELDS[kind], *MANAGED, "name", "agent_id")}
    name = str(body.get("name") or "")
    nameless = [] if name.strip() else [Problem(code="no-name", field="name", message="it needs a name")]
    try:
        return [*nameless, *_content_problems(kit, kind, name, head)]
    except DatasetInvalid as error:
        return [*nameless, *error.problems]
    except (TypeError, AttributeError, LookupError):
        return [*nameless, Problem(code="wrong-type", message="a list or an object stands where another was expected")]


def _content_problems(kit: Kit, kind: DocumentKind, name: str, body: Json) -> Sequence[Problem]:
    """Warnings too, where the reader gives them: an unknown field name is most often a typing error."""
    if kind not in (DocumentKind.RUBRIC, DocumentKind.TEST_SET):
        check_document(kit, kind, NEW, DocumentDraft(body=b"", name=name), body)
        return ()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "document.json"
        write_document(path, kind, NEW, NEW, body)
        if kind is DocumentKind.TEST_SET:
            report = validate(path, kit.dialects["test-set"])
            return (*report.problems, *report.warnings)
        warnings: list[Problem] = []
        read_rubric(path, warnings.append)
        return warnings


def field_lines(text: str) -> dict[str, int]:
    """The line on which each field of a valid JSON text begins, by the path of the field."""
    found: dict[str, int] = {}
    # The open objects and lists: the path of each, and how many elements of a list have begun.
    around: list[tuple[str, int]] = []
    path, line = "", 1
    for token in JSON_TOKENS.finditer(text):
        word = token.group()
        if word == "\n":
            line += 1
        elif word in "]}":
            around.pop()
        elif token["key"]:
            path = field_path((json.loads(word),), around[-1][0])
            found[path] = line
        else:
            if around and around[-1][1] >= 0:
                outer, index = around.pop()
                around.append((outer, index + 1))
                path = f"{outer}[{index}]"
                found[path] = line
            if word in "[{":
                around.append((path, 0 if word == "[" else IN_OBJECT))
    return found


def line_of(lines: dict[str, int], field: str) -> int:
    """The line of a field; of the nearest enclosing field where it is missing."""
    while field and field not in lines:
        shorter = LAST_PATH_PART.sub("", field)
        field = shorter if shorter != field else ""
    return lines.get(field, 1)
