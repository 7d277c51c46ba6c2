"""What a run says before it starts: what nobody checks, what needs a model, what would break in the middle."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import explain, write_rows

Howsure = Callable[..., Any]

PLAN = {
    "rationale": "Two evenings a week.",
    "planTitle": "Basics",
    "durationWeeks": 8,
    "weeklyHours": 6,
    "weeklyMilestones": [],
    "briefMessageToUser": "Start on Tuesday.",
}
NO_MODEL = (
    "EmpathyExplain needs a model: 2 cases will be errored, unless something else fails them;"
    " use --judge MODEL or --graders -EmpathyExplain"
)
UNKNOWN = (
    "the contract 'StudyPlan' of 1 case is not known (known: AssessmentQuestionSetOutput, EngagementPlanOutput,"
    " LearningPathCurationOutput, PreparationWorkflowResult, StudyPlanOutput; did you mean `StudyPlanOutput`?)"
)


STUDY = "You should study the basics first: read what you should study on each page, and then take the practice exam."


def planned(number: int, contract: Any = "StudyPlanOutput", answer: str = "", **fields: Any) -> dict[str, Any]:
    answer = answer or json.dumps(PLAN)
    payload = {"HelpfulnessExplain": {"input": answer, "question": "What should I study?"}}
    fields = {"required_evals": ["HelpfulnessExplain"], **fields}
    return explain(number, model_answer=answer, explain_inputs=payload, expected_contract=contract, **fields)


def notes_and_flags(howsure: Howsure, *words: Any) -> tuple[list[str], dict[str, int]]:
    ran = howsure("run", *words, "--json")
    assert ran.code in (0, 3), ran.err
    shown = ran.json
    return [note for note in shown["notes"] if not note.startswith("Flagged")], shown["flags"]


def test_a_contract_that_nobody_has_is_named_and_not_checked(howsure: Howsure, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "plans.jsonl", [planned(1), planned(2, "StudyPlan"), planned(3, "")])
    notes, flags = notes_and_flags(howsure, data)
    assert notes == [f"{UNKNOWN}, and is not checked"]
    assert flags == {"contract_not_checked": 1}
    graded = [set(result["scores"]) for result in howsure("results", "latest", "--json").json]
    assert ["output_contract" in names for names in graded] == [True, False, False]
    (tmp_path / "howsure.yaml").write_text("require_contracts: true\n", encoding="utf-8")
    refused = howsure("run", data)
    assert (refused.code, refused.err.strip()) == (2, f"error: {UNKNOWN}")


@pytest.mark.parametrize("judge", ["offline", "none"])
def test_a_missing_answer_is_refused_before_any_judge_is_asked(howsure: Howsure, tmp_path: Path, judge: str) -> None:
    rows = [explain(1), explain(2, model_answer=..., explain_inputs=...)]
    refused = howsure("run", write_rows(tmp_path / "cases.jsonl", rows), "--judge", judge)
    assert refused.code == 2
    assert "1 answer is missing: learning-path-curator-002." in refused.err


def test_an_eval_that_needs_a_model_is_said_before_the_run(howsure: Howsure, tmp_path: Path) -> None:
    rows = [
        explain(
            number, required_evals=["IntentResolutionExplain", "EmpathyExplain"], model_answer=STUDY, explain_inputs={}
        )
        for number in (1, 2)
    ]
    data = write_rows(tmp_path / "cases.jsonl", rows)
    ran = howsure("run", data, "--json")
    assert f"warning: {NO_MODEL}" in ran.err
    assert (ran.code, ran.json["errored"], ran.json["notes"][0]) == (3, 2, NO_MODEL)
    assert notes_and_flags(howsure, data, "--graders", "-EmpathyExplain") == ([], {})


def test_a_criterion_that_needs_a_model_is_said_in_the_world_of_test_sets(howsure: Howsure, tmp_path: Path) -> None:
    item = {
        "item_id": "i1",
        "type": "single_turn",
        "inputs": {"message": "Hi"},
        "expected": {"success_criteria": ["The tone is warm and patient."]},
    }
    data = tmp_path / "set.json"
    data.write_text(json.dumps({"test_set_id": "s", "name": "s", "items": [item]}), encoding="utf-8")
    said = write_rows(tmp_path / "said.jsonl", [{"case_id": "i1", "response_text": "Hello."}])
    notes, _ = notes_and_flags(howsure, data, "--responses", said)
    assert [note.split(",")[0] for note in notes] == ["criteria needs a model: 1 case will be errored"]


def test_what_no_selected_grader_checks_is_on_the_run_and_on_the_case(howsure: Howsure, tmp_path: Path) -> None:
    calls = [{"tool": "search", "arguments": {}}]
    data = write_rows(tmp_path / "plans.jsonl", [planned(1, expected_tool_calls=calls), planned(2)])
    assert notes_and_flags(howsure, data) == ([], {})
    notes, flags = notes_and_flags(howsure, data, "--graders", "HelpfulnessExplain,output_contract")
    assert notes == ["expected tool_calls of 1 case is checked by no grader of this run: use --graders +tool_calls"]
    assert flags == {"not_checked": 1}


def test_the_answer_that_a_golden_question_expects_needs_a_grader(howsure: Howsure, tmp_path: Path) -> None:
    question = {
        "id": "q1",
        "user_inputs": ["Hi"],
        "agents_evaluated": ["shop"],
        "metadata": {},
        "reference_data": {"expected_response": "Hello."},
    }
    data = tmp_path / "shop_golden.json"
    data.write_text(json.dumps({"golden_questions": [question]}), encoding="utf-8")
    said = write_rows(tmp_path / "said.jsonl", [{"case_id": "q1", "response_text": "Good day."}])
    notes, flags = notes_and_flags(howsure, data, "--responses", said)
    assert notes == [
        "expected_response of 1 case is checked by no grader of this run:"
        " use --graders +response_correctness and --judge MODEL"
    ]
    assert flags == {"not_checked": 1}
    assert notes_and_flags(howsure, data, "--responses", said, "--graders", "+response_correctness") == ([], {})


PROFILE = """
profiles:
  strict:
    extends: prep_default
    marks: {TaskAdherance: 5, RelevanceExplain: 9, tool_calls: 3, latency_metrics: 5000}
    weights: {Foo: 3}
    hard_fails: {output_contract: 2}
    composite_mark: 7
