"""`howsure convert`, `sample`, `split` and `merge`, as a user types them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adk_files import history, result, write_history
from house import lines, mcq

Howsure = Callable[..., Any]


@pytest.fixture
def raw_logs(tmp_path: Path) -> Path:
    path = tmp_path / "raw_logs.json"
    call = {"tool_name": "lookup", "tool_input": {"order": "A1"}}
    path.write_text(json.dumps([{"query": "Hi"}, {"query": "Where is A1?", "expected_tool_use": [call]}]))
    return path


def test_the_seeds_flags_make_a_golden_file(howsure: Howsure, raw_logs: Path, tmp_path: Path) -> None:
    flags = ("--input", raw_logs, "--output", "my_golden.json", "--agent", "my_agent", "--prefix", "billing")
    done = howsure("convert", *flags, "--metadata", "complexity:high")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "wrote my_golden.json (golden): 1 case"
    (question,) = json.loads((tmp_path / "my_golden.json").read_text())["golden_questions"]
    assert question["id"].startswith("billing_")
    assert question["user_inputs"] == ["Hi", "Where is A1?"]
    assert question["agents_evaluated"] == ["my_agent"]
    assert question["metadata"] == {"source_file": "raw_logs.json", "complexity": "high"}
    assert question["reference_data"]["reference_trajectory"] == ["my_agent"]
    assert howsure("validate", "my_golden.json").code == 0
    assert howsure("convert", *flags).code == 2
    more = howsure("convert", *flags, "--append", "--json").json
    assert (more["kept"], more["written"]) == (1, 1)


def test_a_history_is_converted_and_graded_and_no_latency_is_invented(howsure: Howsure, tmp_path: Path) -> None:
    write_history(tmp_path / "shop", history(result()))
    report = howsure("convert", "shop", "--to", "simulation", "-o", "shop.csv", "--json").json
    assert (report["read"], report["written"], report["lost"]) == (1, 1, [])
    assert howsure("run", "shop.csv", "--json").code == 0
    (done,) = howsure("results", "latest", "--json").json
    scores = {name: (score["score"], json.loads(score["comment"])["status"]) for name, score in done["scores"].items()}
    assert scores["tool_usage_accuracy"] == (1.0, "scored")
    assert scores["latency_metrics"] == (None, "not_applicable")
    assert scores["token_usage"][1] == "scored"
    assert scores["context_saturation"] == (18.0, "scored")
    assert scores["tool_utilization"] == (2.0, "scored")


def test_what_the_target_cannot_hold_is_named(howsure: Howsure, raw_logs: Path) -> None:
    howsure("convert", raw_logs, "-o", "g.json", "--agent", "shop")
    done = howsure("convert", "g.json", "--to", "test-set", "-o", "t.json")
    assert done.code == 0
    assert "lost expectations.agents_involved in 1 case" in done.out
    assert "changed input.turns in 1 case" in done.out


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [(b'[{"query": "a"},\n{"query": ', "json-syntax", 2), (b'[{"query": "a"},\n{"q": 1}]', "missing-field", 2)],
    ids=["truncated", "wrong kind"],
)
def test_a_bad_source_ends_with_two_and_writes_nothing(
    howsure: Howsure, content: bytes, code: str, line: int, tmp_path: Path
) -> None:
    (tmp_path / "logs.json").write_bytes(content)
    done = howsure("convert", "logs.json", "--from", "raw-logs", "-o", "g.json", "--json")
    assert done.code == 2
    assert (done.json["problems"][0]["code"], done.json["problems"][0]["line"]) == (code, line)
    assert not (tmp_path / "g.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("convert", "-o", "g.json"), "name one or more files or folders to convert"),
        (("convert", "raw_logs.json", "-o", "g.json", "--metadata", "x"), "--metadata x: expected KEY:VALUE"),
        (("convert", "raw_logs.json", "-o", "g.json", "--since", "soon"), "--since soon: expected a day or time"),
        (("convert", "raw_logs.json", "--to", "scenario-catalog", "-o", "g.jsonl"), "made of --count and --seed"),
        (("split", "raw_logs.json"), "split either --by LABEL or by --share"),
        (("sample", "raw_logs.json", "-n", "1", "-o", "x.json"), "this is a file of raw-logs"),
    ],
    ids=["nothing", "metadata", "since", "catalog", "split", "sample"],
)
def test_words_that_make_no_sense_are_refused(
    howsure: Howsure, raw_logs: Path, words: tuple[str, ...], said: str
) -> None:
    done = howsure(*words)
    assert done.code == 2
    assert said in done.err


def test_an_importer_may_be_named_wherever_a_dialect_may(howsure: Howsure, raw_logs: Path) -> None:
    assert howsure("validate", raw_logs).code == 2
    assert howsure("validate", raw_logs, "--dialect", "raw-logs").code == 0
    done = howsure("run", raw_logs, "--dialect", "nonsense")
    assert "known: ace" in done.err or "adk-evalset" in done.err


def test_a_catalog_of_scenarios(howsure: Howsure, tmp_path: Path) -> None:
    done = howsure("convert", "--to", "scenario-catalog", "-o", "scenario-catalog.jsonl", "--count", "5", "--seed", "3")
    assert done.out == "wrote scenario-catalog.jsonl: 5 scenarios\n"
    rows = [json.loads(line) for line in (tmp_path / "scenario-catalog.jsonl").read_text().splitlines()]
    assert [row["scenario_id"] for row in rows] == ["SCN-001", "SCN-002", "SCN-003", "SCN-004", "SCN-005"]


def test_parts_of_a_dataset_and_one_again(howsure: Howsure, tmp_path: Path) -> None:
    source = lines(tmp_path / "house.jsonl", *(mcq(number) for number in range(1, 11)))
    assert howsure("sample", source, "-n", "3", "--seed", "1", "-o", "few.jsonl").out == "wrote few.jsonl: 3 cases\n"
    parts = howsure("split", source, "--share", "0.7", "--seed", "1", "--json").json
    assert [(part["path"], part["cases"]) for part in parts] == [("house.a.jsonl", 7), ("house.b.jsonl", 3)]
    merged = howsure("merge", "house.a.jsonl", "house.b.jsonl", "few.jsonl", "-o", "all.jsonl", "--json").json
    assert (merged["cases"], merged["repeated"]) == (10, 3)
    assert sorted((tmp_path / "all.jsonl").read_bytes().splitlines()) == sorted(source.read_bytes().splitlines())


FLASHCARDS = """
from howsure.dialects.lines import RowDialect
from howsure.model.case import Case, SingleTurn, opening
from howsure.model.expectation import ReferenceAnswer

