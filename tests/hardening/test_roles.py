"""The one table of who may do what (services/host/roles.py), walked over every operation of the API and every route of
the pages, as the code lists them, for each role, in its own organisation, in another one, and for some agents only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from msgspec import Struct

from databases import IN_TURN, a_database
from howsure.api.access import RequirePermission
from howsure.api.app import PREFIX, routers
from howsure.model.access_scope import AccessRole, AccessScope
from howsure.model.run import RunState
from howsure.services.host.keys import KeyRequest, make_key
from howsure.services.host.roles import (
    OPENED_BY,
    ORGANIZATION_WIDE,
    SCOPES_OF,
    SERVICE_WIDE,
    Permission,
    permits,
    role_of,
)
from howsure.store.keys import KeyScope
from howsure.web.app import PAGES
from web.everything import Everything, fill
from web.pages_served import Served, serving
from web.stocked import GOING
from web.visiting import Visitor

PUBLIC = {("GET", f"{PREFIX}/health"), ("GET", f"{PREFIX}/ready")}
"""The operations of the API that need no key."""
MISSING = "00000000-0000-4000-8000-00000000ffff"
PLACES = ("own organisation", "other organisation", "other agents", "whole service")
DEMO = "/demo"
"""It loads five runs: only those who may not are sent there."""


def permission_of(route: APIRoute) -> Permission | None:
    """The permission that a route of the API asks for; None where it asks for none."""

    def found(dependant: Dependant) -> Iterator[Permission]:
        if isinstance(dependant.call, RequirePermission):
            yield dependant.call.permission
        for each in dependant.dependencies:
            yield from found(each)

    permissions = list(found(route.dependant))
    assert len(permissions) <= 1, route.path
    return permissions[0] if permissions else None


OPERATIONS = [
    (method, PREFIX + route.path, permission_of(route))
    for router in routers()
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in sorted(route.methods or ())
]
ROUTES = [(page.method, page.path, page.permission) for page in PAGES]


def test_every_operation_of_the_api_names_a_permission() -> None:
    assert {(method, path) for method, path, permission in OPERATIONS if permission is None} == PUBLIC
    assert len(OPERATIONS) > 60


def test_every_page_that_writes_names_more_than_reading() -> None:
    """Reading is what a page needs that names nothing."""
    assert {path for method, path, permission in ROUTES if method == "POST" and permission is Permission.READ} == set()
    public = {path for _, path, permission in ROUTES if permission is Permission.PUBLIC}
    assert public == {"/docs", "/sign-in", "/sign-in/provider", "/sign-in/provider/callback", "/sign-out"}


def test_pages_and_api_name_the_same_permission_for_the_same_thing() -> None:
    """Break 6: a key that may only run deleted finished runs on the page."""
    api = {(method, path.removeprefix(PREFIX)): permission for method, path, permission in OPERATIONS}
    pages = {(method, path): permission for method, path, permission in ROUTES}
    pairs = {
        ("DELETE", "/runs/{run_id}"): ("POST", "/runs/{run_id}/delete"),
        ("POST", "/runs/{run_id}/cancel"): ("POST", "/runs/{run_id}/{deed}"),
        ("POST", "/runs/{run_id}/regrade"): ("POST", "/runs/{run_id}/regrade"),
        ("POST", "/runs"): ("POST", "/start"),
        ("POST", "/runs/{run_id}/labels"): ("POST", "/label/{run_id}"),
        ("GET", "/runs/{run_id}/labels.ndjson"): ("GET", "/label/{run_id}/labels.jsonl"),
        ("POST", "/rubrics"): ("POST", "/library/{shelf}"),
        ("PUT", "/rubrics/{id}"): ("POST", "/library/{shelf}/{key}"),
        ("DELETE", "/rubrics/{id}"): ("POST", "/library/{shelf}/{key}/delete"),
        ("POST", "/keys"): ("POST", "/settings/keys"),
        ("DELETE", "/keys/{id}"): ("POST", "/settings/keys/{key_id}/revoke"),
        ("GET", "/runs"): ("GET", "/"),
        ("GET", "/runs/{run_id}/events"): ("GET", "/runs/{run_id}/events"),
    }
    assert {pair: (api[pair[0]], pages[pair[1]]) for pair in pairs.items() if api[pair[0]] != pages[pair[1]]} == {}


@pytest.mark.parametrize(
    ("role", "may"),
    [
        (AccessRole.VIEWER, {"READ", "EXPORT"}),
        (AccessRole.LABELLER, {"READ", "EXPORT", "LABEL"}),
        (AccessRole.EDITOR, {"READ", "EXPORT", "LABEL", "EDIT", "DELETE_RUNS"}),
        (AccessRole.RUNNER, {"READ", "EXPORT", "RUN"}),
        (AccessRole.ADMIN, {each.name for each in Permission}),
    ],
)
def test_what_each_role_may_do_written_out(role: AccessRole, may: set[str]) -> None:
    held = {each.name for each in Permission if permits(SCOPES_OF[role], AccessScope(), each)}
    assert held == may | {"PUBLIC", "OWN_SESSIONS"}
    assert role_of(SCOPES_OF[role]) is role


def test_scopes_of_no_role_have_none_and_open_only_themselves() -> None:
    assert role_of([KeyScope.WRITE]) is None
    assert not permits([KeyScope.WRITE], AccessScope(), Permission.READ)
    assert OPENED_BY[KeyScope.READ] == {Permission.READ, Permission.EXPORT}
    assert SERVICE_WIDE <= ORGANIZATION_WIDE


class Walker(Struct, frozen=True):
    """Somebody with a role somewhere, by key and signed in."""

    role: AccessRole
    within: AccessScope
    secret: str
    visitor: Visitor

    def may(self, permission: Permission | None) -> bool:
        return permission is None or permits(SCOPES_OF[self.role], self.within, permission)


class World(Struct, frozen=True):
    served: Served
    things: Everything

    def walker(self, role: AccessRole, place: str) -> Walker:
        within = {
            "own organisation": AccessScope(organization_id=""),
            "other organisation": AccessScope(organization_id="other"),
            "other agents": AccessScope(organization_id="", agent_ids=("nobody",)),
            "whole service": AccessScope(),
        }[place]
        wanted = KeyRequest(
            name=role.value,
            scopes=SCOPES_OF[role],
            organization_id=within.organization_id,
            agent_ids=within.agent_ids,
        )
        _, secret = self.served.do(make_key(self.served.store, wanted))
        return Walker(role, within, secret, Visitor(self.served.base).sign_in(secret))

    def api_path(self, method: str, path: str, place: str) -> str:
        """What is there; where it is one's own and could be changed, what is not there."""
        real = method == "GET" or place in ("other organisation", "other agents")
        run = self.things.run_id if real else MISSING
        known = {"{run_id}": run, "{first}": run, "{second}": run, "{version}": "1", "{a}": "1", "{b}": "2"}
        shelf = path.removeprefix(f"{PREFIX}/").split("/")[0]
        ids = {"rubrics": self.things.rubric, "test-sets": self.things.test_set, "datasets": self.things.dataset}
        ids |= {"question-sets": self.things.question_set, "keys": self.things.key_id}
        known["{id}"] = ids.get(shelf, MISSING) if real else MISSING
        return re.sub(r"{\w+}", lambda found: known.get(found[0], MISSING), path)

    def page_path(self, method: str, path: str, place: str) -> str:
        if method == "GET" or place in ("other organisation", "other agents"):
            return self.things.filled(path)
        return re.sub(r"{(\w+)}", lambda found: {"shelf": "rubrics", "deed": "cancel"}.get(found[1], MISSING), path)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], World]]:
    with ExitStack() as stack:

        @cache
        def made(kind: str) -> World:
            folder = tmp_path_factory.mktemp(f"roles-{kind}")
            where = stack.enter_context(a_database(kind, folder))
            served = stack.enter_context(serving(folder, keys_needed=True, working=False, database=where))
            things = served.do(fill(served))
            served.do(served.store.set_state(GOING, RunState.COMPLETED))
            return World(served, things)

        yield made


