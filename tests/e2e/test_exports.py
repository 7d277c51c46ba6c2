"""`howsure export`: what comes out is read back by our own readers as the same run. The tools themselves read it in
tests/frameworks."""

from __future__ import annotations

import json
from pathlib import Path
from time import sleep
from typing import Any
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

from demo_runs import demo_runs
from howsure.main import program

COUNTS = ("total", "passed", "failed", "errored", "skipped")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("exports")
    demo_runs(place, "legal", "golden", "test-set")
    return place


def typed(folder: Path, *words: str) -> tuple[int, str, str]:
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        done = CliRunner(env={"COLUMNS": "120"}).invoke(program, list(words))
    return done.exit_code, done.stdout, done.stderr


def shown(folder: Path, *words: str) -> Any:
    return json.loads(typed(folder, *words, "--json")[1])


def verdicts(folder: Path, run: str, by: str) -> list[tuple[str, str]]:
    return sorted((each[by], each["verdict"]) for each in shown(folder, "results", run))


@pytest.mark.parametrize(
    ("kind", "run", "by"),
    [
        ("inspect", "demo golden", "test_case_id"),
        ("inspect", "demo test-set", "test_case_id"),
        ("promptfoo", "demo legal", "candidate"),
        ("promptfoo", "demo test-set", "item_name"),
        ("openai-evals", "demo golden", "test_case_id"),
    ],
)
def test_what_is_exported_is_imported_with_the_same_verdicts(kind: str, run: str, by: str, folder: Path) -> None:
    file = f"{kind} {run}.x"
    assert typed(folder, "export", run, "--to", kind, "-o", file) == (0, "", f"written: {file}\n")
    typed(folder, "import", file, "--name", file)
    before, after = (shown(folder, "show", each) for each in (run, file))
    assert [after[name] for name in COUNTS] == [before[name] for name in COUNTS]
    assert before["passed"] > 0 and before["failed"] > 0 and before["errored"] > 0
    assert verdicts(folder, file, by) == verdicts(folder, run, by)


def test_conversations_and_tool_calls_go_to_inspect_and_come_back(folder: Path) -> None:
    typed(folder, "export", "demo golden", "--to", "inspect", "-o", "talk.eval")
    back = shown(folder, "import", "talk.eval")["run_id"]
    before, after = (
        {each["test_case_id"]: each["output"] for each in shown(folder, "results", run)}
        for run in ("demo golden", back)
    )
    asked = [call["name"] for call in before["q_order_status_01"]["tool_calls"]]
    assert "look_up_order" in asked
    for case, output in before.items():
        if output["answer"] is not None:
            calls = [
                [(call["name"], call["arguments"]) for call in each["tool_calls"]] for each in (output, after[case])
            ]
            assert calls[0] == calls[1]
            assert after[case]["answer"] == output["answer"]


@pytest.mark.thorough
def test_the_same_run_is_always_the_same_file(folder: Path) -> None:
    for name in ("one.eval", "two.eval"):
        typed(folder, "export", "demo golden", "--to", "inspect", "-o", name)
        sleep(2.1)  # an archive has times in steps of two seconds
    assert (folder / "one.eval").read_bytes() == (folder / "two.eval").read_bytes()


def test_criteria_stand_with_their_score_in_the_log(folder: Path) -> None:
    typed(folder, "export", "demo test-set", "--to", "inspect", "-o", "criteria.eval")
    with ZipFile(folder / "criteria.eval") as archive:
        name = next(each for each in archive.namelist() if each.startswith("samples/"))
        score = json.loads(archive.read(name))["scores"]["criteria"]
    parts = score["metadata"]["criteria"]
    assert score["value"] in (0.0, 1.0)
    assert parts and all({"criterion_id", "passed"} <= set(part) for part in parts)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("demo legal", "--to", "inspect", "-o", "x"), "a log of Inspect is about one model, and this run has 3"),
        (("demo legal", "--to", "inspect", "-o", "x", "--candidate", "nobody"), "unknown candidate 'nobody'; known:"),
        (("demo legal", "--to", "yaml", "-o", "x"), "unknown report format 'yaml'; known: canonical"),
        (("demo legal", "--to", "otlp", "-o", "nowhere/x"), "there is no folder nowhere"),
        (("nobody", "--to", "otlp", "-o", "x"), "nobody"),
    ],
    ids=["several candidates", "unknown candidate", "unknown kind", "no folder", "unknown run"],
)
def test_what_cannot_be_exported_is_refused(words: tuple[str, ...], told: str, folder: Path) -> None:
    code, _, error = typed(folder, "export", *words)
    assert (code, told in " ".join(error.split())) == (2, True), error
    assert not (folder / "x").exists()


def test_one_candidate_of_several_is_exported_alone(folder: Path) -> None:
    typed(folder, "export", "demo legal", "--to", "openai-evals", "-o", "one.jsonl", "--candidate", "juno-large")
    lines = [json.loads(line) for line in (folder / "one.jsonl").read_bytes().splitlines()]
    assert lines[0]["spec"]["completion_fns"] == ["juno-large"]
    assert len({line["sample_id"] for line in lines if "sample_id" in line}) == 24
    assert lines[-1]["final_report"]["accuracy"] == 22 / 24
