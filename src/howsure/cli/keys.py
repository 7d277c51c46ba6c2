"""`howsure keys`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click
from msgspec import to_builtins

from howsure.cli.options import Decorator, option_callback, parsed_option, read_days, storable_text, storable_texts
from howsure.cli.output import howsure_command, print_json, with_store
from howsure.model.access_scope import AccessRole
from howsure.reports.safe_text import one_line
from howsure.services.host.audit import recording
from howsure.services.host.keys import KeyRequest, make_key, set_password
from howsure.services.host.roles import SCOPES_OF, role_of
from howsure.services.workspace import Workspace
from howsure.store.keys import ApiKey, KeyScope


@click.group("keys")
def command() -> None:
    """The API keys and passwords of the service: make, list and revoke them."""


def _opening(function: Callable[..., None]) -> Callable[..., None]:
    """The options that say what a key or a password gives access to, and for how long."""
    options: list[Decorator] = [
        click.option(
            "--role",
            "roles",
            multiple=True,
            type=click.Choice([each.value for each in AccessRole]),
            help="What it may do; several add up (docs/deploy.md).",
        ),
        click.option(
            "--scope",
            "scopes",
            multiple=True,
            type=click.Choice([each.value for each in KeyScope]),
            help="A part of a role; several add up.",
        ),
        parsed_option(storable_text, "--organization", help="Only what belongs to this organisation [every one]."),
        parsed_option(storable_texts, "--agent", "agents", multiple=True, help="Only these agents [every one]."),
        parsed_option(read_days, "--days", type=float, help="How long it opens anything [for ever]."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def _key_request(
    name: str,
    scopes: tuple[str, ...],
    roles: tuple[str, ...],
    organization: str | None,
    agents: tuple[str, ...],
    days: float | None,
) -> KeyRequest:
    if not scopes and not roles:
        raise click.UsageError("Missing option '--role' (or '--scope'): what may it open?")
    of_roles = [scope for each in roles for scope in SCOPES_OF[AccessRole(each)]]
    every = [*of_roles, *map(KeyScope, scopes)]
    return KeyRequest(name=name, scopes=every, organization_id=organization, agent_ids=agents or None, days=days)


@howsure_command("create")
@parsed_option(storable_text, "--name", required=True, help="Whose it is: shown in the log of writes.")
@_opening
def create(work: Workspace, name: str, as_json: bool, **opens: Any) -> None:
    """Make a key. Its secret is shown now, and never again."""
    request = _key_request(name, **opens)
    make = recording("keys-create", lambda store: make_key(store, request), lambda made: made[0].id)
    key, secret = with_store(work, make)
    if as_json:
        print_json({**_shown(key), "secret": secret})
    else:
        click.echo(f"{secret}\n\nThis is the only time it is shown. Its id is {key.id}.", nl=True)


@howsure_command("password")
@click.argument("name", callback=option_callback(storable_text))
@_opening
def password(work: Workspace, name: str, as_json: bool, **opens: Any) -> None:
    """Give NAME a password for the pages. It is asked for twice and not shown; an earlier one opens nothing any more.

    It opens the pages, and never the API.
    """
    request = _key_request(name, **opens)
    secret = click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True)
    make = recording("keys-password", lambda store: set_password(store, request, secret), lambda made: made.id)
    key = with_store(work, make)
    if as_json:
        print_json(_shown(key))
    else:
        click.echo(f"{name} can sign in now. The id of this password is {key.id}: `howsure keys revoke` takes it.")


@howsure_command("list")
def several(work: Workspace, as_json: bool) -> None:
    """List every key, newest first, without secrets."""
    keys = with_store(work, lambda store: store.keys.several(limit=1000))
    if as_json:
        print_json([_shown(key) for key in keys])
        return
    now = datetime.now(UTC)
    for key in keys:
        state = "revoked" if key.revoked_at else "open" if key.is_open(now) else "expired"
        role = role_of(key.scopes)
        scopes = role.value if role else ",".join(scope.value for scope in key.scopes)
        kind = "password" if key.is_password else "key"
        home = key.organization_id or "(every organisation)"
        click.echo(f"{key.id}  {kind:8}  {state:7}  {scopes:20}  {home}  {one_line(key.name)}")
    if not keys:
        click.echo("No keys yet: `howsure keys create --name me --role admin`.")


@howsure_command("revoke")
@click.argument("key_id")
def revoke(work: Workspace, key_id: str, as_json: bool) -> None:
    """Revoke a key: from now on it opens nothing."""
    key = with_store(work, recording("keys-revoke", lambda store: store.keys.revoke(key_id), lambda made: made.id))
    if as_json:
        print_json(_shown(key))
    else:
        click.echo(f"{key.id} ({key.name}) opens nothing any more.")


def _shown(key: ApiKey) -> dict[str, object]:
    role = role_of(key.scopes)
    return {**to_builtins(key), "role": role.value if role else None}


for each in (create, password, several, revoke):
    command.add_command(each)
