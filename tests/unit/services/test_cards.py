"""The card of an agent, from the runs of a store or from a file."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from msgspec.structs import replace

from howsure.errors import DatasetInvalid, NotFound, PlanRefused
from howsure.model.agent import Agent
from howsure.model.run import Counts, Run, RunState
from howsure.services.cards import SHOWN_RUNS, agent_card, check_card_outputs, write_card
from howsure.services.workspace import Workspace
from two_runs import NOON, pins, verdicts
from unit.services.places import workplace

BOT = Agent(id="bot-1", name="Moss", system_prompt="Be kind.")
FILE = {"bot_id": "bot-1", "bot_name": "Moss, as the file has it"}


async def kept(work: Workspace, count: int, agent: Agent | None = BOT, *, first: int = 1, **fields: object) -> None:
    async with await work.store() as store:
        for number in range(first, first + count):
            run = Run(
                id=str(UUID(int=number, version=4)),
                name=f"run {number}",
                state=RunState.COMPLETED,
                pins=pins(agent=agent),
                counts=Counts(total=2),
                created_at=NOON + timedelta(hours=number),
            )
            await store.create_run(replace(run, **fields))
            await store.save(run.id, [replace(each, position=place) for place, each in enumerate(verdicts("+-"))])


async def test_an_agent_is_found_by_its_id_and_by_its_name(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    await kept(work, 2)
    await kept(work, 1, Agent(id="bot-2", name="Fern"), first=5)
    for whose in ("bot-1", "Moss"):
        card = await agent_card(work, whose)
        assert card.agent == BOT
        assert [summary.run.name for summary in card.runs] == ["run 2", "run 1"]
        assert card.runs[0].run.counts.passed == 1
        assert not card.more


async def test_no_more_than_the_ten_newest_are_shown(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    await kept(work, 12)
    card = await agent_card(work, "bot-1")
    assert len(card.runs) == SHOWN_RUNS == 10
    assert [card.runs[0].run.name, card.runs[-1].run.name] == ["run 12", "run 3"]
    assert card.more


async def test_runs_that_are_not_completed_do_not_count(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    await kept(work, 1)
    await kept(work, 1, first=2, state=RunState.FAILED)
    assert [summary.run.name for summary in (await agent_card(work, "bot-1")).runs] == ["run 1"]


async def test_what_the_agent_is_comes_from_the_newest_run(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    await kept(work, 1)
    await kept(work, 1, replace(BOT, system_prompt="Be brief."), first=2)
    assert (await agent_card(work, "bot-1")).agent.system_prompt == "Be brief."


async def test_a_file_describes_the_agent_and_the_store_its_runs(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    await kept(work, 1)
    (tmp_path / "agent.json").write_text(json.dumps(FILE))
    card = await agent_card(work, "", str(tmp_path / "agent.json"))
    assert (card.agent.name, len(card.runs)) == ("Moss, as the file has it", 1)


async def test_a_file_has_a_card_before_the_first_run(tmp_path: Path) -> None:
    (tmp_path / "agent.json").write_text(json.dumps(FILE))
    card = await agent_card(workplace(tmp_path), "", str(tmp_path / "agent.json"))
    assert card.runs == ()
    assert [path.name for path in tmp_path.iterdir()] == ["agent.json"]


async def test_two_agents_of_one_name_are_told_apart_by_id(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    await kept(work, 1)
    await kept(work, 1, replace(BOT, id="bot-2"), first=2)
    with pytest.raises(PlanRefused, match="several agents are called 'Moss': say which id, bot-2, bot-1"):
        await agent_card(work, "Moss")


async def test_who_nobody_knows_has_no_card(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    with pytest.raises(NotFound):
        await agent_card(work, "bot-1")
    await kept(work, 1, None)
    with pytest.raises(NotFound, match="no completed run of the agent 'bot-1' is known; `howsure runs` lists them"):
        await agent_card(work, "bot-1")
    with pytest.raises(NotFound, match=r"nowhere\.json: no such agent file"):
        await agent_card(work, "", str(tmp_path / "nowhere.json"))
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(DatasetInvalid):
        await agent_card(work, "", str(tmp_path / "bad.json"))


@pytest.mark.parametrize(("whose", "file"), [("", ""), ("bot-1", "agent.json")], ids=["nobody", "both"])
async def test_one_agent_is_asked_for(whose: str, file: str, tmp_path: Path) -> None:
    with pytest.raises(PlanRefused, match="AGENT \\(its id or name\\), or --agent FILE"):
        await agent_card(workplace(tmp_path), whose, file)


async def test_a_card_is_written_by_the_ending_of_its_file(tmp_path: Path) -> None:
    work = workplace(tmp_path)
    await kept(work, 1)
    card = await agent_card(work, "bot-1")
    for name in ("card.md", "card.JSON"):
        write_card(card, tmp_path / name)
    assert (tmp_path / "card.md").read_text("utf-8").startswith("# Moss\n\n- id: bot-1")
    assert json.loads((tmp_path / "card.JSON").read_bytes())["runs"][0]["total"] == 2
    (tmp_path / "taken.md").mkdir()
    with pytest.raises(PlanRefused, match=r"taken\.md: cannot be written"):
        write_card(card, tmp_path / "taken.md")


@pytest.mark.parametrize(
    ("name", "told"), [("card.html", "the ending must be one of .md, .json"), ("no/card.md", "there is no folder")]
)
def test_what_cannot_be_written_is_refused_first(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(PlanRefused, match=told):
        check_card_outputs((str(tmp_path / name),))
