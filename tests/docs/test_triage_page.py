"""What docs/triage.md shows can be typed, and gives what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from howsure.cli.browser import KEYS
from howsure.cli.browser_view import BrowserMode, VerdictFilter
from howsure.main import program
from howsure.model.simulation import Party
from howsure.model.triage import PRIORITY, Confidence, RootCause, RootCauseReport
from howsure.services.triage.root_causes import SCHEMA
from howsure.services.triage.rules import RULES

PAGE = (Path(__file__).parents[2] / "docs" / "triage.md").read_text(encoding="utf-8")


def shown(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.+?)```", PAGE, re.DOTALL)


def typed(command: str) -> Result:
    name, *words = shlex.split(command)
    assert name == "howsure"
    return CliRunner(env={"COLUMNS": "100"}).invoke(program, words)


def lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def test_the_example_gives_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = [command for block in shown("sh") for command in block.splitlines()]
    assert len(commands) == 4
    done = {command: typed(command) for command in commands}
    assert {command: each.exit_code for command, each in done.items()} == dict.fromkeys(commands, 0)
    printed = lines(done[commands[1]].stdout)
    for block in shown("text")[:2]:
        assert lines(block) in printed
    assert (tmp_path / "triage.md").read_text(encoding="utf-8").startswith("# Triage of demo test-set")


def test_the_options_it_names_are_there() -> None:
    said = typed("howsure triage --help").stdout
    for option in ("--judge", "--record-judge", "--budget", "--json", "-o"):
        assert option in PAGE
        assert option in said


@pytest.mark.parametrize("party", Party, ids=lambda party: party.value)
def test_every_party_is_explained_with_its_priority(party: Party) -> None:
    assert f"| `{party.value}` | {PRIORITY[party].value} |" in PAGE


def test_every_word_of_confidence_is_explained() -> None:
    assert all(f"`{word.value}`" in PAGE for word in Confidence)


def test_every_rule_is_listed_in_its_order() -> None:
    # The last of the page is what holds where no rule applies: the agent.
    assert len(re.findall(r"^\d+\. ", PAGE, re.MULTILINE)) == len(RULES) + 1 == 11
    assert "\n11. The agent: " in PAGE


def test_the_fields_of_a_written_report_are_ours() -> None:
    fields: list[Any] = [*RootCause.__struct_fields__, *(set(RootCauseReport.__struct_fields__) - {"cost_usd"})]
    assert all(f"`{name}`" in PAGE for name in fields)
    assert set(SCHEMA["properties"]["claims"]["items"]["required"]) == set(RootCause.__struct_fields__)


def test_the_keys_of_the_browser_are_those_it_shows() -> None:
    for key in re.findall(r"(?:^|  )(\S) ", KEYS[BrowserMode.LIST].replace("↑↓", "↑").replace("⏎", "E")):
        assert key in ("E", "↑") or f"`{key}`" in PAGE
    assert ", ".join(each.value for each in VerdictFilter) in PAGE
