"""The `test-set` dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.test_set import SCHEMA, TestSetDialect
from howsure.errors import Conflict, DatasetInvalid, Level, Problem
from howsure.model.case import Case, Fact, PlanStep, Scenario, Script, SingleTurn, World
from howsure.model.expectation import (
    AgentsInvolved,
    ArgumentMode,
    Criteria,
    Criterion,
    ExpectedCall,
    FinalState,
    ForbiddenTools,
    Goal,
    Matching,
    MatchMode,
    ToolCalls,
    Trajectory,
    text_id,
)
from howsure.model.transcript import BrokenRecording, Transcript
from json_strategies import case_ids, filled, objects, texts, values

FIXTURE = Path(__file__).parents[2] / "fixtures" / "seed_003_test_set.json"
DIALECT = TestSetDialect()


def entry(**fields: Any) -> dict[str, Any]:
    whole = {
        "item_id": "i1",
        "type": "single_turn",
        "inputs": {"message": "Hi"},
        "expected": {"success_criteria": ["polite"]},
        **fields,
    }
    return {key: value for key, value in whole.items() if value is not ...}


def scenario(**inputs: Any) -> dict[str, Any]:
    whole = {"persona": "an employee", "initial_message": "Hello", **inputs}
    return entry(type="scenario", inputs={key: value for key, value in whole.items() if value is not ...})


def expecting(**expected: Any) -> dict[str, Any]:
    return entry(expected={"success_criteria": ["polite"], **expected})


REFERENCE = {
    "reference_tool_interactions": [{"tool_name": "refund", "input_arguments": {"order": {"$regex": "L-.*"}}}],
    "tool_match": {"mode": "exact"},
    "reference_trajectory": ["shop", "refund"],
    "reference_state_variables": {"refunded": True},
    "expected_response": "Done.",
}


def test_a_test_set_may_expect_calls_a_trajectory_and_a_state(tmp_path: Path) -> None:
    (case,), problems = read(a_file(tmp_path, expecting(should_use_tools=["refund"], reference_data=REFERENCE)))
    call = ExpectedCall(name="refund", arguments={"order": {"$regex": "L-.*"}})
    by_name = Matching(mode=MatchMode.SUPERSET, args=ArgumentMode.IGNORE)
    assert case.expectations[1:] == (
        ToolCalls(expected=(ExpectedCall(name="refund"),), match=by_name),
        ToolCalls(expected=(call,), match=Matching(mode=MatchMode.EXACT)),
        Trajectory(steps=("shop", "refund")),
        FinalState(variables={"refunded": True}),
    )
    assert case.metadata["reference_data"] == {"expected_response": "Done."}
    assert problems == []
    DIALECT.write([case], tmp_path / "again.json")
    assert read(tmp_path / "again.json") == ([case], [])


@pytest.mark.parametrize(
    ("reference", "code", "level", "field"),
    [
        ({"reference_trajectory": "shop"}, "wrong-type", Level.ERROR, "reference_trajectory"),
        ({"reference_trajectry": ["shop"]}, "misspelt-field", Level.WARNING, "reference_trajectry"),
        (
            {"reference_tool_interactions": [{"tool_name": "a", "input_arguments": {"x": {"$regx": "a"}}}]},
            "bad-matcher",
            Level.ERROR,
            "reference_tool_interactions[0].input_arguments.x.$regx",
        ),
    ],
)
def test_what_is_wrong_with_reference_data_has_its_place(
    tmp_path: Path, reference: Any, code: str, level: Level, field: str
) -> None:
    _, (problem,) = read(a_file(tmp_path, expecting(reference_data=reference)))
    place = f"items[0].expected.reference_data.{field}"
    assert (problem.code, problem.level, problem.field) == (code, level, place)


def a_file(folder: Path, *entries: Any, **header: Any) -> Path:
    path = folder / "set.json"
    path.write_text(json.dumps({**header, "items": list(entries)}, indent=1), encoding="utf-8")
    return path


def read(path: Path) -> tuple[list[Case], list[Problem]]:
    found = list(DIALECT.read(path))
    return [one for one in found if isinstance(one, Case)], [one for one in found if isinstance(one, Problem)]


def test_the_block_of_the_seed_reads_as_it_stands() -> None:
    report = validate(FIXTURE, DIALECT)
    (case,) = read_cases(FIXTURE, DIALECT, report)
    assert report.warnings == ()
    assert case.id == "uuid (matches EvaluationResult.test_case_id)"
    assert case.name == "PTO Policy Inquiry"
    assert case.world == World.TEST_SET
    assert case.input == Scenario(
        persona="An employee asking about...", initial_message="Hi, I need to know...", max_turns=8
    )
    assert case.expectations == (
        Criteria(
            criteria=(
                Criterion(id="fbd80452fbcc", text="Agent retrieves PTO policy from knowledge base"),
                Criterion(id="7f05c992b343", text="Response includes accrual rates or refers to handbook"),
            )
        ),
        ToolCalls(
            expected=(ExpectedCall(name="search_kb"),),
            match=Matching(mode=MatchMode.SUPERSET, args=ArgumentMode.IGNORE),
        ),
        ForbiddenTools(names=("live_handoff",)),
        Goal(text="Employee gets PTO info"),
    )
    assert case.tags == ("hr", "policy")
    assert case.labels == {"type": "scenario", "priority": "high"}
    assert case.metadata["inputs"] == {"message": "What is our PTO policy?"}
    assert case.metadata["test_set"] == {
        "test_set_id": "uuid",
        "agent_id": "mongodb-objectid",
        "version": 2,
        "name": "O'Connor Internal Ops Associate Test Set",
        "description": "...",
        "created_at": "datetime",
        "updated_at": "datetime",
    }


def test_the_schema_that_is_printed_accepts_the_seed() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert Draft202012Validator(SCHEMA).is_valid(json.loads(FIXTURE.read_text()))


def test_the_id_of_a_criterion_is_a_hash_of_its_text() -> None:
    assert text_id("polite") == text_id("polite")
    assert text_id("polite") != text_id("Polite")
    assert len(text_id("")) == 12


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (entry(), SingleTurn(message="Hi")),
        (entry(inputs={"message": "Hi", "persona": None, "max_turns": 3}), SingleTurn(message="Hi")),
        (scenario(), Scenario(persona="an employee", initial_message="Hello", max_turns=8)),
        (scenario(max_turns=None), Scenario(persona="an employee", initial_message="Hello", max_turns=8)),
        (scenario(max_turns=15), Scenario(persona="an employee", initial_message="Hello", max_turns=15)),
        (scenario(message=None), Scenario(persona="an employee", initial_message="Hello", max_turns=8)),
    ],
    ids=["single turn", "unused fields", "scenario", "no limit given", "a limit", "no message"],
)
def test_single_turns_and_scenarios_are_told_apart(tmp_path: Path, given: dict[str, Any], expected: object) -> None:
    (case,), problems = read(a_file(tmp_path, given))
    assert (case.input, problems) == (expected, [])


def test_empty_lists_of_tools_expect_nothing(tmp_path: Path) -> None:
    (case,), _ = read(a_file(tmp_path, expecting(should_use_tools=[], should_not_use_tools=[], expected_outcome=" ")))
    assert [type(one) for one in case.expectations] == [Criteria]


FAULTS: list[tuple[str, Any, str, str]] = [
    ("id missing", entry(item_id=...), "missing-field", "item_id"),
    ("id blank", entry(item_id=" "), "empty", "item_id"),
    ("type missing", entry(type=...), "missing-field", "type"),
    ("type unknown", entry(type="chat"), "unknown-value", "type"),
    ("type transcript", entry(type="transcript"), "missing-field", "inputs.messages"),
    ("type voice", entry(type="voice_simulation", inputs={"messages": []}), "too-few", "inputs.messages"),
    ("inputs missing", entry(inputs=...), "missing-field", "inputs"),
    ("message missing", entry(inputs={}), "missing-field", "inputs.message"),
    ("message null", entry(inputs={"message": None}), "wrong-type", "inputs.message"),
    ("message blank", entry(inputs={"message": ""}), "empty", "inputs.message"),
    ("persona missing", scenario(persona=...), "missing-field", "inputs.persona"),
    ("opening missing", scenario(initial_message=...), "missing-field", "inputs.initial_message"),
    ("opening blank", scenario(initial_message="\n"), "empty", "inputs.initial_message"),
    ("no turns", scenario(max_turns=0), "out-of-range", "inputs.max_turns"),
    ("turns in words", scenario(max_turns="8"), "wrong-type", "inputs.max_turns"),
    ("goal a list", scenario(goal=[]), "wrong-type", "inputs.goal"),
    ("state a list", entry(inputs={"message": "Hi", "state": []}), "wrong-type", "inputs.state"),
    ("starting prompt blank", scenario(initial_message=..., starting_prompt=" "), "empty", "inputs.starting_prompt"),
    ("starting prompt null", scenario(initial_message=..., starting_prompt=None), "missing-field",
     "inputs.initial_message"),
    ("two openings", scenario(starting_prompt="Another"), "contradiction", "inputs.starting_prompt"),
    ("facts one text", scenario(facts="order 1"), "wrong-type", "inputs.facts"),
    ("fact a list", scenario(facts={"order": ["1"]}), "wrong-type", "inputs.facts.order"),
    ("fact true", scenario(facts={"order": True}), "wrong-type", "inputs.facts.order"),
    ("fact blank", scenario(facts={"order": " "}), "empty", "inputs.facts.order"),
    ("fact without a name", scenario(facts={" ": "1"}), "empty", "inputs.facts"),
    ("listed fact without value", scenario(facts=[{"name": "order"}]), "missing-field", "inputs.facts[0].value"),
    ("listed fact twice", scenario(facts=[{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]),
     "duplicate-value", "inputs.facts[1].name"),
    ("asked by one text", scenario(facts=[{"name": "a", "value": "1", "asked_by": "b"}]), "wrong-type",
     "inputs.facts[0].asked_by"),
    ("plan a number", scenario(conversation_plan=3), "wrong-type", "inputs.conversation_plan"),
    ("plan blank", scenario(conversation_plan=" "), "empty", "inputs.conversation_plan"),
    ("step a number", scenario(conversation_plan=["a", 3]), "wrong-type", "inputs.conversation_plan[1]"),
    ("step without words", scenario(conversation_plan=[{"when": "x"}]), "missing-field",
     "inputs.conversation_plan[0].say"),
    ("criteria one text", entry(expected={"success_criteria": "polite"}), "wrong-type", "expected.success_criteria"),
    ("criterion blank", entry(expected={"success_criteria": ["a", ""]}), "empty", "expected.success_criteria[1]"),
    ("criterion twice", entry(expected={"success_criteria": ["a", "a"]}), "duplicate-value",
     "expected.success_criteria"),
    ("tool twice", expecting(should_use_tools=["a", "a"]), "duplicate-value", "expected.should_use_tools"),
    ("tool wanted and not", expecting(should_use_tools=["a", "b"], should_not_use_tools=["b"]), "contradiction",
     "expected.should_not_use_tools"),
    ("outcome a list", expecting(expected_outcome=[]), "wrong-type", "expected.expected_outcome"),
    ("tags one text", entry(tags="hr"), "wrong-type", "tags"),
    ("priority a number", entry(priority=1), "wrong-type", "priority"),
    ("name a number", entry(name=1), "wrong-type", "name"),
    ("no object", "Hi", "wrong-type", ""),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "code", "field"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_each_fault_is_one_problem_at_its_place(tmp_path: Path, fault: Any, code: str, field: str) -> None:
    cases, found = read(a_file(tmp_path, entry(item_id="good"), fault))
    problems = [problem for problem in found if problem.level is Level.ERROR]
    assert [case.id for case in cases] == ["good"]
    assert [(problem.code, problem.field) for problem in problems] == [(code, f"items[1]{'.' if field else ''}{field}")]
    assert problems[0].line == 15


def test_a_finished_conversation_is_read_and_written_whole(tmp_path: Path) -> None:
    said = [
        {"role": "user", "content": "Refund me", "start_ms": 0, "end_ms": 900},
        {"role": "assistant", "content": "Done.", "start_ms": 1500, "end_ms": 2500},
    ]
    inputs = {"messages": said, "tool_calls": [{"name": "refund", "result": "ok"}], "state": {"paid": True}}
    items = [entry(item_id=kind, type=kind, inputs=inputs) for kind in ("transcript", "voice_simulation")]
    cases, problems = read(a_file(tmp_path, *items))
    assert not problems
    for case in cases:
        assert isinstance(case.recorded, Transcript)
        assert (case.input, case.recorded.answer, case.state) == (Script(turns=("Refund me",)), "Done.", {})
        assert ([call.name for call in case.recorded.tool_calls], case.recorded.state) == (["refund"], {"paid": True})
        assert case.recorded.duration_ms == 2500
    DIALECT.write(cases, tmp_path / "again.json")
    assert read(tmp_path / "again.json")[0] == cases


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[]", "wrong-type"),
        ('{"name": "x"}', "missing-field"),
        ('{"items": {}}', "wrong-type"),
        ('{"items": [], "version": 0}', "out-of-range"),
        ('{"items": [], "version": "2"}', "wrong-type"),
        ('{"items": [', "json-syntax"),
    ],
)
def test_faults_of_the_whole_file(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "set.json"
    path.write_text(text)
    assert [problem.code for problem in read(path)[1]] == [code]


def test_an_id_used_twice_is_a_problem(tmp_path: Path) -> None:
    cases, (problem,) = read(a_file(tmp_path, entry(), entry()))
    assert len(cases) == 1
    assert (problem.code, problem.field) == ("duplicate-id", "items[1].item_id")


def test_an_entry_that_nothing_decides_is_warned_about(tmp_path: Path) -> None:
    (case,), (problem,) = read(a_file(tmp_path, entry(expected=...)))
    assert (problem.code, problem.level) == ("no-criteria", Level.WARNING)
    assert case.expectations == ()


def test_unknown_fields_are_kept_in_place_and_warned_about(tmp_path: Path) -> None:
    odd = entry(owner="me", inputs={"message": "Hi", "payload": {"a": 1}})
    odd["expected"]["note"] = "x"
    path = a_file(tmp_path, odd, changelog=["first"])
    (case,), problems = read(path)
    assert [problem.field for problem in problems] == [
        "changelog",
        "items[0].owner",
        "items[0].inputs.payload",
        "items[0].expected.note",
    ]
    assert {problem.level for problem in problems} == {Level.WARNING}
    DIALECT.write([case], tmp_path / "again.json")
    written = json.loads((tmp_path / "again.json").read_text())
    assert written["changelog"] == ["first"]
    assert written["items"][0]["owner"] == "me"
    assert written["items"][0]["inputs"]["payload"] == {"a": 1}
    assert written["items"][0]["expected"]["note"] == "x"


@pytest.mark.parametrize(
    ("head", "detected"),
    [
        (b'{"test_set_id": "x", "name": "', True),
        (b'{"items": [', True),
        (b'{"golden_questions": [{"items": []}]}', False),
        (b'{"rules": []}', False),
        (b'{"bot_id": "x"}', False),
        (b"", False),
    ],
)
def test_a_file_is_known_by_its_keys(head: bytes, detected: bool) -> None:
    assert DIALECT.detect(Path("a.json"), head) is detected


LABELS = {"type": "single_turn"}
REFUSED: list[tuple[str, Case, str]] = [
    ("several turns", Case(id="c", input=Script(turns=("a", "b")), labels=LABELS), "input"),
    ("context", Case(id="c", input=SingleTurn(message="a", context="b"), labels=LABELS), "input"),
    ("an agent", Case(id="c", input=SingleTurn(message="a"), labels=LABELS,
                      expectations=(AgentsInvolved(names=("shop",)),)), "expectations"),
    ("weights", Case(id="c", input=SingleTurn(message="a"), labels=LABELS, expectations=(
        Criteria(criteria=(Criterion(id=text_id("t"), text="t", weight=2),)),)), "expectations"),
    ("arguments twice", Case(id="c", input=SingleTurn(message="a"), labels=LABELS, expectations=(
        ToolCalls(expected=(ExpectedCall(name="t", arguments={"a": 1}),)),
        ToolCalls(expected=(ExpectedCall(name="u", arguments={"a": 1}),)))), "expectations"),
    ("a recording", Case(id="c", input=SingleTurn(message="a"), labels=LABELS, recorded=BrokenRecording(reason="r")),
     "recorded"),
    ("a profile", Case(id="c", input=SingleTurn(message="a"), labels=LABELS, profile="p"), "profile"),
    ("labels", Case(id="c", input=SingleTurn(message="a"), labels={"x": "y"}), "labels"),
    ("metadata", Case(id="c", input=SingleTurn(message="a"), labels=LABELS, metadata={"x": 1}), "metadata.x"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "field"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_a_test_set_cannot_say_is_refused_and_not_dropped(tmp_path: Path, case: Case, field: str) -> None:
    with pytest.raises(DatasetInvalid) as refused:
        DIALECT.write([case], tmp_path / "a.json")
    assert [(problem.code, problem.field) for problem in refused.value.problems] == [("not-writable", field)]


def test_a_written_test_set_has_every_field_of_the_evaluation_api(tmp_path: Path) -> None:
    cases = list(read_cases(FIXTURE, DIALECT))
    DIALECT.write(cases, tmp_path / "again.json")
    seed, written = json.loads(FIXTURE.read_text()), json.loads((tmp_path / "again.json").read_text())
    assert written == seed


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        (
            {"goal": None, "facts": None, "conversation_plan": None},
            Scenario(persona="an employee", initial_message="Hello"),
        ),
        (
            {"goal": "Know it", "facts": {"order": "A-1", "guests": 3, "size": 1.5}},
            Scenario(
                persona="an employee",
                initial_message="Hello",
                goal="Know it",
                facts=(
                    Fact(name="order", value="A-1"),
                    Fact(name="guests", value="3"),
                    Fact(name="size", value="1.5"),
                ),
            ),
        ),
        (
            {"facts": [{"name": "order", "value": "1", "asked_by": ["purchase", "id"]}]},
            Scenario(
                persona="an employee",
                initial_message="Hello",
                facts=(Fact(name="order", value="1", asked_by=("purchase", "id")),),
            ),
        ),
        (
            {"initial_message": ..., "starting_prompt": "Hi there"},
            Scenario(persona="an employee", initial_message="Hi there"),
        ),
        ({"starting_prompt": "Hello"}, Scenario(persona="an employee", initial_message="Hello")),
    ],
    ids=["nulls", "facts by name", "facts listed", "another name", "both names"],
)
def test_scenarios_carry_a_goal_facts_and_either_name_of_the_opening(
    tmp_path: Path, inputs: dict[str, Any], expected: Scenario
) -> None:
    (case,), problems = read(a_file(tmp_path, scenario(**inputs)))
    assert (case.input, case.metadata.get("inputs"), problems) == (expected, None, [])


@pytest.mark.parametrize(
    ("plan", "steps"),
    [
        ("Ask for the price.", [("Ask for the price.", "")]),
        (
            "Ask for the price. If the agent offers a voucher, decline it. Then leave.",
            [("Ask for the price.", ""), ("decline it.", "the agent offers a voucher"), ("Then leave.", "")],
        ),
        ("1. Ask for it\n\n2) When asked for a date, say: next week\n- Leave",
         [("Ask for it", ""), ("say: next week", "asked for a date"), ("Leave", "")]),
        ("If the price is above 1,000 euros, then say no.", [("say no.", "the price is above 1,000 euros")]),
        ("Wenn der Agent ablehnt, bestehe darauf.", [("bestehe darauf.", "der Agent ablehnt")]),
        ("If possible, I'd like it today.", [("If possible, I'd like it today.", "")]),
        (["When is it due?", "If the agent refuses, insist."],
         [("When is it due?", ""), ("insist.", "the agent refuses")]),
        ([{"say": "If the agent refuses, insist."}, {"say": "Yes", "when": "the agent calls pay"}],
         [("If the agent refuses, insist.", ""), ("Yes", "the agent calls pay")]),
        ("-", [("-", "")]),
    ],
    ids=["a sentence", "sentences", "lines", "thousands", "German", "no condition", "a list", "objects", "a mark"],
)  # fmt: skip
def test_a_plan_is_split_into_steps_with_their_conditions(
    tmp_path: Path, plan: Any, steps: list[tuple[str, str]]
) -> None:
    (case,), problems = read(a_file(tmp_path, scenario(conversation_plan=plan)))
    assert isinstance(case.input, Scenario)
    assert [(step.say, step.when) for step in case.input.plan] == steps
    assert problems == []
    DIALECT.write([case], tmp_path / "again.json")
    assert read(tmp_path / "again.json")[0] == [case]


@pytest.mark.parametrize(
    "inputs", [{"message": "Hi"}, {"persona": "p", "initial_message": "m"}], ids=["turn", "scenario"]
)
def test_a_session_may_start_with_a_state(tmp_path: Path, inputs: dict[str, Any]) -> None:
    kind = "single_turn" if "message" in inputs else "scenario"
    (case,), problems = read(a_file(tmp_path, entry(type=kind, inputs={**inputs, "state": {"tier": {"gold": [1]}}})))
    assert (case.state, case.metadata, problems) == ({"tier": {"gold": [1]}}, {}, [])


@pytest.mark.parametrize(
    "given",
    [
        Scenario(persona="p", initial_message="m", facts=(Fact(name="a", value="1"), Fact(name="a", value="2"))),
        Scenario(persona="p", initial_message="m", facts=(Fact(name="a", value=" "),)),
        Scenario(persona="p", initial_message="m", plan=(PlanStep(say=""),)),
    ],
    ids=["one name twice", "a blank value", "nothing to say"],
)
def test_a_scenario_that_could_not_be_read_again_is_not_written(tmp_path: Path, given: Scenario) -> None:
    with pytest.raises(DatasetInvalid) as refused:
        DIALECT.write([Case(id="c", input=given, labels={"type": "scenario"})], tmp_path / "a.json")
    assert [problem.field for problem in refused.value.problems] == ["input"]


names = st.lists(filled, max_size=3, unique=True)
expectations = st.fixed_dictionaries(
    {},
    optional={
        "success_criteria": names,
        "should_use_tools": st.lists(st.sampled_from(["a", "b"]), unique=True),
        "should_not_use_tools": st.lists(st.sampled_from(["c", "d"]), unique=True),
        "expected_outcome": st.none() | texts,
        "odd": values,
    },
)
loose = {"max_turns": st.none() | st.integers(1, 30), "odd": values, "state": st.none() | objects}
single = st.fixed_dictionaries({"message": filled}, optional={"persona": st.none() | texts, **loose})
words = filled | st.sampled_from(["If the agent asks, say yes.", "Ask. Then leave.", "- a\n- b", "When they call, no"])
fact = st.fixed_dictionaries(
    {"value": filled | st.integers(-5, 5)}, optional={"asked_by": st.lists(filled, max_size=2)}
)
told: dict[str, Any] = {
    "message": st.none() | texts,
    "goal": st.none() | texts,
    "facts": st.none()
    | st.dictionaries(filled, filled | st.floats(-2, 2), max_size=3)
    | st.dictionaries(filled, fact, max_size=3).map(
        lambda given: [{"name": name, **one} for name, one in given.items()]
    ),
    "conversation_plan": st.none()
    | words
    | st.lists(words | st.fixed_dictionaries({"say": words}, optional={"when": texts}), max_size=3),
}
simulated = st.fixed_dictionaries({"persona": filled, "initial_message": filled}, optional=told | loose)
common: dict[str, Any] = {
    "name": texts,
    "expected": expectations,
    "tags": st.lists(filled, max_size=2),
    "priority": st.none() | texts,
    "odd": values,
}
entries = st.one_of(
    st.fixed_dictionaries({"item_id": case_ids, "type": st.just("single_turn"), "inputs": single}, optional=common),
    st.fixed_dictionaries({"item_id": case_ids, "type": st.just("scenario"), "inputs": simulated}, optional=common),
)
test_sets = st.fixed_dictionaries(
    {"items": st.lists(entries, min_size=1, max_size=3, unique_by=lambda one: one["item_id"])},
    optional={"test_set_id": texts, "version": st.integers(1, 9), "description": st.none() | texts, "odd": values},
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(test_sets)
def test_a_file_that_was_found_valid_gives_the_same_cases_when_it_is_read_again(
    tmp_path: Path, test_set: dict[str, Any]
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(test_set), encoding="utf-8-sig")
    slowly = [found for found in DIALECT.read_watched(path) if isinstance(found, Case)]
    assert list(DIALECT.read_again(path, lambda _: None)) == slowly


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"items": 1}',
        '{"items": [1]}',
        '{"items": [{}]}',
        '{"items": [{"item_id": "a", "type": "scenario", "inputs": {}}]}',
        '{"items": [{"item_id": "a", "type": "single_turn", "inputs": {"message": "Hi"}, "expected": 3}]}',
        '{"items": [{"item_id": "a", "type": "single_turn", "inputs": {"message": "Hi"}}, null]}',
    ],
)
def test_a_file_that_was_spoiled_after_it_was_found_valid_is_told_apart(tmp_path: Path, text: str) -> None:
    path = a_file(tmp_path, entry())
    report = validate(path, DIALECT)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Conflict, match="changed while it was being read"):
        list(read_cases(path, DIALECT, report))


def test_a_number_too_large_for_the_quick_decoder_is_read_again_all_the_same(tmp_path: Path) -> None:
    path = a_file(tmp_path, entry(inputs={"message": "Hi", "state": {"big": 10**400}}))
    assert [case.state for case in read_cases(path, DIALECT)] == [{"big": 10**400}]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(test_sets)
def test_reading_what_was_written_gives_equal_cases(tmp_path: Path, test_set: dict[str, Any]) -> None:
    path, again = tmp_path / "a.json", tmp_path / "b.json"
    path.write_text(json.dumps(test_set), encoding="utf-8")
    cases = list(read_cases(path, DIALECT))
    assert len(cases) == len(test_set["items"])
    DIALECT.write(cases, again)
    assert list(read_cases(again, DIALECT)) == cases
