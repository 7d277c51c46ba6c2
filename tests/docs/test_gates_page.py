"""What docs/gates.md shows can be typed, and gives what it says."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from house import lines, mcq
from howsure.cli.exit_codes import worst_exit_code
from howsure.config import load
from howsure.main import program
from howsure.model.summary import GateOutcome, GateRuling
from howsure.policies.gates import CONDITION_READERS, EXAMPLES, read_gate
from howsure.reports.run_facts import gate_shape

PAGE = (Path(__file__).parents[2] / "docs" / "gates.md").read_text(encoding="utf-8")
GATE = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


def shown(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.+?)```", PAGE, re.DOTALL)


def commands() -> list[tuple[str, int]]:
    """Every command of the page with the exit code it promises."""
    found = [line for block in shown("sh") for line in block.splitlines()]
    parts = [re.split(r"\s+# exits ", line) for line in found]
    return [(command, int(code)) for command, code in parts]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """The program in a folder with the files of the page: 93 of a hundred cases are answered well."""
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "cases.jsonl", *(mcq(number) for number in range(1, 101)))
    said = ({"case_id": f"q{number}", "response_text": "B" if number <= 7 else "A"} for number in range(1, 101))
    lines(tmp_path / "answers.jsonl", *said)

    def run(command: str) -> int:
        name, *words = shlex.split(command)
        assert name == "howsure"
        return CliRunner().invoke(program, words).exit_code

    return run


def test_every_command_ends_as_the_page_says(typed: Callable[[str], int]) -> None:
    assert len(commands()) == 9
    assert [(command, typed(command)) for command, _ in commands()] == commands()


def test_every_gate_of_the_table_can_be_read_and_every_kind_is_in_it() -> None:
    named = GATE.findall(PAGE)
    kinds = {type(read_gate(text).condition).__name__ for text in named}
    assert len(named) == 16
    assert kinds == {type(read_gate(text).condition).__name__ for text in EXAMPLES}
    assert all(f"`{name}" in PAGE for name in CONDITION_READERS)


def test_the_settings_it_shows_are_read(tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text(shown("yaml")[0], encoding="utf-8")
    gates = load(tmp_path, {}).gates
    assert gates == ("pass_rate >= 0.8", "errors <= 1%", "no_regression vs main by 5%")
    assert [read_gate(text).expression for text in gates] == list(gates)


def test_the_json_it_shows_has_our_fields() -> None:
    (block,) = shown("json")
    entry: dict[str, Any] = json.loads(block)
    ours = GateRuling(expression="x", outcome=GateOutcome.HELD, reason="")
    assert set(entry) == set(gate_shape(ours))


def test_the_order_of_exit_codes_it_tells_is_ours() -> None:
    told = re.search(r"the first of\s+130 \(interrupted\), 1, 2, 100, 101 and 3 ", PAGE)
    assert told is not None
    assert worst_exit_code(3, 101, 100, 2, 1, 130) == 130
