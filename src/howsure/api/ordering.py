"""The run request that a body of the API asks for."""

from __future__ import annotations

from typing import Any

from howsure.api.bodies import RunOptionsBody
from howsure.model.document import DocumentKind
from howsure.model.run_request import RunRequest
from howsure.services.host.run_requests import document

RENAMED = {"eval_model": "judge", "initial_payload": "state"}
"""Fields of a body that have another name in a run request."""


def run_request(
    body: RunOptionsBody, cases: tuple[str, ...], agent_id: str | None, criteria_from: str = ""
) -> RunRequest:
    """Every field of the body that a run request has; `cases` names the documents that hold the cases."""
    fields = {RENAMED.get(name, name): tuple(value) if isinstance(value, list) else value for name, value in body}
    known: dict[str, Any] = {
        name: value for name, value in fields.items() if name in RunRequest.__struct_fields__ and value is not None
    }
    config = document(DocumentKind.GRADERS, body.config_id)
    return RunRequest(
        **known,
        datasets=cases,
        criteria_from=criteria_from,
        rubric=document(DocumentKind.RUBRIC, body.rubric_id, body.rubric_version),
        agent=document(DocumentKind.AGENT, agent_id),
        graders=(config,) if config else None,
        filters={"id": tuple(body.item_ids)} if body.item_ids else {},
    )
