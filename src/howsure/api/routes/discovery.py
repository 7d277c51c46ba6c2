"""What the service offers to the caller, so that a program can find out what it may send."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from howsure.api.access import Anyone, Hosted, Reader
from howsure.api.errors import JsonAnswer
from howsure.api.pages import PAGE_HEADERS, Cursor, Limit, page, read_cursor
from howsure.api.requests import StrictRoute
from howsure.api.schemas import answer, errors, list_answer
from howsure.services.host.discovery import known_agents
from howsure.services.host.roles import Permission
from howsure.services.host.run_requests import offered_judges, offered_targets
from howsure.wire import discovery as wire
from howsure.wire.base import sendable_body

router = APIRouter(tags=["discovery"], route_class=StrictRoute)


@router.get("/whoami", responses={**answer(wire.CallerIdentity), **errors()})
async def whoami(caller: Anyone) -> Response:
    """Who makes this request, and what it may do."""
    agents = caller.within.agent_ids
    return JsonAnswer(
        {
            "name": caller.name,
            "key_id": caller.id or None,
            "scopes": sorted(scope.value for scope in caller.scopes),
            "permissions": [permission.name.lower() for permission in Permission if caller.may(permission)],
            "organization_id": caller.within.organization_id,
            "agent_ids": None if agents is None else list(agents),
        }
    )


@router.get("/agents", responses={**list_answer(wire.KnownAgent, headers=PAGE_HEADERS), **errors()})
async def agents(request: Request, caller: Reader, host: Hosted, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Every agent that was described or has runs, by id."""
    found = await known_agents(host.store, read_cursor(cursor) or "", limit, caller.within)
    further = found[-1].agent_id if len(found) == limit else None
    return page(request, [sendable_body(each) for each in found], further)


@router.get("/targets", responses={**list_answer(wire.OfferedTarget), **errors()})
async def targets(caller: Reader, host: Hosted) -> Response:
    """The operator's targets that a run may name."""
    offered = offered_targets(host, caller.within)
    return JsonAnswer([{"name": name, "default": name == host.rules.target} for name in sorted(offered)])


@router.get("/judges", responses={**list_answer(wire.OfferedJudge), **errors()})
async def judges(caller: Reader, host: Hosted) -> Response:
    """The judges that a run may name; the first is the default."""
    offered = offered_judges(host, caller.within)
    return JsonAnswer([{"name": name, "default": name == offered[0]} for name in offered])


@router.get("/graders", responses={**list_answer(wire.OfferedGrader), **errors()})
async def graders(caller: Reader, host: Hosted) -> Response:
    """The graders that a run may have, by name."""
    # The first paragraph of what its author says of it.
    about = {each.name: (type(each).__doc__ or "").strip().split("\n\n")[0] for each in host.work.kit.graders}
    texts = {name: " ".join(text.split()) for name, text in about.items()}
    return JsonAnswer([{"name": name, "description": texts[name]} for name in sorted(texts)])


@router.get("/profiles", responses={**list_answer(wire.OfferedProfile), **errors()})
async def profiles(caller: Reader, host: Hosted) -> Response:
    """The profiles that a run may name, built in and the operator's."""
    return JsonAnswer(
        [
            {
                "name": each.name,
                "marks": each.marks,
                "weights": each.weights,
                "hard_fails": each.hard_fails,
                "composite_mark": each.composite_mark,
            }
            for each in sorted(host.work.kit.profiles, key=lambda profile: profile.name)
        ]
    )
