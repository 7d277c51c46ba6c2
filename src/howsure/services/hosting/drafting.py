"""Documents as text that somebody writes: what a new one begins with, and what is wrong with it, on which line."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.reading import validate
from howsure.dialects.rubric_file import read_rubric
from howsure.dialects.strict_json import parse
from howsure.errors import DatasetInvalid, InputError, Level, Problem
from howsure.kit import Kit
from howsure.model.document import Document, DocumentKind
from howsure.reports.inert import CONTROLS
from howsure.services.hosting.host import Host
from howsure.services.hosting.library import check, with_ids
from howsure.services.hosting.shapes import DEFAULTS, ID_FIELDS, MANAGED, body_of
from howsure.services.hosting.text_lines import field_lines, line_of
from howsure.services.hosting.uploads import Upload, draft_of
from howsure.store.service.documents import Draft

Json = dict[str, Any]
NEW = "new"
AT_ONCE = 25
"""Entries of a document that are edited at a time, where there are more."""
ENTRIES = {
    DocumentKind.RUBRIC: "rules",
    DocumentKind.TEST_SET: "items",
    DocumentKind.QUESTION_SET: "questions",
}
STARTERS: dict[DocumentKind, Json] = {
    DocumentKind.RUBRIC: {
        "name": "",
        "agent_id": "",
        "rules": [
            {
                "id": "RULE_1",
                "name": "",
                "severity": "high",
                "description": "",
                "evaluation_criteria": {"pass_conditions": [], "fail_conditions": []},
            }
        ],
    },
    DocumentKind.TEST_SET: {
        "name": "",
        "agent_id": "",
        "items": [
            {"type": "single_turn", "name": "", "inputs": {"message": ""}, "expected": {"success_criteria": []}},
        ],
    },
    DocumentKind.QUESTION_SET: {
        "name": "",
        "agent_id": "",
        "questions": [{"question": "", "expected_answer": ""}],
    },
}


class Part(Struct, frozen=True):
    """Some entries of a document that has too many for one page: from `start` on, counted from 0, `number` of `of`."""

    start: int
    number: int
    of: int


def part_of(document: Document, start: int) -> Part | None:
    """The entries from `start` on; None where all of them fit."""
    if document.kind not in ENTRIES:
        return None
    entries = body_of(document).get(ENTRIES[document.kind])
    if not isinstance(entries, list) or len(entries) <= AT_ONCE:
        return None
    first = max(0, min(start, len(entries) - 1))
    return Part(first, min(AT_ONCE, len(entries) - first), len(entries))


def cut(document: Document, start: int, number: int) -> Document:
    """The document with some of its entries alone, as if they were all."""
    listed = ENTRIES[document.kind]
    body = body_of(document)
    body[listed] = (body.get(listed) or [])[start : start + number]
    return replace(document, edition=replace(document.edition, body=msgspec.json.encode(body)))


def text_of(document: Document, part: Part | None = None) -> str:
    """The document, or a part of it, as somebody edits it; ids, versions and times are ours, and not in it."""
    if document.kind is DocumentKind.DATASET:
        return document.edition.body.decode("utf-8", "replace")
    shown = {"name": document.name, "agent_id": document.agent_id, **body_of(document)}
    if part is not None:
        listed = ENTRIES[document.kind]
        shown[listed] = shown[listed][part.start : part.start + part.number]
    return CONTROLS.sub(_escaped, msgspec.json.format(msgspec.json.encode(shown), indent=2).decode())


def put_back(document: Document, part: Part, written: Json) -> Json:
    """The whole of a document of which somebody wrote a part anew; a part that is no list is theirs to put right."""
    listed = ENTRIES[document.kind]
    entries = body_of(document).get(listed) or []
    own = written.get(listed)
    if not isinstance(own, list):
        return written
    return {**written, listed: [*entries[: part.start], *own, *entries[part.start + part.number :]]}


def _escaped(found: re.Match[str]) -> str:
    """Characters that nobody sees, or that turn the text around, are written out: they mean the same in JSON."""
    return f"\\u{ord(found.group()):04x}"


def starter(kind: DocumentKind) -> str:
    """What a new one begins with."""
    return json.dumps(STARTERS[kind], indent=2, ensure_ascii=False) if kind in STARTERS else ""


def object_in(text: str) -> Json:
    """The object that the text holds; DatasetInvalid with every problem of it as JSON."""
    value, problems = parse(text.encode(), file="text")
    if problems:
        raise DatasetInvalid("text", problems)
    if not isinstance(value, dict):
        message = "one object is expected, between { and }"
        raise DatasetInvalid("text", [Problem(code="wrong-type", message=message, line=1)])
    return value


async def problems_in(host: Host, kind: DocumentKind, text: str, name: str = "", dialect: str = "") -> list[Problem]:
    """Everything that is wrong or odd, in the order of the lines."""
    if kind is DocumentKind.DATASET:
        return await _of_dataset(host, text, name, dialect)
    try:
        body = object_in(text)
    except DatasetInvalid as error:
        return list(error.problems)
    found = await asyncio.to_thread(_of_document, host.work.kit, kind, body)
    # Looking for lines takes longer than all the rest: only where there is something to say of one.
    lines = field_lines(text) if found else {}
    placed = [replace(each, line=line_of(lines, each.field), column=None, file="") for each in found]
    return sorted(placed, key=lambda each: (each.line or 0, each.level is Level.WARNING))


async def _of_dataset(host: Host, text: str, name: str, dialect: str) -> list[Problem]:
    try:
        await draft_of(host, Upload(content=text.encode(), name=name, dialect=dialect))
    except DatasetInvalid as error:
        return [replace(each, file="") for each in error.problems]
    except InputError as error:
        return [Problem(code="unknown-shape", message=of_this_file(error))]
    return []


_SPOOLED = re.compile(re.escape(gettempdir()) + r"/[^/\s]+/")


def of_this_file(error: InputError) -> str:
    """What went wrong, without the place where the text lay while it was looked at."""
    return _SPOOLED.sub("", str(error)).replace("\n", " ")


def _of_document(kit: Kit, kind: DocumentKind, body: Json) -> list[Problem]:
    full = with_ids(kind, {**DEFAULTS[kind], **body})
    head = {name: value for name, value in full.items() if name not in (ID_FIELDS[kind], *MANAGED, "name", "agent_id")}
    name = str(body.get("name") or "")
    draft = Draft(body=b"", name=name)
    nameless = [] if name.strip() else [Problem(code="no-name", field="name", message="it needs a name")]
    try:
        return [*nameless, *LOOKS.get(kind, _checked)(kit, kind, draft, head)]
    except DatasetInvalid as error:
        return [*nameless, *error.problems]
    except (TypeError, AttributeError, LookupError):
        return [*nameless, Problem(code="wrong-type", message="a list or an object stands where another was expected")]


def _checked(kit: Kit, kind: DocumentKind, draft: Draft, body: Json) -> Sequence[Problem]:
    check(kit, kind, NEW, draft, body)
    return ()


def _rubric(kit: Kit, kind: DocumentKind, draft: Draft, body: Json) -> Sequence[Problem]:
    """What is odd, too: a name that nobody reads is most often a slip."""
    noticed: list[Problem] = []
    with TemporaryDirectory() as folder:
        read_rubric(_written(Path(folder), kind, body), noticed.append)
    return noticed


def _test_set(kit: Kit, kind: DocumentKind, draft: Draft, body: Json) -> Sequence[Problem]:
    with TemporaryDirectory() as folder:
        report = validate(_written(Path(folder), kind, body), kit.dialects["test-set"])
    return (*report.problems, *report.warnings)


def _written(folder: Path, kind: DocumentKind, body: Json) -> Path:
    path = folder / "document.json"
    path.write_bytes(msgspec.json.encode({ID_FIELDS[kind]: NEW, "name": NEW, "version": 1, **body}))
    return path


LOOKS = {DocumentKind.RUBRIC: _rubric, DocumentKind.TEST_SET: _test_set}
