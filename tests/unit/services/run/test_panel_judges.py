"""`--judge panel`: the members of the settings behind one door, pinned by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from howsure.config import PanelRule, PanelSettings, Settings
from howsure.errors import ConfigInvalid, Conflict, NotFound, UnknownName
from howsure.graders.base import GraderContext
from howsure.graders.criteria import CriteriaGrader
from howsure.judges.panels import PanelJudge
from howsure.model.case import World
from howsure.model.expectation import Criteria, Criterion
from howsure.model.run_request import RunRequest
from howsure.model.score import Score
from howsure.services.run.judges import open_models, panel_name
from howsure.services.run.model_access import OpenModels
from howsure.testing import a_case, a_transcript
from judge_questions import a_question
from unit.services.places import workplace

SMALL = "openai-compatible:small@http://127.0.0.1:9/v1"
SAME_NAME = "openai-compatible:small@http://127.0.0.1:10/v1"
CASE = a_case(Criteria(criteria=(Criterion(id="c1", text="Greets"),)), world=World.TEST_SET)


def recorded(folder: Path, name: str, passed: bool) -> str:
    path = folder / f"{name}.jsonl"
    line = {"case_id": "case-1", "grader": "criteria", "criterion_id": "c1", "reply": {"passed": passed}}
    path.write_text(json.dumps(line), encoding="utf-8")
    return f"recorded:{path}"


async def judge(settings: PanelSettings | None, spec: str = "panel") -> OpenModels:
    work = workplace(Path(), settings=Settings(panel=settings))
    async with open_models(work, RunRequest(judge=spec, cache=False)) as found:
        return found


def members(found: OpenModels) -> tuple[str, ...]:
    assert found.source is not None
    judge = found.source.at("juno", 1)
    assert isinstance(judge, PanelJudge)
    return judge.procedure(a_question("criteria")).members


async def test_recordings_and_the_offline_judge_sit_on_a_panel_without_any_model(tmp_path: Path) -> None:
    texts = (recorded(tmp_path, "a", True), recorded(tmp_path, "b", True), recorded(tmp_path, "c", False))
    found = await judge(PanelSettings(members=texts))
    assert found.source is not None
    assert found.spent() is None
    setting = GraderContext(judge=found.source.at("", 1))
    score, _ = await CriteriaGrader().bind(setting).grade(CASE, a_transcript("Hello"))
    assert isinstance(score, Score)
    assert (score.value, score.cost_usd, score.judge) == (1.0, 0.0, "panel")


async def test_the_pin_names_every_member_and_how_they_rule() -> None:
    settings = PanelSettings(members=(SMALL, "offline"), rule=PanelRule.MEAN, votes=3, near=0.5)
    found = await judge(settings)
    assert found.judge == f"panel: mean of {SMALL}, offline, 3 votes within 0.5 of the mark"
    assert found.judge == panel_name(settings)
    assert members(found) == ("openai-compatible:small", "offline")
    spent = found.spent()
    assert spent is not None
    assert spent.calls == 0


async def test_two_addresses_of_one_model_keep_their_addresses() -> None:
    assert members(await judge(PanelSettings(members=(SMALL, SAME_NAME)))) == (SMALL, SAME_NAME)


@pytest.mark.parametrize(
    "changed",
    [
        PanelSettings(members=("offline", SMALL)),
        PanelSettings(members=(SMALL,)),
        PanelSettings(members=(SMALL, "offline"), rule=PanelRule.UNANIMOUS),
        PanelSettings(members=(SMALL, "offline"), votes=3),
        PanelSettings(members=(SMALL, "offline"), votes=3, near=1.0),
    ],
    ids=["another order", "a member less", "another rule", "votes", "near"],
)
async def test_another_panel_has_another_hash(changed: PanelSettings) -> None:
    first = await judge(PanelSettings(members=(SMALL, "offline")))
    assert (await judge(changed)).judge_sha256 != first.judge_sha256
    assert (await judge(PanelSettings(members=(SMALL, "offline")))).judge_sha256 == first.judge_sha256


async def test_a_recorded_member_is_pinned_by_its_content(tmp_path: Path) -> None:
    settings = PanelSettings(members=(recorded(tmp_path, "a", True), "offline"))
    first = await judge(settings)
    recorded(tmp_path, "a", False)
    assert (await judge(settings)).judge_sha256 != first.judge_sha256


async def test_a_resumed_run_finds_its_panel_or_is_told_that_it_changed() -> None:
    settings = PanelSettings(members=("offline",))
    assert (await judge(settings, panel_name(settings))).judge == "panel: majority of offline"
    with pytest.raises(Conflict, match=r"howsure\.yaml now makes it 'panel: majority of offline'"):
        await judge(settings, "panel: mean of offline")


async def test_what_cannot_be_had_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigInvalid, match=r"needs `panel:` in howsure\.yaml"):
        await judge(None)
    with pytest.raises(ConfigInvalid, match="OPENAI_API_KEY"):
        await judge(PanelSettings(members=("offline", "openai:gpt-x")))
    with pytest.raises(UnknownName, match="oracle"):
        await judge(PanelSettings(members=("oracle:delphi",)))
    with pytest.raises(NotFound, match="no such recording"):
        await judge(PanelSettings(members=(f"recorded:{tmp_path / 'nowhere.jsonl'}",)))


async def test_a_budget_in_money_needs_the_price_of_every_member() -> None:
    settings = PanelSettings(members=(SMALL, "offline"))
    with pytest.raises(ConfigInvalid, match="needs the price"):
        work = workplace(Path(), settings=Settings(panel=settings))
        async with open_models(work, RunRequest(judge="panel", cache=False, budget="2USD")):
            pass
