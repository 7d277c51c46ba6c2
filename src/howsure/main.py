"""What the `howsure` program starts. Commands are loaded by name when they are called, so that `--help` costs
nothing."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from threading import Timer
from threading import enumerate as enumerate_threads
from types import TracebackType
from typing import Any

import click

from howsure.cli.standard_streams import standard_streams
from howsure.errors import ConfigInvalid
from howsure.version import __version__

TOOL_THREADS = "adk_tool_executor"
"""How the names of the threads begin in which ADK runs the tools of an agent."""
LEAVING_SECONDS = 1.0

COMMANDS = {
    "demo": "Run the five demo datasets and write a report.",
    "init": "Write first settings, an agent to begin with and a first dataset.",
    "validate": "Check files: every problem, with its place.",
    "convert": "Turn logs, histories and benchmarks into datasets, or one dataset into another.",
    "sample": "Draw a part of a dataset, by seed.",
    "split": "Split a dataset, by label or by share.",
    "merge": "Merge several datasets into one.",
    "import": "Store the results of another tool as a run.",
    "run": "Run a dataset: every case, graded, decided and kept.",
    "resume": "Continue a run that was interrupted.",
    "retry": "Try the errored cases of a run again.",
    "runs": "List the runs.",
    "show": "One run in numbers, or one of its cases in full.",
    "results": "The results of a run, for other programs.",
    "compare": "Is one run better than another? Case by case.",
    "rank": "A leaderboard of candidates, with intervals of their ranks.",
    "report": "Write a run as files: a page, Markdown, JUnit, tables, JSON.",
    "export": "Write a run as a file that another tool reads.",
    "card": "An agent on one page, with its last runs.",
    "triage": "Why results did not pass, sorted by cause and by who is answerable.",
    "plan": "How many cases and repeats it takes to see a difference.",
    "trend": "The runs of an agent over time, and where they changed.",
    "gate": "Hold a run to gates: pass rates, regressions, latency, cost.",
    "ci": "Check a proposed change: run it and its base, compare, gate.",
    "comment": "Post what `howsure ci` wrote on the proposed change.",
    "judge": "Measure how far a judge can be trusted.",
    "label": "Draw answers for people to label, and store their labels.",
    "cache": "The cache of model replies: its size, or clear it.",
    "serve": "Serve the evaluation API, with workers that execute its runs.",
    "worker": "Execute the runs of the service's queue.",
    "keys": "The API keys of the service.",
    "db": "Look after the database: check it, upgrade it, back it up.",
    "erase": "Erase the conversations of one person from all runs.",
    "audit": "The audit log: verify it, list it, export it.",
    "schema": "The JSON Schema of a dialect, or of howsure.yaml.",
    "trust": "Show what the settings of a folder run and send, and allow it.",
    "doctor": "Check that Howsure can work here.",
    "completion": "Make your shell complete commands, files and runs.",
}
SHARED_MODULES = {
    "export": "report",
    "import": "imports",
    "sample": "subsets",
    "split": "subsets",
    "merge": "subsets",
    "resume": "resume",
    "retry": "resume",
}
"""Where the commands are that share a module: as `NAME_command`. Any other is the `command` of `howsure.cli.NAME`."""


COMPLETING = "_HOWSURE_COMPLETE"
"""Set while a shell asks how a line may go on."""
GC_THRESHOLD = (100_000, 50, 100)
"""Cases and results come and go by the thousand and hold no cycles: looking for some as often as usual is a waste."""


class Entrances:
    """The programs behind commands that the command line may not import itself; loaded by name when they are called."""

    @staticmethod
    async def serve(work: Any, options: Mapping[str, Any]) -> None:
        try:
            server = import_module("howsure.api.server")
        except ModuleNotFoundError as missing:
            if missing.name and missing.name.startswith("howsure"):
                raise
            raise ConfigInvalid(f"{missing.name} is not installed: pip install 'howsure[server]'") from missing
        pages = import_module("howsure.web.app").create_pages
        await server.serve(work, server.ServerOptions(**options), pages)


class Program(click.Group):
    """The commands, each imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"howsure.cli.{SHARED_MODULES.get(cmd_name, cmd_name)}")
        command = getattr(module, f"{cmd_name}_command" if cmd_name in SHARED_MODULES else "command")
        assert isinstance(command, click.Command)
        if COMPLETING in os.environ:
            import_module("howsure.cli.completion").add_completion(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "obj": Entrances()}
)
@click.version_option(__version__, prog_name="howsure")
def program() -> None:
    """Howsure tells whether an AI agent, bot or model does its job, and how sure it is of that.

    Start with `howsure demo`. Then `howsure validate FILE` and `howsure run FILE`.

    Exit codes: 0 done, every gate held · 1 Howsure broke · 2 you must act (bad file, option, setting) ·
    3 some cases errored · 100 a gate failed · 101 a gate is inconclusive · 130 interrupted (resume it).
    """


def main() -> None:
    sys.excepthook = _broke
    gc.set_threshold(*GC_THRESHOLD)
    try:
        with standard_streams():
            program(complete_var=COMPLETING)
    except SystemExit as end:
        if any(thread.name.startswith(TOOL_THREADS) for thread in enumerate_threads()):
            # Python waits for the threads of pools: for a tool of an agent that hangs, for ever.
            leaving = Timer(LEAVING_SECONDS, os._exit, (end.code if isinstance(end.code, int) else 1,))
            leaving.daemon = True
            leaving.start()
        raise


def _broke(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What escapes to here is our own fault. Python exits with 1."""
    sys.__excepthook__(kind, error, trace)
    print(
        f"\nHowsure broke ({kind.__name__}). This is a bug of Howsure, not of your data: please report it.",
        file=sys.stderr,
    )
