"""What every command shares: its common options, how it prints, and how errors end it. exit_codes.py has the codes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from howsure.cli.exit_codes import DONE, INTERRUPTED, USER_MUST_ACT
from howsure.cli.interrupts import SENTENCE, tidy_on_signals
from howsure.config import former_files
from howsure.errors import DatasetInvalid, InputError, Problem, UserInterrupt
from howsure.reports.safe_text import make_inert
from howsure.services.trust import CodeUse, TrustCheck
from howsure.services.workspace import Workspace

if TYPE_CHECKING:
    from howsure.store.store import Store

T = TypeVar("T")
SHOWN_PROBLEMS = 200

NOT_BYTES = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Lone surrogates that do not stand for a byte."""


def howsure_command(
    name: str, *, json_too: bool = True, stores: bool = True, code: CodeUse = CodeUse.NONE
) -> Callable[[Callable[..., int | None]], click.Command]:
    """A command of Howsure: it has --json, --database (where it `stores` or reads runs), --config and --plugin besides
    its own options, is given the Workspace of the current folder as `work`, and ends as the exit codes promise. `code`
    says whether it uses what the settings of the folder may run or send: that must be trusted."""

    def make(callback: Callable[..., int | None]) -> click.Command:
        @wraps(callback)
        def run(
            config: str | None,
            no_config: bool,
            plugins: tuple[str, ...],
            database: str | None = None,
            trust: bool = False,
            **rest: Any,
        ) -> None:
            runs = code is CodeUse.NEEDED or name == "demo"
            with exit_on_error(as_json=bool(rest.get("as_json")), runs=runs), tidy_on_signals():
                # A command that names a target needs its settings.
                use = CodeUse.NEEDED if rest.get("target") else code
                check = trust_check(use, stores=stores, given=trust, as_json=bool(rest.get("as_json")))
                config = os.devnull if no_config else config
                work = Workspace.here(database=database, config=config, plugins=plugins, trust=check)
                if sentence := former_files(work.folder):
                    say(sentence)
                raise SystemExit(callback(work, **rest) or DONE)

        # Given to click in the order they are shown in, and not collected from the function.
        own = vars(run).pop("__click_params__", [])
        return click.command(name, params=[*reversed(own), *_common_options(json_too, stores, code)])(run)

    return make


def trust_check(use: CodeUse, *, stores: bool, given: bool = False, as_json: bool = False) -> TrustCheck:
    """How a command decides whether to trust the settings of a folder: it asks the user at a terminal."""
    ask = confirm if sits_at_terminal() and not as_json else None
    return TrustCheck(use=use, stores=stores, given=given, ask=ask, note=say)


def sits_at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(text: str) -> bool:
    say(text)
    return click.confirm("Do you trust it?", err=True)


def _common_options(json_too: bool, stores: bool, code: CodeUse) -> list[click.Parameter]:
    shown = [click.Option(["--json", "as_json"], is_flag=True, help="Print JSON, for other programs.")]
    kept = [click.Option(["--database"], metavar="PATH|URL", help="Where runs are kept [.howsure/howsure.db].")]
    words = "Trust the settings, this time, with what they run and send (`howsure trust`)."
    trusted = [click.Option(["--trust"], is_flag=True, help=words)]
    return [
        *(shown if json_too else []),
        *(kept if stores else []),
        click.Option(["--config"], metavar="FILE", help="Settings to use instead of ./howsure.yaml."),
        click.Option(["--no-config"], is_flag=True, help="Use no settings file at all."),
        *(trusted if stores or code is not CodeUse.NONE else []),
        click.Option(["--plugin", "plugins"], multiple=True, metavar="FILE", help="A file with `register(kit)`."),
    ]


