"""Settings, for administrators: API keys and passwords, the audit log, and the addresses that the service may call. A
caller who is limited to some agents sees neither keys nor log, as in the API. Sessions: every user sees and ends their
own, administrators those of their organisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.config import ServiceSettings
from howsure.errors import InputError, NotFound, PlanRefused
from howsure.model.access_scope import EVERYWHERE, AccessRole, AccessScope
from howsure.reports.figures import pluralize, short_time
from howsure.reports.safe_text import short_ids
from howsure.services.host.audit import with_key_names
from howsure.services.host.keys import Caller, KeyRequest, key_limits_problem, make_key, set_password
from howsure.services.host.roles import SCOPES_OF, Permission, role_of
from howsure.store.audit import AuditEntry
from howsure.store.keys import ApiKey, KeyScope
from howsure.store.pages import is_number, next_cursor
from howsure.store.sessions import SignInSession
from howsure.web.pages.sign_in import record
from howsure.web.responses import respond
from howsure.web.routes import NotAllowed, PageRoute, caller_of, decode_cursor, encode_cursor, host_of, read_form

MAX_DAYS = 36_500


async def form_fields(request: Request) -> dict[str, list[str]]:
    """The fields of a form, each with all its values."""
    await read_form(request)
    fields: dict[str, list[str]] = {}
    for name, value in parse_qsl((await request.body()).decode("utf-8", "replace")):
        fields.setdefault(name, []).append(value.strip())
    return fields


def read_key_form(form: Mapping[str, Sequence[str]], caller: Caller) -> KeyRequest:
    """The key that a form describes, in the caller's own organisation unless they may see all of them."""
    name = "".join(form.get("name", ()))
    if not name:
        raise PlanRefused("a key needs a name, which the log shows")
    known = {scope.value: scope for scope in KeyScope}
    roles = {role.value: role for role in AccessRole}
    scopes = [known[word] for word in form.get("scope", ()) if word in known]
    scopes += [scope for word in form.get("role", ()) if word in roles for scope in SCOPES_OF[roles[word]]]
    agents = tuple(filter(None, (each.strip() for each in "".join(form.get("agents", ())).split(","))))
    home, organization = caller.within.organization_id, "".join(form.get("organization", ()))
    days = "".join(form.get("days", ()))
    if days and (not is_number(days) or not 0 < int(days) <= MAX_DAYS):
        raise PlanRefused(f"days: expected a whole number from 1 to {MAX_DAYS}, found {days!r}")
    return KeyRequest(
        name=name,
        scopes=scopes,
        organization_id=home if home is not None else organization or None,
        agent_ids=agents or None,
        days=float(days) if days else None,
    )


KEYS = 20
AUDIT_ENTRIES = 20


class KeyLine(Struct, frozen=True, kw_only=True):
    """A key, without its secret."""

    id: str
    name: str
    kind: str
    scopes: str
    organization: str
    agents: str
    made: str
    used: str
    ends: str
    state: str
    is_open: bool


class AuditLine(Struct, frozen=True, kw_only=True):
    """An entry of the log; `told`, `about` and `outcome` are what a person reads of it."""

    at: str
    actor: str
    action: str
    subject: str
    status: int
    told: str
    about: str
    outcome: str


METHODS = {"GET": "read", "POST": "add", "PUT": "change", "PATCH": "change", "DELETE": "delete"}


def _audit_line(entry: AuditEntry) -> AuditLine:
    return AuditLine(
        at=short_time(entry.at),
        actor=entry.actor,
        action=entry.action,
        subject=entry.subject,
        status=entry.status,
        told=action_words(entry.action),
        about=short_ids(entry.subject.strip("/").replace("/", " › ") if entry.subject[:1] == "/" else entry.subject),
        outcome="done" if entry.status < 400 else "refused" if entry.status < 500 else "broke",
    )


def action_words(action: str) -> str:
    """`POST /api/v1/runs/{run_id}/cancel` is "runs: cancel", and `sign-in` "sign in"."""
    method, _, path = action.partition(" ")
    places = [each for each in path.removeprefix("/api/v1").split("/") if each and not each.startswith("{")]
    if not places:
        return action.replace("-", " ")
    verb = "change" if method == "POST" and path.endswith("}") else METHODS.get(method, method.lower())
    if method == "POST" and not path.endswith("}") and not places[-1].endswith("s"):
        verb = places.pop()
    return ": ".join([*places[-1:], verb]).replace("-", " ")


