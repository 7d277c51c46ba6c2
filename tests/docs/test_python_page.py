"""docs/python.md: every block is run, in the order of the page, in one folder, and prints what the page shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import howsure
from howsure.model.run_request import RunRequest
from howsure.pytest_plugin import MARKS, SETTINGS
from howsure.services.python.evaluate import WorkspaceOptions
from howsure.services.python.objects import SHORT

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```", re.DOTALL | re.MULTILINE)
INSTALLED = any(point.value == "howsure.pytest_plugin" for point in entry_points(group="pytest11"))


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("HOWSURE_DATABASE_URL", "HOWSURE_JUDGE", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    sys.modules.pop("shop", None)


@pytest.mark.slow
@pytest.mark.thorough
def test_the_page_does_what_it_shows(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scope: dict[str, Any] = {}
    printed = ""
    ran = {"python": 0, "text": 0, "console": 0}
    for block in BLOCK.finditer(PAGE):
        kind, body = block["kind"], block["body"]
        if block["file"]:
            (here / block["file"]).write_text(body, encoding="utf-8")
            continue
        ran[kind] += 1
        if kind == "python":
            exec(compile(body, "python.md", "exec"), scope)
            printed = squeezed(capsys.readouterr().out)
        elif kind == "text":
            assert [line for line in body.splitlines() if squeezed(line) not in printed] == [], printed
        else:
            check_console(body, here)
    assert ran == {"python": 5, "text": 5, "console": 3}


def check_console(body: str, folder: Path) -> None:
    command, *shown = body.splitlines()
    program, *words = shlex.split(command.removeprefix("$ "))
    assert program == "pytest"
    plugin = [] if INSTALLED else ["-p", "howsure.pytest_plugin"]
    ini = ["-o", "asyncio_default_fixture_loop_scope=function", "--no-header"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *ini, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    printed = squeezed(done.stdout)
    assert [line for line in shown if squeezed(line) not in printed] == [], done.stdout


def test_every_mark_setting_and_field_is_on_the_page() -> None:
    names = [mark.partition("(")[0] for mark in MARKS] + [name for name, *_ in SETTINGS]
    assert [name for name in names if name not in PAGE] == []
    assert [name for name in SHORT if f"`{name}`" not in PAGE] == []


def test_the_options_it_names_exist() -> None:
    told = PAGE.split("Options have the names")[1].split("\n\n")[0]
    names = set(re.findall(r"`([a-z_]+)`", told)) - {"wants", "grade"}
    assert names <= {*RunRequest.__struct_fields__, *WorkspaceOptions.__annotations__, "progress"}
    assert len(names) > 20


def test_what_it_tells_of_a_run_exists() -> None:
    told = set(re.findall(r"`run\.([a-z_]+)", PAGE))
    assert {"passed", "results", "gate", "compare", "to_frame", "write"} <= told
    # `summary` is what it is made of, and the only one that is no member of the class.
    assert [name for name in told - {"summary"} if not hasattr(howsure.Run, name)] == []
