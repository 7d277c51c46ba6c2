"""Every command in this process: its exit code, what goes to stdout, what to stderr, and what it leaves behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from howsure.main import COMMANDS, program
from unit.services.places import house, lines, mcq

Run = Callable[..., Result]

PLUGIN = """
from pathlib import Path
from howsure.errors import BudgetReached
from howsure.targets.base import Reply, Stateless

class Moody:
    name = "moody"

    async def open(self, case):
        mood = Path("mood").read_text() if Path("mood").exists() else ""
        if case.id == "q2" and mood == "broken":
            raise ConnectionError("refused")
        if case.id == "q2" and mood == "poor":
            raise BudgetReached("2 USD are spent")
        return Stateless(lambda _: Reply.saying("A"))

def register(kit):
    kit.targets.add(Moody())
"""


@pytest.fixture
def howsure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    for name in ("HOWSURE_DATABASE_URL", "HOWSURE_JUDGE"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str) -> Result:
        return CliRunner().invoke(program, words)

    return run


@pytest.fixture
def moody(howsure: Run, tmp_path: Path) -> Callable[..., Result]:
    """`howsure COMMAND …` with a plug-in whose target has moods."""
    (tmp_path / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    house(tmp_path)

    def run(*words: str, mood: str = "") -> Result:
        (tmp_path / "mood").write_text(mood, encoding="utf-8")
        return howsure(*words, "--plugin", "plugin.py")

    return run


START = ("run", "house.jsonl", "--target", "moody", "--max-concurrency", "1")


def test_a_run_that_went_well_ends_with_0_and_says_what_it_did(moody: Run) -> None:
    done = moody(*START, "--name", "first")
    assert done.exit_code == 0, done.output
    assert "'first': 4 attempts; target moody" in done.stderr
    assert "judge: offline" in done.stderr
    assert "4 of 4: 4 passed" in done.stderr
    assert "100" in done.stdout


def test_quiet_prints_nothing_and_json_only_json(moody: Run) -> None:
    quiet = moody(*START, "--quiet")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (0, "", "")
    told = moody(*START, "--json")
    assert (json.loads(told.stdout)["passed"], told.stderr) == (4, "")


def test_an_errored_case_ends_with_3_and_a_retry_mends_it(moody: Run) -> None:
    assert moody(*START, "--quiet", mood="broken").exit_code == 3
    again = moody("retry", "--errors", "--json", mood="broken")
    assert (again.exit_code, json.loads(again.stdout)["errored"]) == (3, 1)
    mended = moody("retry", "latest", "--errors", "--json")
    assert (mended.exit_code, json.loads(mended.stdout)["passed"]) == (0, 4)
    nothing = moody("retry", "latest", "--errors")
    assert nothing.exit_code == 2
    assert "has no errored case to retry" in nothing.stderr


def test_a_reached_budget_ends_with_2_and_is_resumed_with_more(moody: Run) -> None:
    stopped = moody(*START, "--json", mood="poor")
    assert stopped.exit_code == 2
    told = json.loads(stopped.stdout)
    assert (told["passed"], told["skipped"]) == (3, 1)
    assert f"`howsure resume {told['run_id'][:8]} --budget MORE` goes on" in stopped.stderr
    done = moody("resume", "--json")
    assert (done.exit_code, json.loads(done.stdout)["passed"]) == (0, 4)
    complete = moody("resume")
    assert complete.exit_code == 2
    assert "is complete: there is nothing to resume" in complete.stderr


@pytest.mark.parametrize("words", [("resume",), ("retry", "--errors")])
def test_an_output_nobody_can_write_is_refused_before_the_run_goes_on(moody: Run, words: tuple[str, ...]) -> None:
    moody(*START, "--quiet", mood="broken")
    for output, told in (("r.docx", "the ending must be one of"), ("no/r.html", "there is no folder no")):
        refused = moody(*words, "--output", output)
        assert refused.exit_code == 2
        assert told in refused.stderr
    assert json.loads(moody("show", "--json").stdout)["errored"] == 1


def test_outputs_are_written_and_named(moody: Run, tmp_path: Path) -> None:
    done = moody(*START, "--quiet", "-o", "r.html", "-o", "r.csv")
    assert done.exit_code == 0
    assert done.stderr == "written: r.html\nwritten: r.csv\n"
    assert (tmp_path / "r.html").is_file()
    assert len((tmp_path / "r.csv").read_text(encoding="utf-8").splitlines()) == 5


def test_a_report_of_a_run_is_written_where_asked(moody: Run, tmp_path: Path) -> None:
    moody(*START, "--quiet", "--name", "first")
    assert moody("report").stderr == "written: report.html\n"
    assert moody("report", "first", "-o", "R.MD").exit_code == 0
    assert (tmp_path / "R.MD").read_text(encoding="utf-8").startswith("# first")
    assert moody("report", "nobody").exit_code == 2


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--candidate", "k\udcff"),
        ("--component-scope", "k\udcff"),
        ("--component-id", "k\udcff"),
        ("--state", "k:\udcff"),
    ],
)
def test_bytes_that_are_no_text_do_not_break_a_run(moody: Run, option: str, value: str) -> None:
    done = moody(*START, "--json", option, value)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["passed"] == 4


def test_show_tells_of_runs_and_cases_and_misses_what_is_not_there(moody: Run) -> None:
    moody(*START, "--quiet", "--name", "first", "--candidate", "juno")
    (shown,) = json.loads(moody("show", "first", "q1", "--json").stdout)
    assert (shown["test_case_id"], shown["candidate"], shown["verdict"]) == ("q1", "juno", "passed")
    assert "Question 1?" in moody("show", "first", "q1").stdout
    for words in (("first", "q9"), ("first", "q1", "--candidate", "nobody"), ("nobody",), ("first", "\udcff")):
        missed = moody("show", *words)
        assert (missed.exit_code, missed.stdout) == (2, "")
        assert missed.stderr.startswith("error: ")


def test_runs_are_listed_by_state_and_number(moody: Run) -> None:
    assert "No runs yet" in moody("runs").stdout
    assert json.loads(moody("runs", "--json").stdout) == []
    moody(*START, "--quiet", "--name", "first")
    moody(*START, "--quiet", "--name", "second", mood="poor")

    def names(*words: str) -> list[str]:
        return [each["name"] for each in json.loads(moody("runs", "--json", *words).stdout)]

    assert names() == ["second", "first"]
    assert names("--limit", "1") == ["second"]
    assert names("--state", "completed") == ["first"]
    assert names("--agent-id", "nobody") == []
    table = moody("runs").stdout
    assert "out_of_budget" in table
    assert table.index("second") < table.index("first")
    assert moody("runs", "--state", "asleep").exit_code == 2


def test_results_are_printed_in_one_of_three_ways(moody: Run) -> None:
    moody(*START, "--quiet", mood="broken")
    assert [each["verdict"] for each in json.loads(moody("results").stdout)] == [
        "passed",
        "errored",
        "passed",
        "passed",
    ]
    assert len(moody("results", "--ndjson", "--verdict", "passed").stdout.splitlines()) == 3
    assert len(moody("results", "--canonical").stdout.splitlines()) == 4
    both = moody("results", "--ndjson", "--canonical")
    assert (both.exit_code, both.stderr) == (2, "error: choose one of --json, --ndjson and --canonical\n")


def test_validate_tells_good_from_bad(howsure: Run, tmp_path: Path) -> None:
    house(tmp_path)
    good = howsure("validate", "house.jsonl")
    assert (good.exit_code, good.stdout) == (0, "house.jsonl (legal): 4 cases, valid\n")
    lines(tmp_path / "bad.jsonl", mcq(1, prompt=""), mcq(1))
    bad = howsure("validate", "bad.jsonl", "house.jsonl", "--json")
    assert bad.exit_code == 2
    told = json.loads(bad.stdout)
    assert told["valid"] is False
    assert [(each["path"], bool(each["problems"])) for each in told["files"]] == [
        ("bad.jsonl", True),
        ("house.jsonl", False),
    ]
    assert "not usable" in howsure("validate", "bad.jsonl").stdout
    assert howsure("validate", "nowhere.jsonl").stderr == "error: no such file: nowhere.jsonl\n"


def test_a_refused_dataset_says_in_which_file(howsure: Run, tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", mcq(1, prompt=""))
    lines(tmp_path / "b.jsonl", mcq(2, prompt=""))
    refused = howsure("run", "a.jsonl", "b.jsonl", "--json")
    assert refused.exit_code == 2
    problems = json.loads(refused.stdout)["problems"]
    assert [(Path(each["file"]).name, each["line"]) for each in problems] == [("a.jsonl", 1), ("b.jsonl", 1)]


def test_doctor_cache_and_schema_end_well(howsure: Run, tmp_path: Path) -> None:
    healthy = howsure("doctor")
    assert healthy.exit_code == 0
    assert all(line.startswith("ok   ") for line in healthy.stdout.splitlines())
    (tmp_path / "none.db").write_text("hello " * 100, encoding="utf-8")
    sick = howsure("doctor", "--database", "none.db")
    assert sick.exit_code == 2
    assert "BAD  database: " in sick.stdout
    empty: dict[str, Any] = json.loads(howsure("cache", "--clear", "--json").stdout)
    assert (empty["replies"], empty["bytes"], empty["forgotten"]) == (0, 0, 0)
    assert howsure("cache").stdout.startswith("0 replies, 0.0 MB in ")
    assert howsure("schema").stdout.split() == [
        "explain",
        "golden",
        "simulation",
        "test-set",
        "legal",
        "plain",
        "responses",
        "settings",
    ]
    assert howsure("schema", "klingon").exit_code == 2


@pytest.mark.parametrize(
    "command",
    sorted(set(COMMANDS) - {"audit", "judge", "label", "db", "keys", "demo", "init", "completion", "comment", "trust"}),
)
def test_wrong_settings_stop_every_command(howsure: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "howsure.yaml").write_text("colour: red\n", encoding="utf-8")
    words = {
        "run": ("x",),
        "import": ("x",),
        "export": ("--to", "junit", "-o", "y"),
        "validate": ("x",),
        "retry": ("--errors",),
        "plan": ("--difference", "5%"),
        "compare": ("x", "y"),
        "convert": ("x", "-o", "y"),
        "sample": ("x", "-n", "1", "-o", "y"),
        "split": ("x",),
        "rank": ("x",),
        "merge": ("x", "-o", "y"),
        "ci": ("x",),
        "erase": ("--user", "x"),
    }.get(command, ())
    done = howsure(command, *words)
    assert done.exit_code == 2
    assert "`colour` is not a setting" in done.stderr


def test_many_warnings_are_shortened(howsure: Run, tmp_path: Path) -> None:
    lines(tmp_path / "odd.jsonl", *(mcq(number, colour="red") for number in range(15)))
    said = lines(tmp_path / "r.jsonl", *({"case_id": f"q{number}", "response_text": "A"} for number in range(15)))
    done = howsure("run", "odd.jsonl", "--responses", said)
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 11
    assert warnings[-1] == "warning: … and 5 more (howsure validate shows all)"


def test_the_demo_prints_a_table_and_what_to_do_next(howsure: Run, tmp_path: Path) -> None:
    done = howsure("demo")
    assert done.exit_code == 0, done.output
    assert "What to try next:" in done.stdout
    assert str((tmp_path / ".howsure" / "demo" / "legal.html").resolve()) in done.stdout


def test_a_demo_that_cannot_write_says_so(howsure: Run, tmp_path: Path) -> None:
    (tmp_path / ".howsure").write_text("in the way", encoding="utf-8")
    done = howsure("demo", "--database", "runs.db")
    assert done.exit_code == 2
    assert "cannot be written" in done.stderr
