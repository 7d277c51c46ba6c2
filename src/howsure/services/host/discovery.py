"""The agents that a caller may see."""

from __future__ import annotations

from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.store.documents import DocumentQuery
from howsure.store.pages import next_cursor
from howsure.store.store import Store
from howsure.wire.discovery import KnownAgent

PAGE = 500


async def known_agents(store: Store, after: str, limit: int, scope: AccessScope) -> list[KnownAgent]:
    """Agents that were described or have runs, by id; those with an id after `after`."""
    names: dict[str, str] = {}
    before: str | None = None
    while True:
        query = DocumentQuery(limit=PAGE, before=before)
        described = await store.documents.several(DocumentKind.AGENT, query, scope)
        names.update({each.id: each.name for each in described})
        if len(described) < PAGE:
            break
        before = next_cursor(described[-1])
    runs = {preview.id: preview for preview in await store.browse.agent_previews(scope)}
    shown = sorted(each for each in names.keys() | runs.keys() if each > after)[:limit]
    return [
        KnownAgent(
            agent_id=id,
            agent_name=names.get(id) or None,
            described=id in names,
            runs=runs[id].runs if id in runs else 0,
            latest_run_at=runs[id].latest if id in runs else None,
        )
        for id in shown
    ]
