"""The golden world's definition files: as they are, with columns that are missing named and never made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.errors import DatasetInvalid, Problem
from howsure.graders.base import BindableGrader, GraderContext
from howsure.graders.definition_graders import ConversationColumns, definition_graders
from howsure.graders.definitions import ColumnTemplate, MappedColumn, MetricDefinition, read_definitions
from howsure.graders.templates import MISSING, SourceMaterial
from howsure.model.agent import Agent, AgentTool
from howsure.model.case import Case, Script, World
from howsure.model.expectation import AgentsInvolved, ExpectedCall, FinalState, ToolCalls, Trajectory
from howsure.model.score import UNIT, ZERO_TO_FIVE, Grade, Scale, Score, Unscored, UnscoredReason
from howsure.model.transcript import AgentStep, Message, Role, Tool, ToolCall, ToolResult, ToolStep, Transcript
from howsure.testing import ScriptedJudge, a_case

RANGE = {"min": 0, "max": 5}
ASKING = {"metric_type": "llm", "score_range": RANGE, "template": "Rate {response} to {prompt}."}
CASE = a_case(
    ToolCalls(expected=(ExpectedCall(name="find", arguments={"q": "x"}),)),
    Trajectory(steps=("root", "find")),
    FinalState(variables={"city": "Oslo"}),
    AgentsInvolved(names=("root",)),
    input=Script(turns=("turn 1", "turn 2")),
    world=World.GOLDEN,
    metadata={
        "reference_data": {"expected_behavior": "be nice"},
        "extracted_data": {
            "grounding_chunks": [{"n": 1}, {"n": 2}],
            "tool_declarations": [{"name": "find", "description": "Tool: find"}],
            "city": "kept",
        },
        "session_id": "s-1",
        "dotted": {"a": {"b": {"c": 1}}},
        "nothing": None,
    },
)
DONE = Transcript(
    answer="It is Oslo.",
    messages=(
        Message(role=Role.USER, content="turn 1"),
        Message(
            role=Role.ASSISTANT,
            agent="root",
            tool_calls=(ToolCall(name="find", arguments={"q": "x"}, result=ToolResult(content="Oslo")),),
        ),
        Message(role=Role.ASSISTANT, agent="root", content="It is Oslo."),
    ),
    steps=(AgentStep(name="root"), ToolStep(name="find"), ToolStep(name="find")),
    state={"city": "Oslo", "plan": "pro"},
)


def written(tmp_path: Path, definitions: Any, **top: Any) -> Path:
    path = tmp_path / "metric_definitions.json"
    path.write_text(json.dumps({**top, "metrics": definitions}, indent=1))
    return path


def one(tmp_path: Path, definition: dict[str, Any], name: str = "mine") -> BindableGrader:
    (grader,) = definition_graders(written(tmp_path, {name: definition}))
    return grader


async def asked(
    grader: BindableGrader, reply: Any, case: Case = CASE, transcript: Transcript = DONE, **setting: Any
) -> tuple[Grade, str]:
    judge = ScriptedJudge({grader.name: reply})
    (grade,) = await grader.bind(GraderContext(judge=judge, **setting)).grade(case, transcript)
    return grade, judge.asked[0].prompt if judge.asked else ""


def test_names_prefixes_and_remarks_are_read_as_the_tools_of_that_world_do(tmp_path: Path) -> None:
    definitions = {
        "_comment": "ignored",
        "_comment_more": {"metric_type": "nonsense"},
        "a remark": "also ignored",
        "politeness": {**ASKING, "_comment": "ignored"},
        "token_usage": {"metric_type": "deterministic"},
        "trajectory_accuracy": ASKING,
    }
    path = written(tmp_path, definitions)
    assert [grader.name for grader in definition_graders(path)] == ["politeness", "trajectory_accuracy_judged"]
    prefixed = written(tmp_path, definitions, metric_prefix="_shop_")
    assert [grader.name for grader in definition_graders(prefixed)] == ["shop_politeness", "shop_trajectory_accuracy"]


def test_every_field_is_read(tmp_path: Path) -> None:
    definition = {
        **ASKING,
        "agents": ["root"],
        "natural_language_guidelines": "Be strict.",
        "dataset_mapping": {
            "_comment": "x",
            "prompt": {"source_column": "user_inputs", "transform": "last_item"},
            "response": {"source_column": "final_response", "default": "none"},
            "both": {"template": "{user_inputs} / {plan}", "source_columns": ["user_inputs", "extracted_data:plan"]},
        },
    }
    assert read_definitions(written(tmp_path, {"mine": definition})) == (
        MetricDefinition(
            name="mine",
            scale=ZERO_TO_FIVE,
            template="Rate {response} to {prompt}.",
            agents=("root",),
            guidelines="Be strict.",
            mapping={
                "prompt": MappedColumn(source="user_inputs", last=True),
                "response": MappedColumn(source="final_response", default="none"),
                "both": ColumnTemplate(
                    template="{user_inputs} / {plan}", sources=("user_inputs", "extracted_data:plan"), default=MISSING
                ),
            },
        ),
    )


COLUMNS: dict[str, Any] = {
    "user_inputs": ["turn 1", "turn 2"],
    "final_response": "It is Oslo.",
    "question_id": "case-1",
    "session_id": "s-1",
    "agents_evaluated": ["root"],
    "trace_summary": ["agent:root", "tool:find", "tool:find"],
    "sub_agent_trace": [{"agent_name": "root", "text_response": "It is Oslo."}],
    "extracted_data:sub_agent_trace": [{"agent_name": "root", "text_response": "It is Oslo."}],
    "tool_interactions": [{"tool_name": "find", "input_arguments": {"q": "x"}, "output_result": "Oslo"}],
    "extracted_data:tool_interactions": [{"tool_name": "find", "input_arguments": {"q": "x"}, "output_result": "Oslo"}],
    "extracted_data.plan": "pro",
    "plan": "pro",
    "extracted_data:city": "kept",
    "extracted_data:state_variables": {"city": "Oslo", "plan": "pro"},
    "session_state:city": "Oslo",
    "final_session_state:state.city": "Oslo",
    "reference_data:expected_behavior": "be nice",
    "expected_behavior": "be nice",
    "reference_trajectory": ["root", "find"],
    "reference_data:reference_state_variables.city": "Oslo",
    "reference_tool_interactions": [{"tool_name": "find", "input_arguments": {"q": "x"}}],
    "dotted:a.b.c": 1,
    "root:dotted.a.b": {"c": 1},
    "grounding_chunks": [{"n": 1}, {"n": 2}],
    "tool_declarations": MISSING,
    "extracted_data:tool_declarations": MISSING,
    "nothing": MISSING,
    "latency_data": MISSING,
    "session_trace": MISSING,
    "dotted:a.x": MISSING,
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_told_from_the_case_and_its_transcript(name: str) -> None:
    assert ConversationColumns(SourceMaterial(CASE, DONE)).find(name) == COLUMNS[name]


def test_the_tools_are_those_the_agent_has_not_those_a_converter_gathered() -> None:
    declared = a_case(world=World.GOLDEN, tools=(Tool(name="map"),))
    assert ConversationColumns(SourceMaterial(declared, DONE)).find("tool_declarations") == [{"name": "map"}]
    agent = Agent(id="a", name="A", tools=(AgentTool(tool_name="map", description="draws"),))
    found = ConversationColumns(SourceMaterial(CASE, DONE, agent)).find("extracted_data:tool_declarations")
    assert found == [{"name": "map", "description": "draws"}]


async def test_a_template_is_filled_and_scored_on_its_range(tmp_path: Path) -> None:
    definition = {**ASKING, "score_range": {"min": -1, "max": 1, "description": "sign"}}
    grade, prompt = await asked(one(tmp_path, definition), {"score": -0.5, "explanation": "curt"})
    assert grade == Score(name="mine", value=-0.5, scale=Scale(-1, 1), reason="curt", judge="scripted")
    assert "turn 1\nturn 2" in prompt
    assert "It is Oslo." in prompt
    assert "a number from -1 to 1" in prompt


@pytest.mark.parametrize("reply", [{"score": "N/A", "explanation": "no tools"}, "N/A"])
@pytest.mark.parametrize("offers", [True, False])
async def test_not_applicable_is_read_where_the_words_of_a_definition_offer_it(
    tmp_path: Path, reply: Any, offers: bool
) -> None:
    words = f"{ASKING['template']} Without tools, answer N/A." if offers else ASKING["template"]
    grade, prompt = await asked(one(tmp_path, {**ASKING, "template": words}), reply)
    assert isinstance(grade, Unscored)
    assert grade.why is (UnscoredReason.NOT_APPLICABLE if offers else UnscoredReason.ERROR)
    assert ("N/A" in prompt) is offers


def mapped(**mapping: Any) -> dict[str, Any]:
    return {**ASKING, "template": "[{x}]", "dataset_mapping": {"x": mapping}}


@pytest.mark.parametrize(
    ("mapping", "text"),
    [
        ({"source_column": "user_inputs"}, "turn 1\nturn 2"),
        ({"source_column": "user_inputs", "transform": "last_item"}, "turn 2"),
        ({"source_column": "final_response", "transform": "last_item"}, "It is Oslo."),
        ({"source_column": "grounding_chunks"}, '{"n": 1}\n{"n": 2}'),
        ({"source_column": "grounding_chunks", "transform": "last_item"}, '{"n": 2}'),
        ({"source_column": "extracted_data:state_variables"}, '{"city": "Oslo", "plan": "pro"}'),
        ({"source_column": "latency_data", "default": "unknown"}, "unknown"),
        ({"source_column": "latency_data", "default": []}, ""),
        ({"default": "always"}, "always"),
        (
            {"template": "{user_inputs} → {plan}", "source_columns": ["user_inputs", "extracted_data:plan"]},
            "turn 1\nturn 2 → pro",
        ),
        ({"template": "{latency_data}!", "source_columns": ["latency_data"], "default": "?"}, "?!"),
    ],
)
async def test_columns_become_text(tmp_path: Path, mapping: dict[str, Any], text: str) -> None:
    _, prompt = await asked(one(tmp_path, mapped(**mapping)), {"score": 1})
    inside = prompt.partition("[")[2].partition("\n]")[0].partition("]\n")[0]
    block = inside.partition(">>>\n")[2].rpartition("\n<<<END")[0]
    assert (block or inside.replace("(not given)", "")) == text


@pytest.mark.parametrize(
    ("mapping", "column"),
    [
        ({"source_column": "latency_data"}, "latency_data"),
        ({"source_column": "extracted_data:tool_declarations"}, "extracted_data:tool_declarations"),
        ({"source_column": "nothing"}, "nothing"),
        ({"template": "{plan} {gone}", "source_columns": ["plan", "gone"]}, "gone"),
    ],
)
async def test_a_missing_column_is_an_error_that_names_it(tmp_path: Path, mapping: Any, column: str) -> None:
    grade, prompt = await asked(one(tmp_path, mapped(**mapping)), {"score": 5})
    assert prompt == ""
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (
        UnscoredReason.ERROR,
        f"the case has no column `{column}`, which `x` is mapped to and has no default for",
    )


async def test_a_mapped_column_that_the_template_does_not_use_is_not_needed(tmp_path: Path) -> None:
    definition = {**ASKING, "dataset_mapping": {"x": {"source_column": "latency_data"}}}
    grade, _ = await asked(one(tmp_path, definition), {"score": 5})
    assert isinstance(grade, Score)


async def test_the_first_generations_questions_are_asked_too(tmp_path: Path) -> None:
    definition = {
        "instruction": "Judge the reply.",
        "criteria": {"tone": "Is it kind?", "fact": "Is it true?"},
        "rating_scores": {"1": "poor", "3": "fine", "5": "great"},
        "dataset_mapping": {"behavior": {"source_column": "expected_behavior"}},
    }
    grade, prompt = await asked(one(tmp_path, definition), {"score": 3})
    assert isinstance(grade, Score)
    assert grade.scale == Scale(1, 5)
    assert "Judge the reply.\nCriteria:\n- tone: Is it kind?\n- fact: Is it true?\nRatings:\n- 1: poor\n" in prompt
    assert prompt.index("turn 1") < prompt.index("It is Oslo.") < prompt.index("be nice")


async def test_a_managed_eval_is_ours_under_their_name(tmp_path: Path) -> None:
    definition = {
        "is_managed": True,
        "managed_metric_name": "GENERAL_QUALITY",
        "natural_language_guidelines": "Mind the tone.",
    }
    reply = {"verdicts": [{"criterion": "Kind", "passed": True}, {"criterion": "Short", "passed": False}]}
    grade, prompt = await asked(one(tmp_path, definition, "shop_quality"), reply)
    assert isinstance(grade, Score)
    assert (grade.name, grade.value, grade.scale) == ("shop_quality", 0.5, UNIT)
    assert prompt.startswith("Mind the tone.\n\n")
    assert "It is Oslo." in prompt


async def test_a_managed_eval_of_several_turns_needs_several(tmp_path: Path) -> None:
    definition = {"is_managed": True, "managed_metric_name": "MULTI_TURN_TEXT_QUALITY"}
    single = a_case(world=World.GOLDEN)
    grade, prompt = await asked(one(tmp_path, definition), {"verdicts": []}, single)
    assert isinstance(grade, Unscored)
    assert (grade.why, prompt) == (UnscoredReason.NOT_APPLICABLE, "")


@pytest.mark.parametrize(
    ("agents", "case", "wanted"),
    [
        ([], CASE, True),
        (["root"], CASE, True),
        (["other"], CASE, False),
        (["data_explorer_agent"], CASE, True),
        (["shop"], a_case(world=World.GOLDEN, labels={"agent": "shop"}), True),
        (["shop"], a_case(world=World.GOLDEN, metadata={"agents_evaluated": ["shop"]}), True),
        ([], a_case(world=World.LEGAL), False),
    ],
)
@pytest.mark.parametrize(
    "managed", [{}, {"is_managed": True, "managed_metric_name": "SAFETY", "score_range": {"min": 0, "max": 1}}]
)
def test_agents_choose_the_cases(
    tmp_path: Path, managed: dict[str, Any], agents: list[str], case: Case, wanted: bool
) -> None:
    grader = one(tmp_path, {**ASKING, **managed, "agents": agents})
    assert grader.bind(GraderContext()).wants(case) is wanted


@pytest.mark.parametrize(
    ("definition", "code", "field"),
    [
        ({**ASKING, "metric_type": "magic"}, "unknown-value", "metric_type"),
        ({"metric_type": "deterministic"}, "unknown-name", "metric_type"),
        ({"is_managed": True}, "unknown-name", "managed_metric_name"),
        ({"is_managed": True, "managed_metric_name": "FLUENCY"}, "unknown-name", "managed_metric_name"),
        ({"managed_metric_name": "SAFETY", "score_range": RANGE}, "bad-scale", "score_range"),
        ({"template": "Rate {response}"}, "missing-field", "score_range"),
        ({**ASKING, "score_range": {"min": 5, "max": 0}}, "bad-scale", "score_range"),
        ({**ASKING, "score_range": {"min": "0", "max": 5}}, "wrong-type", "score_range"),
        ({"score_range": RANGE}, "missing-field", "template"),
        ({**ASKING, "template": ["a"]}, "wrong-type", "template"),
        ({**ASKING, "template": "{respons}"}, "unknown-placeholder", "template"),
        ({**ASKING, "agents": "root"}, "wrong-type", "agents"),
        ({**ASKING, "dataset_mapping": []}, None, ""),
        ({**ASKING, "dataset_mapping": ["x"]}, "wrong-type", "dataset_mapping"),
        (mapped(source_column=3), "wrong-type", "dataset_mapping.x.source_column"),
        (mapped(source_column="a", transform="first_item"), "unknown-value", "dataset_mapping.x.transform"),
        (mapped(template="{a}"), "wrong-type", "dataset_mapping.x"),
        (mapped(template="{a} {c}", source_columns=["a", "b"]), "unknown-placeholder", "dataset_mapping.x.template"),
        ({"instruction": "Rate.", "rating_scores": {"good": "x"}}, "wrong-type", "rating_scores"),
    ],
)
def test_each_problem_has_its_place(tmp_path: Path, definition: Any, code: str | None, field: str) -> None:
    path = written(tmp_path, {"mine": definition})
    if code is None:
        assert len(definition_graders(path)) == 1
        return
    with pytest.raises(DatasetInvalid) as refused:
        definition_graders(path)
    found = [(problem.code, problem.field, problem.line) for problem in refused.value.problems]
    assert found[0] == (code, f"metrics.mine.{field}", 3)


def test_a_program_that_nobody_has_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid) as refused:
        definition_graders(written(tmp_path, {"token_usag": {"metric_type": "deterministic"}}))
    (problem,) = refused.value.problems
    assert "token_usage, latency_metrics" in problem.expected
    assert problem.hint == "did you mean `token_usage`?"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "json-syntax"),
        ("[]", "wrong-type"),
        ("{}", "missing-field"),
        ('{"metrics": []}', "missing-field"),
        ('{"metrics": {"a": {"score_range": {"min": NaN}}}}', "unreadable"),
        ('{"metric_prefix": 3, "metrics": {"x": {"metric_type": "deterministic"}}}', "wrong-type"),
        ('{"metrics": {"token_usage": {}, "token_usage": {"metric_type": "deterministic"}}}', "duplicate-key"),
    ],
)
def test_a_broken_file_is_a_problem(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "definitions.json"
    path.write_text(text)
    with pytest.raises(DatasetInvalid) as refused:
        definition_graders(path)
    assert refused.value.problems[0].code == code


def test_fields_that_nobody_reads_are_told(tmp_path: Path) -> None:
    told: list[Problem] = []
    path = written(tmp_path, {"mine": {**ASKING, "tempalte": "x"}}, version=2)
    assert len(definition_graders(path, told.append)) == 1
    assert [(problem.code, problem.field, problem.hint) for problem in told] == [
        ("unknown-field", "version", ""),
        ("unknown-field", "metrics.mine.tempalte", "did you mean `template`?"),
    ]
