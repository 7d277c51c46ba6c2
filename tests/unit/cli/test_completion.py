"""What commands are taught while a shell asks."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import pytest

from howsure.cli.completion import RunNameType, add_completion
from howsure.main import COMMANDS, program
from howsure.store.store import Store
from two_runs import AFTER, BEFORE, NOON, keep, verdicts


def taught(name: str) -> dict[str, Any]:
    command = program.get_command(click.Context(program), name)
    assert command is not None
    before = {param.name: param.type for param in command.params}
    add_completion(command)
    found = {str(param.name): param.type for param in command.params}
    for param in command.params:  # the command is the one of every other test
        param.type = before[param.name]
    return found


@pytest.mark.parametrize(
    ("command", "param"),
    [
        ("show", "run"),
        ("compare", "runs"),
        ("report", "run"),
        ("report", "baseline"),
        ("gate", "run"),
        ("ci", "base_run"),
    ],
)
def test_parameters_that_name_a_run_complete_runs(command: str, param: str) -> None:
    assert isinstance(taught(command)[param], RunNameType)


@pytest.mark.parametrize(
    ("command", "param"),
    [
        ("run", "datasets"),
        ("run", "responses"),
        ("run", "rubric"),
        ("run", "outputs"),
        ("ci", "words"),
        ("run", "config"),
    ],
)
def test_parameters_that_name_a_file_are_left_to_the_shell(command: str, param: str) -> None:
    assert isinstance(taught(command)[param], click.Path)


def test_every_command_can_be_taught() -> None:
    for name in COMMANDS:
        assert taught(name) is not None


@pytest.fixture
async def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOWSURE_DATABASE_URL", raising=False)
    async with await Store.open(tmp_path / ".howsure" / "howsure.db", clock=lambda: NOON + timedelta(days=1)) as store:
        await keep(store, BEFORE, verdicts("+"), name="before")
        await keep(store, AFTER, verdicts("-"), name='a "name" with blanks')
    return tmp_path


def test_names_and_ids_are_offered_but_no_name_that_a_shell_would_break(runs: Path) -> None:
    context, param = click.Context(program), click.Argument(["run"])
    offered = [each.value for each in RunNameType().shell_complete(context, param, "")]
    assert offered == ["latest", "before", AFTER[:8], BEFORE[:8]]
    assert [each.value for each in RunNameType().shell_complete(context, param, "be")] == ["before"]
    assert RunNameType().shell_complete(context, param, "zzz") == []


def test_without_a_database_nothing_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert RunNameType().shell_complete(click.Context(program), click.Argument(["run"]), "") == []
    assert not (tmp_path / ".howsure").exists()
