"""Recorded answers: every file, no answer twice, none lost, and those of an earlier run as they were."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.simulation import SimulationDialect
from howsure.errors import DatasetInvalid
from howsure.model.result import Failure, Result
from howsure.model.transcript import BrokenRecording, Transcript
from howsure.model.verdict import Verdict
from howsure.services.run.recorded_answers import RecordedAnswers, earlier_answers, read_answers
from howsure.testing import a_case, a_transcript
from unit.services.places import lines


def read(*paths: str) -> RecordedAnswers:
    return read_answers(paths, SimulationDialect())


def talk(id: str, *said: str, answer: str = "Hello") -> dict[str, Any]:
    return {"question_id": id, "user_inputs": list(said), "final_response": answer, "session_trace": []}


def said(recording: Transcript | BrokenRecording | None) -> str | None:
    assert isinstance(recording, Transcript)
    return recording.answer


def test_the_answers_of_several_files_are_put_together_and_each_file_is_pinned(tmp_path: Path) -> None:
    one = lines(tmp_path / "one.jsonl", {"case_id": "q1", "response_text": "A"})
    two = tmp_path / "two.json"
    two.write_text(json.dumps({"q2": "B", "q3": ""}), encoding="utf-8")
    found = read(one, str(two))
    assert {key: said(each) for key, each in found.recordings.by_case.items()} == {
        ("q1", "", 1): "A",
        ("q2", "", 1): "B",
        ("q3", "", 1): "",
    }
    assert [pin.path for pin in found.pins] == [one, str(two)]
    assert all(len(pin.sha256) == 64 for pin in found.pins)


def test_the_same_answer_in_two_files_is_a_problem_and_repeats_and_candidates_are_not(tmp_path: Path) -> None:
    one = lines(tmp_path / "one.jsonl", {"case_id": "q1", "candidate_name": "juno", "response_text": "A"})
    other = {"case_id": "q1", "candidate_name": "juno", "repeat": 2, "response_text": "A"}
    fine = lines(tmp_path / "fine.jsonl", other, {"case_id": "q1", "candidate_name": "orchid", "response_text": "A"})
    found = read(one, fine)
    assert list(found.recordings.by_case) == [("q1", "juno", 1), ("q1", "juno", 2), ("q1", "orchid", 1)]
    assert found.recordings.candidates == ("juno", "orchid")
    twice = lines(tmp_path / "twice.jsonl", {"case_id": "q9", "response_text": "x"}, other)
    with pytest.raises(DatasetInvalid) as caught:
        read(one, fine, twice)
    (problem,) = caught.value.problems
    assert (problem.code, problem.file, problem.line) == ("duplicate-response", "twice.jsonl", 2)
    assert problem.message == "a second answer by 'juno' to the case 'q1' (repeat 2)"


def test_the_problems_of_all_files_come_together(tmp_path: Path) -> None:
    one = lines(tmp_path / "one.jsonl", {"response_text": "whose?"})
    two = lines(tmp_path / "two.jsonl", {"case_id": "q1"})
    with pytest.raises(DatasetInvalid) as caught:
        read(one, two)
    assert [(problem.file, problem.field) for problem in caught.value.problems] == [
        ("one.jsonl", "case_id"),
        ("two.jsonl", "response_text"),
    ]


def test_conversations_about_one_question_are_its_repeats(tmp_path: Path) -> None:
    path = lines(tmp_path / "sim.jsonl", talk("q1", "Hi", answer="one"), talk("q1", "Hi", answer="two"))
    found = read(path).recordings
    assert {key: said(each) for key, each in found.by_case.items()} == {("q1", "", 1): "one", ("q1", "", 2): "two"}
    assert {key: said(each) for key, each in found.by_turns.items()} == {
        (("Hi",), "", 1): "one",
        (("Hi",), "", 2): "two",
    }


@pytest.mark.parametrize("simulation_first", [True, False])
def test_a_conversation_never_takes_the_place_of_another_answer(tmp_path: Path, simulation_first: bool) -> None:
    simulated = lines(tmp_path / "sim.jsonl", talk("q1", "Hi", answer="one"))
    plain = lines(tmp_path / "plain.jsonl", {"case_id": "q1", "response_text": "two"})
    paths = (simulated, plain) if simulation_first else (plain, simulated)
    with pytest.raises(DatasetInvalid) as caught:
        read(*paths)
    (problem,) = caught.value.problems
    assert (problem.code, problem.file) == ("duplicate-response", Path(paths[1]).name)


def test_two_simulation_files_with_one_question_are_a_problem(tmp_path: Path) -> None:
    one = lines(tmp_path / "one.jsonl", talk("q1", "Hi", answer="one"))
    two = lines(tmp_path / "two.jsonl", talk("q1", "Hi", answer="two"), talk("q2", "Bye"))
    with pytest.raises(DatasetInvalid) as caught:
        read(one, two)
    assert [(each.file, each.found) for each in caught.value.problems] == [("two.jsonl", "q1")]


async def stream(*results: Result) -> AsyncIterator[Result]:
    for result in results:
        yield result


async def test_an_earlier_run_gives_what_was_said_or_why_nothing_was() -> None:
    kept = a_transcript("A")
    found = await earlier_answers(
        stream(
            Result(case=a_case(id="c1"), verdict=Verdict.FAILED, transcript=kept, candidate="juno", repeat=2),
            Result(
                case=a_case(id="c2"),
                verdict=Verdict.ERRORED,
                failures=(Failure(kind="TargetFailed", message="refused"), Failure(kind="X", message="late")),
            ),
            Result(case=a_case(id="c3"), verdict=Verdict.SKIPPED, reasons=("budget: spent",)),
        )
    )
    assert found.by_case == {
        ("c1", "juno", 2): kept,
        ("c2", "", 1): BrokenRecording(reason="refused; late", failure_kind="TargetFailed"),
        ("c3", "", 1): BrokenRecording(reason="no transcript was kept"),
    }


async def test_a_failed_grader_does_not_lose_what_was_said() -> None:
    kept = a_transcript("A")
    broken = Failure(kind="GraderFailed", message="oops")
    result = Result(case=a_case(id="c1"), verdict=Verdict.ERRORED, transcript=kept, failures=(broken,))
    assert (await earlier_answers(stream(result))).by_case == {("c1", "", 1): kept}


def test_what_is_not_read_in_a_file_of_answers_is_a_warning_and_no_reason_to_refuse(tmp_path: Path) -> None:
    found = read(lines(tmp_path / "one.jsonl", {"id": "q1", "response": "A", "latency": 3}))
    assert said(found.recordings.by_case["q1", "", 1]) == "A"
    assert [(each.file, each.line, each.field) for each in found.warnings] == [("one.jsonl", 1, "latency")]
