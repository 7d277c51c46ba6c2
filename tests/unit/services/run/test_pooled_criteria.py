"""Transcript mode: finished conversations against the pooled criteria of a test set, the agent not called."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.datasets import read_cases
from howsure.errors import ConfigInvalid, DatasetInvalid, NotFound, PlanRefused
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case, Script, World
from howsure.model.expectation import Criteria, Criterion, Goal
from howsure.model.result import Failure, Result
from howsure.model.run import DatasetPin
from howsure.model.transcript import BrokenRecording, Message, Role, ToolCall, ToolResult, Transcript
from howsure.model.verdict import Verdict
from howsure.services.run.recorded_answers import PooledCriteria, conversation_dataset, stored_conversations
from howsure.testing import a_case

KIT = builtin_kit([])
SIMULATION = KIT.dialects["simulation"]


def entry(id: str, *criteria: str) -> dict[str, Any]:
    expected = {"success_criteria": list(criteria)} if criteria else {"expected_outcome": "a refund"}
    return {"item_id": id, "type": "single_turn", "name": id, "inputs": {"message": "Hi"}, "expected": expected}


def a_test_set(folder: Path, *entries: dict[str, Any]) -> Path:
    path = folder / "set.json"
    document = {"test_set_id": "ts", "agent_id": "a" * 24, "version": 1, "name": "Shop", "items": list(entries)}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_the_criteria_of_all_cases_are_pooled_each_once(tmp_path: Path) -> None:
    pool = PooledCriteria.of(
        a_test_set(tmp_path, entry("a", "Greets", "Refunds"), entry("b", "Refunds", "Says why")), KIT
    )
    assert [criterion.text for criterion in pool.criteria] == ["Greets", "Refunds", "Says why"]
    assert len({criterion.id for criterion in pool.criteria}) == 3


def test_a_case_is_held_against_the_pool_and_nothing_else() -> None:
    pool = PooledCriteria([Criterion(id="c", text="Greets")], DatasetPin(path="set.json", sha256=""))
    said = Transcript(answer="Hello")
    case = a_case(Goal(text="own"), id="x", world=World.GOLDEN, profile="strict", labels={"a": "b"}, recorded=said)
    pooled = pool(case)
    assert pooled.expectations == (Criteria(criteria=(Criterion(id="c", text="Greets"),)),)
    assert (pooled.world, pooled.profile) == (World.TEST_SET, "")
    assert (pooled.id, pooled.labels, pooled.recorded) == ("x", {"a": "b"}, said)


def test_what_has_no_criteria_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"--criteria-from .*nowhere\.json: no such test set"):
        PooledCriteria.of(tmp_path / "nowhere.json", KIT)
    assert PooledCriteria.of(a_test_set(tmp_path, entry("a"), entry("b")), KIT).criteria == ()
    broken = a_test_set(tmp_path, {"item_id": "a", "type": "scenario", "inputs": {}})
    with pytest.raises(DatasetInvalid):
        PooledCriteria.of(broken, KIT)


def read(path: str) -> list[Case]:
    return list(read_cases(Path(path), SIMULATION))


def lines(path: Path, *objects: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(each) + "\n" for each in objects), encoding="utf-8")
    return str(path)


MESSAGES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


def test_a_file_of_conversations_stays_where_it_is(tmp_path: Path) -> None:
    row = {"question_id": "q1", "user_inputs": ["Hi"], "final_response": "Hello", "session_trace": []}
    path = lines(tmp_path / "sim.jsonl", row)
    assert conversation_dataset(path, SIMULATION, tmp_path / "kept") == path
    assert conversation_dataset(str(tmp_path), SIMULATION, tmp_path / "kept") == str(tmp_path)
    assert not (tmp_path / "kept").exists()


def test_a_file_of_transcripts_becomes_one(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "our talks.jsonl",
        {"case_id": "a", "messages": MESSAGES, "state": {"paid": True}},
        {"case_id": "a", "messages": MESSAGES, "candidate_name": "juno", "repeat": 2},
        {"case_id": "b", "response_text": "An answer alone"},
    )
    kept = conversation_dataset(path, SIMULATION, tmp_path / "kept")
    assert Path(kept).parent.parent == tmp_path / "kept"
    assert Path(kept).name == "our-talks.jsonl"
    first, second, third = read(kept)
    assert [case.id for case in (first, second, third)] == ["a", "a by juno (repeat 2)", "b"]
    assert first.input == Script(turns=("Hi",))
    assert isinstance(first.recorded, Transcript) and isinstance(third.recorded, Transcript)
    assert (first.recorded.answer, first.recorded.state) == ("Hello", {"paid": True})
    assert third.recorded.answer == "An answer alone"
    assert third.input == Script(turns=("(nothing is known of what the user said)",))


def test_the_same_conversations_are_the_same_file(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", {"case_id": "a", "messages": MESSAGES})
    first = conversation_dataset(path, SIMULATION, tmp_path / "kept")
    assert conversation_dataset(path, SIMULATION, tmp_path / "kept") == first
    lines(tmp_path / "t.jsonl", {"case_id": "a", "messages": [*MESSAGES, *MESSAGES]})
    assert conversation_dataset(path, SIMULATION, tmp_path / "kept") != first


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = lines(tmp_path / "t.jsonl", {"case_id": "a", "messages": MESSAGES})
    (tmp_path / "kept").write_text("a file", encoding="utf-8")
    with pytest.raises(ConfigInvalid, match=r"the conversations cannot be kept in .*kept"):
        conversation_dataset(path, SIMULATION, tmp_path / "kept")


async def stream(*results: Result) -> AsyncIterator[Result]:
    for result in results:
        yield result


CALL = ToolCall(name="refund", arguments={"order": 7}, result=ToolResult(content={"ok": True}))
TALK = Transcript(
    answer="Done.",
    messages=(
        Message(role=Role.USER, content="Refund 7"),
        Message(role=Role.ASSISTANT, content="", agent="desk", tool_calls=(CALL,)),
        Message(role=Role.USER, content=" "),
        Message(role=Role.ASSISTANT, content="Done."),
    ),
    state={"refunded": 7},
)


async def test_what_was_said_in_a_run_is_read_as_it_was(tmp_path: Path) -> None:
    kept = await stored_conversations(
        stream(
            Result(case=a_case(id="r1"), verdict=Verdict.PASSED, transcript=TALK),
            Result(case=a_case(id="r1"), verdict=Verdict.FAILED, transcript=TALK, candidate="juno", repeat=2),
            Result(
                case=a_case(id="r2"),
                verdict=Verdict.ERRORED,
                failures=(Failure(kind="TargetFailed", message="refused"), Failure(kind="X", message="twice")),
            ),
            Result(case=a_case(id="r3"), verdict=Verdict.SKIPPED),
        ),
        SIMULATION,
        tmp_path,
        "nightly / été.jsonl",
    )
    assert Path(kept).name == "nightly-t.jsonl"
    cases = read(kept)
    assert [case.id for case in cases] == ["r1", "r1 by juno (repeat 2)", "r2", "r3"]
    assert [case.recorded for case in cases] == [
        TALK,
        TALK,
        BrokenRecording(reason="refused; twice", failure_kind="TargetFailed"),
        BrokenRecording(reason="no transcript was kept"),
    ]
    assert cases[0].input == Script(turns=("Refund 7",))


@pytest.mark.parametrize("name", ["", "///", "…"])
async def test_a_name_that_no_file_can_have_is_done_without(tmp_path: Path, name: str) -> None:
    result = Result(case=a_case(id="r1"), verdict=Verdict.PASSED, transcript=TALK)
    kept = await stored_conversations(stream(result), SIMULATION, tmp_path, name)
    assert Path(kept).name == "conversations.jsonl"


async def test_a_run_without_results_has_nothing_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(PlanRefused, match="there is no conversation to look at"):
        await stored_conversations(stream(), SIMULATION, tmp_path, "empty")
