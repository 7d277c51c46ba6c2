"""`howsure completion`."""

from __future__ import annotations

import asyncio

import click
from click.shell_completion import CompletionItem, get_completion_class
from click.types import StringParamType

from howsure.cli.output import howsure_command
from howsure.errors import ConfigInvalid, InputError
from howsure.model.run import Run
from howsure.services.workspace import Workspace

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_HOWSURE_COMPLETE"


@howsure_command("completion", json_too=False)
@click.argument("shell", type=click.Choice(SHELLS))
def command(work: Workspace, shell: str) -> None:
    """Print what makes SHELL complete commands, options, files and the names of runs.

    \b
    bash: eval "$(howsure completion bash)"               in ~/.bashrc
    zsh:  eval "$(howsure completion zsh)"                in ~/.zshrc
    fish: howsure completion fish > ~/.config/fish/completions/howsure.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise ConfigInvalid(f"this version of click knows no completion for {shell}")
    root = click.get_current_context().find_root().command
    try:
        click.echo(kind(root, {}, "howsure", VARIABLE).source())
    except RuntimeError as error:
        raise ConfigInvalid(f"no completion for {shell}: {error}") from error


LATEST = "latest"
SHOWN_RUNS = 30
RUNS = ("run", "runs", "baseline", "base_run")
"""Parameters that name a run, in every command."""
FILES = ("FILE", "PATH", "DATASET", "TESTSET")
"""How the metavar of a parameter begins that names a file."""


class RunNameType(StringParamType):
    """A run: `latest`, names, and ids."""

    name = "run"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        database = ctx.params.get("database")
        try:
            found = asyncio.run(_runs(database))
        except InputError:  # no database yet, or one that cannot be read: there is nothing to complete
            return []
        return [each for each in _completion_items(found) if each.value.startswith(incomplete)]


async def _runs(database: str | None) -> list[Run]:
    async with await Workspace.here(database=database).store(read_only=True) as store:
        return await store.runs(limit=SHOWN_RUNS)


def _completion_items(found: list[Run]) -> list[CompletionItem]:
    """Names first; an id is said with its name."""
    names = dict.fromkeys(run.name for run in found if run.name and not set(run.name) & set(" \t\n:'\""))
    ids = [CompletionItem(run.id[:8], help=run.name) for run in found]
    latest = [CompletionItem(LATEST, help=found[0].name)] if found else []
    return [*latest, *map(CompletionItem, names), *ids]


def add_completion(command: click.Command) -> None:
    """Give the parameters of a command types that complete. Only for completing: they convert as they did."""
    for param in command.params:
        shown = (param.make_metavar(click.Context(command)) if param.metavar else "").strip("[].").upper()
        if param.name in RUNS:
            param.type = RunNameType()
        elif param.name in ("datasets", "words", "paths", "output", "outputs") or shown.startswith(FILES):
            param.type = click.Path()
