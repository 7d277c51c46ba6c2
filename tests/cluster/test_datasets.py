"""Datasets of many kinds on a cluster: cut by byte range, chosen from, at an address; and what workers write down. The
exports are those of the local engine. Here the settings say which engine it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import postgres
from cluster.clusters import Nodes, Program, cluster
from dialect_rows import explain, write_rows
from house import mcq
from howsure.dialects.lines import write_table
from live_files import MODEL_SERVER, fetched, serving

pytestmark = pytest.mark.slow

FILE_SERVER = Path(__file__).parent / "file_server.py"
COUNT = 240


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with cluster(num_cpus=1) as made:
        made.add(num_cpus=1)
        yield made


def program(folder: Path, nodes: Nodes, **env: str) -> Program:
    (folder / "howsure.yaml").write_text("engine: ray\ncluster: {shard: 40}\n", encoding="utf-8")
    return Program(folder, {"HOWSURE_DATABASE_URL": postgres.new_store(), "RAY_ADDRESS": nodes.address, **env})


def exports(howsure: Program, *words: str | Path) -> tuple[list[Any], dict[str, Any]]:
    """Of the same run by both engines, and what the cluster said of its own."""
    far = howsure.json("run", *words, "--name", "far")
    near = howsure.json("run", *words, "--name", "near", "--engine", "local")
    assert far["total"] == near["total"] == far["completed"]
    said = [howsure.run("results", name, "--canonical").stdout for name in ("far", "near")]
    assert said[0] == said[1]
    return [json.loads(line) for line in said[0].splitlines()], far


def conversations(path: Path) -> Path:
    """Three about each question, with line breaks, quotes and commas in the cells."""
    rows = [
        {
            "question_id": f"q{number % (COUNT // 3)}",
            "user_inputs": json.dumps([f'Where is "{number}",\nplease?']),
            "final_response": f'Line 1 of {number}\n\nand "more", with commas',
            "reference_data": json.dumps({"tool_interactions": []}),
            "agent_name": "even" if number % 2 == 0 else "odd",
        }
        for number in range(COUNT)
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        write_table(rows, file)
    return path


def test_a_table_of_conversations_is_cut_and_chosen_from(tmp_path: Path, nodes: Nodes) -> None:
    howsure = program(tmp_path, nodes)
    table = conversations(tmp_path / "talk.csv")
    told, far = exports(howsure, table)
    assert (len(told), far["total"]) == (COUNT, COUNT)
    ids = {each["case_id"] for each in told}
    assert {"q0", "q0#2", "q0#3"} <= ids
    assert len(ids) == COUNT
    chosen, _ = exports(howsure, table, "--filter", "agent_name:odd", "--limit", "75")
    assert len(chosen) == 75


def test_a_file_at_an_address_is_read_in_parts_by_the_workers(tmp_path: Path, nodes: Nodes) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    write_rows(folder / "cases.jsonl", [explain(number) for number in range(COUNT)])
    recording = tmp_path / "judge.jsonl"
    with serving(FILE_SERVER, tmp_path) as base:
        howsure = program(tmp_path, nodes)
        address = f"{base}/files/cases.jsonl"
        first = howsure.json("run", address, "--name", "written", "--record-judge", recording)
        asked = fetched(f"{base}/count")
        assert first["completed"] == COUNT
        assert asked["parts"] >= COUNT / 40, "each shard is a part of its own"
        lines = [json.loads(line) for line in recording.read_text(encoding="utf-8").splitlines()]
        assert {line["case_id"] for line in lines} == {explain(number)["case_id"] for number in range(COUNT)}
        assert len(lines) == len({(line["case_id"], line["grader"]) for line in lines}), "each reply once"
        told, _ = exports(howsure, address, "--judge", f"recorded:{recording}")
        assert len(told) == COUNT
        gone = howsure.run("run", f"{base}/files/none.jsonl")
        assert gone.returncode == 2
        assert f"no such file: {base}/files/none.jsonl" in gone.stderr


def test_calls_of_all_workers_are_traced_in_one_file(tmp_path: Path, nodes: Nodes) -> None:
    dataset = write_rows(tmp_path / "house.jsonl", [mcq(number) for number in range(COUNT)])
    trace = tmp_path / "trace.jsonl"
    with serving(MODEL_SERVER, tmp_path) as base:
        key = {"OPENAI_BASE_URL": f"{base}/v1", "OPENAI_API_KEY": "sk-not-a-real-key"}
        howsure = program(tmp_path, nodes, **key)
        settings = "engine: ray\ncluster: {shard: 40, env: [OPENAI_API_KEY, OPENAI_BASE_URL]}\n"
        (tmp_path / "howsure.yaml").write_text(settings, encoding="utf-8")
        done = howsure.json("run", dataset, "--target", "chat:openai:gpt-x", "--no-cache", "--trace", trace)
    assert done["completed"] == COUNT
    lines = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    prompts = {json.dumps(line["request"]) for line in lines}
    assert sum(any(f"Question {number}?" in prompt for prompt in prompts) for number in range(COUNT)) == COUNT
    assert "sk-not-a-real-key" not in trace.read_text(encoding="utf-8")
