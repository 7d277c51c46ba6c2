"""`howsure card`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from howsure.cli.output import howsure_command, print_bytes, print_json, say
from howsure.reports.agent_card import card_markdown, card_shape
from howsure.services.report import agent_card, check_card_outputs, write_card
from howsure.services.workspace import Workspace


@howsure_command("card")
@click.argument("whose", default="", metavar="[AGENT]")
@click.option("--agent", "file", default="", metavar="FILE", help="The agent that this file describes.")
@click.option("--output", "-o", "outputs", multiple=True, metavar="FILE", help="Write .md or .json instead.")
def command(work: Workspace, whose: str, file: str, outputs: tuple[str, ...], as_json: bool) -> None:
    """The card of an agent: prompt, tools, knowledge bases, model, and its last ten completed runs.

    AGENT is its id, or its name. What it is comes from its newest run, or from --agent FILE.

    \b
    howsure card support-bot
    howsure card --agent agent.json -o card.md -o card.json
    """
    check_card_outputs(outputs)
    card = asyncio.run(agent_card(work, whose, file))
    for path in map(Path, outputs):
        write_card(card, path)
        say(f"written: {path}")
    if as_json:
        print_json(card_shape(card))
    elif not outputs:
        print_bytes(card_markdown(card).encode("utf-8", "backslashreplace"))
