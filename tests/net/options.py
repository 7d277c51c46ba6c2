"""Every option and argument of every command, from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator

import click
from msgspec import Struct

from howsure.main import program


class CommandOption(Struct, frozen=True, kw_only=True):
    """One option or argument of one command, with the words it may be given where these are few. An argument is spelled
    in capitals."""

    command: str
    spellings: tuple[str, ...]
    values: tuple[str, ...] = ()
    hidden: bool = False

    @property
    def name(self) -> str:
        return f"{self.command} {self.longest}".strip()

    @property
    def is_argument(self) -> bool:
        return not self.longest.startswith("-")

    @property
    def longest(self) -> str:
        return max(self.spellings, key=len)


def all_options() -> list[CommandOption]:
    return list(_options("", program, click.Context(program)))


def _options(path: str, command: click.Command, context: click.Context) -> Iterator[CommandOption]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _options(f"{path} {name}".strip(), inner, context)
    for param in command.params:
        values = tuple(map(str, param.type.choices)) if isinstance(param.type, click.Choice) else ()
        if isinstance(param, click.Option):
            yield CommandOption(command=path, spellings=tuple(param.opts), values=values, hidden=param.hidden)
        else:
            yield CommandOption(command=path, spellings=(str(param.name).upper(),), values=values)
