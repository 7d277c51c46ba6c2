"""`howsure card`: what an agent is, and how its last runs came out."""

from __future__ import annotations

from pathlib import Path

from msgspec import json

from howsure.dialects.agent_file import read_agent
from howsure.errors import NotFound, PlanRefused
from howsure.model.agent import Agent
from howsure.model.run import Run, RunState
from howsure.model.summary import Summary
from howsure.reports.agent_card import AgentCard, card_markdown, card_shape
from howsure.reports.whole_file import whole_bytes
from howsure.services.workspace import Workspace

SHOWN_RUNS = 10
LOOKED_AT = 5000
"""The newest so many runs are searched for a name."""
COMPLETED = (RunState.COMPLETED,)
ENDINGS = (".md", ".json")


async def agent_card(work: Workspace, whose: str, file: str = "") -> AgentCard:
    """The card of the agent with this id or name, or of the one a file describes."""
    if bool(whose) == bool(file):
        raise PlanRefused("a card is that of one agent: AGENT (its id or name), or --agent FILE")
    described = _described(file) if file else None
    try:
        found, summaries = await _runs(work, described.id if described else whose)
    except NotFound:
        # There is no database yet: an agent can have a card before its first run.
        if described is None:
            raise
        found, summaries = [], ()
    agent = described or next((run.pins.agent for run in found), None)
    if agent is None:
        raise NotFound(
            f"no completed run of the agent {whose!r} is known; `howsure runs` lists them, --agent names a file"
        )
    return AgentCard(agent=agent, runs=summaries, more=len(found) > SHOWN_RUNS)


async def _runs(work: Workspace, whose: str) -> tuple[list[Run], tuple[Summary, ...]]:
    """The newest completed runs of the agent with this id or name, one more than are shown, and the summaries."""
    async with await work.store(read_only=True) as store:
        found = await store.runs(limit=SHOWN_RUNS + 1, agent_id=whose, states=COMPLETED)
        if not found:
            found = _named(await store.runs(limit=LOOKED_AT, states=COMPLETED), whose)[: SHOWN_RUNS + 1]
        return found, tuple([await store.summary(run.id) for run in found[:SHOWN_RUNS]])


def _named(runs: list[Run], name: str) -> list[Run]:
    """The runs of the one agent of that name."""
    found = [run for run in runs if run.pins.agent and run.pins.agent.name == name]
    ids = list(dict.fromkeys(run.pins.agent.id for run in found if run.pins.agent))
    if len(ids) > 1:
        raise PlanRefused(f"several agents are called {name!r}: say which id, {', '.join(ids)}")
    return found


def _described(file: str) -> Agent:
    path = Path(file)
    if not path.is_file():
        raise NotFound(f"{path}: no such agent file")
    return read_agent(path)


def check_card_outputs(paths: tuple[str, ...]) -> None:
    for path in map(Path, paths):
        if path.suffix.lower() not in ENDINGS:
            raise PlanRefused(f"--output {path}: the ending must be one of {', '.join(ENDINGS)}")
        if not path.parent.is_dir():
            raise PlanRefused(f"--output {path}: there is no folder {path.parent}")


def write_card(card: AgentCard, path: Path) -> None:
    """As Markdown or JSON, by the file's ending."""
    as_json = path.suffix.lower() == ".json"
    text = json.format(json.encode(card_shape(card)), indent=2) + b"\n" if as_json else card_markdown(card).encode()
    try:
        with whole_bytes(path) as file:
            file.write(text)
    except OSError as error:
        raise PlanRefused(f"--output {path}: cannot be written: {error.strerror}") from error
