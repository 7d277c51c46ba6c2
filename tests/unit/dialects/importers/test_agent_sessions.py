"""Recorded sessions with typed contents: explain cases, one for each quality band, by declared mutations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.explain import ExplainDialect
from howsure.dialects.importers.agent_sessions import BANDS, AgentSessionImporter, worsen_answer
from howsure.dialects.importers.base import ImportOptions
from howsure.model.case import Case, SingleTurn
from howsure.model.expectation import Contract, Qualities, ReferenceAnswer
from howsure.model.transcript import ToolCall, ToolResult, Transcript

ANSWER = json.dumps(
    {
        "rationale": "These modules cover what the exam asks of a newcomer.",
        "modules": [{"id": f"m{number}", "title": f"Module number {number} of the path"} for number in range(1, 7)],
    }
)
GIVEN = {"scenario_id": "SCN-001", "difficulty": "easy"}


def session(
    folder: Path, answer: str = ANSWER, question: str = "A path for AZ-900, I am a beginner", **more: Any
) -> Path:
    call = {"$type": "functionCall", "callId": "1", "name": "search", "arguments": {"q": "AZ-900"}}
    failed = {"$type": "functionCall", "callId": "2", "name": "fetch", "arguments": '{"id": 3}'}
    messages = [
        {"role": "user", "contents": [{"$type": "text", "text": question}]},
        {"role": "assistant", "contents": [call, failed]},
        {"role": "tool", "contents": [{"$type": "functionResult", "callId": "1", "result": "six modules"}]},
        {"role": "tool", "contents": [{"$type": "functionResult", "callId": "2", "result": "Error: no such id"}]},
        {"role": "assistant", "contents": [{"$type": "text", "text": answer}]},
    ]
    place = folder / "learning-path-curator"
    place.mkdir(exist_ok=True)
    path = place / "session_1.json"
    path.write_text(json.dumps({"storeState": {"messages": messages}, **more}))
    return path


def read(path: Path, **metadata: str) -> list[Case]:
    return list(read_cases(path, AgentSessionImporter(ImportOptions(metadata={**GIVEN, **metadata}))))


def said(case: Case) -> Transcript:
    assert isinstance(case.recorded, Transcript)
    return case.recorded


def test_a_session_becomes_a_case_for_each_band(tmp_path: Path) -> None:
    cases = read(session(tmp_path))
    assert [case.labels["quality_band"] for case in cases] == list(BANDS)
    assert len({case.id for case in cases}) == 4
    best = cases[0]
    assert best.input == SingleTurn(message="A path for AZ-900, I am a beginner")
    assert best.labels == {
        "scenario_id": "SCN-001",
        "agent_name": "learning-path-curator",
        "phase": "preparation",
        "difficulty": "easy",
        "quality_band": "excellent",
        "topic_family": "AZ-900",
        "learner_level": "beginner",
    }
    assert said(best).tool_calls == (
        ToolCall(name="search", arguments={"q": "AZ-900"}, result=ToolResult(content="relevant")),
        ToolCall(name="fetch", arguments={"id": 3}, result=ToolResult(content="error", failed=True)),
    )
    assert Contract(name="LearningPathCurationOutput") in best.expectations
    assert all(ReferenceAnswer(answers=(ANSWER,)) in case.expectations for case in cases)


def test_each_mutation_is_named_and_each_band_is_worse_than_the_one_before(tmp_path: Path) -> None:
    cases = read(session(tmp_path))
    told = [case.metadata["mutations"] for case in cases]
    assert told == [
        [],
        ["keep-5-of:modules"],
        ["keep-3-of:modules", "thin-text:rationale"],
        ["keep-1-of:modules", "thin-text:rationale", "thin-text:modules[0].title"],
    ]
    lengths = [len(said(case).answer) for case in cases]
    assert lengths == sorted(lengths, reverse=True)
    assert said(cases[0]).answer == ANSWER


def test_tools_are_never_guessed_from_those_that_were_called(tmp_path: Path) -> None:
    without = read(session(tmp_path))[0]
    assert without.tools is None
    declared = read(session(tmp_path, tools=["search", {"name": "fetch"}]))[0]
    assert [tool.name for tool in declared.tools or ()] == ["search", "fetch"]
    evals = [one.names for case in (without, declared) for one in case.expectations if isinstance(one, Qualities)]
    assert ["ToolCallAccuracyExplain" in names for names in evals] == [False, True]


def test_what_is_written_is_a_valid_explain_file(tmp_path: Path) -> None:
    path = tmp_path / "out.explain.jsonl"
    cases = read(session(tmp_path), task_goal="Return a learning path.")
    ExplainDialect().write(cases, path)
    report = validate(path, ExplainDialect())
    assert report.problems == ()
    assert report.warnings == ()
    assert list(read_cases(path, ExplainDialect())) == cases


def test_labels_that_nothing_tells_are_asked_for(tmp_path: Path) -> None:
    path = session(tmp_path, question="A path, please")
    problems = validate(path, AgentSessionImporter()).problems
    assert [problem.expected for problem in problems] == ["scenario_id", "difficulty", "topic_family", "learner_level"]
    assert problems[0].hint == "give it with --metadata scenario_id:…"


def test_a_short_answer_has_no_worse_bands_and_that_is_said(tmp_path: Path) -> None:
    path = session(tmp_path, answer="No.")
    report = validate(path, AgentSessionImporter(ImportOptions(metadata=GIVEN)))
    assert (report.cases, [warning.code for warning in report.warnings]) == (1, ["skipped-case"] * 3)


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([{"role": "assistant", "contents": [{"$type": "text", "text": "x"}]}], "no-user-inputs"),
        ([{"role": "user", "contents": [{"$type": "text", "text": "x"}]}], "no-answer"),
        ([], "wrong-kind"),
    ],
    ids=["no user", "no answer", "no messages"],
)
def test_a_session_without_question_or_answer_is_a_problem(messages: list[Any], code: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"messages": messages}))
    assert [problem.code for problem in validate(path, AgentSessionImporter()).problems] == [code]


def test_prose_is_made_worse_by_sentences() -> None:
    prose = "One is here. Two is here. Three is here. Four is here at last."
    made = {band: worsen_answer(prose, band) for band in BANDS}
    assert {band: one.text if one else None for band, one in made.items()} == {
        "excellent": prose,
        "good": "One is here. Two is here. Three is here.",
        "mixed": "One is here. Two is here.",
        "poor": "One is here.",
    }
    assert worsen_answer("One. Two.", "good") is None


def test_questions_and_options_keep_their_number() -> None:
    quiz = {"questions": [{"prompt": f"What is number {n} about?", "options": ["a", "b"]} for n in range(10)]}
    worse = worsen_answer(json.dumps(quiz), "poor")
    assert worse is not None
    assert [len(one["options"]) for one in json.loads(worse.text)["questions"]] == [2] * 10