class TargetLine(Struct, frozen=True):
    """A target that the operator offers, without its options."""

    name: str
    kind: str
    used_for: str


class SettingsPage(Struct, frozen=True, kw_only=True):
    """What the page shows. `secret` is that of a new key, shown only once."""

    answer: str
    trouble: str = ""
    secret: str = ""
    keys: tuple[KeyLine, ...]
    more_keys: str
    deeds: tuple[AuditLine, ...]
    more_deeds: str
    targets: tuple[TargetLine, ...]
    facts: tuple[tuple[str, str], ...]
    roles: tuple[str, ...]
    keys_needed: bool = False
    names_organization: bool = True


def settings_page(
    api_keys: Sequence[ApiKey],
    log: Sequence[AuditEntry],
    targets: Mapping[str, Mapping[str, Any]],
    rules: ServiceSettings,
    now: datetime,
) -> SettingsPage:
    keys = tuple(_key_line(key, now) for key in api_keys)
    listed = f"the {len(keys)} listed here" if len(keys) == KEYS else str(len(keys))
    can_open = pluralize(sum(key.is_open for key in keys), "key")
    uses = {name: ["where none is named"] if rules.target == name else [] for name in targets}
    for agent, target in rules.bots.items():
        uses.get(target, []).append(f"agent {agent}")
    return SettingsPage(
        answer=f"{can_open} of {listed} can open something."
        if keys
        else "There are no keys: only this machine is served.",
        keys=keys,
        more_keys=_next_page("keys", next_cursor(api_keys[-1])) if len(api_keys) == KEYS else "",
        deeds=tuple(map(_audit_line, log)),
        more_deeds=_next_page("log", next_cursor(log[-1])) if len(log) == AUDIT_ENTRIES else "",
        # Only name and kind: the options may name code and secrets.
        targets=tuple(
            TargetLine(name, str(block.get("kind", "")), ", ".join(uses[name])) for name, block in targets.items()
        ),
        facts=(
            ("judges besides the default", ", ".join(rules.judges) or "none"),
            ("hosts that a run may call", ", ".join(rules.hosts) or "none"),
            ("runs at a time", f"{rules.runs}, {rules.runs_per_agent} for one agent"),
            ("largest request", f"{rules.largest_body / 1_000_000:.0f} MB"),
            ("other origins", ", ".join(rules.origins) or "none"),
        ),
        roles=tuple(role.value for role in AccessRole),
    )


def _next_page(name: str, place: str) -> str:
    return f"/settings?{urlencode({name: encode_cursor(place)})}"


def _key_line(key: ApiKey, now: datetime) -> KeyLine:
    is_open = key.is_open(now)
    state = "open" if is_open else "revoked" if key.revoked_at else "ended"
    return KeyLine(
        id=key.id,
        name=key.name,
        kind="password" if key.is_password else "key",
        scopes=role.value if (role := role_of(key.scopes)) else ", ".join(scope.value for scope in key.scopes),
        organization=organization_words(key.within),
        agents="every one" if key.agent_ids is None else ", ".join(key.agent_ids) or "none",
        made=short_time(key.created_at),
        used=short_time(key.used_at) or "never",
        ends=short_time(key.expires_at) or "never",
        state=state,
        is_open=is_open,
    )


def organization_words(within: AccessScope) -> str:
    return "every one" if within.organization_id is None else within.organization_id or "the nameless one"


async def show(request: Request, secret: str = "", trouble: str = "", status: int = 200) -> Response:
    caller, host, query = caller_of(request), host_of(request), request.query_params
    keys_before, log_before = (decode_cursor(query.get(name, "")) for name in ("keys", "log"))
    keys: list[ApiKey] = []
    log: list[AuditEntry] = []
    if caller.may(Permission.KEYS):
        keys = await host.store.keys.several(limit=KEYS, before=keys_before, within=caller.within)
    if caller.may(Permission.AUDIT):
        log = await host.store.audit.several(limit=AUDIT_ENTRIES, before=log_before, within=caller.within)
    log = await with_key_names(host.store, log)
    # Targets and service facts are the operator's: a caller of one organisation does not see them.
    sees_all = caller.within.organization_id is None
    page = replace(
        settings_page(keys, log, host.work.settings.targets, host.rules, datetime.now(UTC)),
        secret=secret,
        trouble=trouble,
        keys_needed=bool(request.app.state.keys_needed),
        names_organization=sees_all,
    )
    response = respond(request, "settings.html", page if sees_all else replace(page, facts=(), targets=()), status)
    response.headers["Cache-Control"] = "no-store"
    return response


