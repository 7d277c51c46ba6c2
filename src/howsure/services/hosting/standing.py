"""How every agent stands: by its newest run that is complete. One that is worked on, or that broke, says nothing."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.services.hosting.viewing import Gallery
from howsure.store.store import Store

Json = dict[str, Any]


class Standing(Struct, frozen=True, kw_only=True):
    """An agent that was tried; `name` "": nobody has described it. `run` is the EvaluationRun, None: none is complete.
    The scores are shares of what could be judged, None where nothing could."""

    agent_id: str
    name: str
    runs: int
    criteria_score: float | None
    rubric_score: float | None
    run: Json | None


async def standings(store: Store, gallery: Gallery, after: str, limit: int, within: AccessScope) -> list[Standing]:
    """By id, those after this one."""
    faces = sorted((face for face in await store.browsing.agents(within) if face.id > after), key=lambda face: face.id)
    names = await store.documents.labels(DocumentKind.AGENT, [face.id for face in faces[:limit]], within)
    found: list[Standing] = []
    for face in faces[:limit]:
        shown, _ = await gallery.several(limit=1, before=None, agent_id=face.id, status="completed", within=within)
        found.append(_standing(face.id, names.get(face.id, ""), face.runs, shown[0] if shown else None))
    return found


def _standing(agent_id: str, name: str, runs: int, run: Json | None) -> Standing:
    return Standing(
        agent_id=agent_id,
        name=name,
        runs=runs,
        criteria_score=_share(run and run["criteria"]),
        rubric_score=_share(run and run["rubric_rules"]),
        run=run,
    )


def _share(tally: Json | None) -> float | None:
    judged = tally["passed"] + tally["failed"] if tally else 0
    return tally["passed"] / judged if tally and judged else None