class Flashcards(RowDialect):
    name = "flashcards"
    columns = {"id", "front", "back"}

    def case(self, row):
        expected = ReferenceAnswer(answers=(row["back"],))
        return Case(id=row["id"], input=SingleTurn(message=row["front"]), expectations=(expected,))

    def row(self, case):
        (expected,) = (each for each in case.expectations if isinstance(each, ReferenceAnswer))
        return {"id": case.id, "front": opening(case.input), "back": expected.answers[0]}

def register(kit):
    kit.dialects.add(Flashcards())
"""


def test_a_plugins_dialect_can_be_written(howsure: Howsure, tmp_path: Path) -> None:
    (tmp_path / "flashcards.py").write_text(FLASHCARDS)
    golden = {
        "id": "g1",
        "user_inputs": ["Who?"],
        "agents_evaluated": ["shop"],
        "reference_data": {"expected_response": "She."},
        "metadata": {"x": 1},
    }
    (tmp_path / "shop_golden.json").write_text(json.dumps({"golden_questions": [golden]}))
    lines(tmp_path / "legal.jsonl", mcq(1))
    plugin = ("--plugin", "flashcards.py", "--to", "flashcards")
    done = howsure("convert", "shop_golden.json", "legal.jsonl", *plugin, "-o", "cards.csv", "--json")
    assert done.code == 0, done.err
    report = done.json
    assert (tmp_path / "cards.csv").read_text().splitlines() == ["id,front,back", "g1,Who?,She."]
    assert (report["read"], report["written"]) == (2, 1)
    assert [(skip["first"], skip["why"].split(":")[0]) for skip in report["skipped"]] == [
        ("q1", "the dialect 'flashcards' cannot hold it")
    ]
    assert {line["field"] for line in report["lost"]} >= {"metadata"}
    assert howsure("validate", "cards.csv", "--plugin", "flashcards.py").code == 0


def test_an_unknown_target_names_the_known_ones_and_those_of_plugins(howsure: Howsure, tmp_path: Path) -> None:
    read_only = FLASHCARDS.replace("def row(", "def unused(")
    (tmp_path / "flashcards.py").write_text(FLASHCARDS)
    (tmp_path / "reader.py").write_text(read_only.replace('"flashcards"', '"reader"'))
    lines(tmp_path / "legal.jsonl", mcq(1))
    plugins = ("--plugin", "flashcards.py", "--plugin", "reader.py")
    done = howsure("convert", "legal.jsonl", "--to", "parquet", "-o", "x.parquet", *plugins)
    tools = "braintrust, deepeval, explain, flashcards, golden, inspect, langsmith, legal, openai-evals, plain, ragas"
    known = f"{tools}, scenario-catalog, simulation, test-set"
    assert (done.code, f"unknown target 'parquet'; known: {known}" in done.err) == (2, True), done.err
    wrong_ending = howsure("convert", "legal.jsonl", "--to", "flashcards", "-o", "x.json", *plugins)
    assert "files of the format flashcards end in .jsonl or .ndjson or .csv" in wrong_ending.err


def test_an_adk_scenario_keeps_its_criteria_and_rubrics_in_a_test_set_and_says_what_is_lost(
    howsure: Howsure, tmp_path: Path
) -> None:
    rubric = {"rubric_id": "p", "rubric_content": {"text_property": "Is polite."}, "type": "FINAL_RESPONSE_QUALITY"}
    scenario = {"starting_prompt": "Hi", "conversation_plan": "Ask for X.", "user_persona": "EXPERT"}
    case = {"eval_id": "w1", "rubrics": [rubric], "conversation_scenario": scenario}
    (tmp_path / "s.evalset.json").write_text(json.dumps({"eval_set_id": "s", "eval_cases": [case]}))
    criteria = {"hallucinations_v1": {"threshold": 0.5, "judge_model_options": {"num_samples": 5}}}
    (tmp_path / "mine.json").write_text(json.dumps({"criteria": criteria}))
    words = ("convert", "s.evalset.json", "--to", "test-set", "--criteria", "mine.json", "-o", "w.json", "--json")
    report = howsure(*words).json
    assert [(each["field"], each["cases"], each["first"]) for each in report["lost"]] == [
        ("criteria.hallucinations_v1.judge_model_options", 1, "w1")
    ]
    (item,) = json.loads((tmp_path / "w.json").read_text())["items"]
    assert item["expected"]["reference_data"] == {
        "adk_criteria": {"hallucinations_v1": 0.5},
        "adk_rubrics": [{"rubric_id": "p", "text": "Is polite.", "type": "FINAL_RESPONSE_QUALITY"}],
    }
    assert item["inputs"]["persona"].startswith("An expert")