async def make(request: Request) -> Response:
    """Make a key, whose secret is shown once, or a password."""
    caller, form, store = caller_of(request), await form_fields(request), host_of(request).store
    password = "".join(form.get("password", ()))
    try:
        key_request = read_key_form(form, caller)
        if problem := key_limits_problem(key_request, caller):
            raise NotAllowed(problem)
        if password:
            request.state.subject = (await set_password(store, key_request, password)).id
            return RedirectResponse("/settings", 303)
        key, secret = await make_key(store, key_request)
        request.state.subject = key.id
    except NotAllowed:
        raise
    except InputError as error:
        return await show(request, trouble=str(error), status=422)
    return await show(request, secret=secret, status=201)


async def revoke(request: Request) -> Response:
    """Revoke a key. It stays in the list."""
    await host_of(request).store.keys.revoke(request.path_params["key_id"], caller_of(request).within)
    return RedirectResponse("/settings", 303)


class SessionLine(Struct, frozen=True, kw_only=True):
    """An open session, without its token."""

    id: str
    name: str
    organization: str
    begun: str
    used: str
    ends: str
    address: str
    browser: str
    is_own: bool
    is_this: bool


class SessionsPage(Struct, frozen=True):
    answer: str
    lines: tuple[SessionLine, ...]


async def show_sessions(request: Request) -> Response:
    caller, host = caller_of(request), host_of(request)
    idle, sees_all = timedelta(minutes=host.rules.session_idle_minutes), caller.may(Permission.SESSIONS)
    limits: dict[str, Any] = {"within": caller.within} if sees_all else {"owner": caller.id}
    lines = [_session_line(each, caller) for each in await host.store.sessions.several(idle, **limits)]
    answer = f"{pluralize(len(lines), 'session')} of {'your organisation' if sees_all else 'yours'} open now."
    if not request.app.state.keys_needed:
        answer = "Nobody signs in here: this service answers its own machine without a key."
    ordered = sorted(lines, key=lambda line: (not line.is_this, not line.is_own))
    return respond(request, "sessions.html", SessionsPage(answer, tuple(ordered)))


def _session_line(session: SignInSession, caller: Caller) -> SessionLine:
    return SessionLine(
        id=session.id,
        name=session.name,
        organization=organization_words(session.within),
        begun=short_time(session.created_at),
        used=short_time(session.used_at),
        ends=short_time(session.ends_at),
        address=session.address,
        browser=session.browser,
        is_own=session.owner == caller.id,
        is_this=session.id == caller.session_id,
    )


async def end_session(request: Request) -> Response:
    """Sign out one session, or (`everywhere`) all sessions of the same person."""
    caller, store, form = caller_of(request), host_of(request).store, await read_form(request)
    session = await store.sessions.by_id(request.path_params["session_id"])
    if session is None or not (session.owner == caller.id or _oversees(caller, session)):
        raise NotFound("there is no such session")
    if "everywhere" in form:
        limits = EVERYWHERE if session.owner == caller.id else caller.within
        await store.sessions.end(owner=session.owner, within=limits)
    else:
        await store.sessions.end(session_id=session.id)
    await record(request, "sign-out-everywhere" if "everywhere" in form else "session-end", caller, session.id)
    return RedirectResponse("/settings/sessions", 303)


def _oversees(caller: Caller, session: SignInSession) -> bool:
    own = caller.within.organization_id
    return caller.may(Permission.SESSIONS) and own in (None, session.within.organization_id)


ROUTES = [
    PageRoute("/settings", show, Permission.MAKE_KEYS),
    PageRoute("/settings/keys", make, Permission.MAKE_KEYS, "POST"),
    PageRoute("/settings/keys/{key_id}/revoke", revoke, Permission.KEYS, "POST"),
    PageRoute("/settings/sessions", show_sessions, Permission.OWN_SESSIONS),
    PageRoute("/settings/sessions/{session_id}/end", end_session, Permission.OWN_SESSIONS, "POST"),
]
