"""The tables of the service: documents and their versions, the queue of runs, keys, answers to repeated requests, the
log of writes, and people's labels. Whatever belongs to an organisation says so in a column, and every query asks for
it."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, LargeBinary, MetaData, Table, text

from howsure.store.schema import Moment, Words, metadata

OWNED = ("organization_id", "kind", "id")
WAITING = text("state = 'queued'")
WORKED_ON = text("state = 'running'")

# Rubrics, test sets, question sets, datasets, bots and configurations are all documents: a name, an agent, and versions
# that never change. `version` is the newest one.
documents = Table(
    "documents",
    metadata,
    Column("organization_id", Words, primary_key=True),
    Column("kind", Words, primary_key=True),
    Column("id", Words, primary_key=True),
    Column("agent_id", Words, nullable=False),
    Column("name", Words, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("deleted_at", Moment),
    Index("ix_documents_list", "kind", "organization_id", "created_at", "id"),
    Index("ix_documents_agent", "kind", "agent_id", "created_at", "id"),
    Index("ix_documents_id", "kind", "id"),
)

# `dialect` is the file shape of an uploaded dataset; the bodies of everything else are JSON of their own kind.
document_versions = Table(
    "document_versions",
    metadata,
    Column("organization_id", Words, primary_key=True),
    Column("kind", Words, primary_key=True),
    Column("id", Words, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("created_at", Moment, nullable=False),
    Column("author", Words, nullable=False),
    Column("note", Words, nullable=False),
    Column("sha256", Words, nullable=False),
    Column("dialect", Words, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

# Where a case of an uploaded dataset stands, so that it is found by its id alone.
dataset_cases = Table(
    "dataset_cases",
    metadata,
    Column("organization_id", Words, primary_key=True),
    Column("id", Words, primary_key=True),
    Column("dataset_id", Words, nullable=False),
    Column("case_id", Words, nullable=False),
    Column("position", Integer, nullable=False),
    Index("ix_dataset_cases_place", "organization_id", "dataset_id", "position"),
)

# A run that the service's workers carry out. Who works on it, and whether they are alive, stands in `runs`.
jobs = Table(
    "jobs",
    metadata,
    Column("run_id", Words, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("organization_id", Words, nullable=False),
    Column("agent_id", Words, nullable=False),
    Column("state", Words, nullable=False),
    Column("wish", Words, nullable=False),
    Column("task", Words, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("queued_at", Moment, nullable=False),
    Column("request", LargeBinary, nullable=False),
    Index("ix_jobs_waiting", "queued_at", "run_id", sqlite_where=WAITING, postgresql_where=WAITING),
    Index("ix_jobs_running", "agent_id", sqlite_where=WORKED_ON, postgresql_where=WORKED_ON),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Words, primary_key=True),
    Column("organization_id", Words),
    Column("name", Words, nullable=False),
    Column("sha256", Words, nullable=False),
    Column("scopes", Words, nullable=False),
    Column("agent_ids", Words),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("revoked_at", Moment),
    Column("used_at", Moment),
    Index("ix_api_keys_sha256", "sha256", unique=True),
    Index("ix_api_keys_list", "organization_id", "created_at", "id"),
)

# The answer to a POST that named a key of its own, so that sending it twice does it once.
answered = Table(
    "answered",
    metadata,
    Column("organization_id", Words, primary_key=True),
    Column("key", Words, primary_key=True),
    Column("sha256", Words, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("status", Integer),
    Column("headers", LargeBinary),
    Column("body", LargeBinary),
    Index("ix_answered_created_at", "created_at"),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Words, primary_key=True),
    Column("organization_id", Words, nullable=False),
    Column("at", Moment, nullable=False),
    Column("actor", Words, nullable=False),
    Column("action", Words, nullable=False),
    Column("subject", Words, nullable=False),
    Column("status", Integer, nullable=False),
    Column("request_id", Words, nullable=False),
    Index("ix_audit_list", "organization_id", "at", "id"),
)


# What people say of criteria, rules and evals. No key leads to the run: a label outlives it.
labels = Table(
    "labels",
    metadata,
    Column("run_id", Words, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("grader", Words, primary_key=True),
    Column("part_id", Words, primary_key=True),
    Column("labeler", Words, primary_key=True),
    Column("organization_id", Words, nullable=False),
    Column("agent_id", Words, nullable=False),
    Column("case_id", Words, nullable=False),
    Column("candidate", Words, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("opinion", Words, nullable=False),
    Column("why", Words, nullable=False),
    Column("blind", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index("ix_labels_list", "organization_id", "created_at"),
)


def every_table() -> MetaData:
    """These tables and those of schema.py."""
    return metadata
