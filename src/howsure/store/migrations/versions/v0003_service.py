"""The tables of the service, and what a list of runs needs to be fast: counts and summaries beside each run."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

VERDICTS = ("passed", "failed", "errored", "skipped")
WAITING = sa.text("state = 'queued'")
WORKED_ON = sa.text("state = 'running'")


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def upgrade() -> None:
    _runs()
    _documents()
    _jobs()
    _keys()
    _logs()


def downgrade() -> None:
    for table in ("audit", "answered", "api_keys", "jobs", "dataset_cases", "document_versions", "documents"):
        op.drop_table(table)
    op.drop_index("ix_runs_organization_id_created_at_id", "runs")
    for column in ("groups", *VERDICTS, "organization_id"):
        op.drop_column("runs", column)


def _runs() -> None:
    op.add_column("runs", sa.Column("organization_id", sa.Text(), nullable=False, server_default=""))
    for verdict in VERDICTS:
        op.add_column("runs", sa.Column(verdict, sa.Integer(), nullable=False, server_default="0"))
        counted = f"SELECT count(*) FROM results WHERE results.run_id = runs.id AND results.verdict = '{verdict}'"
        op.execute(f"UPDATE runs SET {verdict} = ({counted})")
    op.add_column("runs", sa.Column("groups", sa.LargeBinary()))
    op.create_index("ix_runs_organization_id_created_at_id", "runs", ["organization_id", "created_at", "id"])


def _documents() -> None:
    op.create_table(
        "documents",
        *map(_text, ("organization_id", "kind", "id", "agent_id", "name")),
        sa.Column("version", sa.Integer(), nullable=False),
        *map(_text, ("created_at", "updated_at")),
        _text("deleted_at", nullable=True),
        sa.PrimaryKeyConstraint("organization_id", "kind", "id", name="pk_documents"),
    )
    op.create_index("ix_documents_list", "documents", ["kind", "organization_id", "created_at", "id"])
    op.create_index("ix_documents_agent", "documents", ["kind", "agent_id", "created_at", "id"])
    op.create_index("ix_documents_id", "documents", ["kind", "id"])
    op.create_table(
        "document_versions",
        *map(_text, ("organization_id", "kind", "id")),
        sa.Column("version", sa.Integer(), nullable=False),
        *map(_text, ("created_at", "author", "note", "sha256", "dialect")),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "kind", "id", "version", name="pk_document_versions"),
    )
    op.create_table(
        "dataset_cases",
        *map(_text, ("organization_id", "id", "dataset_id", "case_id")),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "id", name="pk_dataset_cases"),
    )
    op.create_index("ix_dataset_cases_place", "dataset_cases", ["organization_id", "dataset_id", "position"])


def _jobs() -> None:
    op.create_table(
        "jobs",
        *map(_text, ("run_id", "organization_id", "agent_id", "state", "wish", "task")),
        sa.Column("tries", sa.Integer(), nullable=False),
        _text("queued_at"),
        sa.Column("request", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_jobs_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name="pk_jobs"),
    )
    waiting = ["queued_at", "run_id"]
    op.create_index("ix_jobs_waiting", "jobs", waiting, sqlite_where=WAITING, postgresql_where=WAITING)
    op.create_index("ix_jobs_running", "jobs", ["agent_id"], sqlite_where=WORKED_ON, postgresql_where=WORKED_ON)


def _keys() -> None:
    op.create_table(
        "api_keys",
        _text("id"),
        _text("organization_id", nullable=True),
        *map(_text, ("name", "sha256", "scopes")),
        _text("agent_ids", nullable=True),
        _text("created_at"),
        *(_text(name, nullable=True) for name in ("expires_at", "revoked_at", "used_at")),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
    )
    op.create_index("ix_api_keys_sha256", "api_keys", ["sha256"], unique=True)
    op.create_index("ix_api_keys_list", "api_keys", ["organization_id", "created_at", "id"])


def _logs() -> None:
    op.create_table(
        "answered",
        *map(_text, ("organization_id", "key", "sha256", "created_at")),
        sa.Column("status", sa.Integer()),
        sa.Column("headers", sa.LargeBinary()),
        sa.Column("body", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("organization_id", "key", name="pk_answered"),
    )
    op.create_index("ix_answered_created_at", "answered", ["created_at"])
    op.create_table(
        "audit",
        *map(_text, ("id", "organization_id", "at", "actor", "action", "subject")),
        sa.Column("status", sa.Integer(), nullable=False),
        _text("request_id"),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_list", "audit", ["organization_id", "at", "id"])
