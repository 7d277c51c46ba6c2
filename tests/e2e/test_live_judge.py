"""A live judge, from the command line to the model server and back: cached, recorded, budgeted, never guessed at."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import explain, write_rows
from e2e.model_server import application
from howsure.dialects.explain_rows import PAYLOADS, payload_of
from howsure.services.demo import DEMOS, Demo, demo_folder
from listening import in_a_thread

Howsure = Callable[..., Any]


class Model:
    """A running model server."""

    def __init__(self, address: str) -> None:
        self.base = f"{address}/v1"
        self.spec = f"openai-compatible:judge-1@{self.base}"

    @property
    def calls(self) -> int:
        with urllib.request.urlopen(self.base.replace("/v1", "/count")) as answer:
            return int(json.load(answer)["calls"])


@contextmanager
def serving(mood: str) -> Iterator[Model]:
    with in_a_thread(application(mood)) as address:
        yield Model(address)


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    with serving(getattr(request, "param", "good")) as found:
        yield found


def words(demo: Demo, judge: str) -> list[str | Path]:
    base = demo_folder()
    said: list[str | Path] = ["run", base / demo.dataset, "--judge", judge]
    for option, value in (("responses", demo.responses), ("rubric", demo.rubric), ("agent", demo.agent)):
        if value:
            said += [f"--{option}", base / value]
    return said


def demo(dialect: str) -> Demo:
    return next(each for each in DEMOS if each.dialect == dialect)


@pytest.mark.parametrize("dialect", ["explain", "test-set", "legal"])
def test_every_world_is_judged_live_and_replays_from_its_recording(
    howsure: Howsure, model: Model, tmp_path: Path, dialect: str
) -> None:
    replies = tmp_path / "replies.jsonl"
    live = howsure(*words(demo(dialect), model.spec), "--record-judge", replies, "--name", "live", "--json")
    assert live.code in (0, 3), live.err
    assert live.json["passed"] > 0
    replayed = howsure(*words(demo(dialect), f"recorded:{replies}"), "--name", "replayed", "--json")
    assert replayed.code == live.code, replayed.err
    exports = [howsure("results", name, "--canonical").out for name in ("live", "replayed")]
    assert exports[0] == exports[1]


@pytest.mark.parametrize(("rendering", "calls"), [("as_is", 16), ("readable", 9)])
def test_a_plan_of_8_weeks_and_one_of_52_are_two_answers_to_every_judge(
    howsure: Howsure, model: Model, tmp_path: Path, rendering: str, calls: int
) -> None:
    """Eight evals, two answers that differ in numbers and links alone; one judge sees all of a readable answer too."""
    evals = [name for name in PAYLOADS if name != "ToolCallAccuracyExplain"]
    rows = []
    for number, weeks in enumerate((8, 52), start=1):
        plan = {"text": "Read one unit each evening.", "durationWeeks": weeks, "url": f"https://x.example/{weeks}"}
        row = explain(number, model_answer=json.dumps(plan), task_goal="Plan 8 weeks.", required_evals=evals)
        rows.append({**row, "explain_inputs": {name: payload_of(name, row) for name in evals}})
    data = write_rows(tmp_path / "plans.jsonl", rows)
    (tmp_path / "howsure.yaml").write_text(f"answer_rendering: {rendering}\n", encoding="utf-8")
    ran = howsure("run", data, "--judge", model.spec, "--max-concurrency", "1", "--json")
    assert ran.code in (0, 3), ran.err
    assert model.calls == calls


@pytest.mark.parametrize("dialect", ["test-set", "legal"])
def test_batches_are_judged_in_fewer_calls_and_replay_as_any_recording(
    howsure: Howsure, model: Model, tmp_path: Path, dialect: str
) -> None:
    replies = tmp_path / "replies.jsonl"
    howsure(*words(demo(dialect), model.spec), "--name", "singly", "--json")
    singly = model.calls
    live = howsure(
        *words(demo(dialect), model.spec), "--batch-criteria", "--record-judge", replies, "--name", "batched", "--json"
    )
    assert live.code in (0, 3), live.err
    assert live.json["passed"] > 0
    assert model.calls - singly < singly / 2
    # A recording of batches is one of single verdicts: a replay need not know how they were asked for.
    replayed = howsure(*words(demo(dialect), f"recorded:{replies}"), "--name", "replayed", "--json")
    assert replayed.code == live.code, replayed.err
    exports = [howsure("results", name, "--canonical").out for name in ("batched", "replayed")]
    assert exports[0] == exports[1]


def test_the_golden_judged_graders_run_when_they_are_asked_for(howsure: Howsure, model: Model) -> None:
    asked = "response_correctness,capability_honesty,general_quality,trajectory_accuracy_judged"
    done = howsure(*words(demo("golden"), model.spec), "--graders", asked, "--json")
    assert done.code in (0, 3), done.err
    graded = {each["name"]: each["scored"] for each in done.json["graders"]}
    assert set(graded) == set(asked.split(","))
    assert all(graded.values())


def test_a_second_run_asks_nothing_and_without_the_cache_asks_again(howsure: Howsure, model: Model) -> None:
    howsure(*words(demo("explain"), model.spec), "--quiet")
    first = model.calls
    assert first > 0
    howsure(*words(demo("explain"), model.spec), "--quiet")
    assert model.calls == first
    howsure(*words(demo("explain"), model.spec), "--no-cache", "--quiet")
    assert model.calls == 2 * first
    held = howsure("cache", "--json").json
    assert held["replies"] == first
    assert howsure("cache", "--clear", "--json").json["forgotten"] == first


@pytest.mark.parametrize("model", ["garbage"], indirect=True)
def test_a_judge_that_talks_nonsense_errors_every_case_and_the_run_ends(howsure: Howsure, model: Model) -> None:
    done = howsure(*words(demo("explain"), model.spec), "--json")
    assert done.code == 3, done.err
    assert done.json["passed"] == 0
    assert done.json["errored"] + done.json["failed"] == done.json["total"]
    errored = howsure("results", "--verdict", "errored").json
    assert all("no idea" in json.dumps(each, ensure_ascii=False) for each in errored)
    # What is tried again is asked again: the cache has the nonsense.
    first = model.calls
    howsure("retry", "latest", "--errors", "--quiet")
    assert model.calls > first


@pytest.mark.parametrize("model", ["flaky"], indirect=True)
def test_a_server_that_fails_now_and_then_loses_no_case(howsure: Howsure, model: Model) -> None:
    done = howsure(*words(demo("test-set"), model.spec), "--json")
    assert done.code == 0, done.err
    assert (done.json["completed"], done.json["errored"]) == (12, 0)


def test_a_budget_ends_the_run_and_more_of_it_goes_on(howsure: Howsure, model: Model) -> None:
    done = howsure(*words(demo("explain"), model.spec), "--budget", "2ktok", "--max-concurrency", "1", "--json")
    assert done.code == 2, done.err
    assert done.json["state"] == "out_of_budget"
    assert done.json["skipped"] > 0
    assert done.json["completed"] == done.json["total"]
    before = model.calls
    # 120 tokens a call: the seventeenth reaches 2,000; with one case at a time few are in flight.
    assert 17 <= before <= 17 + 9
    skipped = howsure("results", "--verdict", "skipped").json
    assert all(each["reasons"][0].startswith("budget: ") for each in skipped)
    again = howsure("resume", "latest", "--budget", "1Mtok", "--json")
    assert again.code == 0, again.err
    assert (again.json["state"], again.json["skipped"]) == ("completed", 0)
    whole = model.calls
    fresh = howsure(*words(demo("explain"), model.spec), "--no-cache", "--json")
    assert fresh.json["passed"] == again.json["passed"]
    assert model.calls - whole == whole, "the resumed run repeated calls"


COUNTING_BOT = """
from pathlib import Path

