"""What the shell completes besides commands and options: names of runs, and files. Commands are taught it only while a
shell asks; at no other time does anybody pay for it."""

from __future__ import annotations

import asyncio

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from howsure.errors import InputError
from howsure.model.run import Run
from howsure.services.workspace import Workspace

LATEST = "latest"
SHOWN_RUNS = 30
RUNS = ("run", "runs", "baseline", "base_run")
"""Parameters that name a run, in every command."""
FILES = ("FILE", "PATH", "DATASET", "TESTSET")
"""How the metavar of a parameter begins that names a file."""


class RunName(StringParamType):
    """A run: `latest`, names, and ids."""

    name = "run"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        database = ctx.params.get("database")
        try:
            found = asyncio.run(_runs(database))
        except InputError:  # no database yet, or one that cannot be read: there is nothing to complete
            return []
        return [each for each in _offers(found) if each.value.startswith(incomplete)]


async def _runs(database: str | None) -> list[Run]:
    async with await Workspace.here(database=database).store(read_only=True) as store:
        return await store.runs(limit=SHOWN_RUNS)


def _offers(found: list[Run]) -> list[CompletionItem]:
    """Names first; an id is said with its name."""
    names = dict.fromkeys(run.name for run in found if run.name and not set(run.name) & set(" \t\n:'\""))
    ids = [CompletionItem(run.id[:8], help=run.name) for run in found]
    latest = [CompletionItem(LATEST, help=found[0].name)] if found else []
    return [*latest, *map(CompletionItem, names), *ids]


def teach(command: click.Command) -> None:
    """Give the parameters of a command types that complete. Only for completing: they convert as they did."""
    for param in command.params:
        shown = (param.make_metavar(click.Context(command)) if param.metavar else "").strip("[].").upper()
        if param.name in RUNS:
            param.type = RunName()
        elif param.name in ("datasets", "words", "paths", "output", "outputs") or shown.startswith(FILES):
            param.type = click.Path()