"""


def test_a_profile_is_held_to_the_graders_and_their_scales(howsure: Howsure, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "cases.jsonl", [explain(1)])
    (tmp_path / "howsure.yaml").write_text(PROFILE, encoding="utf-8")
    refused = howsure("run", data)
    assert refused.code == 2
    assert refused.err.strip().removeprefix("error: howsure.yaml: ").split("; ") == [
        "`profiles.strict.marks.TaskAdherance`: no grader has this name (did you mean `TaskAdherenceExplain`?)",
        "`profiles.strict.marks.RelevanceExplain`: expected a mark on its scale, 1 to 5, found 9",
        "`profiles.strict.marks.tool_calls`: expected a mark on its scale, 0 to 1, found 3",
        "`profiles.strict.weights.Foo`: no grader has this name"
        " (evals of your own are named under `evals` or with --evals)",
        "`profiles.strict.hard_fails.output_contract`: expected a mark on its scale, 0 to 1, found 2",
        "`profiles.strict.composite_mark`: expected a mark on its scale, 1 to 5, found 7",
    ]


EVAL = """
evals:
  - name: warmth
    template: "How warm is {answer}?"
    inputs: {answer: answer}
    scale: {min: 1, max: 5}
"""


def test_a_profile_may_name_an_eval_that_the_run_brings(howsure: Howsure, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "cases.jsonl", [explain(1)])
    (tmp_path / "howsure.yaml").write_text("profiles: {strict: {marks: {warmth: 4}}}\n", encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(EVAL, encoding="utf-8")
    assert howsure("run", data).code == 2
    ran = howsure("run", data, "--evals", "mine.yaml", "--graders", "HelpfulnessExplain")
    assert ran.code == 0, ran.err


def test_a_negative_weight_is_refused_when_settings_are_read(howsure: Howsure, tmp_path: Path) -> None:
    text = "profiles: {strict: {weights: {RelevanceExplain: -3}}}\n"
    (tmp_path / "howsure.yaml").write_text(text, encoding="utf-8")
    refused = howsure("runs")
    assert refused.code == 2
    assert "`profiles.strict.weights.RelevanceExplain`: expected a weight from 0, found -3" in refused.err


PLUGIN = """
from howsure.dialects.base import Problem
from howsure.model.case import Case, SingleTurn
from howsure.model.transcript import Transcript


class Notes:
    name = "notes"

    def detect(self, path, head):
        return path.suffix == ".json" and head.startswith(b'["note')

    def read(self, path):
        yield Case(id="n1", input=SingleTurn(message="Hi"), profile="nobodys", recorded=Transcript(answer="Hello"))

    def write(self, cases, path):
        raise NotImplementedError


def register(kit):
    kit.dialects.add(Notes())
"""


def test_a_profile_that_a_case_names_and_nobody_has_is_refused_before_the_run(howsure: Howsure, tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "notes.json").write_text('["note"]', encoding="utf-8")
    refused = howsure("run", "notes.json", "--plugin", "plugin.py")
    assert (refused.code, refused.err.strip()) == (
        2,
        "error: the profile 'nobodys' of 1 case is not known (known: assessment_strict, prep_default)",
    )
    allowed = howsure("run", "notes.json", "--plugin", "plugin.py", "--profile", "prep_default")
    assert allowed.code == 0, allowed.err
