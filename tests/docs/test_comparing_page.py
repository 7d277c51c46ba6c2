"""docs/comparing.md: every command it shows prints what it shows, and its program runs."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from howsure.main import program
from howsure.model.comparison import PinKind
from howsure.services.demo import DEMOS, demo_request
from howsure.services.run.start import start
from howsure.services.workspace import Workspace

PAGE = (Path(__file__).parents[2] / "docs" / "comparing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.+?)```", PAGE, re.DOTALL)


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo has run."""
    place = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(place)
        work = Workspace.here(environ={})
        for demo in DEMOS:
            if demo.dialect in ("legal", "explain"):
                asyncio.run(start(work, demo_request(demo), lambda _: lambda __: None))
    return place


@pytest.mark.parametrize("block", BLOCKS, ids=[block.splitlines()[0] for block in BLOCKS])
def test_each_command_prints_what_the_page_shows(block: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    command, *lines = block.splitlines()
    words = shlex.split(command.removeprefix("$ howsure "))
    done = CliRunner(env={"COLUMNS": "120"}).invoke(program, words)
    assert done.exit_code == 0, done.output
    printed = squeezed(done.stdout)
    assert [line for line in lines if squeezed(line) not in printed] == []


def test_the_program_it_shows_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (code,) = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    scope: dict[str, Any] = {}
    exec(compile(code, "comparing.md", "exec"), scope)
    assert capsys.readouterr().out.startswith("better juno-large is better than orchid-7b: 91.7 % of 24 paired cases")


def test_everything_that_can_differ_is_explained() -> None:
    for what in PinKind:
        assert f"| {what.value} |" in PAGE


def test_every_option_is_mentioned() -> None:
    command = program.get_command(program.make_context("howsure", ["--help"], resilient_parsing=True), "compare")
    assert command is not None
    own = {opt for each in command.params for opt in each.opts if opt.startswith("--")}
    assert {
        opt for opt in own - {"--database", "--config", "--no-config", "--trust", "--plugin"} if opt not in PAGE
    } == set()
