"""Who judges: by its spec, pinned by what shapes its replies, and refused when it cannot be had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.errors import ConfigInvalid, NotFound, PlanRefused, UnknownName
from howsure.judges.offline.judge import OfflineJudge
from howsure.model.run_request import RunRequest
from howsure.services.run.judges import open_models
from howsure.services.run.model_access import OpenModels
from unit.services.places import workplace


async def judge(spec: str, folder: Path = Path(), **request: Any) -> OpenModels:
    async with open_models(workplace(folder), RunRequest(judge=spec, **request)) as found:
        return found


@pytest.mark.parametrize("spec", ["", "none"])
async def test_nobody_judges_when_nobody_is_asked_to(spec: str) -> None:
    found = await judge(spec)
    assert (found.judge, found.source, found.spent()) == ("", None, None)


async def test_the_offline_judge_needs_nothing() -> None:
    found = await judge("offline")
    assert found.source is not None
    assert isinstance(found.source.at("juno", 1), OfflineJudge)
    assert len(found.judge_sha256) == 64
    assert not found.is_recorded


async def test_a_recording_is_pinned_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    line = {"case_id": "c", "grader": "criteria", "criterion_id": "1", "reply": {"passed": True}}
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    first = await judge(f"recorded:{path}")
    assert first.judge == f"recorded:{path.resolve()}"
    assert first.is_recorded
    path.write_text(json.dumps({**line, "reply": {"passed": False}}) + "\n", encoding="utf-8")
    assert (await judge(f"recorded:{path}")).judge_sha256 != first.judge_sha256


async def test_what_cannot_be_had_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(PlanRefused, match="recorded:FILE"):
        await judge("recorded:")
    with pytest.raises(NotFound, match="no such recording"):
        await judge(f"recorded:{tmp_path / 'nowhere.jsonl'}")
    with pytest.raises(ConfigInvalid, match="OPENAI_API_KEY"):
        await judge("openai:gpt-x")
    with pytest.raises(UnknownName, match="oracle"):
        await judge("oracle:delphi")
    with pytest.raises(UnknownName, match="offline"):
        await judge("offline:strict")


async def test_a_budget_in_money_needs_a_price() -> None:
    with pytest.raises(ConfigInvalid, match="needs the price"):
        await judge("openai-compatible:nobody-knows@http://127.0.0.1:9/v1", cache=False, budget="2USD")


async def test_a_live_judge_tells_what_it_spent(tmp_path: Path) -> None:
    spec = "openai-compatible:small@http://127.0.0.1:9/v1"
    (tmp_path / ".howsure").mkdir()
    work = workplace(tmp_path)
    async with open_models(work, RunRequest(judge=spec, budget="500ktok")) as found:
        assert found.source is not None
        spent = found.spent()
        assert spent is not None
        assert (spent.usd, spent.tokens, spent.calls) == (0.0, 0, 0)
    assert work.replies.is_file()
