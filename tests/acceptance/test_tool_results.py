"""Real results files of other tools (`data/other_tools`): samples, errors and the tools' own numbers, reproduced."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from howsure.kit.plugins import builtin_kit
from howsure.main import program
from howsure.services.validate import validate_files

pytestmark = pytest.mark.shared
KIT = builtin_kit([])
HELM = ("scenario_state", "per_instance_stats", "stats", "run_spec", "scenario")
STAMP = "2026-01-21T03-44-18.458309"
EXPECTED = {
    # total, passed, failed, errored, skipped, and what is said of the tool's own numbers
    "inspect/logs__2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval": ((10, 0, 0, 0, 10), ""),
    "inspect/logs__2025-05-12T20-28-13-04-00_popularity.json": (
        (3, 2, 1, 0, 0), "inspect says match accuracy 0.6667, match stderr 0.3333, and so do its samples here."),
    "inspect/logs__eee_data_arc_qwen.json": (
        (3, 1, 2, 0, 0), "inspect says choice accuracy 0.3333, choice stderr 0.3333, and so do its samples here."),
    "inspect/logs__eee_data_arc_sonnet.json": (
        (5, 5, 0, 0, 0), "inspect says choice accuracy 1, choice stderr 0, and so do its samples here."),
    "inspect/logs__eee_data_intercode_ctf_local_path.json": (
        (1, 0, 1, 0, 0), "1 of 79 samples present: the tool's own numbers are over all of them."),
    "inspect/logs__eee_data_with_llm_scoring.json": (
        (0, 0, 0, 0, 0), "0 of 1,000 samples present: the tool's own numbers are over all of them."),
    "inspect/logs__log_formats.eval": (
        (1, 0, 1, 0, 0), "inspect says match accuracy 0, match stderr 0, and so do its samples here."),
    "promptfoo/results__sample-export.json": (
        (4, 0, 4, 0, 0), "promptfoo says successes 0, failures 4, errors 0, and so do its samples here."),
    "deepeval/results__test_run_sample.json": (
        (1, 0, 1, 0, 0), "deepeval says tests passed 0, tests failed 1, and so do its samples here."),
    **dict.fromkeys(("helm/mmlu_philosophy", *(f"helm/mmlu_philosophy/{name}.json" for name in HELM)), (
        (10, 1, 9, 0, 0),
        "helm says test exact_match 0.1111, test exact_match@5 0.1111, test quasi_exact_match 0.1111, "
        "test quasi_exact_match@5 0.1111, test prefix_exact_match 0.1111, test prefix_exact_match@5 0.1111, "
        "test quasi_prefix_exact_match 0.1111, test quasi_prefix_exact_match@5 0.1111, valid exact_match 0, "
        "valid exact_match@5 0, valid quasi_exact_match 0, valid quasi_exact_match@5 0, valid prefix_exact_match 0, "
        "valid prefix_exact_match@5 0, valid quasi_prefix_exact_match 0, valid quasi_prefix_exact_match@5 0, "
        "and so do its samples here.")),
    **dict.fromkeys((f"lm-eval/results_{STAMP}.json", f"lm-eval/samples_math_perturbed_full_{STAMP}.jsonl"), (
        (10, 0, 10, 0, 0), "10 of 10,000 samples present: the tool's own numbers are over all of them.")),
    "openai-evals/hosted__openai-evals-items.jsonl": ((2, 1, 1, 0, 0), ""),
    "langsmith/langsmith_js_wrap_openai_default.json": ((1, 0, 0, 0, 1), ""),
}  # fmt: skip


def howsure(*words: str) -> Any:
    done = CliRunner().invoke(program, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def tools(shared_data: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return shared_data("other_tools")


@pytest.mark.parametrize("name", EXPECTED)
def test_a_results_file_is_imported_and_its_own_numbers_are_reproduced(tools: Path, name: str) -> None:
    run = howsure("import", str(tools / name))
    counts, said = EXPECTED[name]
    assert tuple(run[key] for key in ("total", "passed", "failed", "errored", "skipped")) == counts
    assert not said or said in run["notes"]
    assert howsure("import", str(tools / name))["run_id"] == run["run_id"]


def test_the_two_arc_logs_are_compared_as_they_are(tools: Path, tmp_path: Path) -> None:
    logs = [str(tools / "inspect" / f"logs__eee_data_arc_{name}.json") for name in ("qwen", "sonnet")]
    (pair,) = howsure("compare", *logs)["comparisons"]
    assert pair["conclusion"] == "cannot_tell"
    assert (pair["verdict"]["n"], pair["verdict"]["first"], pair["verdict"]["second"]) == (3, pytest.approx(1 / 3), 1.0)
    assert pair["verdict"]["pairing"]["only_second"] == 2
    assert pair["notes"] == [
        "only on the second side: 4, 5",
        "of all results, 33.3 % of 3 passed in the first run and 100.0 % of 5 in the second",
    ]
    assert list(tmp_path.iterdir()) == []


OTLP_DUMP = "this is a dump of OpenTelemetry spans, not in OTLP, which holds no results"
DUMPS = ("adk_live", "autogen_live", "claude_live", "openai_agents_genai_adot", "openai_agents_genai_live",
         "openai_agents_openinference_live", "openinference_adot", "otel_genai_convention")  # fmt: skip
CLAUDE, CODEX = "this is a session of Claude Code", "this is a session of Codex"
NO_RESULTS = {
    "otlp/agentevals_eval_set_helm.json": "this is a file of adk-evalset, not results",
    "otlp/agentevals_evalset_k8s_2026-02-20.json": "this is a file of adk-evalset, not results",
    "otlp/agentevals_k8s.json": "this is a trace in Jaeger's JSON, which holds no results",
    "otlp/smithclay_trace.json": "this is a file of otlp, not results",
    "otlp/smithclay_trace.pb": "this is a trace in OTLP's binary form (protobuf), which holds no results",
    "otlp/spec__events.json": "this is a log in OTLP JSON, which holds no results",
    "otlp/spec__logs.json": "this is a log in OTLP JSON, which holds no results",
    "otlp/spec__trace.json": "this is a file of otlp, not results",
    **{f"otlp/strands_{name}_spans.json": OTLP_DUMP for name in DUMPS},
    "coding-agents/mlflow_claude-code_tests_fixtures_with-subagent.jsonl": CLAUDE,
    "coding-agents/mlflow_claude-code_tests_fixtures_with-tool-error.jsonl": CLAUDE,
    "coding-agents/strands_codex_exec_json.json": CODEX,
    "coding-agents/strands_codex_session_rollout.json": CODEX,
}


def test_traces_and_sessions_are_named_for_what_they_are(tools: Path) -> None:
    of_langfuse = [f"langfuse/{path.name}" for path in (tools / "langfuse").iterdir()]
    known = {**NO_RESULTS, **dict.fromkeys(of_langfuse, "this is a file of langfuse, not results")}
    files = [path for name in ("otlp", "langfuse", "coding-agents") for path in (tools / name).iterdir()]
    assert sorted(known) == sorted(str(path.relative_to(tools)) for path in files)
    for name, sentence in known.items():
        done = CliRunner().invoke(program, ["import", str(tools / name)])
        assert (done.exit_code, sentence in done.stderr) == (2, True), done.output
        (problem,) = validate_files([str(tools / name)], KIT)[0].problems
        assert sentence.removeprefix("this is ").partition(",")[0] in problem.message
