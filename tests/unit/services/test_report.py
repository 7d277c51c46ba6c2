"""Writing a run: every ending, and refused before anything is written where it cannot be."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from msgspec.structs import replace

from howsure.errors import DatasetInvalid, InputError, NotFound, PlanRefused, UnknownName
from howsure.kit import Kit
from howsure.model.agent import Agent
from howsure.model.comparison import Comparison
from howsure.model.result import Result
from howsure.model.run import Counts, Run, RunState
from howsure.model.summary import Summary
from howsure.services.report import (
    SHOWN_RUNS,
    agent_card,
    check_card_outputs,
    check_outputs,
    default_output,
    write_card,
    write_reports,
)
from howsure.services.run.start import start
from howsure.services.workspace import Workspace
from two_runs import AFTER, BEFORE, NOON, keep, pins, verdicts
from unit.services.places import Counting, asking, house, unwatched, workplace


async def with_a_run(folder: Path) -> Workspace:
    work = workplace(folder, Counting())
    await start(work, asking(house(folder, 2), name="first"), unwatched)
    return work


@pytest.mark.parametrize(
    ("ending", "beginning"),
    [
        (".html", "<!doctype html>"),
        (".HTML", "<!doctype html>"),
        (".md", "# first"),
        (".full.md", "# first"),
        (".xml", '<?xml version="1.0" encoding="utf-8"?>'),
        (".csv", "case_id,candidate,repeat,verdict,"),
        (".jsonl", '{"'),
        (".canonical.jsonl", '{"candidate":'),
        (".json", "{"),
        (".eee.json", '{\n  "schema_version": "0.3.0"'),
    ],
)
async def test_every_ending_is_written_in_its_format(tmp_path: Path, ending: str, beginning: str) -> None:
    work = await with_a_run(tmp_path)
    path = tmp_path / f"report{ending}"
    assert await write_reports(work, "first", [str(path)]) == [path]
    text = path.read_text(encoding="utf-8-sig")
    assert text.lower().startswith(beginning)
    assert ("q1" in text and "q2" in text) or ending.endswith(".md") or ending == ".eee.json"


async def test_several_files_are_written_and_an_old_one_is_replaced(tmp_path: Path) -> None:
    work = await with_a_run(tmp_path)
    paths = [tmp_path / "a.jsonl", tmp_path / "b.csv"]
    paths[0].write_text("old\n" * 1000, encoding="utf-8")
    assert await write_reports(work, "latest", [str(path) for path in paths]) == paths
    assert len(paths[0].read_text(encoding="utf-8").splitlines()) == 2
    assert paths[1].is_file()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "report.docx",
            r"the ending must be one of \.html, .*\.parquet, \.eee\.json, .*; or say --format html\|pdf\|markdown\|",
        ),
        ("report", "the ending must be one of"),
        (".html", "the ending must be one of"),
        ("no/where.html", "there is no folder"),
    ],
)
async def test_what_cannot_be_written_is_refused_before_anything_is(tmp_path: Path, name: str, told: str) -> None:
    work = await with_a_run(tmp_path)
    good = tmp_path / "good.md"
    with pytest.raises(PlanRefused, match=told):
        await write_reports(work, "first", [str(good), str(tmp_path / name)])
    assert not good.exists()
    with pytest.raises(PlanRefused, match=told):
        check_outputs(work.kit, [str(tmp_path / name)])


@pytest.mark.parametrize("ending", [".html", ".md", ".xml", ".csv", ".jsonl", ".json", ".parquet"])
async def test_a_folder_in_the_way_is_told_of_without_a_traceback(tmp_path: Path, ending: str) -> None:
    work = await with_a_run(tmp_path)
    (tmp_path / f"taken{ending}").mkdir()
    with pytest.raises(InputError, match=rf"cannot write .*taken\{ending}: it is a folder"):
        await write_reports(work, "first", [str(tmp_path / f"taken{ending}")])


class BrokenFormat:
    """A plug-in's report format that raises `error`."""

    name, endings, compares = "poster", (".poster",), False

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def write(
        self, summary: Summary, results: AsyncIterable[Result], path: Path, comparison: Comparison | None = None
    ) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyError("colour"), r"--output .*a\.poster: report format 'poster': KeyError: 'colour'"),
        (OSError(28, "No space left on device"), r"--output .*a\.poster: cannot be written: No space left on device"),
        (PlanRefused("no run has colours"), r"\Ano run has colours\Z"),
    ],
)
async def test_a_plug_in_format_that_breaks_is_named_without_a_traceback(
    tmp_path: Path, error: Exception, message: str
) -> None:
    work = await with_a_run(tmp_path)
    work.kit.report_formats.add(BrokenFormat(error))
    with pytest.raises(PlanRefused, match=message):
        await write_reports(work, "first", [str(tmp_path / "a.poster")])


