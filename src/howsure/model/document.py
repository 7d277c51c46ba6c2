"""A Document: something with a name and with versions that never change. Rubrics, test sets, question sets, uploaded
datasets, descriptions of agents and lists of graders are stored as documents."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from msgspec import Struct

DELETED = " (deleted)"


class DocumentKind(Enum):
    """What a document is."""

    RUBRIC = "rubric"
    TEST_SET = "test_set"
    QUESTION_SET = "question_set"
    DATASET = "dataset"
    AGENT = "agent"
    GRADERS = "graders"


class DocumentVersion(Struct, frozen=True, kw_only=True):
    """One version of a document, as it was written. `dialect` is the file format of an uploaded dataset."""

    version: int
    body: bytes
    sha256: str
    created_at: datetime
    author: str = ""
    note: str = ""
    dialect: str = ""


class Document(Struct, frozen=True, kw_only=True):
    """A document with one of its versions; `latest` is the number of the newest."""

    id: str
    kind: DocumentKind
    agent_id: str
    name: str
    latest: int
    created_at: datetime
    updated_at: datetime
    edition: DocumentVersion
    organization_id: str = ""
    deleted_at: datetime | None = None

    @property
    def label(self) -> str:
        """The name that runs which used it show."""
        return document_label(self.name, self.deleted_at)


def document_label(name: str, deleted_at: datetime | None) -> str:
    return name + (DELETED if deleted_at else "")
