"""Documents as the evaluation API shows them and as files hold them: the fields of the published shape, in their order.
What a document's body holds is what its author may write; ids, versions and times are added here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from howsure.model.document import Document, DocumentKind
from howsure.reports.figures import utc

Json = dict[str, Any]

ID_FIELDS = {
    DocumentKind.RUBRIC: "rubric_id",
    DocumentKind.TEST_SET: "test_set_id",
    DocumentKind.QUESTION_SET: "question_set_id",
    DocumentKind.DATASET: "dataset_id",
    DocumentKind.AGENT: "bot_id",
    DocumentKind.GRADERS: "config_id",
}
# What the published shapes have and an author may leave out.
DEFAULTS: Mapping[DocumentKind, Mapping[str, Any]] = {
    DocumentKind.RUBRIC: {"description": "", "severity_definitions": {}, "rules": []},
    DocumentKind.TEST_SET: {"description": "", "items": []},
    DocumentKind.QUESTION_SET: {"description": "", "questions": []},
    DocumentKind.AGENT: {
        "organization_id": None,
        "organization_name": None,
        "system_prompt": "",
        "llm_config": None,
        "tools": [],
        "knowledge_bases": [],
        "harness_context": None,
    },
    DocumentKind.GRADERS: {"evaluators": []},
}
MANAGED = ("version", "created_at", "updated_at")


def body_of(document: Document) -> Json:
    """What its author wrote."""
    return msgspec.json.decode(document.edition.body, type=Json)


def whole(document: Document) -> Json:
    """The document in its published shape."""
    kind = document.kind
    if kind is DocumentKind.AGENT:
        return {"bot_id": document.id, "bot_name": document.name, **DEFAULTS[kind], **body_of(document)}
    agent = document.agent_id or None
    head = {ID_FIELDS[kind]: document.id, "agent_id": agent, "version": document.edition.version}
    times = {"created_at": utc(document.created_at), "updated_at": utc(document.edition.created_at)}
    content = {} if kind is DocumentKind.DATASET else {**DEFAULTS[kind], **body_of(document)}
    return {**head, "name": document.name, **content, **times}


def file_of(document: Document) -> bytes:
    """The content of the file that the document would be, the same for every reading of a version."""
    if document.kind is DocumentKind.DATASET:
        return document.edition.body
    shown = {name: value for name, value in whole(document).items() if name not in ("created_at", "updated_at")}
    if not document.agent_id:
        # In a file what is of no agent says nothing of one.
        shown.pop("agent_id", None)
    return msgspec.json.encode(shown)
