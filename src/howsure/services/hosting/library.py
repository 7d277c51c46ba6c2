"""The library: rubrics, test sets, question sets, agents and lists of graders, checked before they are kept. What comes
in may be what was read before, changed: ids, versions and times in it are ours, and are left aside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.agent_file import read_agent
from howsure.dialects.reading import validate
from howsure.dialects.rubric_file import read_rubric
from howsure.errors import DatasetInvalid, PlanRefused, Problem
from howsure.kit import Kit
from howsure.model.access_scope import AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.services.hosting.host import Host
from howsure.services.hosting.questions import as_dataset
from howsure.services.hosting.shapes import ID_FIELDS, MANAGED
from howsure.store.service.documents import Draft

Json = dict[str, Any]

ENTRIES = {DocumentKind.TEST_SET: ("items", "item_id"), DocumentKind.QUESTION_SET: ("questions", "question_id")}
ADDED = ("author", "note", "latest_version", "deleted", "changelog")


class Change(Struct, frozen=True, kw_only=True):
    """What somebody writes, who they are, and why."""

    body: Json
    author: str = ""
    note: str = ""


async def add(host: Host, kind: DocumentKind, change: Change, within: AccessScope, key: str = "") -> Document:
    """A new document, at version 1."""
    key = key or str(uuid4())
    draft = await _draft(host, kind, change, key)
    check_agent(draft.agent_id, within)
    return await host.store.documents.create(kind, key, draft, within)


async def change(
    host: Host, kind: DocumentKind, key: str, change: Change, within: AccessScope, expected: int | None = None
) -> Document:
    """The next version."""
    draft = await _draft(host, kind, change, key)
    if "agent_id" not in change.body:
        draft = replace(draft, agent_id=None)
    if not draft.name:
        draft = replace(draft, name=None)
    check_agent(draft.agent_id, within)
    return await host.store.documents.revise(kind, key, draft, expected=expected, within=within)


async def restore(
    host: Host, kind: DocumentKind, key: str, version: int, change: Change, within: AccessScope
) -> Document:
    """An old version again, as the newest."""
    old = await host.store.documents.get(kind, key, version, within=within)
    note = change.note or f"version {version} restored"
    draft = Draft(body=old.edition.body, author=change.author, note=note, dialect=old.edition.dialect)
    return await host.store.documents.revise(kind, key, draft, within=within)


def check_agent(agent_id: str | None, within: AccessScope) -> None:
    if within.agent_ids is not None and agent_id is not None and agent_id not in within.agent_ids:
        raise PlanRefused(f"agent_id: this key may write for the agents {', '.join(within.agent_ids) or 'none'} only")


async def _draft(host: Host, kind: DocumentKind, change: Change, key: str) -> Draft:
    left_aside = {ID_FIELDS[kind], *MANAGED, *ADDED, "name", "agent_id", "bot_name"}
    body = with_ids(kind, {name: value for name, value in change.body.items() if name not in left_aside})
    name = str(change.body.get("bot_name" if kind is DocumentKind.AGENT else "name") or "")
    draft = Draft(
        body=msgspec.json.encode(body),
        agent_id=key if kind is DocumentKind.AGENT else str(change.body.get("agent_id") or ""),
        name=name,
        author=change.author,
        note=change.note,
    )
    await asyncio.to_thread(check, host.work.kit, kind, key, draft, body)
    return draft


def with_distinct_tools(body: Json) -> Json:
    """Each tool once; services that list them repeat them."""
    tools = body.get("tools")
    if not isinstance(tools, list):
        return body
    first: dict[tuple[str, str], Any] = {}
    for tool in tools:
        first.setdefault((str(tool.get("id") or ""), str(tool.get("tool_name"))), tool)
    return {**body, "tools": list(first.values())}


def with_ids(kind: DocumentKind, body: Json) -> Json:
    """Every element with an id: those that came without get one."""
    if kind not in ENTRIES:
        return body
    listed, key = ENTRIES[kind]
    entries = body.get(listed)
    if not isinstance(entries, list):
        return body
    return {**body, listed: [_with_id(each, key) for each in entries]}


def _with_id(entry: Any, key: str) -> Any:
    return {key: str(uuid4()), **entry} if isinstance(entry, dict) and not entry.get(key) else entry


def check(kit: Kit, kind: DocumentKind, key: str, draft: Draft, body: Json) -> None:
    """DatasetInvalid, with every problem that the file would have."""
    with TemporaryDirectory() as folder:
        CHECKS[kind](kit, Path(folder) / "document.json", key, draft, body)


def _check_rubric(kit: Kit, path: Path, key: str, draft: Draft, body: Json) -> None:
    path.write_bytes(msgspec.json.encode({"rubric_id": key, "name": draft.name or key, "version": 1, **body}))
    read_rubric(path)


def _check_test_set(kit: Kit, path: Path, key: str, draft: Draft, body: Json) -> None:
    path.write_bytes(msgspec.json.encode({"test_set_id": key, "name": draft.name or key, "version": 1, **body}))
    _refuse(path, kit, "test-set")


def _check_questions(kit: Kit, path: Path, key: str, draft: Draft, body: Json) -> None:
    faults = [
        Problem(
            code="nothing-expected",
            field=f"questions[{place}]",
            message="a question needs an expected_answer or criteria to be held against",
        )
        for place, each in enumerate(body.get("questions", ()))
        if not each.get("expected_answer") and not each.get("criteria")
    ]
    if faults:
        raise DatasetInvalid("questions", faults)
    path = path.with_suffix(".jsonl")
    path.write_bytes(as_dataset(draft.name or "", body))
    _refuse(path, kit, "legal")


def _check_agent_file(kit: Kit, path: Path, key: str, draft: Draft, body: Json) -> None:
    path.write_bytes(msgspec.json.encode({"bot_id": key, "bot_name": draft.name or key, **body}))
    read_agent(path)


def _check_graders(kit: Kit, path: Path, key: str, draft: Draft, body: Json) -> None:
    known = kit.graders.names()
    faults = [
        Problem(code="unknown-grader", field=f"evaluators[{place}].type", message=f"there is no grader {name!r}")
        for place, each in enumerate(body.get("evaluators", ()))
        if (name := each.get("type")) not in known
    ]
    if faults:
        raise DatasetInvalid("evaluators", faults)


def _refuse(path: Path, kit: Kit, dialect: str) -> None:
    report = validate(path, kit.dialects[dialect])
    if report.problems:
        raise DatasetInvalid(str(path), report.problems)


CHECKS: dict[DocumentKind, Callable[[Kit, Path, str, Draft, Json], None]] = {
    DocumentKind.RUBRIC: _check_rubric,
    DocumentKind.TEST_SET: _check_test_set,
    DocumentKind.QUESTION_SET: _check_questions,
    DocumentKind.AGENT: _check_agent_file,
    DocumentKind.GRADERS: _check_graders,
}
