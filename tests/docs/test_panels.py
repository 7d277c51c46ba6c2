"""What docs/panels.md shows can be used as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from msgspec.structs import fields

from howsure.config import PanelRule, PanelSettings, load
from howsure.judges.pairwise import KEYS, Preference
from howsure.judges.recording_files import read_recording
from howsure.stats.agreement import AgreementCount
from howsure.testing import ScriptedJudge

PAGE = (Path(__file__).parents[2] / "docs" / "panels.md").read_text(encoding="utf-8")


def shown(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.+?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(
    ("place", "settings"),
    [
        (0, PanelSettings(members=("openai:gpt-5-mini", "anthropic:claude-haiku-4-5", "offline"))),
        (1, PanelSettings(members=("openai:gpt-5-mini",), votes=3, near=1.0)),
    ],
)
def test_the_settings_it_shows_are_read(tmp_path: Path, place: int, settings: PanelSettings) -> None:
    (tmp_path / "howsure.yaml").write_text(shown("yaml")[place], encoding="utf-8")
    assert load(tmp_path, {}).panel == settings


def test_it_names_every_setting_rule_and_preference() -> None:
    names = [each.name for each in fields(PanelSettings)] + [rule.value for rule in PanelRule]
    for name in (*names, *(preference.name for preference in Preference), "panel_rule", "panel_ruled"):
        assert f"`{name}`" in PAGE or f'"{name}"' in PAGE, name
    assert all(f"`{key}`" in PAGE for key in KEYS if key != "preferred")


def test_the_line_it_shows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text(shown("json")[1], encoding="utf-8")
    (line,), warnings = read_recording(path)
    assert warnings == []
    assert line.seat is not None
    assert (line.seat.rule, line.seat.member, line.seat.of) == (PanelRule.MAJORITY, 3, 3)
    assert len(json.loads(shown("json")[0])["panel"]) == 3


async def test_the_comparison_it_shows_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = shown("python")
    scope: dict[str, Any] = {}
    exec(f"async def run(judge):\n{indent(code, '    ')}\n    return comparison", scope)
    comparison = await scope["run"](ScriptedJudge({"pairwise": {"better": "first"}}))
    assert comparison.preference is Preference.INCONSISTENT
    assert capsys.readouterr().out == "0.0\n1.0\n"


def test_the_interval_it_quotes_is_ours() -> None:
    interval = AgreementCount(agreed=95, n=100).interval
    assert interval is not None
    low, high = interval
    assert f"{low:.3f} to {high:.3f}" in PAGE
