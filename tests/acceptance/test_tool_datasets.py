"""Datasets and configurations of other tools, as they lie in public repositories: file × command × outcome. Their
results files have a table of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from howsure.dialects.datasets import validate
from howsure.dialects.plain_columns import TableOptions
from howsure.kit import Kit
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case
from howsure.services.validate import validate_files

KIT: Kit = builtin_kit([])
VALID = {
    "promptfoo/config-csv-metadata__tests.csv": ("promptfoo", 3),
    "promptfoo/config-jsonl-test-cases__cases.jsonl": ("promptfoo", 2),
    "promptfoo/eval-g-eval__promptfooconfig.yaml": ("promptfoo", 5),
    "promptfoo/eval-json-output__promptfooconfig.yaml": ("promptfoo", 2),
    "promptfoo/eval-tool-use__promptfooconfig.yaml": ("promptfoo", 4),
    "promptfoo/getting-started__promptfooconfig.yaml": ("promptfoo", 2),
    "promptfoo/integration-strands-agents__promptfooconfig.yaml": ("promptfoo", 5),
    "promptfoo/provider-http__basic__promptfooconfig.yaml": ("promptfoo", 1),
    "inspect/dataset__biology_qa.jsonl": ("plain", 20),
    "inspect/dataset__popularity.jsonl": ("plain", 100),
    "inspect/dataset__security_guide.jsonl": ("inspect", 16),
    "deepeval/convo_goldens.csv": ("deepeval-conversations", 15),
    "deepeval/convo_goldens.json": ("deepeval-conversations", 15),
    "deepeval/goldens.json": ("deepeval", 15),
    "openai-evals/registry__test_match_samples.jsonl": ("openai-evals", 3),
    "openai-evals/registry__test_modelgraded_joke_fruits.jsonl": ("plain", 4),
    "pydantic-evals/time_range_v1.yaml": ("pydantic-evals", 10),
    "langsmith/ai_act_eval.csv": ("plain", 10),
    "langsmith/rag_ai_act_v1.jsonl": ("plain", 6),
    "langsmith/showcase_agent.jsonl": ("langsmith", 9),
    "langsmith/showcase_rag.jsonl": ("langsmith", 12),
    "ragas/hf_doc_qa_eval.csv": ("plain", 66),
    "ragas/sample_annotated_summary.json": ("ragas-annotations", 19),
    "azure/ai-agent-evals_dataset-data-mapping.json": ("azure-evaluation", 3),
    "azure/questions_answers.jsonl": ("plain", 1),
    "azure/task_adherence_first5.jsonl": ("plain", 2),
}
"""What is read as it is: the dialect and the number of cases."""
REASONS = {
    "promptfoo/config-jsonl-test-cases__promptfooconfig.yaml": "no such file: cases.jsonl",
    "openai-evals/registry__ab.yaml": "no such file: ab/samples.jsonl",
    "openai-evals/registry__test-modelgraded.yaml": "no such file: test_modelgraded/joke_fruits.jsonl",
    "openai-evals/modelgraded__fact.yaml": "this is a prompt for grading, not a dataset",
    "braintrust/factuality.yaml": "this is a prompt for grading, not a dataset",
    "braintrust/coqa-factuality.first20.json": "`input.expected` and `expected` could each be the expected",
    "pydantic-evals/time_range_v1_schema.json": "this is the JSON Schema of a dataset, not the dataset",
    "lm-eval/_default_template_yaml": "the data of this task is not here: cais/mmlu is on the Hugging Face Hub",
    "lm-eval/arc_easy.yaml": "the data of this task is not here: allenai/ai2_arc is on the Hugging Face Hub",
    "lm-eval/gsm8k.yaml": "the data of this task is not here: openai/gsm8k is on the Hugging Face Hub",
    "lm-eval/truthfulqa_gen.yaml": "the data of this task is not here: truthfulqa/truthful_qa is on the",
    "ragas/discount_benchmark.csv": "no column says what the user asks",
    "deepeval/test_example.py": "not recognised: it is code, which is not run",
}
"""What is not read, and the one reason."""
WITH_MAP = {
    "ragas/discount_benchmark.csv": ({"input": "customer_profile", "expected": "expected_discount"}, 10),
    "braintrust/coqa-factuality.first20.json": ({"expected": "input.expected"}, 20),
    "inspect/dataset__popularity.jsonl": ({"expected": "answer_matching_behavior"}, 100),
}
"""What `--map` makes readable, or better."""
WARNED = {
    "promptfoo/eval-tool-use__promptfooconfig.yaml": [
        "1 × provider: openai:chat:gpt-5.4-mini has tools that are not here: file://external_tools.yaml",
        "1 × provider: groq:llama-4-scout-17b-16e-instruct is not asked here; name another one with --target",
        "3 × assertion `finish-reason`: has no counterpart here and is not checked",
    ],
    "promptfoo/integration-strands-agents__promptfooconfig.yaml": [
        "5 × assertion `latency`: has no counterpart here and is not checked",
        "3 × assertion `javascript`: is code, which runs only where the file is trusted: `howsure trust FILE`",
    ],
    "pydantic-evals/time_range_v1.yaml": ["10 × evaluator `IsInstance`: has no counterpart here and is not checked"],
}
"""Nothing is dropped: what has no counterpart is named with its count."""


@pytest.mark.parametrize("name", VALID)
def test_a_dataset_of_another_tool_is_read(name: str, shared_data: Callable[..., Path]) -> None:
    (report,) = validate_files([str(shared_data("other_tools", *name.split("/")))], KIT)
    assert report.problems == ()
    assert (report.dialect, report.cases) == VALID[name]
    if name in WARNED:
        assert [warning.message for warning in report.warnings] == WARNED[name]


@pytest.mark.parametrize("name", REASONS)
def test_what_cannot_be_read_has_one_precise_reason(name: str, shared_data: Callable[..., Path]) -> None:
    (report,) = validate_files([str(shared_data("other_tools", *name.split("/")))], KIT)
    assert report.problems
    assert report.cases == 0
    assert all(REASONS[name].rpartition(": ")[0] in problem.message for problem in report.problems)
    assert REASONS[name] in report.problems[0].message


@pytest.mark.parametrize("name", WITH_MAP)
def test_columns_can_be_named(name: str, shared_data: Callable[..., Path]) -> None:
    path = shared_data("other_tools", *name.split("/"))
    mapped, count = WITH_MAP[name]
    reader = KIT.dialects["plain"].with_table_options(TableOptions(map=mapped))  # type: ignore[attr-defined]
    cases: list[Case] = []
    report = validate(path, reader, cases.append)
    assert (report.problems, report.cases) == ((), count)
    assert all(case.expectations for case in cases)


def test_every_file_that_is_no_result_stands_in_the_table(shared_data: Callable[..., Path]) -> None:
    folder = shared_data("other_tools")
    tools = {name.split("/")[0] for name in (*VALID, *REASONS)}
    known = {*VALID, *REASONS}
    results = ("results", "logs__", "hosted__", "samples_", "langsmith_js_")
    files = {f"{path.parent.name}/{path.name}" for tool in tools for path in (folder / tool).iterdir()}
    assert {name for name in files - known if not name.split("/")[1].startswith(results)} == set()
