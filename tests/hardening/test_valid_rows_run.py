"""Break 3: `validate` and `run` agree. Rows of every own dialect are poisoned in one to three places; those that are
valid are run together, with recorded answers, and none of them may be lost or end the run."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from databases import IN_TURN, a_database
from dialect_rows import explain, mcq, reference_qa, rubric_qa
from howsure.dialects.base import Importer
from howsure.dialects.datasets import validate
from howsure.kit.plugins import builtin_kit
from howsure.main import program
from howsure.policies.verdicts import builtin_profiles

DEMO = Path(__file__).parents[2] / "src" / "howsure" / "demo"
TOOLS: dict[str, Any] = {
    "available_tools": ["search"],
    "invoked_tool_calls": [{"tool": "search", "arguments": {"q": "x"}, "outcome": "found"}],
    "expected_tool_calls": [{"tool": "search", "arguments": {"q": "x"}}],
}
Row = dict[str, Any]
Place = tuple[str | int, ...]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


POISONS: tuple[Any, ...] = (
    "\ud800",
    "a\0b",
    '{"a":"\\ud800"}',
    '{"a":"\\u0000"}',
    "{'a': '\\ud800'}",
    "[" * 190 + "]" * 190,
    "[" * 5000 + "]" * 5000,
    '{"n":1' + "0" * 5000 + "}",
    '{"n":NaN}',
    "\u202e\x1b[31m\ufffe",
    "\\ud83d\\ude00",
    nested(150),
    nested(250),
    10**30,
    10**400,
    1e308,
    -0.0,
    float("nan"),
    float("inf"),
    None,
    True,
    {"\0": 1},
    {"\ud800": 1},
    {"": {"": []}},
)


def write_lines(rows: list[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_table(rows: list[Row]) -> str:
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]))
    writer.writeheader()
    cells = ({key: each if isinstance(each, str) else json.dumps(each) for key, each in row.items()} for row in rows)
    for row in cells:
        writer.writerow({key: each.encode("utf-8", "backslashreplace").decode() for key, each in row.items()})
    return table.getvalue()


class Own(Struct, frozen=True):
    """One of the five dialects: rows to poison, the field with their ids, and how a file of them is written."""

    name: str
    ending: str
    id: str
    rows: tuple[Row, ...]
    write: Callable[[list[Row]], str] = write_lines


@cache
def own_dialects() -> dict[str, Own]:
    golden = json.loads((DEMO / "golden" / "moss_support_golden.json").read_text("utf-8"))["golden_questions"]
    test_set = json.loads((DEMO / "test-set" / "test-set.json").read_text("utf-8"))
    with open(DEMO / "simulation" / "support-simulation.csv", encoding="utf-8", newline="") as file:
        simulation = [{key: read_cell(each) for key, each in row.items()} for row in csv.DictReader(file)]
    return {
        each.name: each
        for each in (
            Own("legal", ".jsonl", "id", (mcq(), reference_qa(), rubric_qa())),
            Own("explain", ".jsonl", "case_id", (explain(explain_inputs=...), explain(explain_inputs=..., **TOOLS))),
            Own("golden", ".json", "id", tuple(golden[:3]), lambda rows: json.dumps({"golden_questions": rows})),
            Own(
                "test-set",
                ".json",
                "item_id",
                tuple(each for each in test_set["items"] if each["type"] == "single_turn"),
                lambda rows: json.dumps({**test_set, "items": rows}),
            ),
            Own("simulation", ".csv", "question_id", tuple(simulation[:2]), write_table),
        )
    }


def read_cell(text: str) -> Any:
    try:
        return json.loads(text) if text[:1] in ("{", "[") else text
    except ValueError:
        return text


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    if place:
        yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*place, key))


def poisoned(row: Row, place: Place, poison: Any) -> Row:
    """The row, changed in one place; the same row where an earlier change has removed the place."""
    changed = deepcopy(row)
    holder: Any = changed
    with suppress(TypeError, KeyError, IndexError):
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = poison
    return changed


@cache
def dialect(name: str) -> Importer:
    return builtin_kit(builtin_profiles()).reader(name)


def is_valid(own: Own, row: Row, folder: Path) -> bool:
    path = folder / f"one{own.ending}"
    path.write_text(own.write([row]), "utf-8")
    return validate(path, dialect(own.name)).valid


def draw_rows(own: Own, chance: Random, count: int) -> Iterator[Row]:
    for number in range(count):
        row = chance.choice(own.rows)
        found = list(places(row))
        for _ in range(chance.randint(1, 3)):
            row = poisoned(row, chance.choice(found), chance.choice(POISONS))
        if isinstance(row.get(own.id), str) and "\0" not in row[own.id]:
            row[own.id] = f"learning-path-curator-{number:03}"
        yield row


def run_cases(own: Own, rows: list[Row], folder: Path, database: str) -> Row:
    path = folder / f"cases{own.ending}"
    path.write_text(own.write(rows), "utf-8")
    command = ["run", str(path), "--dialect", own.name, "--database", database, "--json", "--no-config"]
    if own.name in ("legal", "golden", "test-set"):
        answers = folder / "answers.jsonl"
        answers.write_text(write_lines([{"case_id": row[own.id], "response_text": "A"} for row in rows]), "utf-8")
        command += ["--responses", str(answers)]
    done = CliRunner().invoke(program, command)
    assert isinstance(done.exception, SystemExit | None), (done.exception, done.stderr)
    assert done.exit_code in (0, 3), (done.exit_code, done.output)
    shown: Row = json.loads(done.stdout)
    return shown


@pytest.mark.parametrize("kind", IN_TURN)
@pytest.mark.parametrize("name", ["legal", "explain", "golden", "test-set", "simulation"])
@settings(max_examples=2, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_what_is_valid_is_run_and_no_case_is_lost(kind: str, name: str, seed: int) -> None:
    own = own_dialects()[name]
    with TemporaryDirectory() as place:
        folder = Path(place)
        rows = [row for row in draw_rows(own, Random(seed), 60) if is_valid(own, row, folder)]
        if not rows:
            return
        with a_database(kind, folder) as database:
            shown = run_cases(own, rows, folder, database)
    assert shown["status"] == "completed"
    assert shown["total"] == len(rows)
