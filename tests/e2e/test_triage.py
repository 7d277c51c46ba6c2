"""`howsure triage`, from the command line: what it prints and writes, whom it asks, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import Howsure
from e2e.test_live_judge import Model, serving, words
from howsure.services.demo import DEMOS, demo_folder

RUN = ("triage", "demo test-set")


def run_demo(howsure: Howsure, dialect: str) -> None:
    """One of the demo's runs, under the name it has there."""
    demo = next(each for each in DEMOS if each.dialect == dialect)
    judged = words(demo, f"recorded:{demo_folder() / demo.judge}")
    assert howsure(*judged, "--name", f"demo {dialect}").code == 3


@pytest.fixture
def demo(howsure: Howsure) -> Howsure:
    run_demo(howsure, "test-set")
    return howsure


@pytest.fixture
def garbage() -> Iterator[Model]:
    with serving("garbage") as found:
        yield found


@pytest.fixture
def model() -> Iterator[Model]:
    with serving("good") as found:
        yield found


def test_the_failures_of_a_run_are_triaged_without_a_model(demo: Howsure) -> None:
    done = demo(*RUN)
    assert done.code == 0
    assert "12 results: 8 passed, 3 failed, 1 errored. Answerable: agent 3, judge 1." in done.out
    assert "Divergence: criteria fail, every rule holds" in done.out
    assert "Divergence: criteria hold, a rule fails" in done.out
    assert "No model was asked: the judge is offline." in done.out


def test_json_has_everything_and_every_claim_its_cases(demo: Howsure) -> None:
    found: dict[str, Any] = demo(*RUN, "--json").json
    assert [(each["priority"], each["party"], each["cause"], len(each["cases"])) for each in found["causes"]] == [
        ("P1", "judge", "judge_unreadable", 1),
        ("P2", "agent", "tool_not_called", 1),
        ("P2", "agent", "rule_broken", 1),
        ("P2", "agent", "criterion_unmet", 1),
    ]
    assert {each["split"]: each["case_name"] for each in found["divergences"]} == {
        "criteria_fail_rubric_pass": "Stock without looking",
        "criteria_pass_rubric_fail": "Neighbour's address",
    }
    assert all(group["cases"] for group in found["groups"])
    assert {finding["confidence"] for finding in found["findings"]} == {"certain", "likely"}
    assert found["written"]["judge"] == ""


def test_it_is_written_as_markdown(demo: Howsure, tmp_path: Path) -> None:
    done = demo(*RUN, "-o", "triage.md")
    assert (done.code, done.out) == (0, "")
    assert "written: triage.md" in done.err
    assert (tmp_path / "triage.md").read_text(encoding="utf-8").startswith("# Triage of demo test-set\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*RUN, "-o", "triage.html"), "the ending must be .md"),
        ((*RUN, "-o", "nowhere/triage.md"), "there is no folder nowhere"),
        (("triage", "no such run"), "no such run"),
        ((*RUN, "--judge", "panel"), "a panel cannot write one report"),
        ((*RUN, "--judge", "recorded:none.jsonl"), "no such recording"),
        ((*RUN, "--judge", "nobody:x"), "nobody"),
    ],
)
def test_what_the_user_must_mend_is_said_without_a_traceback(
    demo: Howsure, words: tuple[str, ...], message: str
) -> None:
    done = demo(*words)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_live_judge_is_asked_once_recorded_and_replayed(demo: Howsure, model: Model, tmp_path: Path) -> None:
    """The model of this test cites no case: its claim is left out, and that is said."""
    live = demo(*RUN, "--judge", model.spec, "--record-judge", "judge.jsonl", "--json")
    assert live.code == 0
    assert live.json["written"]["judge"] == model.spec
    assert (live.json["written"]["claims"], live.json["written"]["dropped"]) == ([], 1)
    assert model.calls == 1
    (line,) = (tmp_path / "judge.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["grader"] == "triage"
    again = demo(*RUN, "--judge", "recorded:judge.jsonl", "--json")
    assert again.json["written"]["summary"] == live.json["written"]["summary"]
    assert model.calls == 1


def test_a_recording_with_a_claim_is_shown_with_its_cases(demo: Howsure, model: Model, tmp_path: Path) -> None:
    demo(*RUN, "--judge", model.spec, "--record-judge", "judge.jsonl", "--json")
    file = tmp_path / "judge.jsonl"
    line = json.loads(file.read_text(encoding="utf-8"))
    case = "c6ebcf36-ee61-5ed9-9b29-0c0e1e3a7e19"
    claim = {"title": "Guesses", "party": "agent", "explanation": "No look.", "fix": "Look.", "cases": [case]}
    line["reply"] = {"summary": "It guesses.", "claims": [claim, {**claim, "cases": ["made-up"]}]}
    file.write_text(json.dumps(line), encoding="utf-8")
    shown = demo(*RUN, "--judge", "recorded:judge.jsonl")
    assert shown.code == 0
    assert f"Cases: {case}" in shown.out
    assert "1 claim of the judge left out" in shown.out
    assert "made-up" in shown.out


def test_a_judge_that_cannot_be_read_leaves_the_triage_and_ends_with_3(demo: Howsure, garbage: Model) -> None:
    done = demo(*RUN, "--judge", garbage.spec)
    assert done.code == 3
    assert "A standing rule was broken" in done.out
    assert "There is no written report" in done.out


def test_the_judge_of_the_settings_writes_too(demo: Howsure, model: Model, tmp_path: Path) -> None:
    (tmp_path / "howsure.yaml").write_text(f"judge: {model.spec}\n", encoding="utf-8")
    assert demo(*RUN, "--json").json["written"]["judge"] == model.spec
    assert demo(*RUN, "--judge", "offline", "--json").json["written"]["judge"] == ""


def test_another_run_in_the_same_words_is_another_question(demo: Howsure, model: Model) -> None:
    demo(*RUN, "--judge", model.spec, "--record-judge", "judge.jsonl", "--json")
    run_demo(demo, "legal")
    done = demo("triage", "demo legal", "--judge", "recorded:judge.jsonl")
    assert done.code == 3
    assert "the recording has no reply" in done.out.replace("\n", " ")
