"""`howsure judge drift`: a judge that became stricter is told apart from an agent that became better."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import reference_qa
from house import asked_and_answered, lines

Howsure = Callable[..., Any]
CASES = 80


def judge(folder: Path, name: str, **passing: int) -> str:
    """A recording that passes the first cases of each candidate."""
    replies = [
        {
            "case_id": f"q{number}",
            "candidate": candidate,
            "grader": "reference_answer",
            "reply": {"score": 1.0 if number < count else 0.0},
        }
        for candidate, count in passing.items()
        for number in range(CASES)
    ]
    return f"recorded:{lines(folder / f'{name}.jsonl', *replies)}"


@pytest.fixture
def run(howsure: Howsure, tmp_path: Path) -> Callable[..., None]:
    def made(candidate: str, spec: str, *words: str) -> None:
        questions = [reference_qa(f"q{number}", prompt=f"Question {number}?") for number in range(CASES)]
        answers = [
            {"case_id": f"q{number}", "candidate_name": candidate, "response_text": f"By {candidate}."}
            for number in range(CASES)
        ]
        (tmp_path / candidate).mkdir()
        asked, said = asked_and_answered(tmp_path / candidate, questions, answers)
        done = howsure("run", asked, "--responses", said, "--judge", spec, "--name", candidate, "--quiet", *words)
        assert done.code == 0, done.err

    return made


def test_a_stricter_judge_and_a_better_agent_look_like_no_change_at_all(
    howsure: Howsure, tmp_path: Path, run: Callable[..., None]
) -> None:
    run("old", judge(tmp_path, "then", old=60))
    now = judge(tmp_path, "now", old=40, new=60)
    run("new", now)
    done = howsure("judge", "drift", "old", "new", "--json")
    assert done.code == 100, done.err
    (found,) = done.json["candidates"]
    assert (done.json["judge_now"], found["candidate"]) == (now, "old")
    assert {part: found[part]["difference"] for part in ("judge", "agent", "whole")} == {
        "judge": pytest.approx(-0.25),
        "agent": pytest.approx(0.25),
        "whole": pytest.approx(0.0),
    }
    assert (found["judge"]["conclusion"], found["agent"]["conclusion"]) == ("worse", "better")
    shown = howsure("judge", "drift", "old", "new")
    assert shown.out.startswith("The judge has changed: it grades the same answers otherwise than before.")


def test_a_judge_that_says_the_same_has_not_changed(howsure: Howsure, tmp_path: Path, run: Callable[..., None]) -> None:
    run("old", judge(tmp_path, "then", old=60))
    same = howsure("judge", "drift", "old", "--json")
    assert same.code == 0, same.err
    assert same.json["candidates"][0]["judge"]["difference"] == 0
    few = howsure("judge", "drift", "old", "--limit", 5, "--json")
    assert few.json["candidates"][0]["judge"]["pairing"]["paired"] == 5
    assert howsure("judge", "drift", "old", "--judge", "none").code == 2


def test_anchors_are_judged_with_every_run_and_tell_the_judge_from_the_agent(
    howsure: Howsure, tmp_path: Path, run: Callable[..., None]
) -> None:
    then, now = judge(tmp_path, "then", old=60, early=60), judge(tmp_path, "now", old=40, new=60)
    run("old", then)
    run("early", then, "--anchors", "old")
    (tmp_path / "howsure.yaml").write_text("anchors: old\n", encoding="utf-8")
    run("new", now)
    # The last run is the new one, not that of its anchors.
    shown = " ".join(howsure("show", "latest").out.split())
    assert shown.startswith("new run")
    assert "The judge has changed: it grades the same answers otherwise than before." in shown
    assert (
        "old: pass rate of the same answers −25.0 points (−35.5 to −16.8); other values by reference answer; by"
        " today's judge the agent differs by +25.0 points (+16.8 to +35.5)."
    ) in shown
    steady = " ".join(howsure("show", "early").out.split())
    assert "The judge has not changed by more than counts as a difference." in steady
    (pair,) = howsure("compare", "old", "new", "--json").json["comparisons"]
    assert pair["notes"] == [
        "by anchors, judge: −25.0 points (−35.5 to −16.8) on the same answers; agent, by today's judge: +25.0 points"
        " (+16.8 to +35.5)"
    ]
    (pair,) = howsure("compare", "early", "new", "--json").json["comparisons"]
    assert pair["notes"] == [
        "by anchors judged with both runs, the judge changed by −25.0 points (−35.5 to −16.8); it is part of this"
    ]


def test_a_run_whose_anchors_cannot_be_judged_is_kept_and_says_why(
    howsure: Howsure, tmp_path: Path, run: Callable[..., None]
) -> None:
    then = judge(tmp_path, "then", old=60)
    run("old", then)
    (tmp_path / "old" / "cases.jsonl").unlink(missing_ok=True)
    for file in (tmp_path / "old").glob("*"):
        file.unlink()
    run("new", judge(tmp_path, "now", old=40, new=60), "--anchors", "old")
    assert "The anchors could not be judged again: " in " ".join(howsure("show", "new").out.split())
    assert howsure("run", tmp_path / "new", "--anchors", "nobody").code == 2
