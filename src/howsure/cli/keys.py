"""`howsure keys`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypedDict, Unpack

import click
from msgspec import to_builtins

from howsure.cli.options import option_callback, read_days, storable_text, storable_texts
from howsure.cli.output import howsure_command, print_json, with_store
from howsure.reports.safe_text import one_line
from howsure.services.host.keys import KeyRequest, make_key, set_password
from howsure.services.workspace import Workspace
from howsure.store.keys import ApiKey, KeyScope


@click.group("keys")
def command() -> None:
    """The API keys and passwords of the service: make, list and revoke them."""


class _Opens(TypedDict):
    """What a key or a password opens, and for how long."""

    scopes: tuple[str, ...]
    organization: str | None
    agents: tuple[str, ...]
    days: float | None


def _opening(function: Callable[..., None]) -> Callable[..., None]:
    """The options of `_Opens`."""
    for option in reversed(
        [
            click.option(
                "--scope", "scopes", multiple=True, required=True, type=click.Choice([each.value for each in KeyScope])
            ),
            click.option(
                "--organization",
                callback=option_callback(storable_text),
                help="Only what belongs to this organisation [every one].",
            ),
            click.option(
                "--agent",
                "agents",
                multiple=True,
                callback=option_callback(storable_texts),
                help="Only these agents [every one].",
            ),
            click.option(
                "--days", type=float, callback=option_callback(read_days), help="How long it opens anything [for ever]."
            ),
        ]
    ):
        function = option(function)
    return function


def _key_request(name: str, opens: _Opens) -> KeyRequest:
    return KeyRequest(
        name=name,
        scopes=[KeyScope(each) for each in opens["scopes"]],
        organization_id=opens["organization"],
        agent_ids=opens["agents"] or None,
        days=opens["days"],
    )


@howsure_command("create")
@click.option(
    "--name", required=True, callback=option_callback(storable_text), help="Whose it is: shown in the log of writes."
)
@_opening
def create(work: Workspace, name: str, as_json: bool, **opens: Unpack[_Opens]) -> None:
    """Make a key. Its secret is shown now, and never again."""
    request = _key_request(name, opens)
    key, secret = with_store(work, lambda store: make_key(store, request))
    if as_json:
        print_json({**_shown(key), "secret": secret})
    else:
        click.echo(f"{secret}\n\nThis is the only time it is shown. Its id is {key.id}.", nl=True)


@howsure_command("password")
@click.argument("name", callback=option_callback(storable_text))
@_opening
def password(work: Workspace, name: str, as_json: bool, **opens: Unpack[_Opens]) -> None:
    """Give NAME a password for the pages. It is asked for twice and not shown; an earlier one opens nothing any more.

    It opens the pages, and never the API.
    """
    secret = click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True)
    request = _key_request(name, opens)
    key = with_store(work, lambda store: set_password(store, request, secret))
    if as_json:
        print_json(_shown(key))
    else:
        click.echo(f"{name} can sign in now. The id of this password is {key.id}: `howsure keys revoke` takes it.")


@howsure_command("list")
def several(work: Workspace, as_json: bool) -> None:
    """Every key, newest first; no secret is kept."""
    keys = with_store(work, lambda store: store.keys.several(limit=1000))
    if as_json:
        print_json([_shown(key) for key in keys])
        return
    now = datetime.now(UTC)
    for key in keys:
        state = "revoked" if key.revoked_at else "open" if key.is_open(now) else "expired"
        scopes = ",".join(scope.value for scope in key.scopes)
        kind = "password" if key.is_password else "key"
        home = key.organization_id or "(every organisation)"
        click.echo(f"{key.id}  {kind:8}  {state:7}  {scopes:20}  {home}  {one_line(key.name)}")
    if not keys:
        click.echo("No keys yet: `howsure keys create --name me --scope admin`.")


@howsure_command("revoke")
@click.argument("key_id")
def revoke(work: Workspace, key_id: str, as_json: bool) -> None:
    """From now on the key opens nothing."""
    key = with_store(work, lambda store: store.keys.revoke(key_id))
    if as_json:
        print_json(_shown(key))
    else:
        click.echo(f"{key.id} ({key.name}) opens nothing any more.")


def _shown(key: ApiKey) -> dict[str, object]:
    shown: dict[str, object] = to_builtins(key)
    return shown


for each in (create, password, several, revoke):
    command.add_command(each)
