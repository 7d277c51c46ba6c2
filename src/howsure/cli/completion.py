"""`howsure completion`."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class
from click.types import StringParamType

from howsure.cli.output import exit_on_error, with_store
from howsure.errors import ConfigInvalid, InputError
from howsure.services.trust import CodeUse, TrustCheck
from howsure.services.workspace import Workspace

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_HOWSURE_COMPLETE"


# Not like the other commands: a shell starts with it, in whatever folder, and needs no settings.
@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print what makes SHELL complete commands, options, files and the names of runs.

    \b
    bash: eval "$(howsure completion bash)"               in ~/.bashrc
    zsh:  eval "$(howsure completion zsh)"                in ~/.zshrc
    fish: howsure completion fish > ~/.config/fish/completions/howsure.fish
    """
    kind = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    with exit_on_error(as_json=False):
        if kind is None:
            raise ConfigInvalid(f"this version of click knows no completion for {shell}")
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
        try:
            check = TrustCheck(use=CodeUse.NONE, stores=True)  # a shell must run nothing of the folder, and ask nothing
            work = Workspace.here(database=ctx.params.get("database"), trust=check)
            runs = with_store(work, lambda store: store.runs(limit=SHOWN_RUNS), read_only=True)
        except InputError:  # no database yet, or one that cannot be read: there is nothing to complete
            return []
        # Names first; an id is said with its name.
        names = dict.fromkeys(run.name for run in runs if run.name and not set(run.name) & set(" \t\n:'\""))
        ids = [CompletionItem(run.id[:8], help=run.name) for run in runs]
        latest = [CompletionItem(LATEST, help=runs[0].name)] if runs else []
        return [each for each in (*latest, *map(CompletionItem, names), *ids) if each.value.startswith(incomplete)]


def add_completion(command: click.Command) -> None:
    """Give the parameters of a command types that complete. Only for completing: they convert as they did."""
    for param in command.params:
        shown = (param.make_metavar(click.Context(command)) if param.metavar else "").strip("[].").upper()
        if param.name in RUNS:
            param.type = RunNameType()
        elif param.name in ("datasets", "words", "paths", "output", "outputs") or shown.startswith(FILES):
            param.type = click.Path()
