"""Real LangSmith, MLflow and oaieval: we import what they write. A tool that is not installed is skipped aloud."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

COUNTS = ("total", "passed", "failed", "errored", "skipped")


def imported(folder: Path, file: Path, *more: str) -> Any:
    command = [sys.executable, "-m", "howsure", "import", str(file), "--json", *more]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    assert done.returncode in (0, 3), done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_an_experiment_of_langsmith_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    langsmith = pytest.importorskip("langsmith")
    pytest.importorskip("pandas")
    schemas = pytest.importorskip("langsmith.schemas")
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    sums = {"2+2": "4", "3+3": "7", "boom": "1"}
    examples = [
        schemas.Example(
            id=UUID(int=place), dataset_id=UUID(int=99), inputs={"question": asked}, outputs={"answer": said}
        )
        for place, (asked, said) in enumerate(sums.items(), start=1)
    ]

    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"answer": str(sum(map(int, inputs["question"].split("+"))))}

    def correct(outputs: dict[str, Any], reference_outputs: dict[str, Any]) -> bool:
        return bool(outputs.get("answer") == reference_outputs["answer"])

    client = langsmith.Client(api_key="none", api_url="http://127.0.0.1:9")
    done = langsmith.evaluate(target, data=examples, evaluators=[correct], upload_results=False, client=client)
    table, file = done.to_pandas(), tmp_path / f"experiment.{ending}"
    if ending == "csv":
        table.to_csv(file, index=False)
    else:
        table.to_json(file, orient="records", default_handler=str)
    run = imported(tmp_path, file)
    assert [run[name] for name in COUNTS] == [3, 1, 1, 1, 0]


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_the_table_of_mlflow_is_imported(tmp_path: Path, ending: str) -> None:
    mlflow = pytest.importorskip("mlflow")
    scorers = pytest.importorskip("mlflow.genai.scorers")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")

    @scorers.scorer
    def exact(outputs: str, expectations: dict[str, str]) -> bool:
        return outputs == expectations["expected_response"]

    @scorers.scorer
    def length(outputs: str) -> int:
        return len(outputs)

    @scorers.scorer
    def breaks(outputs: str) -> str:
        if outputs == "8":
            raise RuntimeError("judge is away")
        return "yes"

    data = [
        {"inputs": {"question": f"{n}+{n}"}, "outputs": said, "expectations": {"expected_response": str(n + n)}}
        for n, said in ((2, "4"), (3, "7"), (4, "8"))
    ]
    done = mlflow.genai.evaluate(data=data, scorers=[exact, length, breaks])
    table, file = done.result_df.drop(columns=["trace"]), tmp_path / f"table.{ending}"
    if ending == "csv":
        table.to_csv(file, index=False)
    else:
        table.to_json(file, orient="records", default_handler=str)
    run = imported(tmp_path, file)
    assert [run[name] for name in COUNTS] == [3, 1, 1, 1, 0]
    means = {grader["name"]: grader["mean"] for grader in run["graders"]}
    assert means == pytest.approx({name.removesuffix("/mean"): float(mean) for name, mean in done.metrics.items()})


def test_a_log_of_oaieval_is_imported(tmp_path: Path) -> None:
    pytest.importorskip("blobfile")
    registry = tmp_path / "registry"
    samples = tmp_path / "samples.jsonl"
    rows = [{"input": [{"role": "user", "content": f"{n}+1"}], "ideal": str(n + 1)} for n in range(8)]
    samples.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (registry / "evals").mkdir(parents=True)
    (registry / "completion_fns").mkdir()
    spec = {"class": "evals.elsuite.basic.match:Match", "args": {"samples_jsonl": str(samples)}}
    evals = {"sums": {"id": "sums.dev.v0", "metrics": ["accuracy"]}, "sums.dev.v0": spec}
    (registry / "evals" / "sums.yaml").write_text(json.dumps(evals))
    (registry / "completion_fns" / "three.yaml").write_text(json.dumps({"three": {"class": "three:Three"}}))
    (tmp_path / "three.py").write_text(
        "from evals.record import record_sampling\n"
        "class Reply:\n    def get_completions(self): return ['3']\n"
        "class Three:\n    def __init__(self, **_): pass\n"
        "    def __call__(self, prompt, **_):\n"
        "        record_sampling(prompt=prompt, sampled=['3'])\n        return Reply()\n"
    )
    words = ["evals.cli.oaieval", "three", "sums", "--registry_path", str(registry), "--record_path", "log.jsonl"]
    environ = {**os.environ, "OPENAI_API_KEY": "none", "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, check=False, timeout=120)
    if b"No module named" in done.stderr:
        pytest.skip(f"oaieval is not installed: {done.stderr.decode().strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr.decode()
    run = imported(tmp_path, tmp_path / "log.jsonl")
    assert [run[name] for name in COUNTS] == [8, 1, 7, 0, 0]
    assert "oaieval says accuracy 0.125, and so do its samples here." in run["notes"]
