"""`howsure completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from howsure.cli.output import howsure_command
from howsure.errors import ConfigInvalid
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
