"""Runs that stop when they are sure: as a user starts them, kills them, goes on with them and reads about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from house import lines, mcq
from howsure.stats.confidence_sequences import first_decision

Howsure = Callable[..., Any]
SAID = {"p": {"response_text": "A"}, "f": {"response_text": "Answer: B"}, "e": {"error": "the line went dead"}}


@pytest.fixture
def run(howsure: Howsure, tmp_path: Path) -> Howsure:
    """`run("ppf", "pass_rate >= 0.9")`: a run whose cases pass, fail and err as the letters say, one at a time."""

    def started(letters: str, gate: str, *words: str | Path, repeat: int = 1) -> Any:
        dataset = lines(tmp_path / "house.jsonl", *(mcq(number) for number in range(1, len(letters) + 1)))
        said = (
            {"case_id": f"q{number}", "repeat": again, **SAID[each]}
            for number, each in enumerate(letters, 1)
            for again in range(1, repeat + 1)
        )
        answers = lines(tmp_path / "said.jsonl", *said)
        sure = ("--until-sure", gate) if gate else ()
        words = (*sure, "--repeat", str(repeat), "--max-concurrency", "1", "--json", *words)
        return howsure("run", dataset, "--responses", answers, *words)

    return started


@pytest.mark.parametrize(
    ("letters", "gate", "code", "outcome", "looks"),
    [
        ("p" * 60, "pass_rate >= 0.9", 0, "held", [46, 60]),
        ("f" * 60, "pass_rate >= 0.9", 100, "failed", [2, 60]),
        ("p" * 60, "pass_rate <= 0.1", 100, "failed", [2, 60]),
        ("p" * 20, "pass_rate >= 0.9", 101, "inconclusive", [20, 20]),
        ("p" * 100 + "e" * 40, "pass_rate >= 0.9", 101, "inconclusive", [140, 140]),
        ("e" * 60, "pass_rate >= 0.9", 101, "inconclusive", [60, 60]),
        ("p" * 60, "mean[choice] >= 0.9", 0, "held", [46, 60]),
    ],
    ids=["held", "failed", "failed downwards", "too few", "errors count for neither side", "nothing known", "a mean"],
)
def test_a_run_stops_when_it_is_sure(
    run: Howsure, letters: str, gate: str, code: int, outcome: str, looks: list[int]
) -> None:
    done = run(letters, gate)
    assert done.code == code, done.err
    ruling = done.json["gates"][0]
    assert (ruling["outcome"], ruling["looks"]) == (outcome, looks)
    asked = done.json["passed"] + done.json["failed"] + done.json["errored"]
    assert (asked, done.json["skipped"], done.json["pending"]) == (looks[0], looks[1] - looks[0], 0)
    assert done.json["stopped_early"] is (outcome != "inconclusive")


def test_a_case_that_is_tried_three_times_is_one_look(run: Howsure) -> None:
    done = run("p" * 60, "pass_rate >= 0.9", repeat=3)
    assert (done.json["gates"][0]["looks"], done.json["passed"]) == ([46, 60], 3 * 46)
    done = run("p" * 60, "pass^3 >= 0.9", repeat=3)
    assert (done.json["gates"][0]["looks"], done.json["passed"]) == ([46, 60], 3 * 46)


def test_the_order_is_random_and_follows_from_the_pinned_seed(run: Howsure, howsure: Howsure) -> None:
    letters = "".join(Random(1).choices("ppf", k=200))
    done = run(letters, "pass_rate >= 0.5")
    order = [(place,) for place in range(200)]
    Random(done.json["order_seed"]).shuffle(order)
    values = [float(letters[place] == "p") for (place,) in order]
    found = first_decision(values, values, 0.5)
    assert found is not None
    assert done.json["gates"][0]["looks"] == [found.look, 200]
    asked = [line for line in howsure("results", "latest", "--json").json if line["verdict"] != "skipped"]
    assert {int(each["test_case_id"][1:]) - 1 for each in asked} == {place for (place,) in order[: found.look]}


def test_what_was_not_asked_is_told_everywhere_and_counts_for_nothing(
    run: Howsure, howsure: Howsure, tmp_path: Path
) -> None:
    done = run("p" * 60, "pass_rate >= 0.9", "--gate", "pass_rate >= 0.8", "--gate", "errors <= 0")
    sure, fixed, errors = done.json["gates"]
    assert (fixed["n"], fixed["unjudged"], fixed["outcome"], errors["n"]) == (46, 0, "held", 46)
    assert fixed["reason"].endswith("the run stopped because of what it saw.")
    assert sure["interval"] == pytest.approx([0.90154, 1.0], abs=1e-5)
    told = "Sure after 46 of 60 cases: pass_rate >= 0.9 held (90–100 % at every look)."
    assert told in done.json["sentence"]
    shown = " ".join(howsure("show", "latest").out.split())
    assert told in shown
    assert "Stopped early: 14 of 60 attempts were not asked." in shown
    report = tmp_path / "report.html"
    assert howsure("report", "latest", "--output", report).code == 0
    assert "Sure after 46 of 60 cases" in report.read_text(encoding="utf-8")
    unasked = [each for each in howsure("results", "latest", "--json").json if each["verdict"] == "skipped"]
    assert {each["reasons"][0] for each in unasked} == {"decided early: sure after 46 of 60 cases"}


def test_somebody_may_ask_the_others_later_and_the_ruling_stays(run: Howsure, howsure: Howsure) -> None:
    before = run("p" * 60, "pass_rate >= 0.9").json
    after = howsure("resume", "latest", "--json")
    assert (after.code, after.json["passed"], after.json["skipped"]) == (0, 60, 0)
    assert after.json["gates"] == before["gates"]
    assert after.json["order_seed"] == before["order_seed"]
    assert howsure("resume", "latest").code == 2
    fixed = howsure("gate", "latest", "--gate", "pass_rate >= 0.9", "--json").json["gates"][0]
    assert (fixed["n"], fixed["outcome"], "looks" in fixed) == (60, "held", False)


def test_any_stored_run_can_be_ruled_on_as_if_somebody_had_looked_after_every_case(
    run: Howsure, howsure: Howsure
) -> None:
    run("p" * 60, "")
    done = howsure("gate", "latest", "--anytime", "--gate", "pass_rate >= 0.9", "--json")
    assert (done.code, done.json["gates"][0]["looks"]) == (0, [46, 60])
    refused = howsure("gate", "latest", "--anytime", "--gate", "p95_latency <= 3s")
    assert (refused.code, "found a latency" in refused.err) == (2, True)


def test_a_difference_is_looked_at_pair_by_pair_in_the_order_of_the_earlier_run(run: Howsure) -> None:
    base = run("p" * 60, "pass_rate >= 0.9", "--name", "main").json
    done = run("f" * 60, "no_regression vs main by 5%")
    assert (done.code, done.json["order_seed"]) == (100, base["order_seed"])
    looked, cases = done.json["gates"][0]["looks"]
    assert (cases, done.json["failed"]) == (60, looked)
    assert looked < 20
    assert done.json["gates"][0]["value"] == -1


@pytest.mark.parametrize(
    ("gate", "found"),
    [
        ("p95_latency <= 3s", "a latency"),
        ("cost <= 2 USD", "spending"),
        ("tokens_per_case <= 2k", "spending"),
        ("errors <= 1%", "counted over all cases"),
        ("rule:SAFETY all", "counted over all cases"),
        ("pass_rate[rule:SAFETY] >= 0.9", "the checks of a rule"),
        ("pass_rate >= 1", "always holds"),
        ("pass_rate >= much", "expected a share"),
    ],
)
def test_what_cannot_be_decided_by_looking_is_refused_by_name(run: Howsure, gate: str, found: str) -> None:
    done = run("p", gate)
    assert (done.code, found in done.err) == (2, True), done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("gate", "found"),
    [
        ("mean[nobody] >= 0.5", "they have choice"),
        ("mean[choice] >= 4", "expected a limit inside the one scale of choice"),
    ],
)
def test_what_shows_only_while_it_runs_ends_the_run_before_all_is_paid_for(
    run: Howsure, howsure: Howsure, gate: str, found: str
) -> None:
    done = run("p" * 200, gate)
    assert (done.code, json.loads(done.out)["error"]) == (2, "PlanRefused")
    assert found in json.loads(done.out)["detail"]
    shown = howsure("show", "latest", "--json").json
    assert (shown["state"], shown["completed"] < 60) == ("failed", True)


DYING_BOT = """
import os
import re
import time
from pathlib import Path