async def test_a_run_that_is_not_there_writes_nothing(tmp_path: Path) -> None:
    work = await with_a_run(tmp_path)
    with pytest.raises(NotFound):
        await write_reports(work, "nobody", [str(tmp_path / "r.html")])
    assert not (tmp_path / "r.html").exists()
    empty = workplace(tmp_path / "elsewhere")
    with pytest.raises(NotFound):
        await write_reports(empty, "latest", [str(tmp_path / "r.html")])
    assert not (tmp_path / "elsewhere").exists()


def test_nothing_asked_for_is_nothing_to_refuse() -> None:
    assert check_outputs(Kit(), []) == []


async def test_a_format_by_name_is_for_every_file_whatever_its_ending(tmp_path: Path) -> None:
    work = await with_a_run(tmp_path)
    paths = [tmp_path / "summary", tmp_path / "odd.html"]
    assert await write_reports(work, "first", [str(path) for path in paths], form="junit") == paths
    assert {path.read_text("utf-8")[:5] for path in paths} == {"<?xml"}
    with pytest.raises(UnknownName, match="unknown report format 'word'; known: canonical, csv"):
        await write_reports(work, "first", [str(tmp_path / "a.html")], form="word")


@pytest.mark.parametrize(("form", "name"), [("", "report.html"), ("junit", "report.xml"), ("markdown", "report.md")])
def test_without_a_file_the_format_names_it(tmp_path: Path, form: str, name: str) -> None:
    assert default_output(workplace(tmp_path).kit, form) == name


async def two_runs(folder: Path) -> Workspace:
    work = workplace(folder)
    async with await work.store() as store:
        await keep(store, BEFORE, verdicts("++-+"), name="nightly")
        await keep(store, AFTER, verdicts("+--+"), name="nightly")
    return work


async def test_a_baseline_puts_what_flipped_first(tmp_path: Path) -> None:
    work = await two_runs(tmp_path)
    path = tmp_path / "pr.md"
    await write_reports(work, AFTER, [str(path)], baseline=BEFORE)
    text = path.read_text("utf-8")
    assert text.index("## 1 case got worse") < text.index("2 of 4 passed")
    assert "| q2 | passed | failed |" in text
    await write_reports(work, AFTER, [str(path)])
    assert "got worse" not in path.read_text("utf-8")


async def test_a_baseline_by_name_is_the_run_before_this_one(tmp_path: Path) -> None:
    work = workplace(tmp_path, Counting(lambda case: "A" if case.id != "q2" else "B"))
    dataset = house(tmp_path, 3)
    for answer in ("A", "B"):
        work.kit.targets["counting"].answer = lambda case, said=answer: "A" if case.id != "q2" else said  # type: ignore[attr-defined]
        await start(work, asking(dataset, name="nightly"), unwatched)
    path = tmp_path / "pr.md"
    await write_reports(work, "latest", [str(path)], baseline="nightly")
    assert "| q2 | passed | failed |" in path.read_text("utf-8")


async def test_a_baseline_nothing_would_show_is_refused(tmp_path: Path) -> None:
    work = await two_runs(tmp_path)
    with pytest.raises(
        PlanRefused, match=r"--baseline: none of the files shows a comparison; those that do end in \.html, \.pdf, \.md"
    ):
        await write_reports(work, AFTER, [str(tmp_path / "a.csv")], baseline=BEFORE)
    with pytest.raises(NotFound):
        await write_reports(work, AFTER, [str(tmp_path / "a.md")], baseline="nobody")
    assert not list(tmp_path.glob("a.*"))


def test_a_report_without_a_baseline_needs_no_numpy() -> None:
    code = (
        "import sys, howsure.cli.report; print([name for name in ('numpy', 'scipy', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout == "[]\n"


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
    with pytest.raises(InputError, match=r"cannot write .*taken\.md: it is a folder"):
        write_card(card, tmp_path / "taken.md")


@pytest.mark.parametrize(
    ("name", "told"), [("card.html", "the ending must be one of .md, .json"), ("no/card.md", "there is no folder")]
)
def test_what_cannot_be_written_is_refused_first(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(PlanRefused, match=told):
        check_card_outputs((str(tmp_path / name),))
