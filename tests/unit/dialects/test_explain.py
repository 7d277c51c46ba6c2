"""The `explain` dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dialect_rows import Row, explain, write_rows
from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.explain import ExplainDialect
from howsure.dialects.explain_rows import AGENTS, DEFAULT_EVALS, PAYLOADS, json_text, payload_of
from howsure.dialects.ids import SeenIds
from howsure.dialects.problems import Spot
from howsure.errors import DatasetInvalid, Problem
from howsure.model.case import Case, SingleTurn, World
from howsure.model.expectation import (
    Contract,
    ExpectedCall,
    Goal,
    Matching,
    MatchMode,
    Qualities,
    ReferenceAnswer,
    ToolCalls,
)
from howsure.model.transcript import BrokenRecording, Message, Role, Tool, ToolCall, ToolResult, Transcript, Usage
from json_strategies import filled, literals, plain_keys, texts

DIALECT = ExplainDialect()
CALLS: list[Row] = [
    {"tool": "profile", "arguments": {"id": 7}, "outcome": "relevant"},
    {"tool": "search", "arguments": '{"exam": "AZ-900"}', "outcome": "error"},
    {"tool": "details"},
]


def read(path: Path, *rows: Row | bytes, dialect: ExplainDialect = DIALECT) -> list[Case]:
    return list(read_cases(write_rows(path / "d.explain.jsonl", rows), dialect))


def warnings(path: Path, *rows: Row) -> list[tuple[str, str]]:
    report = validate(write_rows(path / "d.explain.jsonl", rows), DIALECT)
    assert report.problems == ()
    return [(warning.code, warning.field) for warning in report.warnings]


def whole_row(**fields: Any) -> Row:
    """A row with every field and the payloads of all nine evals."""
    row = explain(
        context="Four hours a week.",
        reference_answer="Two paths.",
        task_goal="Pick paths.",
        relevant_context="A beginner.",
        available_tools=["profile", "search", "details"],
        expected_tool_calls=[{"tool": "search", "arguments": {"exam": {"$text": "az-900"}}, "reason": "it is asked"}],
        invoked_tool_calls=CALLS,
        required_evals=list(PAYLOADS),
        expected_contract="LearningPathCurationOutput",
    )
    return {**row, "explain_inputs": {eval: payload_of(eval, row) for eval in PAYLOADS}, **fields}


def test_a_row_becomes_a_case(tmp_path: Path) -> None:
    calls = (
        ToolCall(name="profile", arguments={"id": 7}, result=ToolResult(content="relevant")),
        ToolCall(name="search", arguments={"exam": "AZ-900"}, result=ToolResult(content="error", failed=True)),
        ToolCall(name="details"),
    )
    answer = "Start with the basics."
    assert read(tmp_path, whole_row()) == [
        Case(
            id="learning-path-curator-001",
            input=SingleTurn(message="What should I study?", context="Four hours a week."),
            expectations=(
                Qualities(names=tuple(PAYLOADS), relevant_context="A beginner."),
                Goal(text="Pick paths."),
                ReferenceAnswer(answers=("Two paths.",)),
                ToolCalls(
                    expected=(
                        ExpectedCall(name="search", arguments={"exam": {"$text": "az-900"}}, reason="it is asked"),
                    )
                ),
                Contract(name="LearningPathCurationOutput"),
            ),
            world=World.EXPLAIN,
            profile="prep_default",
            labels={
                "scenario_id": "SCN-001",
                "agent_name": "learning-path-curator",
                "phase": "preparation",
                "difficulty": "easy",
                "quality_band": "good",
                "topic_family": "AZ-900",
                "learner_level": "beginner",
            },
            tools=(Tool(name="profile"), Tool(name="search"), Tool(name="details")),
            recorded=Transcript(
                answer=answer,
                messages=(
                    *(Message(role=Role.ASSISTANT, tool_calls=(call,)) for call in calls),
                    Message(role=Role.ASSISTANT, content=answer),
                ),
            ),
        )
    ]


def expectation(case: Case, kind: type) -> Any:
    return next((each for each in case.expectations if isinstance(each, kind)), None)


def test_no_expected_calls_is_not_the_same_as_none_expected(tmp_path: Path) -> None:
    absent, empty = read(tmp_path, explain(1), explain(2, expected_tool_calls=[]))
    assert expectation(absent, ToolCalls) is None
    assert expectation(empty, ToolCalls) == ToolCalls(expected=(), match=Matching(mode=MatchMode.SUPERSET))


def test_no_tools_said_is_not_the_same_as_no_tools(tmp_path: Path) -> None:
    absent, empty = read(tmp_path, explain(1), explain(2, available_tools=[]))
    assert (absent.tools, empty.tools) == (None, ())


def test_a_row_without_an_answer_is_for_a_live_agent(tmp_path: Path) -> None:
    row = explain(model_answer=..., explain_inputs=...)
    assert warnings(tmp_path, row) == []
    (case,) = read(tmp_path, row)
    assert case.recorded is None


def test_an_empty_answer_is_a_recorded_answer(tmp_path: Path) -> None:
    (case,) = read(tmp_path, explain(model_answer="", explain_inputs=...))
    assert case.recorded == Transcript(answer="", messages=(Message(role=Role.ASSISTANT),))


def test_evals_are_known_in_any_case_and_by_their_alias(tmp_path: Path) -> None:
    names = ["coherenceexplain", "PERCEIVEDINTELLIGENCENONRAGEXPLAIN"]
    payload = {"input": "Start with the basics.", "question": "What should I study?"}
    bundle = {"CoherenceEXPLAIN": payload, "PerceivedIntelligenceNonRagExplain": {**payload, "context": ""}}
    row = explain(required_evals=names, explain_inputs=bundle)
    assert warnings(tmp_path, row) == []
    (case,) = read(tmp_path, row)
    assert expectation(case, Qualities).names == ("CoherenceExplain", "PerceivedIntelligenceExplain")


@pytest.mark.parametrize("named", [[], ...], ids=["empty", "absent"])
def test_where_no_eval_is_named_the_five_defaults_are_meant(named: Any, tmp_path: Path) -> None:
    (case,) = read(tmp_path, explain(required_evals=named, explain_inputs=..., task_goal="g"))
    assert expectation(case, Qualities).names == DEFAULT_EVALS
    assert len(DEFAULT_EVALS) == 5


def test_an_eval_named_twice_counts_once_and_is_a_warning(tmp_path: Path) -> None:
    row = explain(required_evals=["CoherenceExplain", "coherenceExplain"])
    assert warnings(tmp_path, row) == [("duplicate-eval", "required_evals[1]")]
    (case,) = read(tmp_path, row)
    assert expectation(case, Qualities).names == ("CoherenceExplain",)


@pytest.mark.parametrize(
    ("evals", "code", "field"),
    [
        ([None], "unknown-value", "required_evals[0]"),
        (["CoherenceExplain", 3], "unknown-value", "required_evals[1]"),
        ("CoherenceExplain", "wrong-type", "required_evals"),
        (None, "wrong-type", "required_evals"),
    ],
    ids=["null", "a number", "a bare name", "no list"],
)
def test_evals_that_are_no_list_of_names_are_one_problem(tmp_path: Path, evals: Any, code: str, field: str) -> None:
    report = validate(write_rows(tmp_path / "d.explain.jsonl", [explain(required_evals=evals)]), DIALECT)
    assert [(problem.code, problem.field) for problem in report.problems] == [(code, field)]
    assert len(report.warnings) <= 1


@pytest.mark.parametrize("name", ["", "  ", ...])
def test_an_empty_contract_is_none(tmp_path: Path, name: Any) -> None:
    (case,) = read(tmp_path, explain(expected_contract=name))
    assert not any(isinstance(each, Contract) for each in case.expectations)


def test_a_scan_builds_the_cases_without_an_answer_or_with_a_contract(tmp_path: Path) -> None:
    rows = [
        explain(1),
        explain(2, model_answer=..., explain_inputs=...),
        explain(3, expected_contract="Nobodys"),
        explain(4, expected_contract=""),
    ]
    scanned = list(DIALECT.scan(write_rows(tmp_path / "d.explain.jsonl", rows)))
    assert [isinstance(each, Case) for each in scanned if not isinstance(each, Problem)] == [False, True, True, False]


def test_an_eval_without_its_payload_is_a_warning(tmp_path: Path) -> None:
    row = explain(required_evals=["CoherenceExplain", "FluencyExplain"])
    assert warnings(tmp_path, row) == [("missing-payload", "explain_inputs.FluencyExplain")]
    assert warnings(tmp_path, explain(explain_inputs=...)) == [("missing-payload", "explain_inputs")]


def test_what_only_a_payload_says_is_taken_from_it(tmp_path: Path) -> None:
    whole = whole_row()
    only_in_payloads = ("model_answer", "context", "relevant_context", "task_goal", "available_tools")
    bare = {key: value for key, value in whole.items() if key not in (*only_in_payloads, "invoked_tool_calls")}
    assert read(tmp_path, bare) == read(tmp_path, whole)


def test_tools_in_payloads_may_be_json_text_and_described(tmp_path: Path) -> None:
    tools = {
        "availableTools": '[{"name": "profile"}, "search", "details"]',
        "invokedTools": json.dumps([{**call, "arguments": call.get("arguments", {})} for call in CALLS]),
    }
    row = whole_row()
    row["explain_inputs"]["ToolCallAccuracyExplain"] |= tools
    assert warnings(tmp_path, row) == []


def test_a_disagreement_says_where_the_texts_part(tmp_path: Path) -> None:
    payload = {"input": "Start with the end.", "question": "What should I study?"}
    report = validate(
        write_rows(tmp_path / "d.jsonl", [explain(explain_inputs={"CoherenceExplain": payload})]), DIALECT
    )
    (problem,) = report.problems
    assert problem.message == "`input` of CoherenceExplain is not what `model_answer` says (from character 16 on)"
    assert (problem.expected, problem.found) == ('"Start with the basics."', '"Start with the end."')


@pytest.mark.parametrize(
    ("field", "name", "code"),
    [("agent_name", "tutor", "unknown-agent"), ("topic_family", "CKA", "unknown-topic-family")],
)
def test_open_lists_only_warn(field: str, name: str, code: str, tmp_path: Path) -> None:
    fields: Row = {field: name}
    assert warnings(tmp_path, explain(**fields)) == [(code, field)]
    (case,) = read(tmp_path, explain(**fields))
    assert case.labels[field] == name


@pytest.mark.parametrize("agent", [*AGENTS[4:], "tutor"])
def test_agents_that_run_a_whole_workflow_have_no_phase(agent: str, tmp_path: Path) -> None:
    (case,) = read(tmp_path, explain(agent_name=agent, phase=...))
    assert "phase" not in case.labels


@pytest.mark.parametrize("id", ["tutor-01", "tutor001", "tutor-001a", "tutor", "-001", "Tutor-001", "tutor-١٢٣"])
def test_a_case_id_is_its_agent_and_three_digits_or_more(id: str, tmp_path: Path) -> None:
    assert [case.id for case in read(tmp_path, explain(agent_name="tutor", case_id="tutor-1234"))] == ["tutor-1234"]
    report = validate(write_rows(tmp_path / "d.jsonl", [explain(agent_name="tutor", case_id=id)]), DIALECT)
    assert [problem.code for problem in report.problems] == ["bad-pattern"]


def test_profiles_are_those_the_dialect_was_given(tmp_path: Path) -> None:
    row = explain(threshold_profile="house")
    assert read(tmp_path, row, dialect=ExplainDialect(profiles=["house"]))[0].profile == "house"
    assert read(tmp_path, row, dialect=ExplainDialect(profiles=None))[0].profile == "house"
    report = validate(write_rows(tmp_path / "d.jsonl", [row]), ExplainDialect(profiles=["a", "b"]))
    assert report.problems[0].hint == "known: a, b; more can be added in howsure.yaml"


def test_extra_fields_are_kept_and_put_back(tmp_path: Path) -> None:
    row = explain(workflow_mode="multi-agent", expected_tool_calls=[{"tool": "t", "arguments": {}, "must": True}])
    assert warnings(tmp_path, row) == [
        ("unknown-field", "workflow_mode"),
        ("unknown-field", "expected_tool_calls[0].must"),
    ]
    (case,) = read(tmp_path, row)
    assert case.metadata == {"unknown_fields": {"/workflow_mode": "multi-agent", "/expected_tool_calls/0/must": True}}
    DIALECT.write([case], tmp_path / "out.jsonl")
    again = json.loads((tmp_path / "out.jsonl").read_text())
    assert again == {**row, "invoked_tool_calls": []}


def test_payloads_that_no_eval_asks_for_are_written_again(tmp_path: Path) -> None:
    row = whole_row(required_evals=["CoherenceExplain"])
    (case,) = read(tmp_path, row)
    assert case.metadata == {"explain_inputs": list(PAYLOADS)}
    DIALECT.write([case], tmp_path / "out.jsonl")
    assert set(json.loads((tmp_path / "out.jsonl").read_text())["explain_inputs"]) == set(PAYLOADS)


@pytest.mark.parametrize(
    ("head", "is_explain"),
    [
        (json.dumps(explain()).encode(), True),
        (b"\xef\xbb\xbf" + json.dumps(whole_row()).encode()[:400], True),
        (b'{"case_id": "a-001", "agent_name": "a", "required_evals": []}', True),
        (b'{"case_id": "a-001", "candidate_name": "m", "response_text": "x"}', False),
        (b'{"case_id": "a-001", "grader": "RelevanceExplain", "reply": {"score": 5}}', False),
        (b'{"scenario_id": "SCN-001", "topic_family": "AZ-900", "learner_level": "beginner"}', False),
        (b'{"question": "x", "answer": "agent_name required_evals"}', False),
        (b"case_id,agent_name,required_evals\n", False),
        (b"", False),
    ],
)
def test_detection_goes_by_the_fields(head: bytes, is_explain: bool) -> None:
    assert DIALECT.detect(Path("x.jsonl"), head) is is_explain


class TestScenarioCatalog:
    """A catalog beside the dataset is read, and links into it are checked."""

    @pytest.mark.parametrize("place", [".", "common", "..", "../common"])
    def test_it_is_found_near_the_dataset(self, place: str, tmp_path: Path) -> None:
        folder = tmp_path / "set" / "curator"
        (folder / place).mkdir(parents=True, exist_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        write_rows(folder / place / "scenario-catalog.jsonl", [{"scenario_id": "SCN-002"}])
        report = validate(write_rows(folder / "d.jsonl", [explain(), explain(2, scenario_id="SCN-002")]), DIALECT)
        assert [(problem.code, problem.line) for problem in report.problems] == [("unknown-scenario", 1)]
        assert report.problems[0].hint == "did you mean `SCN-002`?"

    def test_without_one_nothing_is_checked(self, tmp_path: Path) -> None:
        assert len(read(tmp_path, explain(scenario_id="anything"))) == 1

    def test_its_own_faults_are_problems_of_the_dataset(self, tmp_path: Path) -> None:
        catalog = write_rows(
            tmp_path / "my-scenario-catalog.jsonl",
            [
                {"scenario_id": "SCN-001", "weekly_hours": 0, "learner_level": "expert"},
                {"scenario_id": "SCN-001"},
                {"topic_family": "AZ-900", "colour": "red"},
                b"{",
                b"[]",
            ],
        )
        report = validate(write_rows(tmp_path / "d.jsonl", [explain()]), DIALECT)
        assert [(problem.line, problem.code, problem.field) for problem in report.problems] == [
            (1, "unknown-value", "learner_level"),
            (1, "out-of-range", "weekly_hours"),
            (2, "duplicate-id", "scenario_id"),
            (3, "missing-field", "scenario_id"),
            (4, "json-syntax", ""),
            (5, "wrong-type", ""),
        ]
        assert {problem.file for problem in report.problems} == {str(catalog)}
        assert [warning.field for warning in report.warnings] == ["colour"]

    def test_two_of_them_leave_open_which_one_counts(self, tmp_path: Path) -> None:
        for name in ("a-scenario-catalog.jsonl", "b-scenario-catalog.jsonl"):
            write_rows(tmp_path / name, [{"scenario_id": "SCN-001"}])
        report = validate(write_rows(tmp_path / "d.jsonl", [explain()]), DIALECT)
        assert [problem.code for problem in report.problems] == ["several-catalogs"]


LABELS = {
    "scenario_id": "S",
    "agent_name": "tutor",
    "difficulty": "easy",
    "quality_band": "good",
    "topic_family": "AZ-900",
    "learner_level": "beginner",
}
NAMES = Qualities(names=("CoherenceExplain",))


def case(**fields: Any) -> Case:
    whole = {"id": "tutor-001", "input": SingleTurn(message="Q"), "labels": LABELS, "expectations": (NAMES,), **fields}
    return Case(**whole)


@pytest.mark.parametrize(
    ("refused", "field"),
    [
        (case(input=SingleTurn(message="Q", history=(Message(role=Role.USER, content="x"),))), "input"),
        (case(expectations=()), "expectations"),
        (case(expectations=(Qualities(names=("Humor",)),)), "expectations"),
        (case(expectations=(NAMES, ReferenceAnswer(answers=("a", "b")))), "expectations"),
        (case(expectations=(NAMES, ToolCalls(expected=(), match=Matching(mode=MatchMode.EXACT)))), "expectations"),
        (case(expectations=(Qualities(names=("ToolCallAccuracyExplain",)),)), "tools"),
        (case(expectations=(Qualities(names=("TaskAdherenceExplain",)),)), "task_goal"),
        (case(labels={**LABELS, "year": "1"}), "labels.year"),
        (case(labels={key: value for key, value in LABELS.items() if key != "difficulty"}), "labels.difficulty"),
        (case(metadata={"a": 1}), "metadata.a"),
        (case(tools=(Tool(name="t", description="d"),)), "tools"),
        (case(tags=("t",)), "tags"),
        (case(recorded=BrokenRecording(reason="broke")), "recorded"),
        (case(recorded=Transcript(answer="x", usage=Usage(prompt_tokens=1))), "recorded"),
        (case(id="one"), "case_id"),
        (case(profile="unknown"), "threshold_profile"),
    ],
)
def test_a_case_that_the_format_cannot_hold_is_refused(refused: Case, field: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid) as raised:
        DIALECT.write([refused], tmp_path / "out.jsonl")
    assert [problem.field for problem in raised.value.problems] == [field]
    assert list(tmp_path.iterdir()) == []


arguments = st.dictionaries(plain_keys, literals, max_size=2)
given_arguments = arguments | arguments.map(json.dumps)
expected_calls = st.lists(
    st.fixed_dictionaries({"tool": filled}, optional={"arguments": given_arguments, "reason": texts}), max_size=2
)
invoked_calls = st.lists(
    st.fixed_dictionaries(
        {"tool": filled}, optional={"arguments": given_arguments, "outcome": st.sampled_from(["error", "relevant", ""])}
    ),
    max_size=2,
)
fields: dict[str, st.SearchStrategy[Any]] = {
    "context": texts,
    "reference_answer": texts,
    "relevant_context": texts,
    "expected_tool_calls": expected_calls,
    "threshold_profile": st.sampled_from(["prep_default", "assessment_strict"]),
    "expected_contract": filled,
    "workflow_mode": texts,
    "phase": st.sampled_from(["preparation", "assessment"]),
}
recordings: st.SearchStrategy[Row] = st.fixed_dictionaries(
    {"model_answer": texts}, optional={"invoked_tool_calls": invoked_calls}
)


nothing: st.SearchStrategy[Row] = st.just({})


@st.composite
def explain_rows(draw: st.DrawFn, number: int = 1) -> Row:
    row = {
        **explain(number, agent_name="tutor", phase=..., model_answer=..., explain_inputs=..., threshold_profile=...),
        "question": draw(filled),
        "task_goal": draw(filled),
        "available_tools": draw(st.lists(filled, max_size=2)),
        "required_evals": draw(st.lists(st.sampled_from(list(PAYLOADS)), unique=True)),
        **draw(st.fixed_dictionaries({}, optional=fields)),
        **draw(nothing | recordings),
    }
    if "model_answer" in row:
        payloads = draw(st.lists(st.sampled_from(list(PAYLOADS)), unique=True))
        row["explain_inputs"] = {eval: payload_of(eval, row) for eval in payloads}
    return row


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.tuples(explain_rows(1), explain_rows(2)))
def test_writing_and_reading_back_gives_equal_cases(tmp_path: Path, rows: tuple[Row, Row]) -> None:
    cases = read(tmp_path, *rows)
    assert len(cases) == 2
    DIALECT.write(cases, tmp_path / "out.jsonl")
    assert list(read_cases(tmp_path / "out.jsonl", DIALECT)) == cases


@st.composite
def usual_rows(draw: st.DrawFn) -> Row:
    """Rows as most files have them: known names, a payload for each eval that is asked for and for no other."""
    row = {key: value for key, value in draw(explain_rows()).items() if key != "workflow_mode"}
    evals = row["required_evals"] or ["CoherenceExplain"]
    row |= {"agent_name": "engagement-agent", "case_id": "engagement-agent-0001", "phase": "preparation"}
    row = {"context": "", "relevant_context": "", "model_answer": "x", "invoked_tool_calls": [], **row}
    for call in (*row["invoked_tool_calls"], *row.get("expected_tool_calls", ())):
        call |= {"arguments": json_text(call.get("arguments", {}))}
    return {**row, "required_evals": evals, "explain_inputs": {eval: payload_of(eval, row) for eval in evals}}


def spoilt(row: Row, data: st.DataObject) -> Row:
    """The row with one field, or one key of one payload, changed or left out."""
    odd = st.just(...) | st.none() | st.integers() | st.sampled_from(["", " ", "x", [], {}, [""], [{"tool": ""}]])
    place = data.draw(st.sampled_from([row, *row["explain_inputs"].values()]))
    key = data.draw(st.sampled_from([*place]))
    place[key] = data.draw(odd)
    return {name: value for name, value in row.items() if value is not ...}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(usual_rows(), st.data())
def test_the_quick_and_the_slow_reader_agree(tmp_path: Path, row: Row, data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        row = spoilt(row, data)
    bundle = row.get("explain_inputs")
    if isinstance(bundle, dict):
        row["explain_inputs"] = {
            eval: {key: value for key, value in payload.items() if value is not ...} for eval, payload in bundle.items()
        }
    text = json.dumps(row, ensure_ascii=data.draw(st.booleans())).encode()
    path = write_rows(tmp_path / "d.jsonl", [text])
    slow = list(DIALECT.read_line(text, Spot(str(path), 1), SeenIds("case_id"), ()))
    assert list(DIALECT.read(path)) == slow
    if all(isinstance(found, Case) for found in slow):
        assert list(DIALECT.read_again(path, lambda _: None)) == slow
