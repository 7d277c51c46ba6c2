"""docs/reports.md: every command it shows prints what it shows, and every format, column and option is told."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from demo_runs import demo_runs
from house import lines, mcq
from howsure.main import program
from howsure.reports.formats import FORMATS, SETS
from howsure.reports.tables import LEADING_COLUMNS, TRAILING_COLUMNS

files: Any = pytest.importorskip("pyarrow.parquet")
PAGE = (Path(__file__).parents[2] / "docs" / "reports.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.+?)```", PAGE, re.DOTALL)
STEP = re.compile(r"^\$ (.+?)(?:\s+# exits (\d+))?$")


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo has run, with the files of the page."""
    place = tmp_path_factory.mktemp("reports")
    demo_runs(place, "legal", "golden", "explain", "test-set")
    lines(place / "cases.jsonl", *(mcq(number) for number in range(1, 21)))
    for name, wrong in (("before", {3, 9}), ("after", {3, 4, 12})):
        said = ({"case_id": f"q{n}", "response_text": "B" if n in wrong else "A"} for n in range(1, 21))
        lines(place / f"{name}.jsonl", *said)
    for name in ("before", "after"):
        words = ["run", "cases.jsonl", "--responses", f"{name}.jsonl", "--name", {"before": "main"}.get(name, "branch")]
        assert typed(place, "howsure", *words)[0] == 0
    return place


def typed(place: Path, name: str, *words: str) -> tuple[int, str]:
    """What a command of the page does: ours, or one of the few that look at a file."""
    with pytest.MonkeyPatch.context() as here:
        here.chdir(place)
        if name == "howsure":
            done = CliRunner(env={"COLUMNS": "120"}).invoke(program, list(words))
            return done.exit_code, done.output
        return 0, LOOKING[name](*words)


def head(_: str, count: str, path: str) -> str:
    return "\n".join(Path(path).read_text("utf-8").splitlines()[: int(count)])


def keys(path: str) -> str:
    return " ".join(json.loads(Path(path).read_bytes().splitlines()[0]))


def columns(path: str) -> str:
    return " ".join(files.read_schema(path).names)


def same(first: str, second: str) -> str:
    one, other = Path(first).read_bytes(), Path(second).read_bytes()
    return f"the same {len(one.splitlines())} lines" if one == other else "not the same"


LOOKING: dict[str, Callable[..., str]] = {"head": head, "keys": keys, "columns": columns, "same": same}


@pytest.mark.parametrize("block", BLOCKS, ids=[block.splitlines()[-1][:40] for block in BLOCKS])
def test_each_command_prints_what_the_page_shows(block: str, folder: Path) -> None:
    printed = ""
    for line in block.splitlines():
        if step := STEP.match(line):
            code, printed = typed(folder, *shlex.split(step[1]))
            assert code == int(step[2] or 0), printed
        else:
            assert squeezed(line) in squeezed(printed)


def test_every_format_is_in_the_table() -> None:
    for each in FORMATS:
        assert f"| `{each.endings[0]}` | `{each.name}` |" in PAGE
    assert len(BLOCKS) >= 10


def test_every_artifact_set_is_in_the_table() -> None:
    for each in SETS:
        assert f"| `{each.name}` |" in PAGE


@pytest.mark.parametrize("name", [*LEADING_COLUMNS, *TRAILING_COLUMNS])
def test_every_column_of_a_table_is_told(name: str) -> None:
    assert f"`{name}`" in PAGE.partition("## CSV")[2].partition("## JSON lines")[0]


def test_every_column_of_parquet_and_every_field_of_a_line_is_told(folder: Path) -> None:
    for name, titles in (
        ("results.parquet", ("## Parquet", "## Canonical")),
        ("results.jsonl", ("## JSON", "## Parq")),
    ):
        typed(folder, "howsure", "report", "branch", "-o", name)
        part = PAGE.partition(titles[0])[2].partition(titles[1])[0]
        shown = columns(str(folder / name)) if name.endswith("parquet") else keys(str(folder / name))
        told = part.partition("| --- |")[2]
        missing = [field for field in shown.split() if f"`{field.replace(':choice', ':GRADER')}`" not in told]
        assert missing == []


def test_every_option_is_mentioned() -> None:
    context = program.make_context("howsure", ["--help"], resilient_parsing=True)
    for name in ("report", "card"):
        command = program.get_command(context, name)
        assert command is not None
        own = {opt for each in command.params for opt in each.opts if opt.startswith("--")}
        shared = {"--database", "--config", "--no-config", "--trust", "--plugin", "--json", "--output"}
        assert {opt for opt in own - shared if opt not in PAGE} == set()