asked = Path("asked.txt")


def answer(text):
    with asked.open("a") as file:
        file.write(text + "\\n")
    time.sleep(0.05)
    if not Path("alive").exists() and len(asked.read_text().splitlines()) >= 16:
        Path("alive").touch()
        os.kill(os.getpid(), 9)
    return "yes" if int(re.search("[0-9]+", text)[0]) % 10 else "no"
"""


@pytest.mark.thorough
def test_a_run_that_is_killed_decides_as_one_that_is_not(howsure: Howsure, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(DYING_BOT)
    rows = [{"id": f"c{number}", "input": f"Case {number}", "expected": "yes"} for number in range(300)]
    dataset = lines(tmp_path / "cases.jsonl", *rows)
    words = ["--match", "exact", "--target", "function:bot.py:answer", "--max-concurrency", "2", "--trust", "--quiet"]
    assert howsure("run", dataset, *words, "--until-sure", "pass_rate >= 0.75", alone=True).code == -9
    killed = howsure("show", "latest", "--json").json
    assert (killed["state"], killed["gates"][0]["outcome"]) == ("interrupted", "inconclusive")
    assert 0 < killed["completed"] < 18
    done = howsure("resume", "latest", "--trust", "--json", alone=True)
    order = [(place,) for place in range(300)]
    Random(killed["order_seed"]).shuffle(order)
    values = [float(place % 10 > 0) for (place,) in order]
    found = first_decision(values, values, 0.75)
    assert found is not None
    ruling = json.loads(done.out)["gates"][0]
    assert (ruling["outcome"], ruling["looks"]) == ("held", [found.look, 300])
    assert ruling["value"] == pytest.approx(sum(values[: found.look]) / found.look)