@pytest.fixture(params=IN_TURN)
def world(request: pytest.FixtureRequest, worlds: Callable[[str], World]) -> World:
    return worlds(request.param)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("role", AccessRole, ids=lambda role: role.value)
def test_the_api_holds_the_table(world: World, role: AccessRole, place: str) -> None:
    walker = world.walker(role, place)
    connection = HTTPConnection(urlsplit(world.served.base).netloc, timeout=120)
    wrong = []
    for method, path, permission in OPERATIONS:
        headers = {"Authorization": f"Bearer {walker.secret}"}
        connection.request(method, world.api_path(method, path, place), headers=headers)
        response = connection.getresponse()
        response.read()
        if not _as_the_table_says(response.status, walker.may(permission), "{" in path and permission, place):
            wrong.append((method, path, response.status))
    connection.close()
    assert wrong == []


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("role", AccessRole, ids=lambda role: role.value)
def test_the_pages_hold_the_table(world: World, role: AccessRole, place: str) -> None:
    walker = world.walker(role, place)
    wrong, token = [], walker.visitor.token()
    for method, path, permission in ROUTES:
        may = walker.may(permission)
        if permission is Permission.PUBLIC or (path == DEMO and may):
            continue
        body = f"csrf={token}".encode() if method == "POST" else None
        reply = walker.visitor.ask(method, world.page_path(method, path, place), body)
        # A check looks at the text that is sent, and at nothing else.
        named = "{" in path.replace("{shelf}", "") and not path.endswith("/check")
        if reply.leads_to.startswith("/sign-in") or not _as_the_table_says(reply.status, may, named, place):
            wrong.append((method, path, reply.status))
    assert wrong == []


def _as_the_table_says(status: int, may: bool, names_something: object, place: str) -> bool:
    """Whoever may not is refused before anything else is looked at. Whoever may, and asks for a thing of others, is
    told that there is none, or that what they sent makes no sense."""
    if not may:
        return status == 403
    if names_something and place in ("other organisation", "other agents"):
        return status in (404, 422)
    return status < 500 and status not in (401, 403)


def test_nobody_without_a_key_is_let_in_anywhere(world: World) -> None:
    connection = HTTPConnection(urlsplit(world.served.base).netloc, timeout=120)
    answered = {}
    for method, path, permission in OPERATIONS:
        connection.request(method, world.api_path(method, path, "other organisation"))
        response = connection.getresponse()
        response.read()
        answered[method, path] = response.status if permission else 401
    connection.close()
    assert set(answered.values()) == {401}
    stranger = Visitor(world.served.base)
    token = stranger.token()
    for method, path, permission in ROUTES:
        if permission is not Permission.PUBLIC:
            body = f"csrf={token}".encode() if method == "POST" else None
            reply = stranger.ask(method, world.page_path(method, path, "own organisation"), body)
            assert reply.leads_to.startswith("/sign-in"), path
