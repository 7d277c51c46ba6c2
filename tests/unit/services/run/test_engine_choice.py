from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from dialect_rows import write_rows
from house import mcq
from howsure.config import ClusterSettings, Engine, load
from howsure.errors import ConfigInvalid, PlanRefused
from howsure.model.run_request import RunRequest
from howsure.services.run.start import apply_settings, resume, start
from howsure.services.workspace import Workspace

WITHOUT_RAY = pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed here")


def work_in(folder: Path, settings: str = "") -> Workspace:
    (folder / "howsure.yaml").write_text(settings, encoding="utf-8")
    return Workspace.made(load(folder, {}), folder, folder)


def asking(folder: Path, **said: object) -> RunRequest:
    dataset = write_rows(folder / "house.jsonl", [mcq(1), mcq(2)])
    answers = [{"example_id": f"q{number}", "response_text": "A"} for number in (1, 2)]
    responses = write_rows(folder / "answers.jsonl", answers)
    return RunRequest(datasets=(str(dataset),), responses=(str(responses),), judge="offline", **said)  # type: ignore[arg-type]


@WITHOUT_RAY
async def test_a_cluster_without_ray_is_refused_with_what_to_install(tmp_path: Path) -> None:
    work = work_in(tmp_path)
    with pytest.raises(ConfigInvalid, match=r"pip install 'howsure\[ray\]'"):
        await start(work, asking(tmp_path, engine="ray"), lambda _: lambda _: None)
    async with await work.store() as store:
        assert await store.runs() == [], "nothing is stored of a run that cannot be made"


async def test_the_engine_is_pinned_only_where_it_is_not_the_usual_one(tmp_path: Path) -> None:
    summary = await start(work_in(tmp_path), asking(tmp_path, engine="local"), lambda _: lambda _: None)
    assert summary.run.pins.request.engine == ""


async def test_a_complete_run_is_not_resumed_on_another_engine(tmp_path: Path) -> None:
    work = work_in(tmp_path)
    summary = await start(work, asking(tmp_path), lambda _: lambda _: None)
    with pytest.raises(PlanRefused, match="nothing to resume"):
        await resume(work, summary.run.id, lambda _: lambda _: None, engine="ray")


@pytest.mark.parametrize(
    ("settings", "said", "engine"),
    [("", "", "local"), ("engine: ray", "", "ray"), ("engine: ray", "local", "local"), ("", "ray", "ray")],
)
def test_the_option_wins_over_the_settings(tmp_path: Path, settings: str, said: str, engine: str) -> None:
    assert apply_settings(work_in(tmp_path, settings), asking(tmp_path, engine=said)).engine == engine


def test_the_cluster_has_settings_of_its_own(tmp_path: Path) -> None:
    text = (
        "engine: ray\ncluster: {address: auto, env: [KEY], shard: 9, resources: {num_gpus: 1}, needs: {bot: {cage: 2}}}"
    )
    settings = work_in(tmp_path, text).settings
    assert settings.engine is Engine.RAY
    assert settings.cluster == ClusterSettings(
        address="auto", env=("KEY",), shard=9, resources={"num_gpus": 1}, needs={"bot": {"cage": 2}}
    )


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("engine: spark", "`engine`: Invalid enum value 'spark'"),
        ("cluster: {shard: -1}", "`cluster.shard`: expected 0 or more attempts, found -1"),
        ("cluster: {resources: {num_gpus: -1}}", "`cluster.resources.num_gpus`: expected an amount from 0, found -1.0"),
        ("cluster: {needs: {bot: {cage: .inf}}}", "`cluster.needs.bot.cage`: expected an amount from 0, found inf"),
        ("cluster: {workers: 3}", "`cluster`: Object contains unknown field `workers`"),
    ],
)
def test_wrong_settings_of_the_cluster_are_named(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        work_in(tmp_path, text)
    assert wrong in str(refused.value)
