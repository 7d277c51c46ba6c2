"""`howsure import`, and `compare`, `gate`, `triage` and `report` on files of other tools, as a user types them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import yaml

from tool_logs import (
    inspect_archive,
    inspect_json,
    inspect_sample,
    promptfoo_output,
    promptfoo_row,
)

Howsure = Callable[..., Any]
CALLS = [
    {"role": "user", "content": "What is 1 in words?"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": "look_up", "arguments": {"n": 1}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "one"},
    {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "one"}]},
]


def results(howsure: Howsure, run: str = "latest") -> list[Any]:
    done = howsure("results", run, "--json")
    assert done.code == 0, done.err
    found: list[Any] = done.json
    return found


@pytest.mark.parametrize("write", ["log.json", "log.eval", "zstd.eval"])
def test_an_inspect_log_becomes_a_run_with_its_verdicts_and_scores(
    howsure: Howsure, tmp_path: Path, write: str
) -> None:
    samples = [
        inspect_sample(1, messages=CALLS, output={}),
        inspect_sample(2, "I"),
        inspect_sample(3, "P"),
        inspect_sample(4, "N"),
        inspect_sample(5, error={"message": "sandbox died", "traceback": "…"}, scores={}),
        inspect_sample(6, {"match": True, "judge": "I"}),
    ]
    make: Callable[..., Path] = inspect_json if write.endswith(".json") else inspect_archive
    make = partial(make, zstd=True) if write == "zstd.eval" else make
    path = make(tmp_path / write, samples, {"accuracy": 0.5, "stderr": 0.22360679774997896})
    done = howsure("import", path, "--json")
    assert done.code == 3, done.err  # one sample errored
    run = done.json
    counts = {name: run[name] for name in ("total", "passed", "failed", "errored", "skipped")}
    assert counts == {"total": 6, "passed": 1, "failed": 4, "errored": 1, "skipped": 0}
    assert (run["name"], run["target"]) == (write, "mock/model")
    assert (run["started_at"], run["completed_at"]) == ("2026-01-02T03:04:05Z", "2026-01-02T03:05:05Z")
    assert "inspect says match accuracy 0.5, match stderr 0.2236, and so do its samples here." in run["notes"]
    found = results(howsure)
    assert [each["test_case_id"] for each in found] == ["1", "2", "3", "4", "5", "6"]
    assert found[0]["output"]["tool_calls"][0]["name"] == "look_up"
    assert found[0]["output"]["tool_calls"][0]["result"]["content"] == "one"
    assert found[0]["output"]["messages"][-1]["content"] == "one"
    assert found[2]["scores"]["match"]["score"] == 0.5
    assert found[4]["error"].startswith("sandbox died")
    assert found[5]["verdict"] == "failed"  # several scorers must all pass


def test_an_epoch_is_a_repeat_and_numbers_need_a_mark(howsure: Howsure, tmp_path: Path) -> None:
    samples = [inspect_sample(id, {"f1": value}, epoch=epoch) for id, epoch, value in
               ((1, 1, 0.9), (1, 2, 0.4), (2, 1, 0.7), (2, 2, 0.1))]  # fmt: skip
    path = inspect_json(tmp_path / "log.json", samples)
    unmarked = howsure("import", path)
    assert "4 skipped" in unmarked.out
    assert "4 cases have f1 and no verdict: `--mark f1=VALUE` sets what passes." in " ".join(unmarked.out.split())
    marked = howsure("import", path, "--mark", "f1=0.7", "--json").json
    assert (marked["passed"], marked["failed"], marked["repeat"]) == (2, 2, 2)
    found = {(each["test_case_id"], each["repeat"]): each["verdict"] for each in results(howsure)}
    assert found == {("1", 1): "passed", ("1", 2): "failed", ("2", 1): "passed", ("2", 2): "failed"}
    wrong = howsure("import", path, "--mark", "f2=0.7")
    assert (wrong.code, wrong.err.strip()) == (
        2, f"error: --mark f2: no score of {path} has this name; it has f1")  # fmt: skip
    assert len(howsure("runs", "--json").json) == 2


def test_the_same_file_twice_is_the_same_run(howsure: Howsure, tmp_path: Path) -> None:
    path = inspect_json(tmp_path / "log.json", [inspect_sample(1)])
    first = howsure("import", path, "--json").json
    again = howsure("import", path, "--name", "other", "--json")
    assert again.json["run_id"] == first["run_id"]
    assert again.err == f"run {first['run_id'][:8]} 'log.json' was imported before: nothing was stored\n"
    assert len(howsure("runs", "--json").json) == 1


def test_a_difference_to_the_tools_own_number_is_said(howsure: Howsure, tmp_path: Path) -> None:
    samples = [inspect_sample(1), inspect_sample(2, "I")]
    done = howsure("import", inspect_json(tmp_path / "log.json", samples, {"accuracy": 0.75}), "--json").json
    assert "inspect says match accuracy 0.75; over the samples here it is 0.5." in done["notes"]
    scores = [{"name": "match", "metrics": {"accuracy": {"name": "accuracy", "value": 0.9}}}]
    part = inspect_json(tmp_path / "part.json", samples, results={"total_samples": 40, "scores": scores})
    notes = howsure("import", part, "--json").json["notes"]
    assert "2 of 40 samples present: the tool's own numbers are over all of them." in notes
    assert "inspect says match accuracy 0.9." in notes


def test_a_record_that_cannot_be_read_is_errored_and_named_unless_strict(howsure: Howsure, tmp_path: Path) -> None:
    broken = {"id": 3, "epoch": 1}
    samples: list[Any] = [inspect_sample(1), broken, "text", inspect_sample(1), inspect_sample("a\0b")]
    path = tmp_path / "log.json"
    inspect_json(path, samples[:1])
    log = json.loads(path.read_text())
    path.write_text(json.dumps({**log, "samples": samples}))
    refused = howsure("import", path, "--strict")
    assert refused.code == 2
    assert f"{path} `samples[1]`: the field 'input' is missing [unreadable-record]" in refused.err
    assert howsure("runs", "--json").json == []
    done = howsure("import", path, "--json")
    assert (done.code, done.json["passed"], done.json["errored"]) == (3, 1, 4)
    assert [each["test_case_id"] for each in results(howsure)] == [
        "1", "3 (samples[1])", "samples[2]", "1 (record 4)", "a\\u0000b (record 5)"]  # fmt: skip


def spoil(name: str, path: Path) -> None:
    """Write a file with one fault of the whole."""
    whole = inspect_json(path, [inspect_sample(1), inspect_sample(2)]).read_bytes()
    log = json.loads(whole)
    match name:
        case "cut json":
            path.write_bytes(whole[: len(whole) - 200])
        case "newer schema":
            path.write_text(json.dumps({**log, "version": 3}))
        case "still running":
            path.write_text(json.dumps({**log, "status": "started"}))
        case "latin-1":
            path.write_bytes(whole.replace(b"Be brief", "Bê brief".encode("latin-1")))
        case "cut archive":
            path.write_bytes(inspect_archive(path, [inspect_sample(1)]).read_bytes()[:-60])
        case "broken member":
            text = inspect_archive(path, [inspect_sample(1)]).read_bytes()
            at = text.index(b"samples/1_epoch_1.json") + 60
            path.write_bytes(text[:at] + bytes([text[at] ^ 0xFF]) + text[at + 1 :])
        case "member past the end":
            text = inspect_archive(path, [inspect_sample(1)], zstd=True).read_bytes()
            at = text.rindex(
                b"header.json"
            )  # before it, in the directory of the archive, stands where the member begins
            path.write_bytes(text[: at - 4] + (len(text) - 10).to_bytes(4, "little") + text[at:])
        case "member larger than the file":
            text = inspect_archive(path, [inspect_sample(1)]).read_bytes()
            at = text.rindex(b"header.json") - 26  # its packed size
            path.write_bytes(text[:at] + (0x7FFFFFFF).to_bytes(4, "little") + text[at + 4 :])
        case "no header":
            inspect_archive(path, [inspect_sample(1)], header=False)
        case _:
            with ZipFile(path, "w", ZIP_DEFLATED) as archive:
                archive.writestr("header.json", b" " * 200_000_000)


@pytest.mark.parametrize(("name", "file", "code"), [
    ("cut json", "log.json", "cut-off"),
    ("newer schema", "log.json", "newer-schema"),
    ("still running", "log.json", "unfinished-log"),
    ("latin-1", "log.json", "encoding"),
    ("cut archive", "log.eval", "broken-archive"),
    ("broken member", "log.eval", "broken-archive"),
    ("member past the end", "log.eval", "broken-archive"),
    ("member larger than the file", "log.eval", "broken-archive"),
    ("no header", "log.eval", "unfinished-log"),
    ("bomb", "log.eval", "archive-too-large"),
])  # fmt: skip
def test_a_fault_of_the_whole_file_is_named_and_nothing_is_stored(
    howsure: Howsure, tmp_path: Path, name: str, file: str, code: str
) -> None:
    spoil(name, tmp_path / file)
    done = howsure("import", tmp_path / file)
    assert done.code == 2
    assert f"[{code}]" in done.err
    assert howsure("runs", "--json").json == []
    assert howsure("gate", tmp_path / file, "--gate", "pass_rate >= 0.5").code == 2


@pytest.mark.parametrize("form", ["output.json", "output.yaml", "output.jsonl", "promptfoo.db"])
def test_promptfoo_results_keep_prompt_and_provider_as_candidates(howsure: Howsure, tmp_path: Path, form: str) -> None:
    rows = [promptfoo_row(test, prompt, passed=bool(prompt)) for test in (0, 1, 2) for prompt in (0, 1)]
    # The first test once more is a repeat; what broke is errored, not failed.
    rows += [promptfoo_row(3, prompt, passed=True, variables={"city": "City 0"}) for prompt in (0, 1)]
    rows[2] |= {"failureReason": 2, "error": "API error: 429", "response": None, "gradingResult": None}
    path = tmp_path / form
    document = promptfoo_output(rows, successes=5, failures=2, errors=1)
    match path.suffix:
        case ".json":
            path.write_text(json.dumps(document))
        case ".yaml":
            path.write_text(yaml.safe_dump(document, sort_keys=False))
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case _:
            promptfoo_database(path, document)
    done = howsure("import", path, "--json")
    assert done.code == 3, done.err
    prompt = "Weather in {{city}}? × " if form == "output.jsonl" else ""
    totals = {name: (each["passed"], each["failed"], each["errored"]) for name, each in done.json["candidates"].items()}
    assert totals == {f"{prompt}echo:small": (1, 2, 1), f"{prompt}echo:large": (4, 0, 0)}
    found = results(howsure)
    (broke,) = [each for each in found if each["verdict"] == "errored"]
    assert broke["error"].startswith("API error: 429")
    assert sorted(each["repeat"] for each in found if each["input"]["message"] == "City 0") == [1, 1, 2, 2]
    assert found[0]["output"]["messages"][0]["content"] == "Weather in City 0?"
    assert found[0]["scores"]["contains"]["score"] == 0.0
    if form in ("output.json", "output.yaml"):
        said = "promptfoo says successes 5, failures 2, errors 1, and so do its samples here."
        assert said in done.json["notes"]


def promptfoo_database(path: Path, document: Any) -> None:
    names = {"testIdx": "test_idx", "promptIdx": "prompt_idx", "testCase": "test_case", "latencyMs": "latency_ms",
             "gradingResult": "grading_result", "namedScores": "named_scores",
             "failureReason": "failure_reason"}  # fmt: skip
    columns = ("test_idx", "prompt_idx", "test_case", "prompt", "provider", "latency_ms", "cost", "response", "error",
               "success", "score", "grading_result", "named_scores", "failure_reason")  # fmt: skip
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE evals (id, description, config, prompts, created_at)")
        database.execute(f"CREATE TABLE eval_results (eval_id, {', '.join(columns)})")
        prompts = json.dumps(document["results"]["prompts"])
        old = ("eval-old", "old", "{}", prompts, 1)
        new = ("eval-new", "weather", "{}", prompts, 1_767_323_045_000)
        database.executemany("INSERT INTO evals VALUES (?, ?, ?, ?, ?)", [old, new])
        for row in document["results"]["results"]:
            known = {names.get(key, key): value for key, value in row.items()}
            plain = [json.dumps(each) if isinstance(each, dict) else each for each in (known[name] for name in columns)]
            marks = ", ".join("?" * (len(columns) + 1))
            database.execute(f"INSERT INTO eval_results VALUES ({marks})", ["eval-new", *plain])
    database.close()


def test_two_files_are_compared_and_nothing_is_stored(howsure: Howsure, tmp_path: Path) -> None:
    before = inspect_json(tmp_path / "before.json", [inspect_sample(1), inspect_sample(2, "I"), inspect_sample(3, "I")])
    after = inspect_archive(tmp_path / "after.eval", [inspect_sample(each) for each in (1, 2, 3, 4, 5)], zstd=True)
    done = howsure("compare", before, after)
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    assert "Cannot tell yet whether after.eval is better or worse than before.json: 100.0 % of 3 paired cases" in text
    assert "2 cases could not be compared: 2 only on the second side. only on the second side: 4, 5." in text
    assert "of all results, 33.3 % of 3 passed in the first run and 100.0 % of 5 in the second." in text
    assert "2 cases got better" in text
    assert not (tmp_path / ".howsure").exists()


def test_results_of_promptfoo_are_paired_with_our_own_run_of_its_configuration(
    howsure: Howsure, tmp_path: Path
) -> None:
    tests = [
        {"vars": {"city": ["Rome", "Oslo"]}, "assert": [{"type": "contains", "value": "Rome"}]},
        {"vars": {"city": "Lima", "day": 3}, "assert": [{"type": "starts-with", "value": "Weather"}]},
    ]
    config = {"prompts": ["Weather in {{city}}?"], "providers": ["echo"], "tests": tests}
    (tmp_path / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))
    cities: list[dict[str, Any]] = [{"city": "Rome"}, {"city": "Oslo"}, {"city": "Lima", "day": 3}]
    rows = [promptfoo_row(at, 0, passed=True, variables=each) for at, each in enumerate(cities)]
    rows[0]["vars"] = {**cities[0], "sessionId": "added by promptfoo while it runs"}
    document = promptfoo_output(rows, successes=3, failures=0, errors=0)
    (tmp_path / "output.json").write_text(json.dumps(document))
    howsure("run", "promptfooconfig.yaml", "--name", "ours")
    (pair,) = howsure("compare", "ours", "output.json", "--json").json["comparisons"]
    verdict = pair["verdict"]
    assert (verdict["n"], verdict["first"], verdict["second"]) == (3, pytest.approx(2 / 3), 1.0)
    # Without variables, the question must be the same: another log with the id of one of the tests is not paired.
    (asked,) = [each for each in results(howsure, "ours") if each["verdict"] == "failed"]
    other = inspect_json(tmp_path / "other.json", [inspect_sample(asked["test_case_id"], input="Something else?")])
    (pair,) = howsure("compare", "ours", other, "--json").json["comparisons"]
    assert pair["verdict"]["pairing"]["changed"] == 1


def test_a_file_stands_beside_a_stored_run_and_is_gated_triaged_and_reported(howsure: Howsure, tmp_path: Path) -> None:
    before = inspect_json(tmp_path / "before.json", [inspect_sample(each, "I") for each in range(30)])
    after = inspect_json(tmp_path / "after.json", [inspect_sample(each) for each in range(30)])
    assert howsure("import", before, "--name", "stored").code == 0
    mixed = howsure("compare", "stored", after)
    assert "after.json is better than stored: 100.0 % of 30 paired cases passed against 0.0 %" in " ".join(
        mixed.out.split()
    )
    assert howsure("gate", after, "--gate", "pass_rate >= 0.5").code == 0
    assert howsure("gate", before, "--gate", "pass_rate >= 0.5").code == 100
    triage = howsure("triage", before, "--json")
    assert len(triage.json["findings"]) == 30
    report = howsure("report", after, "--baseline", before, "-o", tmp_path / "page.html")
    assert (report.code, (tmp_path / "page.html").stat().st_size > 10_000) == (0, True), report.err
    assert len(howsure("runs", "--json").json) == 1


def test_an_imported_run_is_graded_anew_and_never_resumed(howsure: Howsure, tmp_path: Path) -> None:
    choices: dict[str, Any] = {"choices": ["red", "blue"], "target": "B"}
    samples = [
        inspect_sample(1, "C", output={"choices": [{"message": {"content": "ANSWER: B"}}]}, **choices),
        inspect_sample(2, "C", output={"choices": [{"message": {"content": "ANSWER: A"}}]}, **choices),
        inspect_sample(3, "I", error="timed out", **choices),
    ]
    howsure("import", inspect_json(tmp_path / "log.json", samples), "--name", "theirs")
    again = howsure("run", "run:theirs", "--name", "ours", "--json")
    assert (again.json["passed"], again.json["failed"], again.json["errored"]) == (1, 1, 1), again.err
    assert {each["test_case_id"]: each["verdict"] for each in results(howsure, "theirs")} == {
        "1": "passed", "2": "passed", "3": "errored"}  # fmt: skip
    retried = howsure("retry", "theirs", "--errors")
    assert retried.code == 2
    assert (
        "was imported from inspect: it is not made here; grade its answers anew with `howsure run run:" in retried.err
    )


def test_the_scorers_of_an_imported_run_are_held_against_people(howsure: Howsure, tmp_path: Path) -> None:
    samples = [inspect_sample(id, "C" if id < 6 else "I") for id in range(10)]
    howsure("import", inspect_json(tmp_path / "log.json", samples))
    rows = [{"case_id": f"{id}", "grader": "match", "label": id < 8, "annotator": "ana"} for id in range(10)]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = howsure("judge", "calibrate", "labels.jsonl", "--run", "latest", "--json")
    assert done.code == 0, done.err
    assert done.json["judge"]["spec"] == "inspect 0.3.200"
    assert done.json["groups"][0]["verdicts"]["agreement"]["value"] == 0.8
    rows[0]["grader"] = "nobody"
    (tmp_path / "labels.jsonl").write_text(json.dumps(rows[0]))
    wrong = howsure("judge", "calibrate", "labels.jsonl", "--run", "latest")
    assert (wrong.code, "unknown-grader" in wrong.err) == (2, True)


def test_files_that_are_no_results_are_told_what_they_are(howsure: Howsure, tmp_path: Path) -> None:
    log = inspect_json(tmp_path / "log.json", [inspect_sample(1)])
    assert f"these are results of inspect, not a dataset: `howsure import {log}`" in howsure("run", log).err
    assert "these are results of inspect" in howsure("validate", log).out
    golden = Path(__file__).parents[1] / "fixtures" / "seed_001_golden.json"
    assert "this is a dataset (golden), not results: `howsure run" in howsure("import", golden).err
    (tmp_path / "empty.json").write_text("")
    assert "there is nothing in this file" in howsure("import", tmp_path / "empty.json").err
    (tmp_path / "notes.txt").write_text("hello")
    assert "not recognised as results of a tool: it is text (known: " in howsure("import", tmp_path / "notes.txt").err
