"""`assay keys`."""

from __future__ import annotations

import asyncio

import click
from msgspec import to_builtins

from assay.cli.output import assay_command, print_json
from assay.services.hosting.keys import KeyWanted, make_key
from assay.services.workplace import Workplace
from assay.store.service.keys import ApiKey, Scope


@click.group("keys")
def command() -> None:
    """The API keys of the service: make, list and revoke them."""


@assay_command("create")
@click.option("--name", required=True, help="Whose it is: shown in the log of writes.")
@click.option("--scope", "scopes", multiple=True, required=True, type=click.Choice([each.value for each in Scope]))
@click.option("--organization", help="Only what belongs to this organisation [every one].")
@click.option("--agent", "agents", multiple=True, help="Only these agents [every one].")
@click.option("--days", type=click.FloatRange(min=0, min_open=True), help="How long it opens anything [for ever].")
def create(
    work: Workplace,
    name: str,
    scopes: tuple[str, ...],
    organization: str | None,
    agents: tuple[str, ...],
    days: float | None,
    as_json: bool,
) -> None:
    """Make a key. Its secret is shown now, and never again."""
    wanted = KeyWanted(
        name=name,
        scopes=[Scope(each) for each in scopes],
        organization_id=organization,
        agent_ids=agents or None,
        days=days,
    )
    key, secret = asyncio.run(_create(work, wanted))
    if as_json:
        print_json({**_shown(key), "secret": secret})
    else:
        click.echo(f"{secret}\n\nThis is the only time it is shown. Its id is {key.id}.", nl=True)


async def _create(work: Workplace, wanted: KeyWanted) -> tuple[ApiKey, str]:
    async with await work.store() as store:
        return await make_key(store, wanted)


@assay_command("list")
def several(work: Workplace, as_json: bool) -> None:
    """Every key, newest first; no secret is kept."""
    keys = asyncio.run(_several(work))
    if as_json:
        print_json([_shown(key) for key in keys])
        return
    for key in keys:
        state = "revoked" if key.revoked_at else "open"
        scopes = ",".join(scope.value for scope in key.scopes)
        click.echo(f"{key.id}  {state:7}  {scopes:20}  {key.organization_id or '(every organisation)'}  {key.name}")
    if not keys:
        click.echo("No keys yet: `assay keys create --name me --scope admin`.")


async def _several(work: Workplace) -> list[ApiKey]:
    async with await work.store() as store:
        return await store.keys.several(limit=1000)


@assay_command("revoke")
@click.argument("key_id")
def revoke(work: Workplace, key_id: str, as_json: bool) -> None:
    """From now on the key opens nothing."""
    key = asyncio.run(_revoke(work, key_id))
    if as_json:
        print_json(_shown(key))
    else:
        click.echo(f"{key.id} ({key.name}) opens nothing any more.")


async def _revoke(work: Workplace, key_id: str) -> ApiKey:
    async with await work.store() as store:
        return await store.keys.revoke(key_id)


def _shown(key: ApiKey) -> dict[str, object]:
    shown: dict[str, object] = to_builtins(key)
    return shown


for each in (create, several, revoke):
    command.add_command(each)
