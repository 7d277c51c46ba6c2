"""The document library: rubrics, test sets, question sets, agents and grader lists, checked before they are stored. The
body of a document holds what its author writes; the published shape adds ids, versions and times, and what comes in may
repeat them: they are ignored. A question set, the older form of a test set, runs as a `legal` dataset and shows the
older scores. Uploaded datasets are in `uploads.py`, text for an editor in `drafts.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.agent_files import read_agent, read_rubric
from howsure.dialects.datasets import validate
from howsure.errors import DatasetInvalid, NotFound, PlanRefused, Problem
from howsure.judges.dataset_policies import POLICY_ID, QUESTION_SET_POLICY
from howsure.kit import Kit
from howsure.model.access_scope import AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.reports.figures import iso_utc
from howsure.services.workspace import Host
from howsure.store.documents import DocumentDraft

Json = dict[str, Any]

ID_FIELDS = {
    DocumentKind.RUBRIC: "rubric_id",
    DocumentKind.TEST_SET: "test_set_id",
    DocumentKind.QUESTION_SET: "question_set_id",
    DocumentKind.DATASET: "dataset_id",
    DocumentKind.AGENT: "bot_id",
    DocumentKind.GRADERS: "config_id",
}
# Fields of the published shapes that an author may leave out.
DEFAULTS: Mapping[DocumentKind, Mapping[str, Any]] = {
    DocumentKind.RUBRIC: {"description": None, "severity_definitions": {}, "rules": []},
    DocumentKind.TEST_SET: {"description": None, "items": []},
    DocumentKind.QUESTION_SET: {"description": None, "questions": []},
    DocumentKind.AGENT: {
        "organization_id": None,
        "organization_name": None,
        "system_prompt": None,
        "llm_config": None,
        "tools": [],
        "knowledge_bases": [],
        "harness_context": None,
    },
    DocumentKind.GRADERS: {"evaluators": []},
}
MANAGED = ("version", "created_at", "updated_at")
QUESTION_SET_DIALECT = "legal"
QUESTION_SET_SCHEMA = "legal_eval_v1"
ENTRIES = {DocumentKind.TEST_SET: ("items", "item_id"), DocumentKind.QUESTION_SET: ("questions", "question_id")}
ADDED = ("author", "note", "latest_version", "deleted", "changelog")


def document_body(document: Document) -> Json:
    """What the author wrote."""
    return msgspec.json.decode(document.edition.body, type=Json)


def published_document(document: Document) -> Json:
    """The document in its published shape."""
    kind = document.kind
    if kind is DocumentKind.AGENT:
        return {"bot_id": document.id, "bot_name": document.name, **DEFAULTS[kind], **document_body(document)}
    agent = document.agent_id or None
    head = {ID_FIELDS[kind]: document.id, "agent_id": agent, "version": document.edition.version}
    times = {"created_at": iso_utc(document.created_at), "updated_at": iso_utc(document.edition.created_at)}
    content = {} if kind is DocumentKind.DATASET else {**DEFAULTS[kind], **document_body(document)}
    return {**head, "name": document.name, **content, **times}


def file_content(document: Document) -> bytes:
    """The document as the content of a file; the same version always gives the same bytes."""
    if document.kind is DocumentKind.DATASET:
        return document.edition.body
    shown = {
        name: value for name, value in published_document(document).items() if name not in ("created_at", "updated_at")
    }
    if not document.agent_id:
        # In a file, no `agent_id` means no agent.
        shown.pop("agent_id", None)
    # Files of earlier runs, which are known by their hash, have "" where the author said nothing.
    written = document_body(document)
    unsaid = {name: "" for name in ("description", "system_prompt") if name in shown and name not in written}
    return msgspec.json.encode({**shown, **unsaid})


def question_set_lines(name: str, body: Json) -> bytes:
    """The question set as lines of a dataset."""
    lines = [msgspec.json.encode(_question_line(name, question)) for question in body.get("questions", ())]
    return b"".join(line + b"\n" for line in lines)


QUESTION_FIELDS = {
    "id": "question_id",
    "prompt": "question",
    "reference_answers": "expected_answer",
    "rubric": "criteria",
    "metadata": "tags",
}
"""Fields of a question, by those of its line in a dataset."""


def _question_line(name: str, question: Json) -> Json:
    answers = [question["expected_answer"]] if question.get("expected_answer") else []
    expected: Json = {"task_type": "reference_qa", "reference_answers": answers}
    if criteria := question.get("criteria"):
        rubric = [{"id": f"c{number}", "title": text} for number, text in enumerate(criteria, 1)]
        answered = {"reference_answers": answers} if answers else {}
        expected = {"task_type": "rubric_qa", "rubric": rubric, **answered}
    return {
        "schema_version": QUESTION_SET_SCHEMA,
        "id": question["question_id"],
        "dataset": name or "questions",
        **expected,
        "prompt": question["question"],
        **({"context": question["context"]} if question.get("context") else {}),
        "metadata": {POLICY_ID: QUESTION_SET_POLICY, **({"tags": question["tags"]} if question.get("tags") else {})},
    }


async def find_document(host: Host, kind: DocumentKind, key: str, scope: AccessScope) -> Document | None:
    """The newest version; None if the caller may see none, or the key is empty."""
    try:
        return await host.store.documents.get(kind, key, within=scope) if key else None
    except NotFound:
        return None


class DocumentChange(Struct, frozen=True, kw_only=True):
    """A new body, its author, and a note on why it was written."""

    body: Json
    author: str = ""
    note: str = ""


async def add_document(
    host: Host, kind: DocumentKind, change: DocumentChange, scope: AccessScope, key: str = ""
) -> Document:
    """Store a new document, at version 1."""
    key = key or str(uuid4())
    draft = await _draft(host, kind, change, key)
    check_agent_access(draft.agent_id, scope)
    return await host.store.documents.create(kind, key, draft, scope)


async def change_document(
    host: Host, kind: DocumentKind, key: str, change: DocumentChange, scope: AccessScope, expected: int | None = None
) -> Document:
    """Store the next version of a document."""
    draft = await _draft(host, kind, change, key)
    if "agent_id" not in change.body:
        draft = replace(draft, agent_id=None)
    if not draft.name:
        draft = replace(draft, name=None)
    check_agent_access(draft.agent_id, scope)
    return await host.store.documents.revise(kind, key, draft, expected=expected, within=scope)


async def restore_document(
    host: Host, kind: DocumentKind, key: str, version: int, change: DocumentChange, scope: AccessScope
) -> Document:
    """Store an old version again, as the newest."""
    old = await host.store.documents.get(kind, key, version, within=scope)
    note = change.note or f"version {version} restored"
    check_agent_access(old.agent_id, scope)
    draft = DocumentDraft(
        body=old.edition.body,
        agent_id=old.agent_id,
        name=old.name,
        author=change.author,
        note=note,
        dialect=old.edition.dialect,
    )
    return await host.store.documents.revise(kind, key, draft, within=scope)


def require_agent(agent_id: str, scope: AccessScope) -> None:
    """NotFound where the caller may not see this agent."""
    if scope.agent_ids is not None and agent_id not in scope.agent_ids:
        raise NotFound(f"there is no agent {agent_id}")


def check_agent_access(agent_id: str | None, scope: AccessScope) -> None:
    if scope.agent_ids is not None and agent_id is not None and agent_id not in scope.agent_ids:
        raise PlanRefused(f"agent_id: this key may write for the agents {', '.join(scope.agent_ids) or 'none'} only")


def _written(kind: DocumentKind, body: Json) -> Json:
    """What its author wrote of a body, with an id for every entry."""
    ignored = {ID_FIELDS[kind], *MANAGED, *ADDED, "name", "agent_id", "bot_name"}
    return with_entry_ids(kind, {name: value for name, value in body.items() if name not in ignored})


async def _draft(host: Host, kind: DocumentKind, change: DocumentChange, key: str) -> DocumentDraft:
    body = _written(kind, change.body)
    name = str(change.body.get("bot_name" if kind is DocumentKind.AGENT else "name") or "")
    draft = DocumentDraft(
        body=msgspec.json.encode(body),
        agent_id=key if kind is DocumentKind.AGENT else str(change.body.get("agent_id") or ""),
        name=name,
        author=change.author,
        note=change.note,
    )
    try:
        await asyncio.to_thread(check_document, host.work.kit, kind, key, draft, body)
    except DatasetInvalid as error:
        raise DatasetInvalid("body", [_in_body(kind, each) for each in error.problems], error.more) from None
    return draft


async def further_problems(kit: Kit, kind: DocumentKind, body: Json) -> list[Problem]:
    """What else is wrong with a body whose shape is wrong, as far as a file of this kind can be read whatever it
    holds."""
    if kind not in (DocumentKind.RUBRIC, DocumentKind.TEST_SET):
        return []
    content = _written(kind, body)
    try:
        await asyncio.to_thread(check_document, kit, kind, "new", DocumentDraft(body=b"", name="new"), content)
    except DatasetInvalid as error:
        return [_in_body(kind, each) for each in error.problems]
    return []


def _in_body(kind: DocumentKind, problem: Problem) -> Problem:
    """A problem of the file that a document is checked as, by its place in the body that was sent."""
    field = problem.field
    if kind is DocumentKind.QUESTION_SET and problem.line:
        name, mark, rest = field.partition("[")
        field = f"questions[{problem.line - 1}].{QUESTION_FIELDS.get(name, name)}{mark}{rest}".removesuffix(".")
    return replace(problem, field=field, file="", line=None, column=None)


def with_distinct_tools(body: Json) -> Json:
    """Each tool once: some bot services list a tool several times."""
    tools = body.get("tools")
    if not isinstance(tools, list):
        return body
    first: dict[tuple[str, str], Any] = {}
    for tool in tools:
        first.setdefault((str(tool.get("id") or ""), str(tool.get("tool_name"))), tool)
    return {**body, "tools": list(first.values())}


def with_entry_ids(kind: DocumentKind, body: Json) -> Json:
    """The body with an id for every entry; entries without one get a new id."""
    if kind not in ENTRIES:
        return body
    listed, key = ENTRIES[kind]
    entries = body.get(listed)
    if not isinstance(entries, list):
        return body
    return {
        **body,
        listed: [
            {key: str(uuid4()), **entry} if isinstance(entry, dict) and not entry.get(key) else entry
            for entry in entries
        ],
    }


def check_document(kit: Kit, kind: DocumentKind, key: str, draft: DocumentDraft, body: Json) -> None:
    """Raise DatasetInvalid with every problem that the document would have as a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "document.json"
        match kind:
            case DocumentKind.RUBRIC:
                write_document(path, kind, key, draft.name or key, body)
                read_rubric(path)
            case DocumentKind.TEST_SET:
                write_document(path, kind, key, draft.name or key, body)
                _check_dataset(path, kit, "test-set")
            case DocumentKind.QUESTION_SET:
                problems = [
                    Problem(
                        code="nothing-expected",
                        field=f"questions[{index}]",
                        message="a question needs an expected_answer or criteria to be held against",
                    )
                    for index, question in enumerate(body.get("questions", ()))
                    if not question.get("expected_answer") and not question.get("criteria")
                ]
                if problems:
                    raise DatasetInvalid("questions", problems)
                path = path.with_suffix(".jsonl")
                path.write_bytes(question_set_lines(draft.name or "", body))
                _check_dataset(path, kit, QUESTION_SET_DIALECT)
            case DocumentKind.AGENT:
                path.write_bytes(msgspec.json.encode({"bot_id": key, "bot_name": draft.name or key, **body}))
                read_agent(path)
            case DocumentKind.GRADERS:
                known, evaluators = kit.graders.names(), enumerate(body.get("evaluators", ()))
                types = [(f"evaluators[{index}].type", each.get("type")) for index, each in evaluators]
                problems = [
                    Problem(code="unknown-grader", field=field, message=f"there is no grader {name!r}")
                    for field, name in types
                    if str(name).lstrip("+-") not in known
                ]
                if problems:
                    raise DatasetInvalid("evaluators", problems)
            case DocumentKind.DATASET:
                raise ValueError("a dataset is checked as an upload: see uploads.py")


def write_document(path: Path, kind: DocumentKind, key: str, name: str, body: Json) -> None:
    """Write a rubric or a test set in its file format."""
    path.write_bytes(msgspec.json.encode({ID_FIELDS[kind]: key, "name": name, "version": 1, **body}))


def _check_dataset(path: Path, kit: Kit, dialect: str) -> None:
    report = validate(path, kit.dialects[dialect])
    if report.problems:
        raise DatasetInvalid(str(path), report.problems, report.more_problems)
