"""The demo data as plain JSON and CSV: whole, consistent, and as README.md says. What the readers and graders make of
it is tested where a run is."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import howsure

Json = dict[str, Any]
DEMO = Path(howsure.__file__).parent / "demo"
README = (DEMO / "README.md").read_text(encoding="utf-8")
DEFAULT_EVALS = [
    "IntentResolutionExplain",
    "TaskAdherenceExplain",
    "RelevanceExplain",
    "CoherenceExplain",
    "HelpfulnessExplain",
]
CANDIDATES = ["juno-large", "juno-mini", "orchid-7b"]
FILES = sorted(path for path in DEMO.rglob("*") if path.suffix in (".json", ".jsonl", ".csv", ".txt", ".md"))


def lines(*parts: str) -> list[Json]:
    text = DEMO.joinpath(*parts).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def document(*parts: str) -> Json:
    loaded: Json = json.loads(DEMO.joinpath(*parts).read_text(encoding="utf-8"))
    return loaded


def table(*parts: str) -> list[dict[str, str]]:
    with DEMO.joinpath(*parts).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def said(reply: Any) -> Json | None:
    """What a recorded judge said, in any of the shapes of the recordings; None: it cannot be read."""
    if isinstance(reply, str):
        fenced = reply.removeprefix("```json\n").removesuffix("\n```")
        try:
            reply = json.loads(fenced)
        except ValueError:
            return None
    return reply if isinstance(reply, dict) else None


def evals_of(case: Json) -> list[str]:
    return case["required_evals"] or DEFAULT_EVALS


EXPLAIN = lines("explain", "support-onboarding.explain.jsonl")
GOLDEN = document("golden", "moss_support_golden.json")["golden_questions"]
SIMULATION = table("simulation", "support-simulation.csv")
TEST_SET = document("test-set", "test-set.json")["items"]
LEGAL = lines("legal", "compliance.jsonl")
IDS = {
    "explain": [case["case_id"] for case in EXPLAIN],
    "golden": [question["id"] for question in GOLDEN],
    "simulation": [line["question_id"] for line in SIMULATION],
    "test-set": [entry["item_id"] for entry in TEST_SET],
    "legal": [case["id"] for case in LEGAL],
}
RECORDINGS = {name: lines(name, "judge.jsonl") for name in ("explain", "golden", "test-set", "legal")}


def first_attempts(name: str) -> list[Json]:
    return [line for line in RECORDINGS[name] if line.get("attempt", 1) == 1]


# ------------------------------------------------------------------------------------------------------ all of it


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DEMO)))
def test_every_file_is_named_in_the_readme(path: Path) -> None:
    assert path.name == "README.md" or path.name in README or path.parent.name == "attachments"


def test_the_whole_folder_stays_small() -> None:
    assert sum(path.stat().st_size for path in FILES) < 640_000


@pytest.mark.parametrize(
    ("dialect", "count"), [("explain", 20), ("golden", 16), ("simulation", 13), ("test-set", 12), ("legal", 24)]
)
def test_ids_are_unique_and_none_is_missing(dialect: str, count: int) -> None:
    assert len(IDS[dialect]) == len(set(IDS[dialect])) == count


def test_every_case_the_readme_speaks_of_exists() -> None:
    known = {*IDS["explain"], *IDS["golden"], *IDS["simulation"], *IDS["legal"]}
    named = re.findall(r"`((?:q|sim)_\w+_\d\d|lm-legal:[\w-]+|[a-z]+(?:-[a-z]+)+-\d{3})`", README)
    assert named
    assert set(named) <= known


def test_every_address_on_the_web_is_invented() -> None:
    for path in FILES:
        hosts = re.findall(r"(?:https?://|@)([\w.-]+\.\w+)", path.read_text(encoding="utf-8"))
        assert all(host.endswith(".example") for host in hosts), path


@pytest.mark.parametrize("name", list(RECORDINGS))
def test_every_recorded_reply_is_about_a_case_of_its_dataset(name: str) -> None:
    assert {line["case_id"] for line in RECORDINGS[name]} <= set(IDS[name])


@pytest.mark.parametrize("name", list(RECORDINGS))
def test_no_question_is_answered_twice(name: str) -> None:
    asked = Counter(
        (line["case_id"], line.get("candidate"), line["grader"], line.get("criterion_id"), line.get("attempt", 1))
        for line in RECORDINGS[name]
    )
    assert [question for question, times in asked.items() if times > 1] == []


@pytest.mark.parametrize(
    ("name", "unreadable"),
    [
        (
            "explain",
            [
                ("learning-path-curator-005", "CoherenceExplain", 1),
                ("study-plan-generator-006", "HelpfulnessExplain", 1),
                ("study-plan-generator-006", "HelpfulnessExplain", 2),
            ],
        ),
        ("golden", []),
        ("test-set", [("Refund to another card", "criteria", 1), ("Refund to another card", "criteria", 2)]),
        ("legal", [("lm-legal:objection", "reference_answer", 1)]),
    ],
)
def test_these_replies_cannot_be_read_and_all_others_can(name: str, unreadable: list[tuple[str, str, int]]) -> None:
    names = {entry["item_id"]: entry["name"] for entry in TEST_SET}
    found = [
        (names.get(line["case_id"], line["case_id"]), line["grader"], line.get("attempt", 1))
        for line in RECORDINGS[name]
        if said(line["reply"]) is None
    ]
    assert found == unreadable


@pytest.mark.parametrize("name", list(RECORDINGS))
def test_judges_answer_in_objects_in_json_text_and_in_fences(name: str) -> None:
    replies = [line["reply"] for line in RECORDINGS[name]]
    assert any(isinstance(reply, dict) for reply in replies)
    assert any(isinstance(reply, str) and reply.startswith("{") for reply in replies)
    assert any(isinstance(reply, str) and reply.startswith("```json") for reply in replies)


# -------------------------------------------------------------------------------------------------------- explain


@pytest.mark.parametrize("case", EXPLAIN, ids=IDS["explain"])
def test_explain_inputs_repeat_the_fields(case: Json) -> None:
    repeated = {
        "input": case["model_answer"],
        "question": case["question"],
        "context": case["context"],
        "relevantContext": case["relevant_context"],
        "goal": case["task_goal"],
        "availableTools": case["available_tools"],
        "invokedTools": case["invoked_tool_calls"],
        "rag_mode": "non-rag",
    }
    assert list(case["explain_inputs"]) == evals_of(case)
    for payload in case["explain_inputs"].values():
        for key, value in payload.items():
            if key.endswith("Tools") and isinstance(value, str):
                value = json.loads(value)
            assert value == repeated[key], key


def test_explain_cases_link_to_the_catalog_and_agree_with_it() -> None:
    catalog = {scenario["scenario_id"]: scenario for scenario in lines("explain", "scenario-catalog.jsonl")}
    for case in EXPLAIN:
        scenario = catalog[case["scenario_id"]]
        assert scenario["topic_family"] == case["topic_family"]
        assert scenario["learner_level"] == case["learner_level"]
    assert set(catalog) == {case["scenario_id"] for case in EXPLAIN}


def test_explain_case_ids_name_the_agent() -> None:
    for case in EXPLAIN:
        assert re.fullmatch(re.escape(case["agent_name"]) + r"-\d{3}", case["case_id"])
    assert Counter(case["agent_name"] for case in EXPLAIN) == {
        "learning-path-curator": 6,
        "study-plan-generator": 6,
        "engagement-agent": 4,
        "readiness-assessment-agent": 4,
    }


def test_every_explain_eval_has_its_recorded_reply() -> None:
    recorded = {(line["case_id"], line["grader"]) for line in RECORDINGS["explain"]}
    assert recorded == {(case["case_id"], name) for case in EXPLAIN for name in evals_of(case)}


def test_one_explain_reply_is_off_its_scale() -> None:
    scores = [(line["case_id"], (said(line["reply"]) or {}).get("score")) for line in RECORDINGS["explain"]]
    off = [(case, score) for case, score in scores if score is not None and score not in (1, 2, 3, 4, 5)]
    assert off == [("study-plan-generator-005", 7)] * 2


def test_judges_agree_with_the_quality_bands() -> None:
    bands = {case["case_id"]: case["quality_band"] for case in EXPLAIN}
    means: dict[str, list[int]] = {}
    for line in RECORDINGS["explain"]:
        score = (said(line["reply"]) or {}).get("score", 9)
        if score <= 5:
            means.setdefault(bands[line["case_id"]], []).append(score)
    mean = {band: sum(scores) / len(scores) for band, scores in means.items()}
    assert mean["poor"] < 3 < mean["mixed"] < 4 < mean["good"] < mean["excellent"]


def test_only_two_answers_break_their_contract_by_shape() -> None:
    def is_object(text: str) -> bool:
        try:
            return isinstance(json.loads(text), dict)
        except ValueError:
            return False

    broken = [case["case_id"] for case in EXPLAIN if not is_object(case["model_answer"])]
    assert broken == ["engagement-agent-003", "readiness-assessment-agent-004"]


def test_question_sets_have_ten_questions_of_four_options() -> None:
    for case in EXPLAIN:
        if case["agent_name"] == "readiness-assessment-agent" and not case["case_id"].endswith("004"):
            questions = json.loads(case["model_answer"])["questions"]
            assert len(questions) == 10
            assert all([option["optionId"] for option in one["options"]] == list("ABCD") for one in questions)


def test_some_tool_traces_differ_from_what_was_expected() -> None:
    def calls(case: Json, field: str) -> list[tuple[str, str]]:
        return [(call["tool"], json.dumps(call["arguments"], sort_keys=True)) for call in case[field]]

    wrong = [
        case["case_id"]
        for case in EXPLAIN
        if not set(calls(case, "expected_tool_calls")) <= set(calls(case, "invoked_tool_calls"))
    ]
    assert wrong == [
        "learning-path-curator-003",
        "learning-path-curator-004",
        "learning-path-curator-006",
        "study-plan-generator-004",
    ]
    for case in EXPLAIN:
        assert {call["tool"] for call in case["invoked_tool_calls"]} <= set(case["available_tools"])


# --------------------------------------------------------------------------------------------------------- golden


def keys_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_in(inner)
    if isinstance(value, list):
        for inner in value:
            yield from keys_in(inner)


@pytest.mark.parametrize(
    "matcher", ["$any", "$one_of", "$optional", "$regex", "$text", "$between", "$approx", "$contains"]
)
def test_every_matcher_is_shown(matcher: str) -> None:
    assert matcher in set(keys_in(GOLDEN))


def test_every_match_mode_is_shown() -> None:
    modes = {question["reference_data"].get("tool_match", {}).get("mode") for question in GOLDEN}
    assert modes == {None, "exact", "in_order", "any_order", "superset", "subset"}


def test_an_empty_list_of_calls_is_shown() -> None:
    empty = [one["id"] for one in GOLDEN if one["reference_data"].get("reference_tool_interactions") == []]
    assert empty == ["q_goodbye_08", "q_someone_elses_order_15"]


def test_every_golden_question_has_one_response_that_repeats_its_turns() -> None:
    responses = {line["case_id"]: line for line in lines("golden", "responses.jsonl")}
    assert list(responses) == IDS["golden"]
    for question in GOLDEN:
        response = responses[question["id"]]
        if "error" not in response:
            turns = [message["content"] for message in response["messages"] if message["role"] == "user"]
            assert turns == question["user_inputs"]
            assert response["messages"][-1]["content"] == response["response_text"]


def test_one_golden_conversation_broke() -> None:
    broken = [line for line in lines("golden", "responses.jsonl") if "error" in line]
    assert broken == [{"case_id": "q_person_please_16", "error": "connection reset by the bot gateway after 30 s"}]


def test_every_golden_answer_is_judged_for_correctness() -> None:
    judged = [line["case_id"] for line in RECORDINGS["golden"] if line["grader"] == "response_correctness"]
    assert judged == [name for name in IDS["golden"] if name != "q_person_please_16"]


def test_every_tool_that_is_expected_or_called_is_one_the_agent_has() -> None:
    tools = {tool["tool_name"] for tool in document("test-set", "agent.json")["tools"]}
    expected = {
        call["tool_name"]
        for reference in [
            *(question["reference_data"] for question in GOLDEN),
            *(json.loads(line["reference_data"]) for line in SIMULATION),
        ]
        for call in reference["reference_tool_interactions"]
    }
    called = {
        call["name"]
        for name in ("golden", "test-set")
        for line in lines(name, "responses.jsonl")
        for message in line.get("messages", [])
        for call in message.get("tool_calls", [])
    }
    wished = {name for entry in TEST_SET for name in entry["expected"]["should_use_tools"]}
    assert expected | called | wished <= tools


# ----------------------------------------------------------------------------------------------------- simulation

NESTED = ["status", "agents_evaluated", "user_inputs", "question_metadata", "reference_data", "missing_information"]
NESTED += ["final_session_state", "latency_data", "trace_summary", "session_trace", "extracted_data"]


def spans_of(line: dict[str, str]) -> list[Json]:
    loaded: list[Json] = json.loads(line["session_trace"])
    return loaded


def test_the_simulation_has_the_columns_of_a_processed_file() -> None:
    assert len(SIMULATION[0]) == 25
    assert set(NESTED) < set(SIMULATION[0])


@pytest.mark.parametrize("line", SIMULATION, ids=IDS["simulation"])
def test_nested_cells_are_json_and_spans_are_whole(line: dict[str, str]) -> None:
    for column in NESTED:
        json.loads(line[column])
    spans = spans_of(line)
    known = {span["span_id"] for span in spans}
    assert len(known) == len(spans)
    for span in spans:
        assert span["parent_span_id"] is None or span["parent_span_id"] in known
        assert 1_770_000_000_000_000_000 < span["start_time"] < span["end_time"]


def test_one_conversation_failed_and_one_lacks_its_trace() -> None:
    failed = [one["question_id"] for one in SIMULATION if json.loads(one["status"])["boolean"] == "failed"]
    missing = [one["question_id"] for one in SIMULATION if json.loads(one["missing_information"])["boolean"]]
    assert failed == ["sim_rope_recall_20"]
    assert missing == ["sim_rope_recall_20", "sim_ski_service_21"]


def test_one_trace_was_made_up_by_a_converter() -> None:
    def lengths(line: dict[str, str]) -> set[int]:
        leaves = [span for span in spans_of(line) if span["name"].startswith(("call_llm", "execute_tool"))]
        return {span["end_time"] - span["start_time"] for span in leaves}

    assert [one["question_id"] for one in SIMULATION if lengths(one) == {1_000_000_000}] == ["sim_lost_parcel_22"]


def test_several_models_answered_and_one_has_no_price() -> None:
    models = {
        span["attributes"]["gen_ai.request.model"]
        for line in SIMULATION
        for span in spans_of(line)
        if span["name"] == "call_llm"
    }
    assert models == {"gemini-2.5-flash", "gemini-2.5-flash-lite", "gemini-2.5-pro", "larkmoor-local-8b"}


@pytest.mark.parametrize(
    ("parts", "count"), [(("simulation", "support-simulation.csv"), 5), (("replay", "delivery-after-fix.csv"), 3)]
)
def test_repeated_golden_questions_keep_their_turns(parts: tuple[str, ...], count: int) -> None:
    turns = {question["id"]: question["user_inputs"] for question in GOLDEN}
    repeated = [line for line in table(*parts) if line["question_id"] in turns]
    assert len(repeated) == count
    for line in repeated:
        assert json.loads(line["user_inputs"]) == turns[line["question_id"]]


def test_the_replay_answers_every_question_about_delivery() -> None:
    delivery = [question["id"] for question in GOLDEN if question["metadata"]["topic"] == "delivery"]
    assert [line["question_id"] for line in table("replay", "delivery-after-fix.csv")] == delivery
    assert len(table("replay", "delivery-after-fix.csv")[0]) == 25


# ------------------------------------------------------------------------------------------------------- test set

RUBRIC = document("test-set", "rubric.json")
RULES = {rule["id"]: rule for rule in RUBRIC["rules"]}


def test_the_rubric_has_every_severity_and_scope() -> None:
    assert {rule["severity"] for rule in RULES.values()} == {"high", "medium", "low"}
    assert [rule["component_scope"] for rule in RULES.values()] == [
        "general",
        "knowledge_base",
        "function",
        "prompt",
        None,
    ]


def test_rules_point_at_components_the_agent_has() -> None:
    agent = document("test-set", "agent.json")
    known = {component["id"] for kind in ("tools", "knowledge_bases") for component in agent[kind]}
    assert {identity for rule in RULES.values() for identity in rule["component_ids"]} <= known
    assert agent["bot_id"] == RUBRIC["agent_id"] == document("test-set", "test-set.json")["agent_id"]


@pytest.mark.parametrize("entry", TEST_SET, ids=[entry["name"] for entry in TEST_SET])
def test_every_criterion_rule_and_outcome_has_its_recorded_reply(entry: Json) -> None:
    replies = [line for line in first_attempts("test-set") if line["case_id"] == entry["item_id"]]
    for position, text in enumerate(entry["expected"]["success_criteria"], 1):
        names = {text, str(position), sha256(text.encode()).hexdigest()[:12]}
        assert sum(line["grader"] == "criteria" and line["criterion_id"] in names for line in replies) == 1
    assert [line["criterion_id"] for line in replies if line["grader"] == "rubric"] == list(RULES)
    outcomes = [line for line in replies if line["grader"] == "expected_outcome"]
    assert len(outcomes) == ("expected_outcome" in entry["expected"])


def test_criteria_are_named_by_text_by_position_and_by_hash() -> None:
    named = [line["criterion_id"] for line in RECORDINGS["test-set"] if line["grader"] == "criteria"]
    assert any(name.isdigit() and len(name) == 1 for name in named)
    assert any(re.fullmatch(r"[0-9a-f]{12}", name) for name in named)
    assert any(" " in name for name in named)


def test_every_entry_has_a_transcript_that_opens_as_it_says() -> None:
    responses = {line["case_id"]: line for line in lines("test-set", "responses.jsonl")}
    assert list(responses) == IDS["test-set"]
    for entry in TEST_SET:
        opening = entry["inputs"].get("message") or entry["inputs"]["initial_message"]
        messages = responses[entry["item_id"]]["messages"]
        assert messages[0] == {"role": "user", "content": opening}
        turns = sum(message["role"] == "user" for message in messages)
        assert turns <= entry["inputs"].get("max_turns", 1)


@pytest.mark.parametrize(
    ("name", "failing"),
    [
        ("Neighbour's address", {"PROTECT_CUSTOMER_DATA": "high"}),
        ("Late parcel, patience gone", {"BRIEF_AND_CLEAR": "medium"}),
        ("Size of approach shoes", {"WARM_CLOSE": "low"}),
    ],
)
def test_these_conversations_break_a_rule(name: str, failing: dict[str, str]) -> None:
    (identity,) = [entry["item_id"] for entry in TEST_SET if entry["name"] == name]
    broken = [
        line["criterion_id"]
        for line in RECORDINGS["test-set"]
        if line["case_id"] == identity and line["grader"] == "rubric" and not (said(line["reply"]) or {})["passed"]
    ]
    assert {rule: RULES[rule]["severity"] for rule in broken} == failing


# ---------------------------------------------------------------------------------------------------------- legal


def test_the_legal_rows_are_of_all_kinds() -> None:
    assert Counter(case["task_type"] for case in LEGAL) == {"mcq": 14, "rubric_qa": 5, "reference_qa": 5}
    assert [sum(field in case for case in LEGAL) for field in ("messages", "context", "attachments")] == [1, 1, 1]
    assert Counter(len(case["correct_choice_ids"]) > 1 for case in LEGAL if "choices" in case) == {False: 11, True: 3}
    assert {len(case["choices"]) for case in LEGAL if "choices" in case} == {4, 5, 6, 8}


def test_correct_choices_exist() -> None:
    for case in LEGAL:
        if "choices" in case:
            assert set(case["correct_choice_ids"]) < {choice["id"] for choice in case["choices"]}


def test_every_rubric_has_criteria_that_cost_points() -> None:
    for case in LEGAL:
        if "rubric" in case:
            weights = [criterion["weight"] for criterion in case["rubric"]]
            assert min(weights) < 0 < max(weights)
            assert len({criterion["id"] for criterion in case["rubric"]}) == len(weights)


def test_attachments_are_beside_the_dataset() -> None:
    paths = [attached["path"] for case in LEGAL for attached in case.get("attachments", [])]
    assert paths == ["attachments/courier-data-agreement.txt"]
    assert (DEMO / "legal" / paths[0]).is_file()


def test_the_conversation_ends_in_the_prompt() -> None:
    (case,) = [case for case in LEGAL if "messages" in case]
    assert case["messages"][-1] == {"role": "user", "content": case["prompt"]}


def test_every_candidate_answered_every_case_once() -> None:
    answers = [(line["example_id"], line["candidate_name"]) for line in lines("legal", "responses.jsonl")]
    assert answers == [(case, candidate) for case in IDS["legal"] for candidate in CANDIDATES]


def test_every_legal_question_that_needs_a_judge_has_its_reply() -> None:
    recorded = [
        (line["case_id"], line["candidate"], line["grader"], line.get("criterion_id"))
        for line in first_attempts("legal")
    ]
    needed = [
        (case["id"], candidate, "weighted_criteria", criterion["id"])
        for case in LEGAL
        for criterion in case.get("rubric", [])
        for candidate in CANDIDATES
    ]
    needed += [
        (case["id"], candidate, "reference_answer", None)
        for case in LEGAL
        if case["task_type"] == "reference_qa"
        for candidate in CANDIDATES
    ]
    assert sorted(map(str, recorded)) == sorted(map(str, needed))
