"""The `golden` dialect."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howsure.dialects.datasets import read_cases, validate
from howsure.dialects.golden import GoldenDialect, agent_of
from howsure.errors import DatasetInvalid, Level, Problem
from howsure.model.case import Attachment, Case, Scenario, Script, SingleTurn, World
from howsure.model.expectation import (
    AgentsInvolved,
    ArgumentMode,
    Expectation,
    ExpectedCall,
    FinalState,
    Goal,
    Matching,
    MatchMode,
    ToolCalls,
    Trajectory,
)
from howsure.model.transcript import BrokenRecording, Tool
from json_strategies import case_ids, filled, literals, objects, plain_keys, texts, values

FIXTURE = Path(__file__).parents[2] / "fixtures" / "seed_001_golden.json"
DIALECT = GoldenDialect()


def question(**fields: Any) -> dict[str, Any]:
    whole = {"id": "q1", "user_inputs": ["Hi"], "agents_evaluated": [], "reference_data": {}, **fields}
    return {key: value for key, value in whole.items() if value is not ...}


def calls(*expected: Any, **reference: Any) -> dict[str, Any]:
    return question(reference_data={"reference_tool_interactions": list(expected), **reference})


def a_file(folder: Path, *questions: Any, name: str = "set.json", **beside: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps({"golden_questions": list(questions), **beside}, indent=1), encoding="utf-8")
    return path


def read(path: Path) -> tuple[list[Case], list[Problem]]:
    found = list(DIALECT.read(path))
    return [one for one in found if isinstance(one, Case)], [one for one in found if isinstance(one, Problem)]


def the_case(folder: Path, **fields: Any) -> Case:
    (case,), problems = read(a_file(folder, question(**fields)))
    assert problems == []
    return case


def test_the_block_of_the_seed_reads_as_it_stands() -> None:
    (case,) = read_cases(FIXTURE, DIALECT)
    assert case.id == "q_billing_01"
    assert case.world == World.GOLDEN
    assert case.input == Script(turns=("Hi", "I have a billing question"))
    assert case.labels == {"agent": "seed_001", "complexity": "high", "topic": "refund"}
    assert case.metadata == {"metadata": {"complexity": "high", "topic": "refund"}}
    assert case.expectations == (
        ToolCalls(
            expected=(
                ExpectedCall(name="access_cart_information", arguments={"customer_id": "123"}),
                ExpectedCall(name="generate_qr_code", arguments={"discount_value": 10}),
            ),
            match=Matching(mode=MatchMode.SUPERSET),
        ),
        Trajectory(
            steps=("GreetingAgent", "BillingSupportAgent", "PaymentTool"), match=Matching(mode=MatchMode.IN_ORDER)
        ),
        FinalState(variables={"customer_intent": "refund", "refund_amount": 50.0, "target_date": "2024-01-01"}),
        AgentsInvolved(names=("customer_service",)),
    )


def test_an_empty_list_of_calls_expects_none_and_an_absent_one_checks_nothing(tmp_path: Path) -> None:
    assert the_case(tmp_path, reference_data={"reference_tool_interactions": []}).expectations == (
        ToolCalls(expected=()),
    )
    assert the_case(tmp_path, reference_data={}).expectations == ()


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({"tool_name": "t"}, {}),
        ({"tool_name": "t", "input_arguments": None}, {}),
        ({"tool_name": "t", "input_arguments": {"a": 1}}, {"a": 1}),
        ({"tool_name": "t", "input_arguments": '{"a": {"$any": true}}'}, {"a": {"$any": True}}),
    ],
    ids=["absent", "null", "an object", "JSON text"],
)
def test_expected_arguments_may_be_absent_an_object_or_its_text(
    tmp_path: Path, given: dict[str, Any], arguments: dict[str, Any]
) -> None:
    case = the_case(tmp_path, reference_data={"reference_tool_interactions": [given]})
    assert case.expectations == (ToolCalls(expected=(ExpectedCall(name="t", arguments=arguments),)),)


@pytest.mark.parametrize(
    ("given", "matching"),
    [
        ({}, Matching()),
        ({"mode": "strict"}, Matching(mode=MatchMode.EXACT)),
        ({"mode": "unordered"}, Matching(mode=MatchMode.ANY_ORDER)),
        ({"mode": "in_order", "args": "subset"}, Matching(mode=MatchMode.IN_ORDER, args=ArgumentMode.SUBSET)),
        (
            {"args_for": {"a": "ignore", "b": ["x.y", "z"]}},
            Matching(args_for={"a": ArgumentMode.IGNORE, "b": ("x.y", "z")}),
        ),
        ({"only": ["a"], "ignore": []}, Matching(only=("a",))),
        ({"only": [], "ignore": ["b"]}, Matching(only=(), ignore=("b",))),
    ],
    ids=["empty", "strict", "unordered", "arguments", "by tool", "only", "ignore"],
)
def test_ways_of_matching_are_read_with_the_names_users_know(
    tmp_path: Path, given: dict[str, Any], matching: Matching
) -> None:
    case = the_case(tmp_path, reference_data={"reference_tool_interactions": [], "tool_match": given})
    assert case.expectations == (ToolCalls(expected=(), match=matching),)


def test_a_trajectory_is_in_order_unless_its_match_says_otherwise(tmp_path: Path) -> None:
    plain = the_case(tmp_path, reference_data={"reference_trajectory": ["A"]})
    exact = the_case(
        tmp_path, reference_data={"reference_trajectory": ["A"], "trajectory_match": {"mode": "exact", "ignore": ["b"]}}
    )
    assert plain.expectations == (Trajectory(steps=("A",), match=Matching(mode=MatchMode.IN_ORDER)),)
    assert exact.expectations == (Trajectory(steps=("A",), match=Matching(mode=MatchMode.EXACT, ignore=("b",))),)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("reference_tool_interaction", "reference_tool_interactions"),
        ("referenceToolInteractions", "reference_tool_interactions"),
        ("reference_trajectry", "reference_trajectory"),
        ("reference-state-variables", "reference_state_variables"),
        ("tool_matching", "tool_match"),
    ],
)
def test_a_key_that_is_almost_ours_is_a_warning_with_a_suggestion(tmp_path: Path, key: str, meant: str) -> None:
    cases, (problem,) = read(a_file(tmp_path, question(reference_data={key: []})))
    assert (problem.code, problem.level, problem.field) == (
        "misspelt-field",
        Level.WARNING,
        f"golden_questions[0].reference_data.{key}",
    )
    assert problem.hint == f"did you mean `{meant}`?"
    assert cases[0].metadata["reference_data"] == {key: []}


def test_a_key_of_your_own_beside_the_one_it_resembles_is_deliberate(tmp_path: Path) -> None:
    both = {"reference_trajectory": ["a"], "reference_trajectory_2": ["b"]}
    _, problems = read(a_file(tmp_path, question(reference_data=both)))
    assert problems == []


def test_custom_keys_of_reference_data_are_kept_in_place_without_a_warning(tmp_path: Path) -> None:
    case = the_case(tmp_path, reference_data={"expected_response": "yes", "expected_booking": {"day": 3}})
    assert case.metadata["reference_data"] == {"expected_response": "yes", "expected_booking": {"day": 3}}


def test_labels_are_the_plain_values_of_the_metadata_and_never_overwrite_ours(tmp_path: Path) -> None:
    metadata = {"agent": "other", "n": 2, "share": 0.5, "vip": True, "none": None, "list": [1], "id": "x"}
    path = a_file(tmp_path, question(metadata=metadata), name="billing_golden.json")
    (case,), _ = read(path)
    assert case.labels == {"agent": "billing", "n": "2", "share": "0.5", "vip": "true", "id": "x"}
    assert case.id == "q1"
    assert case.metadata["metadata"] == metadata


@pytest.mark.parametrize(
    ("name", "agent"),
    [("customer_service_golden.json", "customer_service"), ("golden.json", ""), ("_golden.json", ""), ("a.json", "")],
)
def test_the_name_of_the_file_names_the_agent(name: str, agent: str) -> None:
    assert agent_of(Path("folder") / name) == agent


def test_the_alias_questions_is_read_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"questions": [question()]}))
    (case,), problems = read(path)
    assert (case.id, problems) == ("q1", [])


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    text = json.dumps({"golden_questions": [question(id="é"), question(id="")]}, indent=1, ensure_ascii=False)
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    (case,), (problem,) = read(path)
    assert case.id == "é"
    assert (problem.line, problem.field) == (11, "golden_questions[1].id")


FAULTS: list[tuple[str, Any, str, str]] = [
    ("id missing", question(id=...), "missing-field", "id"),
    ("id blank", question(id=" "), "empty", "id"),
    ("id a number", question(id=7), "wrong-type", "id"),
    ("no turns", question(user_inputs=[]), "too-few", "user_inputs"),
    ("turns missing", question(user_inputs=...), "missing-field", "user_inputs"),
    ("turns one text", question(user_inputs="Hi"), "wrong-type", "user_inputs"),
    ("a blank turn", question(user_inputs=["Hi", " \t"]), "empty", "user_inputs[1]"),
    ("a turn of the wrong kind", question(user_inputs=[{"text": "Hi"}]), "wrong-type", "user_inputs[0]"),
    ("agents missing", question(agents_evaluated=...), "missing-field", "agents_evaluated"),
    ("agents one text", question(agents_evaluated="a"), "wrong-type", "agents_evaluated"),
    ("metadata a list", question(metadata=[]), "wrong-type", "metadata"),
    ("reference missing", question(reference_data=...), "missing-field", "reference_data"),
    ("reference null", question(reference_data=None), "wrong-type", "reference_data"),
    ("calls an object", question(reference_data={"reference_tool_interactions": {}}), "wrong-type",
     "reference_data.reference_tool_interactions"),
    ("call without name", calls({"input_arguments": {}}), "missing-field",
     "reference_data.reference_tool_interactions[0].tool_name"),
    ("call with a blank name", calls({"tool_name": ""}), "empty",
     "reference_data.reference_tool_interactions[0].tool_name"),
    ("arguments a list", calls({"tool_name": "t", "input_arguments": []}), "wrong-type",
     "reference_data.reference_tool_interactions[0].input_arguments"),
    ("arguments broken text", calls({"tool_name": "t", "input_arguments": "{'a': 1}"}), "json-syntax",
     "reference_data.reference_tool_interactions[0].input_arguments"),
    ("arguments the text of a list", calls({"tool_name": "t", "input_arguments": "[1]"}), "wrong-type",
     "reference_data.reference_tool_interactions[0].input_arguments"),
    ("arguments with a repeated key", calls({"tool_name": "t", "input_arguments": '{"a": 1, "a": 2}'}),
     "json-duplicate-key", "reference_data.reference_tool_interactions[0].input_arguments"),
    ("message number zero", calls({"tool_name": "t", "message": 0}), "out-of-range",
     "reference_data.reference_tool_interactions[0].message"),
    ("trajectory of numbers", question(reference_data={"reference_trajectory": [1]}), "wrong-type",
     "reference_data.reference_trajectory[0]"),
    ("state a list", question(reference_data={"reference_state_variables": []}), "wrong-type",
     "reference_data.reference_state_variables"),
    ("unknown mode", calls(tool_match={"mode": "exactly"}), "unknown-value", "reference_data.tool_match.mode"),
    ("unknown argument mode", calls(tool_match={"args": "all"}), "unknown-value", "reference_data.tool_match.args"),
    ("unknown key of a match", calls(tool_match={"modus": "exact"}), "unknown-field",
     "reference_data.tool_match.modus"),
    ("unknown mode for a tool", calls(tool_match={"args_for": {"t": "some"}}), "unknown-value",
     "reference_data.tool_match.args_for.t"),
    ("a path that is no text", calls(tool_match={"args_for": {"t": [1]}}), "wrong-type",
     "reference_data.tool_match.args_for.t[0]"),
    ("only one text", calls(tool_match={"only": "t"}), "wrong-type", "reference_data.tool_match.only"),
    ("match no object", calls(tool_match="exact"), "wrong-type", "reference_data.tool_match"),
    ("trajectory match", question(reference_data={"reference_trajectory": [], "trajectory_match": {"mode": ""}}),
     "unknown-value", "reference_data.trajectory_match.mode"),
    ("reference beside reference_data", question(reference_trajectory=["A"]), "misplaced-field",
     "reference_trajectory"),
    ("question a text", "Hi", "wrong-type", ""),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "code", "field"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_each_fault_of_a_question_is_one_problem_at_its_place(
    tmp_path: Path, fault: Any, code: str, field: str
) -> None:
    path = a_file(tmp_path, question(id="good"), fault)
    cases, problems = read(path)
    assert [case.id for case in cases] == ["good"]
    assert [(problem.code, problem.level) for problem in problems] == [(code, Level.ERROR)]
    (problem,) = problems
    assert problem.field == f"golden_questions[1]{'.' if field else ''}{field}"
    assert problem.line == 11
    assert problem.file == str(path)


BAD_MATCHERS: list[tuple[Any, str]] = [
    ({"$anything": True}, "$anything"),
    ({"$any": False}, "$any"),
    ({"$one_of": []}, "$one_of"),
    ({"$one_of": "a"}, "$one_of"),
    ({"$regex": "("}, "$regex"),
    ({"$regex": 1}, "$regex"),
    ({"$text": 1}, "$text"),
    ({"$between": [1]}, "$between"),
    ({"$between": [2, 1]}, "$between"),
    ({"$between": [True, 2]}, "$between"),
    ({"$approx": "1", "within": 1}, "$approx"),
    ({"$approx": 1}, "$approx"),
    ({"$approx": 1, "within": -1}, "$approx"),
    ({"$any": True, "b": 1}, "b"),
    ([{"x": {"$optional": {"$contains": {"$regex": "["}}}}], "[0].x.$optional.$contains.$regex"),
    ({"$one_of": [1, {"$nope": 1}]}, "$one_of[1].$nope"),
]


@pytest.mark.parametrize(("matcher", "place"), BAD_MATCHERS, ids=[json.dumps(row[0]) for row in BAD_MATCHERS])
def test_a_malformed_matcher_is_a_problem_at_its_place(tmp_path: Path, matcher: Any, place: str) -> None:
    _, problems = read(a_file(tmp_path, calls({"tool_name": "t", "input_arguments": {"a": matcher}})))
    assert [problem.code for problem in problems] == ["bad-matcher"]
    base = "golden_questions[0].reference_data.reference_tool_interactions[0].input_arguments.a"
    assert problems[0].field == base + ("" if place.startswith("[") else ".") + place


def test_a_matcher_in_the_place_of_all_arguments_is_a_problem(tmp_path: Path) -> None:
    _, (problem,) = read(a_file(tmp_path, calls({"tool_name": "t", "input_arguments": {"$any": True}})))
    assert problem.code == "bad-matcher"
    assert "ignore" in problem.hint


@pytest.mark.parametrize(
    "matcher",
    [
        {"$any": True},
        {"$one_of": [1, {"$regex": "a+"}]},
        {"$optional": {"$text": "Hi"}},
        {"$between": [1, 2.5]},
        {"$approx": 1, "within": 0},
        {"$contains": {"a": {"$any": True}}},
        {"deep": [{"deeper": {"$any": True}}]},
    ],
    ids=json.dumps,
)
def test_well_formed_matchers_are_kept_as_they_are(tmp_path: Path, matcher: Any) -> None:
    given = {"tool_name": "t", "input_arguments": {"a": matcher}}
    case = the_case(tmp_path, reference_data={"reference_tool_interactions": [given]})
    assert case.expectations == (ToolCalls(expected=(ExpectedCall(name="t", arguments={"a": matcher}),)),)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("[]", "wrong-type", 1),
        ("{}", "missing-field", 1),
        ('{"golden_questions": {}}', "wrong-type", 1),
        ('{"golden_questions": [\n{"id": }]}', "json-syntax", 2),
        ('{"golden_questions": [],\n"golden_questions": []}', "json-duplicate-key", 2),
        ('{"golden_questions": [], "questions": []}', "both-lists", 1),
        ('{"golden_questions": []}', "empty-file", None),
    ],
    ids=["a list", "no list", "no list but an object", "broken", "a key twice", "both names", "no questions"],
)
def test_faults_of_the_whole_file(tmp_path: Path, text: str, code: str, line: int | None) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    report = validate(path, DIALECT)
    assert not report.valid
    (problem,) = report.problems
    assert (problem.code, problem.line) == (code, line)


def test_text_that_is_not_utf8_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"golden_questions": [{"id": "\xe9"}]}')
    assert [problem.code for problem in read(path)[1]] == ["encoding"]


def test_an_id_used_twice_is_a_problem_that_names_the_first(tmp_path: Path) -> None:
    path = a_file(tmp_path, question(), question(id="q2"), question())
    cases, (problem,) = read(path)
    assert [case.id for case in cases] == ["q1", "q2"]
    assert (problem.code, problem.line, problem.field) == ("duplicate-id", 19, "golden_questions[2].id")
    assert "line 3" in problem.message


def test_an_id_used_twice_on_one_line_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"golden_questions": [question(), question()]}))
    assert [problem.code for problem in read(path)[1]] == ["duplicate-id"]


def test_all_faults_of_a_question_are_told_at_once(tmp_path: Path) -> None:
    broken = calls({"tool_name": "t", "input_arguments": {"a": {"$regex": "("}}}, tool_match={"mode": "x"})
    _, problems = read(a_file(tmp_path, {**broken, "id": "", "reference_trajectory": [], "note": 1}))
    assert sorted(problem.code for problem in problems) == [
        "bad-matcher",
        "empty",
        "misplaced-field",
        "unknown-field",
        "unknown-value",
    ]


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"comment": "x"}, "unknown-field", "comment"),
        ({"reference_data": {"tool_match": {"mode": "exact"}}}, "match-without-reference", "reference_data.tool_match"),
        (
            {"reference_data": {"reference_tool_interactions": [{"tool_name": "t", "call_id": "c"}]}},
            "unknown-field",
            "reference_data.reference_tool_interactions[0].call_id",
        ),
    ],
    ids=["a field of the question", "a match with nothing to match", "a field of a call"],
)
def test_what_is_odd_is_kept_and_warned_about(tmp_path: Path, fields: dict[str, Any], code: str, field: str) -> None:
    path = a_file(tmp_path, question(**fields))
    (case,), (problem,) = read(path)
    assert (problem.code, problem.field, problem.level) == (code, f"golden_questions[0].{field}", Level.WARNING)
    again = tmp_path / "again.json"
    DIALECT.write([case], again)
    assert read(again)[0] == [case]
    written = json.loads(again.read_text())["golden_questions"][0]
    for key, value in fields.items():
        assert json.dumps(value)[1:-1] in json.dumps(written[key]) or "input_arguments" in json.dumps(written[key])


def test_the_date_of_an_update_is_known(tmp_path: Path) -> None:
    assert the_case(tmp_path, updated_datetime="2025-01-31").metadata == {"updated_datetime": "2025-01-31"}


def test_a_question_may_say_what_the_session_starts_with(tmp_path: Path) -> None:
    case = the_case(tmp_path, initial_state={"plan": "free", "seats": [1, 2]})
    assert case.state == {"plan": "free", "seats": [1, 2]}
    DIALECT.write([case], tmp_path / "again.json")
    assert read(tmp_path / "again.json") == ([case], [])


def test_a_state_that_is_no_object_is_a_problem(tmp_path: Path) -> None:
    cases, (problem,) = read(a_file(tmp_path, question(initial_state=["free"])))
    assert (cases, problem.code, problem.field) == ([], "wrong-type", "golden_questions[0].initial_state")


def test_fields_beside_the_list_are_kept_with_every_case(tmp_path: Path) -> None:
    path = a_file(tmp_path, question(), question(id="q2"), version=3)
    cases, (problem,) = read(path)
    assert (problem.code, problem.field, problem.level) == ("unknown-field", "version", Level.WARNING)
    assert [case.metadata["file_fields"] for case in cases] == [{"version": 3}] * 2
    DIALECT.write(cases, tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text())["version"] == 3


@pytest.mark.parametrize(
    ("head", "detected"),
    [
        (b'{"golden_questions": [', True),
        (b'\xef\xbb\xbf \n{"version": 1, "questions": [', True),
        (b'{"items": [{"golden_questions": 1}]}', False),
        (b'{"case_id": "a-001"}\n', False),
        (b"golden_questions", False),
    ],
)
def test_a_file_is_known_by_its_list(head: bytes, detected: bool) -> None:
    assert DIALECT.detect(Path("a.json"), head) is detected


REFUSED: list[tuple[str, Case, str]] = [
    ("a scenario", Case(id="c", input=Scenario(persona="p", initial_message="Hi")), "input"),
    ("context", Case(id="c", input=SingleTurn(message="Hi", context="x")), "input"),
    ("attachments", Case(id="c", input=SingleTurn(message="Hi", attachments=(Attachment(path="a"),))), "input"),
    ("a goal", Case(id="c", input=Script(turns=("Hi",)), expectations=(Goal(text="g"),)), "expectations"),
    ("two states",
     Case(id="c", input=Script(turns=("Hi",)), expectations=(FinalState(variables={"a": 1}),) * 2), "expectations"),
    ("a recording", Case(id="c", input=Script(turns=("Hi",)), recorded=BrokenRecording(reason="r")), "recorded"),
    ("tools", Case(id="c", input=Script(turns=("Hi",)), tools=(Tool(name="t"),)), "tools"),
    ("tags", Case(id="c", input=Script(turns=("Hi",)), tags=("t",)), "tags"),
    ("a name", Case(id="c", input=Script(turns=("Hi",)), name="n"), "name"),
    ("labels", Case(id="c", input=Script(turns=("Hi",)), labels={"x": "y"}), "labels"),
    ("metadata", Case(id="c", input=Script(turns=("Hi",)), metadata={"x": "y"}), "metadata.x"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "field"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_a_golden_file_cannot_say_is_refused_and_not_dropped(tmp_path: Path, case: Case, field: str) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(DatasetInvalid) as refused:
        DIALECT.write([case], path)
    assert [(problem.code, problem.field) for problem in refused.value.problems] == [("not-writable", field)]
    assert not path.exists()


def test_cases_of_two_files_with_different_fields_cannot_share_one(tmp_path: Path) -> None:
    first = Case(id="a", input=Script(turns=("Hi",)), metadata={"file_fields": {"version": 1}})
    second = Case(id="b", input=Script(turns=("Hi",)))
    with pytest.raises(DatasetInvalid, match="1 problem"):
        DIALECT.write([first, second], tmp_path / "a.json")


@pytest.mark.parametrize("name", ["a.json", "billing_golden.json", "other_golden.json"])
def test_the_agent_survives_another_file_name(tmp_path: Path, name: str) -> None:
    cases, _ = read(a_file(tmp_path, question(metadata={"topic": "x"}), name="billing_golden.json"))
    nameless, _ = read(a_file(tmp_path, question(id="q2"), name="plain.json"))
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / name
    DIALECT.write([*cases, *nameless], path)
    assert read(path)[0] == [*cases, *nameless]


matchings = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["exact", "strict", "in_order", "any_order", "unordered", "superset", "subset"]),
        "args": st.sampled_from(["exact", "superset", "subset", "ignore"]),
        "args_for": st.dictionaries(
            texts, st.sampled_from(["exact", "ignore"]) | st.lists(filled, max_size=2), max_size=2
        ),
        "only": st.lists(filled, max_size=2),
        "ignore": st.lists(filled, max_size=2),
    },
)
expected_calls = st.fixed_dictionaries(
    {"tool_name": filled},
    optional={
        "input_arguments": st.none()
        | st.dictionaries(plain_keys, literals, max_size=2)
        | st.dictionaries(plain_keys, literals, max_size=2).map(json.dumps),
        "reason": texts,
        "message": st.integers(1, 9),
        "call_id": texts,
        "odd/~key": values,
    },
)
references = st.fixed_dictionaries(
    {},
    optional={
        "reference_tool_interactions": st.lists(expected_calls, max_size=3),
        "reference_trajectory": st.lists(filled, max_size=3),
        "reference_state_variables": objects,
        "tool_match": matchings,
        "trajectory_match": matchings,
        "expected_response": texts,
        "my:key": values,
    },
)
questions: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "id": case_ids,
        "user_inputs": st.lists(filled, min_size=1, max_size=3),
        "agents_evaluated": st.lists(filled, max_size=2),
        "reference_data": references,
    },
    optional={
        "initial_state": objects,
        "metadata": objects,
        "updated_datetime": texts,
        "agent": texts,
        "note": values,
        "a~b/c": values,
    },
)
datasets: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"golden_questions": st.lists(questions, min_size=1, max_size=4, unique_by=lambda one: one["id"])},
    optional={"version": values},
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(datasets)
def test_reading_what_was_written_gives_equal_cases(tmp_path: Path, dataset: dict[str, Any]) -> None:
    path, again = tmp_path / "billing_golden.json", tmp_path / "again.json"
    path.write_text(json.dumps(dataset), encoding="utf-8")
    cases = list(read_cases(path, DIALECT))
    assert len(cases) == len(dataset["golden_questions"])
    DIALECT.write(cases, again)
    assert list(read_cases(again, DIALECT)) == cases


def plain_question(id: str = "q", *expectations: Expectation, turns: tuple[str, ...] = ("Hi",), **fields: Any) -> Case:
    return Case(id=id, input=Script(turns=turns), expectations=expectations, world=World.GOLDEN, **fields)


def call(name: str = "t", **arguments: Any) -> ExpectedCall:
    return ExpectedCall(name=name, arguments=arguments)


@pytest.mark.parametrize(
    "cases",
    [
        [],
        [plain_question()],
        [
            plain_question("a"),
            plain_question("b", ToolCalls(expected=(call(x=[]), call(x={})))),
        ],
        [plain_question("a", metadata={"file_fields": {"version": 2, "owners": []}})],
        [plain_question("a\nb", Trajectory(steps=("x", "y")), turns=('{"a": [\n]}', "ö"))],
    ],
    ids=["none", "one", "nested", "beside", "breaks"],
)
def test_the_bytes_are_those_of_the_whole_document(cases: list[Case], tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    DIALECT.write(cases, path)
    text = path.read_bytes()
    assert text == msgspec.json.format(msgspec.json.encode(json.loads(text)), indent=2) + b"\n"
    assert list(json.loads(text))[-1] == "golden_questions"
    assert len(json.loads(text)["golden_questions"]) == len(cases)
    if cases:
        assert list(read_cases(path, DIALECT)) == cases


@pytest.mark.parametrize(
    ("cases", "code"),
    [
        ([plain_question("a"), plain_question("a")], "duplicate-id"),
        ([plain_question(" ")], "empty"),
        ([plain_question(turns=("Hi", " "))], "empty"),
        ([plain_question("a", ToolCalls(expected=(call(" "),)))], "empty"),
        ([plain_question("a", ToolCalls(expected=(call(x={"$nonsense": 1}),)))], "bad-matcher"),
        (
            [plain_question("a", ToolCalls(expected=(ExpectedCall(name="t", arguments={"$any": True}),)))],
            "bad-matcher",
        ),
        ([plain_question("a", Trajectory(steps=("",)))], "empty"),
        ([plain_question("a", AgentsInvolved(names=(" ",)))], "empty"),
        ([plain_question("a", metadata={"file_fields": {"questions": []}})], "both-lists"),
    ],
)
def test_what_could_not_be_read_is_not_written(cases: list[Case], code: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid) as raised:
        DIALECT.write(cases, tmp_path / "x.json")
    assert [problem.code for problem in raised.value.problems] == [code]
    assert {problem.file for problem in raised.value.problems} == {str(tmp_path / "x.json")}
    assert list(tmp_path.iterdir()) == []


def test_cases_of_two_files_are_not_written_into_one(tmp_path: Path) -> None:
    cases = [
        plain_question("a", metadata={"file_fields": {"v": 1}}),
        plain_question("b"),
        plain_question("c"),
    ]
    with pytest.raises(DatasetInvalid) as raised:
        DIALECT.write(cases, tmp_path / "x.json")
    (problem,) = raised.value.problems
    assert problem.message.startswith("case 'b' comes from another file than the first one")
    assert list(tmp_path.iterdir()) == []


def test_odd_ways_of_matching_are_looked_at_more_closely_and_written(tmp_path: Path) -> None:
    matched = ToolCalls(expected=(call(x={"$any": True}),), match=Matching(mode=MatchMode.EXACT))
    cases = [plain_question("a", matched, FinalState(variables={"k": None}))]
    DIALECT.write(cases, tmp_path / "x.json")
    assert list(read_cases(tmp_path / "x.json", DIALECT)) == cases


def test_a_large_file_is_never_held_whole(tmp_path: Path) -> None:
    def many() -> Iterator[Case]:
        for number in range(2000):
            yield plain_question(f"q{number}", turns=("x" * 10_000,))

    tracemalloc.start()
    DIALECT.write(many(), tmp_path / "x.json")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "x.json").stat().st_size > 20_000_000
    assert peak < 3_000_000
