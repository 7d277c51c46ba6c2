"""The rows of the API, all at once against one service in this process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from api.served import Caller, serving_workspace
from howsure.api.bodies import EvaluationGiven, RegradeGiven, RunGiven, TranscriptGiven
from howsure.config import load
from howsure.services.workspace import Workspace
from net.observe import equal, value_at
from net.options import all_options
from net.rows import file_bytes
from net.servers import loopback
from net.table_api import FILES, ROWS, TABLE, ApiRow
from net.worlds import TEST_SET, WORLDS

BODIES = (RunGiven, EvaluationGiven, RegradeGiven, TranscriptGiven)
INHERITED = set(RunGiven.model_fields) & set(EvaluationGiven.model_fields)
"""What may be asked of any run has its rows under `RunGiven`."""


def test_every_field_of_a_run_s_body_has_a_row_and_every_row_an_option() -> None:
    fields = {f"{body.__name__}.{name}" for body in BODIES for name in body.model_fields}
    shared = {f"EvaluationGiven.{name}" for name in INHERITED} - {"EvaluationGiven.test_set_id"}
    assert {row.of for row in ROWS} == fields - shared
    options = {option.name for option in all_options()} | {"run DATASET", ""}
    assert [row.option for row in ROWS if row.option not in options] == []


@pytest.mark.thorough
async def test_every_field_has_its_effect_and_nothing_has_it_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(file_bytes(content))
    monkeypatch.chdir(tmp_path)
    with loopback() as address:
        monkeypatch.setenv("OPENAI_COMPATIBLE_BASE_URL", f"{address}/v1")
        work = Workspace.made(load(tmp_path, {}), tmp_path, tmp_path)
        async with serving_workspace(work) as ask:
            known = await documents(ask)
            found = await asyncio.gather(*(differences(ask, row, known) for row in ROWS))
    wrong = [f"{row.of}: {text}" for row, texts in zip(ROWS, found, strict=True) for text in texts]
    assert not wrong, "\n".join(wrong)


async def documents(ask: Caller) -> dict[str, str]:
    """What the rows name with `@`: documents, finished runs and a result."""

    async def made(path: str, body: Any, key: str) -> str:
        reply = await ask("POST", path, body)
        assert reply.status in (201, 202), (path, reply.body)
        return str(reply.body[key])

    known = {
        f"@{world}": await made("/datasets", {"name": "cases.jsonl", "content": text(world)}, "dataset_id")
        for world in ("legal", "explain")
    }
    known["@table"] = await made("/datasets", {"name": "table.jsonl", "content": TABLE}, "dataset_id")
    for name in ("@set", "@newer-set", "@lone-set"):
        known[name] = await made("/test-sets", TEST_SET["set.json"], "test_set_id")
    known["@talk"] = await made("/test-sets", TEST_SET["talk.json"], "test_set_id")
    rubric = TEST_SET["rubric.json"]
    for name in ("@rubric", "@newer-rubric"):
        known[name] = await made("/rubrics", rubric, "rubric_id")
    question = {"question_id": "a1", "question": "Why?", "expected_answer": "Because."}
    known["@questions"] = await made("/question-sets", {"name": "Why", "questions": [question]}, "question_set_id")
    config = {"name": "One", "evaluators": [{"type": "CoherenceExplain"}]}
    known["@config"] = await made("/evaluator-configs", config, "config_id")
    context = {key: value for key, value in TEST_SET["agent.json"].items() if key != "bot_id"}
    assert (await ask("PUT", "/bots/desk/context", context)).status in (200, 201)
    judge = {"eval_model": "recorded:judge.jsonl"}
    known["@run"] = await made("/runs", {"test_set_id": known["@set"], **judge}, "run_id")
    known["@explained"] = await made("/runs", {"dataset_id": known["@explain"], **judge}, "run_id")
    for name in ("@run", "@explained"):
        await ask.finished(known[name])
    known["@result"] = (await ask("GET", f"/runs/{known['@run']}/results")).body[0]["result_id"]
    # The second version of the newer rubric has one rule, that of the newer test set one item.
    fewer = {**rubric, "rules": rubric["rules"][:1]}
    assert (await ask("PUT", f"/rubrics/{known['@newer-rubric']}", fewer)).status == 200
    shorter = {**TEST_SET["set.json"], "items": TEST_SET["set.json"]["items"][:1]}
    assert (await ask("PUT", f"/test-sets/{known['@newer-set']}", shorter)).status == 200
    return known


def text(world: str) -> str:
    return file_bytes(WORLDS[world]["cases.jsonl"]).decode()


async def differences(ask: Caller, row: ApiRow, known: dict[str, str]) -> list[str]:
    """What is not as the row says, on either side."""
    name = row.of.partition(".")[2]
    with_it = await sent(ask, row, {**row.body, name: row.given}, known)
    without = await sent(ask, row, row.body if row.other is ... else {**row.body, name: row.other}, known)
    found = [f"with it: {each}" for each in unlike(row.expect, with_it)]
    found += [f"without it: {each}" for each in unlike(row.absent, without)]
    return found if unlike(row.expect, without) else [*found, "the effect is there without it, too"]


async def sent(ask: Caller, row: ApiRow, body: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """The finished run, with its verdicts; or the answer, with its status where it is a refusal."""
    path = row.path.replace("@run", known["@run"]).replace("@explained", known["@explained"])
    reply = await ask("POST", path, filled(body, known))
    if reply.status != 202:
        return reply.body if reply.status == 200 else {**reply.body, "status": reply.status}
    run = await ask.finished(reply.body["run_id"])
    results = (await ask("GET", f"/runs/{run['run_id']}/results")).body
    kept = (await ask("GET", f"/datasets/{run['dataset_id']}")).status == 200
    return {**reply.body, **run, "kept": kept, "verdicts": {each["test_case_id"]: each["verdict"] for each in results}}


def filled(value: Any, known: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: filled(each, known) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, known) for each in value]
    return known.get(value, value) if isinstance(value, str) else value


def unlike(expected: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    found = {name: value_at(name, answer) for name in expected}
    return [
        f"{name} is {found[name]!r}, expected {expected[name]!r}"
        for name in expected
        if not equal(found[name], expected[name])
    ]
