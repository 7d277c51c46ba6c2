"""`howsure import` of every tool's results but Inspect's and promptfoo's: counts, the tool's own numbers, and what each
format says of a case."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import Howsure
from howsure.dialects.tool_results.samples import content_id
from tool_files import MAKERS, STAMP, every_eval_ever, helm, lm_eval, write_json

EXPECTED: dict[str, tuple[tuple[int, ...], list[str]]] = {
    # total, passed, failed, errored, skipped; and sentences of the run's notes
    "lm-eval": (
        (5, 3, 2, 0, 0),
        ["lm-eval says sums exact_match,strict 0.6667, sums exact_match_stderr,strict 0.3333,"
         " sums exact_match,flexible 1, sums f1,strict 1, sky acc 0.5, sky acc_stderr 0.5,"
         " and so do its samples here."]),
    "helm": ((3, 1, 1, 1, 0), ["helm says test exact_match 0.25, and so do its samples here."]),
    "deepeval": (
        (4, 2, 1, 1, 0),
        ["DeepEval counts a case whose metric broke as failed; here it is errored.",
         "deepeval says tests failed 2; over the samples here it is 1."]),
    "openai": ((3, 1, 1, 1, 0), []),
    "oaieval": ((3, 1, 1, 1, 0), ["oaieval says accuracy 0.5, and so do its samples here.",
                                  "oaieval says boostrap_std 0.2."]),
    "every-eval-ever": ((2, 1, 1, 0, 0), ["every-eval-ever says acc 0.5, style 0.85, and so do its samples here."]),
    "langsmith": ((3, 0, 0, 1, 2), ["2 cases have correct and no verdict: `--mark correct=VALUE` sets what passes."]),
    "mlflow": ((3, 1, 1, 1, 0), []),
    "braintrust": ((4, 1, 1, 1, 1), ["1 case has Exact and no verdict: `--mark Exact=VALUE` sets what passes."]),
    "langfuse": ((2, 1, 0, 0, 1), []),
    "adk": ((3, 1, 1, 1, 0), []),
    "azure": ((1, 0, 1, 0, 0), []),
    "pydantic-evals": ((2, 1, 0, 1, 0), []),
}  # fmt: skip


@pytest.mark.parametrize("kind", EXPECTED)
def test_results_are_recognised_and_counted_and_the_tools_own_numbers_are_held_against_ours(
    howsure: Howsure, tmp_path: Path, kind: str
) -> None:
    path = MAKERS[kind](tmp_path / "theirs" if kind == "helm" else tmp_path)
    counts, notes = EXPECTED[kind]
    done = howsure("import", path, "--json")
    run = done.json
    assert tuple(run[key] for key in ("total", "passed", "failed", "errored", "skipped")) == counts, done
    assert [note for note in notes if note not in run["notes"]] == [], run["notes"]
    assert done.code == (3 if counts[3] else 0)
    assert howsure("import", path, "--from", kind, "--json").json["run_id"] == run["run_id"]


def case_of(howsure: Howsure, path: Path, id: str) -> str:
    run = howsure("import", path, "--json").json["run_id"]
    return howsure("show", run, id, env={"COLUMNS": "200"}).out


@pytest.mark.parametrize(
    ("kind", "id", "sentences"),
    [
        ("lm-eval", "sums/0", ["0+1?", "It is 1.", "exact_match,strict 0.00 < 1.00"]),
        ("lm-eval", "sky/1", ["Sky?", "red", "acc 0.00 < 1.00"]),
        ("helm", "test/id1", ["id1?", "Paris", "exact_match"]),
        ("deepeval", "t", ["Cats?", "search", "Relevancy", "≥ 0.5", "≤ 0.5"]),
        ("deepeval", f"t {content_id('Dogs?')}", ["deepeval says failed", "Relevancy 0.20 < 0.50: off topic"]),
        ("openai", "1", ["2+2", "fails by same"]),
        ("oaieval", "sums.2", ["2+2", "accuracy 0.00 < 1.00"]),
        ("every-eval-ever", "b", ["1+1", "every-eval-ever says failed"]),
        ("langsmith", "b", ["2+2", "no mark for correct 0"]),
        ("langfuse", "a", ["2+2", "as told"]),
        ("adk", "other", ["I want a refund", "ADK did not evaluate it"]),
    ],
)
def test_a_case_shows_what_the_tool_kept_of_it(
    howsure: Howsure, tmp_path: Path, kind: str, id: str, sentences: list[str]
) -> None:
    shown = case_of(howsure, MAKERS[kind](tmp_path / "theirs" if kind == "helm" else tmp_path), id)
    assert [sentence for sentence in sentences if sentence not in shown] == [], shown


def test_either_file_of_lm_eval_and_of_every_eval_ever_leads_to_both(howsure: Howsure, tmp_path: Path) -> None:
    for first, second in (
        (lm_eval(tmp_path), tmp_path / f"samples_sky_{STAMP}.jsonl"),
        (every_eval_ever(tmp_path), tmp_path / "sums_samples.jsonl"),
    ):
        assert howsure("import", first, "--json").json["run_id"] == howsure("import", second, "--json").json["run_id"]


def test_fewer_samples_than_the_tool_scored_are_said_with_its_own_numbers(howsure: Howsure, tmp_path: Path) -> None:
    report = lm_eval(tmp_path)
    (tmp_path / f"samples_sky_{STAMP}.jsonl").unlink()
    notes = howsure("import", report, "--json").json["notes"]
    assert "3 of 5 samples present: the tool's own numbers are over all of them." in notes
    assert "lm-eval says sums exact_match,strict 0.6667." in notes
    assert "lm-eval says sky acc 0.5." in notes


def test_a_file_of_helm_without_the_others_is_refused(howsure: Howsure, tmp_path: Path) -> None:
    folder = helm(tmp_path / "theirs")
    (folder / "per_instance_stats.json").unlink()
    done = howsure("import", folder / "scenario_state.json")
    assert done.code == 2
    assert "a file of a HELM run without its per_instance_stats.json" in done.err


def test_a_report_that_pytest_wrote_is_imported(howsure: Howsure, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.fixture\ndef broken(): raise RuntimeError('no database')\n"
        "def test_good(): pass\n"
        "def test_bad(): assert 1 == 2\n"
        "def test_broken(broken): pass\n"
        "@pytest.mark.skip(reason='later')\ndef test_later(): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=r.xml", "test_it.py"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=240)
    run = howsure("import", "r.xml", "--json").json
    assert [run[key] for key in ("total", "passed", "failed", "errored", "skipped")] == [4, 1, 1, 1, 1]
    assert "junit says failures 1, errors 1, and so do its samples here." in run["notes"]
    shown = howsure("show", run["run_id"], "test_it::test_bad").out
    assert "junit says failed" in shown and "assert 1 == 2" in shown


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "b">]><testsuite/>', "declares a document type"),
        ('<testsuite tests="1"><testcase name="a">', "not valid XML"),
    ],
)
def test_a_junit_report_that_is_broken_or_dangerous_stores_nothing(
    howsure: Howsure, tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "r.xml").write_text(text)
    done = howsure("import", "r.xml")
    assert (done.code, sentence in done.err) == (2, True), done.err
    assert howsure("runs", "--json").json == []


@pytest.mark.parametrize(
    ("file", "value", "sentence"),
    [
        (f"results_{STAMP}.json", {"results": {}, "configs": {}, "n-samples": {"t": {}}}, "'effective' is missing"),
        (
            "stats.json",
            [{"name": {"name": "exact_match"}, "sum_squared": 1, "split": 1, "mean": "x"}],
            "could not convert",
        ),
        ("table.json", {"columns": 3, "data": [[1, "/score"]]}, "not as its tool writes it"),
        ("runs.json", {"post": [3], "patch": [{"dotted_order": ""}]}, "not as its tool writes it"),
    ],
)
def test_a_file_of_another_shape_is_a_clear_error_and_stores_nothing(
    howsure: Howsure, tmp_path: Path, file: str, value: Any, sentence: str
) -> None:
    folder = helm(tmp_path / "theirs")
    done = howsure("import", write_json(folder / file, value))
    assert (done.code, sentence in done.err, "Traceback" in done.err) == (2, True, False), done.err
    assert howsure("runs", "--json").json == []


def test_a_newer_schema_and_items_without_answers_are_refused(howsure: Howsure, tmp_path: Path) -> None:
    document = {"schema_version": "0.9.0", "evaluation_id": "e", "model_info": {}, "evaluation_results": []}
    newer = howsure("import", write_json(tmp_path / "new.json", document))
    assert (newer.code, "the document has schema 0.9.0; this Howsure reads 0.2 and 0.3" in newer.err) == (2, True)
    items = {"name": "run", "datasetRunItems": [{"id": "i", "traceId": "t", "datasetItemId": "d"}]}
    empty = howsure("import", write_json(tmp_path / "items.json", items))
    assert (empty.code, "name their traces only" in empty.err) == (2, True)


OLD_ROW = {"prompt": {"raw": "Say hi to Bo", "display": "Say hi to {{n}}"}, "vars": {"n": "Bo"}, "success": True,
           "response": {"output": "hi"}}  # fmt: skip
EARLY = {"id": 1, "epoch": 1, "input": "2+2?", "target": "4", "score": {"value": "C"}, "output": {}}
SHAPES: dict[str, tuple[Any, tuple[int, ...], str]] = {
    "promptfoo": (
        {"version": 1, "results": [OLD_ROW, {**OLD_ROW, "success": False, "error": "no match"},
                                   {**OLD_ROW, "success": False, "error": "API error", "response": None}],
         "stats": {"successes": 1, "failures": 2}, "table": {}},
        (3, 1, 1, 1, 0), "promptfoo says successes 1, and so do its samples here."),
    "inspect": (
        {"version": 1, "status": "success", "eval": {"task": "t", "model": "m/x"}, "plan": {},
         "results": {"scorer": {"name": "match"}, "metrics": {"accuracy": {"name": "accuracy", "value": 1}}},
         "samples": [EARLY]},
        (1, 1, 0, 0, 0), "inspect says match accuracy 1, and so do its samples here."),
    "deepeval": (
        {"testRunData": {"testCases": [{"name": "a", "input": "?", "success": True, "metricsData": []}],
                         "testPassed": 1, "testFailed": 0}},
        (1, 1, 0, 0, 0), "deepeval says tests passed 1, tests failed 0, and so do its samples here."),
}  # fmt: skip


@pytest.mark.parametrize("kind", SHAPES)
def test_other_versions_and_wrappings_of_results_are_imported(howsure: Howsure, tmp_path: Path, kind: str) -> None:
    document, counts, note = SHAPES[kind]
    write_json(tmp_path / "x.json", document)
    run = howsure("import", "x.json", "--json").json
    assert tuple(run[key] for key in ("total", "passed", "failed", "errored", "skipped")) == counts
    assert not note or note in run["notes"]
    assert f"these are results of {kind}, not a dataset" in howsure("init", "--data", "x.json").err


NO_RESULTS = {
    "t.csv": (b"n,[gpt] Say hi\nBo,[PASS] hi\n", "this is a table of promptfoo without scores"),
    "s.json": (b'{"_resultsLoaded": false, "id": "e", "config": {}, "results": [], "prompts": []}',
               "the eval was saved without its rows, which are in promptfoo's database"),
    "c.json": (b'{"title": {}}', "not recognised as results of a tool: it is JSON with the fields `title`"),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_RESULTS)
def test_what_has_no_results_is_told_what_it_is(howsure: Howsure, tmp_path: Path, name: str) -> None:
    content, said = NO_RESULTS[name]
    (tmp_path / name).write_bytes(content)
    done = howsure("import", name)
    assert (done.code, said in done.err) == (2, True), done


def test_tests_of_promptfoo_that_differ_in_their_threshold_are_two_cases(howsure: Howsure, tmp_path: Path) -> None:
    rows = [{**OLD_ROW, "testCase": {"threshold": share}} for share in (0.5, 0.8)]
    write_json(tmp_path / "x.json", {"results": {"version": 3, "results": rows, "stats": {}}, "config": {}})
    howsure("import", "x.json")
    first, second = (each["test_case_id"] for each in howsure("results", "latest", "--json").json)
    assert second == f"{first}-2"


def test_of_several_reductions_of_inspect_the_mean_is_held_against_ours(howsure: Howsure, tmp_path: Path) -> None:
    tries = [{**EARLY, "epoch": epoch, "score": {"value": letter}} for epoch, letter in ((1, "C"), (2, "I"))]
    scores = [
        {"name": "match", "reducer": name, "metrics": {"accuracy": {"name": "accuracy", "value": value}}}
        for name, value in (("mean", 0.5), ("max", 1.0))
    ]
    spec = {"task": "t", "model": "m/x", "config": {"epochs": 2, "epochs_reducer": ["mean", "max"]}}
    head = {"version": 2, "status": "success", "eval": spec, "plan": {}, "results": {"scores": scores}}
    write_json(tmp_path / "x.json", {**head, "samples": tries})
    notes = howsure("import", "x.json", "--json").json["notes"]
    assert "inspect says match accuracy (mean) 0.5, and so do its samples here." in notes
    assert "inspect says match accuracy (max) 1." in notes


def test_several_hosted_runs_in_one_file_are_candidates(howsure: Howsure, tmp_path: Path) -> None:
    said = {"trajectory": [{"role": "user", "content": "Which?"}], "outputs": [{"role": "assistant", "content": "A"}]}
    sample = {**said, "sampled_model_name": "gpt", "token_usage": {"prompt_tokens": 8, "completion_tokens": 2}}
    row = {"data_source_idx": 0, "item": {"text": "Which?", "correct_label": "A"}, "sample": sample}
    lines = [{**row, "run_id": run, "grades": {"m": 1}, "passes": {"m": run == "r1"}} for run in ("r1", "r2")]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    howsure("import", "x.jsonl")
    first, second = howsure("results", "latest", "--json").json
    assert [(each["candidate"], each["verdict"]) for each in (first, second)] == [("r1", "passed"), ("r2", "failed")]
    assert [each["content"] for each in first["output"]["messages"]] == ["Which?", "A"]
    assert first["output"]["usage"]["prompt_tokens"] == 8