def answer(text):
    with Path("asked.txt").open("a") as file:
        file.write(text + "\\n")
    return "You said " + text
"""


def test_a_bot_is_not_asked_what_the_budget_leaves_ungraded(howsure: Howsure, model: Model, tmp_path: Path) -> None:
    (tmp_path / "counting_bot.py").write_text(COUNTING_BOT, encoding="utf-8")
    rows = [
        {"schema_version": "legal_eval_v1", "id": f"q{number}", "dataset": "house", "task_type": "reference_qa",
         "prompt": f"question {number}", "reference_answers": ["yes"]}
        for number in range(1, 9)
    ]  # fmt: skip
    dataset = write_rows(tmp_path / "questions.jsonl", rows)
    asked = tmp_path / "asked.txt"
    target = ["--target", "function:counting_bot.py:answer", "--max-concurrency", "1"]
    done = howsure("run", dataset, *target, "--judge", model.spec, "--budget", "300tok", "--json")
    assert (done.code, done.json["state"]) == (2, "out_of_budget"), done.err
    skipped = [each["test_case_id"] for each in howsure("results", "--verdict", "skipped").json]
    # 120 tokens a call: the third reaches 300.
    assert skipped == ["q4", "q5", "q6", "q7", "q8"]
    assert asked.read_text(encoding="utf-8").splitlines() == ["question 1", "question 2", "question 3"]
    again = howsure("resume", "latest", "--budget", "1Mtok", "--json")
    assert (again.code, again.json["state"]) in ((0, "completed"), (3, "completed")), again.err
    assert len(asked.read_text(encoding="utf-8").splitlines()) == 8, "each was asked once"


MARKED = "sk-marked-0123456789-do-not-leak"


def test_no_key_appears_anywhere(howsure: Howsure, model: Model, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    env = {"OPENAI_API_KEY": MARKED, "OPENAI_BASE_URL": model.base}
    run = words(demo("explain"), "openai:judge-1")
    options = ["--record-judge", "replies.jsonl", "--trace", "trace.jsonl"]
    outputs = [word for ending in ("html", "md", "csv", "jsonl", "json") for word in ("--output", f"report.{ending}")]
    done = howsure(*run, *options, *outputs, cwd=place, env=env)
    assert done.code in (0, 3), done.err
    nobody = {**env, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    broken = howsure(*run, "--no-cache", "--limit", "1", "--budget", "1s", cwd=place, env=nobody)
    for text in (done.out, done.err, broken.out, broken.err):
        assert MARKED not in text
    files = [path for path in place.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"howsure.db", "replies.db", "replies.jsonl", "trace.jsonl", "report.html"}
    assert [path.name for path in files if MARKED.encode() in path.read_bytes()] == []
    assert (place / "trace.jsonl").read_text(encoding="utf-8").count("\n") > 10


def test_a_key_alone_never_selects_a_judge_that_costs_money(howsure: Howsure, model: Model) -> None:
    env = {"OPENAI_API_KEY": MARKED, "OPENAI_BASE_URL": model.base}
    done = howsure("run", demo_folder() / demo("explain").dataset, "--json", env=env)
    assert done.json["judge"] == "offline"
    assert model.calls == 0
