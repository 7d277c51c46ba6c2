"""Settings: who may come in, who wrote what, and what the service may be sent to. For administrators; whoever is kept
to some agents sees neither keys nor log, as in the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.config import ServiceSettings
from howsure.errors import InputError
from howsure.reports.figures import counted, utc
from howsure.services.hosting.callers import Caller
from howsure.services.hosting.keys import make_key
from howsure.services.hosting.passwords import make_password
from howsure.store.service import keys as key_store
from howsure.store.service import logs as log_store
from howsure.store.service.keys import ApiKey, Scope
from howsure.store.service.logs import Deed
from howsure.web.pages.library import told_time
from howsure.web.pages.settings_form import form_fields, key_from
from howsure.web.rendering import respond
from howsure.web.sharing import NotAllowed, Page, caller_of, host_of, place_in, place_of

KEYS = 20
DEEDS = 20


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


class DeedLine(Struct, frozen=True):
    """One write."""

    at: str
    actor: str
    action: str
    subject: str
    status: int


class TargetLine(Struct, frozen=True):
    """A way to an agent that the operator offers, and how much of it may be shown."""

    name: str
    kind: str
    used_for: str


class SettingsPage(Struct, frozen=True, kw_only=True):
    """What the page shows. `secret` is that of a key that was just made: it is shown this once."""

    answer: str
    trouble: str
    secret: str
    keys: tuple[KeyLine, ...]
    more_keys: str
    deeds: tuple[DeedLine, ...]
    more_deeds: str
    targets: tuple[TargetLine, ...]
    facts: tuple[tuple[str, str], ...]
    scopes: tuple[str, ...]
    keys_needed: bool
    names_organization: bool


class Kept(Struct, frozen=True, kw_only=True):
    """What is on record, as far as it is shown."""

    keys: Sequence[ApiKey]
    deeds: Sequence[Deed]


def settings_page(
    kept: Kept, targets: Mapping[str, Mapping[str, Any]], rules: ServiceSettings, now: datetime
) -> SettingsPage:
    keys = tuple(_key(key, now) for key in kept.keys)
    return SettingsPage(
        answer=_answer(keys),
        trouble="",
        secret="",
        keys=keys,
        more_keys=_more("keys", key_store.cursor(kept.keys[-1])) if len(kept.keys) == KEYS else "",
        deeds=tuple(
            DeedLine(told_time(utc(each.at)), each.actor, each.action, each.subject, each.status) for each in kept.deeds
        ),
        more_deeds=_more("log", log_store.cursor(kept.deeds[-1])) if len(kept.deeds) == DEEDS else "",
        # Name and kind alone: the rest may lead to code and secrets.
        targets=tuple(
            TargetLine(name, str(block.get("kind", "")), _used(name, rules)) for name, block in targets.items()
        ),
        facts=tuple(_facts(rules)),
        scopes=tuple(scope.value for scope in Scope),
        keys_needed=False,
        names_organization=True,
    )


def _answer(keys: Sequence[KeyLine]) -> str:
    opening = sum(key.is_open for key in keys)
    if not keys:
        return "There are no keys: only this machine is served."
    shown = f"the {len(keys)} listed here" if len(keys) == KEYS else str(len(keys))
    return f"{counted(opening, 'key')} of {shown} can open something."


def _more(name: str, place: str) -> str:
    return f"/settings?{urlencode({name: place_of(place)})}"


def _key(key: ApiKey, now: datetime) -> KeyLine:
    is_open = key.is_open(now)
    state = "open" if is_open else "revoked" if key.revoked_at else "ended"
    return KeyLine(
        id=key.id,
        name=key.name,
        kind="password" if key.is_password else "key",
        scopes=", ".join(scope.value for scope in key.scopes),
        organization="every one" if key.organization_id is None else key.organization_id or "the nameless one",
        agents="every one" if key.agent_ids is None else ", ".join(key.agent_ids) or "none",
        made=told_time(utc(key.created_at)),
        used=told_time(utc(key.used_at)) or "never",
        ends=told_time(utc(key.expires_at)) or "never",
        state=state,
        is_open=is_open,
    )


def _used(name: str, rules: ServiceSettings) -> str:
    uses = ["where none is named"] if rules.target == name else []
    uses += [f"agent {agent}" for agent, target in rules.bots.items() if target == name]
    return ", ".join(uses)


def _facts(rules: ServiceSettings) -> list[tuple[str, str]]:
    none = "none"
    return [
        ("judges besides the default", ", ".join(rules.judges) or none),
        ("hosts that a run may call", ", ".join(rules.hosts) or none),
        ("runs at a time", f"{rules.runs}, {rules.runs_per_agent} for one agent"),
        ("largest request", f"{rules.largest_body / 1_000_000:.0f} MB"),
        ("other origins", ", ".join(rules.origins) or none),
    ]


def overseer(request: Request) -> Caller:
    """Keys and the log say nothing of agents: whoever may see only some of them sees neither."""
    asking = caller_of(request)
    if asking.within.agent_ids is not None:
        raise NotAllowed("you may see some agents only: this needs a key for the whole organisation")
    return asking


async def _page(request: Request, secret: str = "", trouble: str = "", status: int = 200) -> Response:
    asking, host, query = overseer(request), host_of(request), request.query_params
    kept = Kept(
        keys=await host.store.keys.several(limit=KEYS, before=place_in(query.get("keys", "")), within=asking.within),
        deeds=await host.store.audit.several(limit=DEEDS, before=place_in(query.get("log", "")), within=asking.within),
    )
    # What the service may be sent to is the operator's: whoever is kept to one organisation sees their own keys alone.
    whole = asking.within.organization_id is None
    made = settings_page(kept, host.work.settings.targets, host.rules, datetime.now(UTC))
    page = _for(made, whole, secret, trouble, bool(request.app.state.keys_needed))
    response = respond(request, "settings.html", page, status)
    response.headers["Cache-Control"] = "no-store"
    return response


def _for(page: SettingsPage, whole: bool, secret: str, trouble: str, keys_needed: bool) -> SettingsPage:
    from_here = {"secret": secret, "trouble": trouble, "keys_needed": keys_needed, "names_organization": whole}
    hidden: dict[str, Any] = {} if whole else {"facts": (), "targets": ()}
    return replace(page, **from_here, **hidden)


async def show(request: Request) -> Response:
    return await _page(request)


async def make(request: Request) -> Response:
    """A key, whose secret the answer shows this once; or a password, which nobody is shown."""
    asking, form, store = overseer(request), await form_fields(request), host_of(request).store
    password = "".join(form.get("password", ()))
    try:
        wanted = key_from(form, asking)
        if password:
            await make_password(store, wanted, password)
            return RedirectResponse("/settings", 303)
        _, secret = await make_key(store, wanted)
    except InputError as error:
        return await _page(request, trouble=str(error), status=422)
    return await _page(request, secret=secret, status=201)


async def revoke(request: Request) -> Response:
    """From now on it opens nothing; it stays in the list."""
    asking = overseer(request)
    await host_of(request).store.keys.revoke(request.path_params["key_id"], asking.within)
    return RedirectResponse("/settings", 303)


def routes() -> list[Page]:
    return [
        Page("/settings", show, Scope.ADMIN),
        Page("/settings/keys", make, Scope.ADMIN, "POST"),
        Page("/settings/keys/{key_id}/revoke", revoke, Scope.ADMIN, "POST"),
    ]
