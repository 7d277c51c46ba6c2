"""A full disk says so, ends with exit 2, and loses nothing that was stored; and what else is wrong with a database or a
settings file is said in words that help, not "This is a bug of Howsure"."""

from __future__ import annotations

import json
import re
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection, text, update

from databases import database as database
from dialect_rows import explain, write_rows
from howsure.errors import DamagedRow
from howsure.store.schema import cases
from howsure.store.store import Store

CASES = 400
FREE = "free some"


def howsure(folder: Path, *words: str, bytes_at_most: int = 0) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        if bytes_at_most:
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_at_most, bytes_at_most))

    command = [sys.executable, "-m", "howsure", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, preexec_fn=limit)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [explain(number, model_answer="word " * 400, explain_inputs=...) for number in range(CASES)]
    write_rows(tmp_path / "cases.jsonl", rows)
    return tmp_path


@pytest.mark.thorough
def test_a_disk_that_fills_up_ends_the_run_in_words_and_it_is_resumed(folder: Path) -> None:
    made = howsure(folder, "run", "cases.jsonl", "--limit", "1")
    assert made.returncode == 0, made.stderr
    file = folder / ".howsure" / "howsure.db"
    # As many pages as there are now and some more: SQLite says of the next one what it says of a full disk.
    full = howsure(folder, "run", "cases.jsonl", bytes_at_most=file.stat().st_size + 600_000)
    assert full.returncode == 2, full.stderr
    assert "Traceback" not in full.stderr
    assert re.search(r"howsure\.db cannot (grow|be read or written)", full.stderr), full.stderr
    stored = sqlite3.connect(file).execute("SELECT count(*) FROM results").fetchone()[0] - 1
    assert 0 <= stored < CASES
    resumed = howsure(folder, "resume", "latest", "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["total"] == CASES


@pytest.mark.parametrize("words", [("runs",), ("--help",), ("schema", "legal"), ("validate", "cases.jsonl", "--json")])
def test_a_full_device_says_so(folder: Path, words: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as device:
        command = [sys.executable, "-m", "howsure", *words]
        done = subprocess.run(command, cwd=folder, stdout=device, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: no space left on the device at standard output: free some")


@pytest.mark.thorough
def test_an_output_for_which_there_is_no_room_says_so(folder: Path) -> None:
    assert howsure(folder, "run", "cases.jsonl", "--limit", "60").returncode == 0
    done = howsure(folder, "report", "latest", "--output", "report.jsonl", bytes_at_most=100_000)
    assert done.returncode == 2
    assert "--output report.jsonl: cannot be written: File too large" in done.stderr
    assert [each.name for each in folder.glob("*report*")] == []


BOMB = "\n".join(
    ["a: &a0 [x, x, x, x, x, x, x, x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("targets: " + "[" * 10_000, "it is nested too deep"),
        (BOMB, "with its aliases written out it holds more than 100,000 values"),
        ("targets: &a [*a]", "with its aliases written out it holds more than 100,000 values"),
        ("judge: 2020-99-99", "month must be in 1..12"),
    ],
    ids=["deep", "aliases of aliases", "an alias of itself", "no date"],
)
def test_settings_that_cannot_be_read_are_no_bug_of_ours(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "howsure.yaml").write_text(text, "utf-8")
    done = howsure(tmp_path, "runs")
    assert (done.returncode, f"howsure.yaml: not readable as YAML: {words}" in done.stderr) == (2, True), done.stderr
    (tmp_path / "howsure.yaml").unlink()
    (tmp_path / "evals.yaml").write_text(text, "utf-8")
    done = howsure(tmp_path, "run", "cases.jsonl", "--evals", "evals.yaml")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


@pytest.mark.thorough
def test_a_database_that_is_none_or_damaged_is_no_bug_of_ours(folder: Path) -> None:
    assert howsure(folder, "run", "cases.jsonl", "--limit", "20").returncode == 0
    whole = (folder / ".howsure" / "howsure.db").read_bytes()
    (folder / "cut.db").write_bytes(whole[:9000])
    (folder / "folder.db").mkdir()
    for name, words in (("cut.db", "is damaged: `howsure db check`"), ("folder.db", "it is not a file")):
        done = howsure(folder, "runs", "--database", name)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr


async def test_a_damaged_row_and_a_dropped_table_are_named(folder: Path, database: str) -> None:
    made = howsure(folder, "run", "cases.jsonl", "--limit", "5", "--database", database)
    assert made.returncode == 0, made.stderr
    async with await Store.open(database) as store:
        run = await store.find_run("latest")
        await store._database.write(lambda it: it.execute(update(cases).values(body=b'{"bro')))
        with pytest.raises(DamagedRow, match=r"holds a row that cannot be read .*: `howsure db check` says what"):
            [case async for case in store.cases(run.id)]
    async with await Store.open(database) as store:
        await store._database.write(_drop_results)
    done = howsure(folder, "show", "latest", "--database", database)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "howsure db check" in done.stderr


def _drop_results(connection: Connection) -> None:
    with_it = " CASCADE" if connection.dialect.name == "postgresql" else ""
    connection.execute(text(f"DROP TABLE results{with_it}"))
