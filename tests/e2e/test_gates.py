"""Gates as a user meets them: on the command line, in howsure.yaml, in reports; and how the program ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from house import lines, mcq

Howsure = Callable[..., Any]
SAID = {"p": {"response_text": "A"}, "f": {"response_text": "Answer: B"}, "e": {"error": "the line went dead"}}


@pytest.fixture
def run(howsure: Howsure, tmp_path: Path) -> Howsure:
    """`run("ppf", "--gate", …)`: a run whose cases pass, fail and err as the letters say."""

    def started(letters: str, *words: str | Path, repeat: int = 1) -> Any:
        dataset = lines(tmp_path / "house.jsonl", *(mcq(number) for number in range(1, len(letters) + 1)))
        said = (
            {"case_id": f"q{number}", "repeat": again, **SAID[each]}
            for number, each in enumerate(letters, 1)
            for again in range(1, repeat + 1)
        )
        answers = lines(tmp_path / "said.jsonl", *said)
        return howsure("run", dataset, "--responses", answers, "--repeat", str(repeat), *words)

    return started


@pytest.mark.parametrize(
    ("letters", "gates", "code"),
    [
        ("p" * 50, ["pass_rate >= 0.9"], 0),
        ("p" * 30 + "f" * 20, ["pass_rate >= 0.9"], 100),
        ("p" * 10, ["pass_rate >= 0.9"], 101),
        ("p" * 50, ["pass_rate >= 0.9", "errors <= 0", "cost <= 1 USD"], 0),
        ("p" * 50, ["pass_rate >= 0.9", "pass_rate >= 0.99"], 101),
        ("p" * 30 + "f" * 20, ["pass_rate >= 0.59", "pass_rate >= 0.9"], 100),
        ("p" * 49 + "e", ["pass_rate >= 0.8"], 3),
        ("p" * 49 + "e", ["errors <= 0"], 100),
        ("p" * 49 + "e", ["pass_rate >= 0.99"], 101),
        ("p" * 49 + "e", [], 3),
    ],
    ids=["held", "failed", "inconclusive", "all held", "one inconclusive", "failed before inconclusive",
         "held, but a case errored", "failed before errored", "inconclusive before errored", "no gate, errored"],
)  # fmt: skip
def test_a_run_ends_as_its_gates_say(run: Howsure, letters: str, gates: list[str], code: int) -> None:
    words = [word for gate in gates for word in ("--gate", gate)]
    done = run(letters, *words)
    assert done.code == code, done.err
    assert "Traceback" not in done.err


def test_a_gate_is_told_in_a_sentence_and_in_json(run: Howsure, howsure: Howsure) -> None:
    done = run("p" * 19 + "f", "--gate", "pass_rate >= 0.9", "--json")
    assert done.code == 101
    (gate,) = done.json["gates"]
    assert (gate["expression"], gate["outcome"], gate["value"], gate["n"]) == (
        "pass_rate >= 0.9",
        "inconclusive",
        0.95,
        20,
    )
    assert gate["needed_cases"] == 211
    shown = howsure("show", "latest")
    assert shown.code == 0
    assert "inconclusive  pass_rate >= 0.9" in shown.out
    assert howsure("show", "latest", "--json").json["gates"] == [gate]
    assert howsure("runs", "--json").json[0]["gates"] == [gate]


@pytest.mark.parametrize("ending", [".html", ".md", ".json"])
def test_every_report_tells_what_came_of_the_gates(run: Howsure, howsure: Howsure, tmp_path: Path, ending: str) -> None:
    at_once, later = tmp_path / f"once{ending}", tmp_path / f"later{ending}"
    assert run("p" * 50, "--gate", "pass_rate >= 0.9", "--output", at_once).code == 0
    assert howsure("report", "latest", "--output", later).code == 0
    for path in (at_once, later):
        assert "held" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["pass_rate >= 0.8"], 0),
        (["pass_rate >= 99%"], 100),
        (["pass_rate >= 0.9"], 101),
        (["pass_rate[choice] >= 0.8", "mean[choice] >= 0.8", "pass_rate[dataset:house] >= 0.8"], 0),
        (["p95_latency <= 3s"], 101),
        (["rule:SAFETY all"], 101),
    ],
)
def test_a_stored_run_can_be_held_to_other_gates(run: Howsure, howsure: Howsure, words: list[str], code: int) -> None:
    assert run("p" * 91 + "f" * 7).code == 0
    done = howsure("gate", "latest", *(word for gate in words for word in ("--gate", gate)))
    assert done.code == code, done.out
    assert words[0] in done.out


def test_without_a_gate_the_runs_own_are_decided_again(run: Howsure, howsure: Howsure, tmp_path: Path) -> None:
    run("p" * 50, "--gate", "errors <= 0", "--name", "own")
    assert howsure("gate", "own", "--json").json["gates"][0]["expression"] == "errors <= 0"
    run("p" * 50, "--name", "bare")
    bare = howsure("gate", "bare")
    assert bare.code == 2
    assert "--gate 'pass_rate >= 0.9'" in bare.err
    (tmp_path / "howsure.yaml").write_text("gates: ['errors <= 1']\n", encoding="utf-8")
    assert howsure("gate", "bare", "--json").json["gates"][0]["expression"] == "errors <= 1"


def test_gates_of_the_settings_hold_with_those_of_the_command_line(run: Howsure, tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text("gates:\n  - pass_rate >= 0.8\n  - errors <= 0\n", encoding="utf-8")
    done = run("p" * 50, "--gate", "cost <= 1 USD", "--json")
    assert done.code == 0
    assert [gate["expression"] for gate in done.json["gates"]] == ["pass_rate >= 0.8", "errors <= 0", "cost <= 1 USD"]


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        ("pass_rat >= 0.9", "column 1: 'pass_rat' is nothing a gate can look at; did you mean pass_rate"),
        ("pass_rate >= 90", "column 14: expected a share from 0 to 1 or from 0% to 100%, found 90; did you mean 90%?"),
        ("p95_latency <= 3", "column 17: expected a unit of time after the number"),
    ],
)
def test_a_gate_that_cannot_be_read_is_refused_before_the_run(
    run: Howsure, howsure: Howsure, tmp_path: Path, gate: str, told: str
) -> None:
    done = run("p", "--gate", gate)
    assert done.code == 2
    assert told in done.err
    (tmp_path / "howsure.yaml").write_text(f"gates: ['{gate}']\n", encoding="utf-8")
    again = run("p")
    assert again.code == 2
    assert told in again.err
    assert howsure("runs", "--json").json == []


def test_a_run_is_held_against_an_earlier_one(run: Howsure) -> None:
    gate = ("--gate", "no_regression vs main by 2%")
    assert run("p" * 190 + "f" * 10, "--name", "main", *gate).code == 101
    assert run("p" * 190 + "f" * 10, "--name", "same", *gate).code == 0
    assert run("p" * 150 + "f" * 50, "--name", "worse", *gate).code == 100
    assert run("p" * 150 + "f" * 50, "--gate", "no_regression vs latest by 2%").code == 0


def test_repeats_are_needed_for_gates_about_repeats(run: Howsure) -> None:
    assert run("p" * 30, "--gate", "pass^2 >= 0.8").code == 101
    assert run("p" * 30, "--gate", "pass^2 >= 0.8", "--gate", "pass@2 >= 0.8", repeat=2).code == 0


def test_retry_holds_the_run_to_its_gates_again(run: Howsure, howsure: Howsure) -> None:
    assert run("p" * 49 + "e", "--gate", "errors <= 0").code == 100
    again = howsure("retry", "latest", "--errors", "--gate", "pass_rate >= 0.8", "--json")
    assert again.code == 100
    assert [gate["outcome"] for gate in again.json["gates"]] == ["failed", "held"]


def test_a_run_without_a_gate_imports_no_statistics(howsure: Howsure, run: Howsure, tmp_path: Path) -> None:
    run("p")
    program = (
        "import sys\n"
        "from howsure.main import program\n"
        "try:\n    program(['run', 'house.jsonl', '--responses', 'said.jsonl', '--quiet'])\n"
        "except SystemExit as ended:\n"
        "    print(ended.code, [name for name in ('numpy', 'scipy') if name in sys.modules])\n"
    )
    assert in_a_process(program, tmp_path) == "0 []\n"


def in_a_process(program: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


def test_a_plan_says_how_many_cases_in_a_sentence(howsure: Howsure, run: Howsure) -> None:
    done = howsure("plan", "--difference", "5%", "--rate", "0.8")
    assert done.code == 0
    assert "1,131 cases" in done.out.replace("\n", " ")
    run("p" * 80 + "f" * 20, repeat=2)
    learned = howsure("plan", "--difference", "5%", "--paired", "--from", "latest", "--json").json
    assert (learned["rate"], learned["cases"], learned["assumed"]) == (0.8, 100, [])
    assert [size["repeats"] for size in learned["sizes"]] == [1, 2, 3, 5]
    assert learned["sentence"].startswith("To see a difference of 5 points with a chance of 80%, on the same cases")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "--difference"),
        (["--difference", "much"], "expects a share such as 5% or 0.05"),
        (["--difference", "5"], "--difference lies between 0 and 1"),
        (["--difference", "5%", "--repeats", "a"], "expects whole numbers such as 1,3,5"),
        (["--difference", "5%", "--from", "nobody"], "there is no"),
    ],
)
def test_a_plan_that_cannot_be_made_is_explained(howsure: Howsure, words: list[str], told: str) -> None:
    done = howsure("plan", *words)
    assert done.code == 2
    assert told in done.err


def test_a_trend_shows_where_the_rate_changed(howsure: Howsure, run: Howsure) -> None:
    for letters in ("p" * 60, "p" * 59 + "f", "p" * 60, "p" * 59 + "f", "p" * 40 + "f" * 20):
        assert run(letters, "--name", "nightly").code == 0
    done = howsure("trend", "nightly")
    assert done.code == 0
    assert "It fell from 99.2 % to 66.7 %" in done.out.replace("\n", " ")
    found = howsure("trend", "--dataset", "house.jsonl", "--json").json
    assert [turning["index"] for turning in found["lines"][0]["turnings"]] == [4]
    missing = howsure("trend", "nobody")
    assert missing.code == 2
    assert "there is no run of the agent or run name 'nobody'" in missing.err