@contextmanager
def exit_on_error(*, as_json: bool, runs: bool = False) -> Iterator[None]:
    """An error that the user can fix is printed without a traceback, and ends the program with its exit code. `runs`:
    the command makes runs, which can be resumed."""
    try:
        yield
    except InputError as error:
        print_error(error, as_json=as_json)
        raise SystemExit(USER_MUST_ACT) from error
    except PermissionError as error:
        # The user can open the file, or name another.
        refused = InputError(f"{error.filename or 'a file'}: {error.strerror}: you may not read it, or write to it")
        print_error(refused, as_json=as_json)
        raise SystemExit(USER_MUST_ACT) from error
    except (KeyboardInterrupt, UserInterrupt) as error:
        say(SENTENCE if runs else "Interrupted. Nothing is half-stored: type it again.")
        raise SystemExit(INTERRUPTED) from error


def with_store(work: Workspace, use: Callable[[Store], Awaitable[T]], *, read_only: bool = False) -> T:
    """The result of `use`, which is given the opened database."""

    async def run() -> T:
        async with await work.store(read_only=read_only) as store:
            return await use(store)

    return asyncio.run(run())


def with_runs(work: Workspace, names: Sequence[str], use: Callable[[Workspace, list[str]], Awaitable[T]]) -> T:
    """The result of `use`, which is given where these runs are and what they are called there. A name may also be a
    file of another tool's results: it is read, and nothing of it is stored here."""

    async def run() -> T:
        if not any(os.path.exists(name) for name in names):
            return await use(work, list(names))
        # With the readers of every tool, which most commands do not need.
        files = import_module("howsure.services.import_results")
        async with files.with_results_files(work, names) as (place, called):
            if place is not work:
                paths = " ".join(quote(name) for name in dict.fromkeys(names) if os.path.exists(name))
                say(f"read and not stored; to keep it, for `howsure show` and the pages: howsure import {paths}")
            return await use(place, [called[name] for name in names])

    return asyncio.run(run())


def print_error(error: InputError, *, as_json: bool) -> None:
    problems = error.problems if isinstance(error, DatasetInvalid) else ()
    if as_json:
        # A run may have several files: unlike in `validate`, each problem must say which.
        shapes = [{"file": problem.file, **problem_shape(problem)} for problem in problems]
        print_json({"error": type(error).__name__, "detail": str(error), "problems": shapes})
        return
    for problem in problems[:SHOWN_PROBLEMS]:
        say(str(problem))
    if len(problems) > SHOWN_PROBLEMS:
        say(f"… and {len(problems) - SHOWN_PROBLEMS} more (--json shows all)")
    say(f"error: {error}")


def say(text: str) -> None:
    """Print to stderr, for people: only results go to stdout. Control characters of files and agents are shown as
    symbols."""
    click.echo(make_inert(text), err=True)


def print_json(value: Any, *, indent: int = 2) -> None:
    """In UTF-8 whatever the locale, because programs read it."""
    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = msgspec.json.encode(_repair_surrogates(msgspec.to_builtins(value)))
    print_bytes((msgspec.json.format(text, indent=indent) if indent else text) + b"\n")


def _repair_surrogates(value: Any) -> Any:
    """In the C locale, bytes of a path beyond ASCII arrive as lone surrogates: they are decoded as UTF-8, and what is
    still no text is escaped."""
    match value:
        case str():
            kind = "backslashreplace" if NOT_BYTES.search(value) else "surrogateescape"
            return value.encode("utf-8", kind).decode("utf-8", "backslashreplace")
        case dict():
            return {_repair_surrogates(key): _repair_surrogates(each) for key, each in value.items()}
        case list() | tuple():
            return [_repair_surrogates(each) for each in value]
        case _:
            return value


def print_bytes(text: bytes) -> None:
    stream = sys.stdout.buffer
    stream.write(text)
    stream.flush()


def problem_shape(problem: Problem) -> dict[str, Any]:
    """A Problem as `howsure validate --json` prints it."""
    shape: dict[str, Any] = {"code": problem.code, "line": problem.line}
    if problem.column is not None:
        shape["column"] = problem.column
    shape |= {"field": problem.field, "message": problem.message}
    for name in ("expected", "found", "hint"):
        if value := getattr(problem, name):
            shape[name] = value
    return shape
