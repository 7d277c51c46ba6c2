"""Real tables of other tools, read as plain tables: how many cases, and what their columns are taken for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from howsure.dialects.datasets import validate
from howsure.dialects.plain import PlainDialect
from howsure.dialects.plain_columns import TableOptions

pytestmark = pytest.mark.shared

Find = Callable[..., Path]
TABLES = {
    "other_tools/ragas/hf_doc_qa_eval.csv": (66, "question → input, expected_answer → expected"),
    "other_tools/langsmith/ai_act_eval.csv": (
        10,
        "question → input, expected_answer → expected, context → context; labels: regulatory_scope, expected_citations",
    ),
    "other_tools/langsmith/rag_ai_act_v1.jsonl": (6, "q → input, reference → expected"),
    "other_tools/langsmith/showcase_agent.jsonl": (
        9,
        "inputs.question → input, outputs.answer → expected, metadata → metadata; kept as metadata: outputs.trajectory",
    ),
    "other_tools/azure/questions_answers.jsonl": (1, "query → input, ground_truth → expected, response → response"),
    "other_tools/inspect/dataset__biology_qa.jsonl": (20, "question → input, answer → expected, id → id"),
    "other_tools/inspect/dataset__security_guide.jsonl": (16, "input → input, target → expected"),
    "other_tools/openai-evals/registry__test_match_samples.jsonl": (3, "input → input, ideal → expected"),
    "azure_agent_eval/evaluate_with_various_inputs/qr_data.csv": (3, "query → input, response → response"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_another_tool_is_read(name: str, shared_data: Find) -> None:
    path = shared_data(*name.split("/"))
    cases, columns = TABLES[name]
    report = validate(path, PlainDialect())
    assert (report.problems, report.cases, report.columns.removesuffix("; kept as metadata: column 3")) == (
        (),
        cases,
        columns,
    )


def test_a_table_with_names_of_its_own_needs_a_map(shared_data: Find) -> None:
    path = shared_data("other_tools", "ragas", "discount_benchmark.csv")
    (problem,) = validate(path, PlainDialect()).problems
    assert problem.code == "no-input-column" and "--map input=customer_profile" in problem.hint
    mapped = TableOptions(map={"input": "customer_profile", "expected": "expected_discount"})
    assert validate(path, PlainDialect(mapped)).valid
