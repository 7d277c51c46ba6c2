"""Settings, for administrators: API keys and passwords, the audit log, and what the service may call. A caller who is
limited to some agents sees neither keys nor log, as in the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.config import ServiceSettings
from howsure.errors import InputError, PlanRefused
from howsure.reports.figures import iso_utc, pluralize
from howsure.services.host.keys import Caller, KeyRequest, make_key, set_password
from howsure.store.keys import ApiKey, KeyScope
from howsure.store.logs import AuditEntry
from howsure.store.pages import is_number, next_cursor
from howsure.web.pages.library import short_time
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
        raise PlanRefused("a key needs a name, so that whoever reads the log knows whose it is")
    known = {scope.value: scope for scope in KeyScope}
    agents = tuple(filter(None, (each.strip() for each in "".join(form.get("agents", ())).split(","))))
    home, organization = caller.within.organization_id, "".join(form.get("organization", ()))
    days = "".join(form.get("days", ()))
    if days and (not is_number(days) or not 0 < int(days) <= MAX_DAYS):
        raise PlanRefused(f"days: expected a whole number from 1 to {MAX_DAYS}, found {days!r}")
    return KeyRequest(
        name=name,
        scopes=[known[word] for word in form.get("scope", ()) if word in known],
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


class AuditLine(Struct, frozen=True):
    at: str
    actor: str
    action: str
    subject: str
    status: int


class TargetLine(Struct, frozen=True):
    """A target that the operator offers, without its options."""

    name: str
    kind: str
    used_for: str


class SettingsPage(Struct, frozen=True, kw_only=True):
    """What the page shows. `secret` is that of a new key, shown only once."""

    answer: str
    trouble: str
    secret: str
    keys: tuple[KeyLine, ...]
    more_keys: str
    deeds: tuple[AuditLine, ...]
    more_deeds: str
    targets: tuple[TargetLine, ...]
    facts: tuple[tuple[str, str], ...]
    scopes: tuple[str, ...]
    keys_needed: bool
    names_organization: bool


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
        trouble="",
        secret="",
        keys=keys,
        more_keys=_next_page("keys", next_cursor(api_keys[-1])) if len(api_keys) == KEYS else "",
        deeds=tuple(
            AuditLine(short_time(iso_utc(each.at)), each.actor, each.action, each.subject, each.status) for each in log
        ),
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
        scopes=tuple(scope.value for scope in KeyScope),
        keys_needed=False,
        names_organization=True,
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
        scopes=", ".join(scope.value for scope in key.scopes),
        organization="every one" if key.organization_id is None else key.organization_id or "the nameless one",
        agents="every one" if key.agent_ids is None else ", ".join(key.agent_ids) or "none",
        made=short_time(iso_utc(key.created_at)),
        used=short_time(iso_utc(key.used_at)) or "never",
        ends=short_time(iso_utc(key.expires_at)) or "never",
        state=state,
        is_open=is_open,
    )


def organization_caller(request: Request) -> Caller:
    """The caller, who must not be limited to some agents: keys and log cover the whole organisation."""
    caller = caller_of(request)
    if caller.within.agent_ids is not None:
        raise NotAllowed("you may see some agents only: this needs a key for the whole organisation")
    return caller


async def show(request: Request, secret: str = "", trouble: str = "", status: int = 200) -> Response:
    caller, host, query = organization_caller(request), host_of(request), request.query_params
    keys_before, log_before = (decode_cursor(query.get(name, "")) for name in ("keys", "log"))
    keys = await host.store.keys.several(limit=KEYS, before=keys_before, within=caller.within)
    log = await host.store.audit.several(limit=AUDIT_ENTRIES, before=log_before, within=caller.within)
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
    caller, form, store = organization_caller(request), await form_fields(request), host_of(request).store
    password = "".join(form.get("password", ()))
    try:
        key_request = read_key_form(form, caller)
        if password:
            await set_password(store, key_request, password)
            return RedirectResponse("/settings", 303)
        _, secret = await make_key(store, key_request)
    except InputError as error:
        return await show(request, trouble=str(error), status=422)
    return await show(request, secret=secret, status=201)


async def revoke(request: Request) -> Response:
    """Revoke a key. It stays in the list."""
    caller = organization_caller(request)
    await host_of(request).store.keys.revoke(request.path_params["key_id"], caller.within)
    return RedirectResponse("/settings", 303)


ROUTES = [
    PageRoute("/settings", show, KeyScope.ADMIN),
    PageRoute("/settings/keys", make, KeyScope.ADMIN, "POST"),
    PageRoute("/settings/keys/{key_id}/revoke", revoke, KeyScope.ADMIN, "POST"),
]
