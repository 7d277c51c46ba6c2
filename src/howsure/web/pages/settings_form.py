"""The form that makes a key or a password: which fields it has, and what they may say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

from starlette.requests import Request

from howsure.errors import PlanRefused
from howsure.services.hosting.callers import Caller
from howsure.services.hosting.keys import KeyWanted
from howsure.store.service.keys import Scope
from howsure.store.service.places import is_number
from howsure.web.sharing import form_of

LONGEST_DAYS = 36_500


async def form_fields(request: Request) -> dict[str, list[str]]:
    """The fields of a form in which some are there several times."""
    await form_of(request)
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl((await request.body()).decode("utf-8", "replace")):
        found.setdefault(name, []).append(value.strip())
    return found


def key_from(form: Mapping[str, Sequence[str]], asking: Caller) -> KeyWanted:
    """The key that a form asks for: of the caller's own organisation, unless they may see every one."""
    name = "".join(form.get("name", ()))
    if not name:
        raise PlanRefused("a key needs a name, so that whoever reads the log knows whose it is")
    known = {scope.value: scope for scope in Scope}
    agents = tuple(filter(None, (each.strip() for each in "".join(form.get("agents", ())).split(","))))
    home, organization = asking.within.organization_id, "".join(form.get("organization", ()))
    return KeyWanted(
        name=name,
        scopes=[known[word] for word in form.get("scope", ()) if word in known],
        organization_id=home if home is not None else organization or None,
        agent_ids=agents or None,
        days=_days("".join(form.get("days", ()))),
    )


def _days(text: str) -> float | None:
    if not text:
        return None
    if not is_number(text) or not 0 < int(text) <= LONGEST_DAYS:
        raise PlanRefused(f"days: expected a whole number from 1 to {LONGEST_DAYS}, found {text!r}")
    return float(text)
