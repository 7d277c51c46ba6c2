"""What docs/targets-frameworks.md shows can be used as it stands, and every setting is in its tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import Struct
from msgspec.structs import fields

from howsure.targets.adk.target import AdkKind, AdkSettings
from howsure.targets.base import TargetRequest
from howsure.targets.frameworks.adk_runner import AdkAgentKind
from howsure.targets.frameworks.in_process import InProcessSettings, read_in_process_settings
from howsure.targets.frameworks.langgraph import LangGraphKind, LangGraphSettings
from howsure.targets.frameworks.openai_agents import OpenAiAgentsKind, OpenAiAgentsSettings
from howsure.targets.frameworks.pydantic_ai import PydanticAiKind, PydanticAiSettings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "targets-frameworks.md").read_text(encoding="utf-8")
BLOCKS: dict[str, type[InProcessSettings]] = {
    AdkAgentKind.name: InProcessSettings,
    LangGraphKind.name: LangGraphSettings,
    OpenAiAgentsKind.name: OpenAiAgentsSettings,
    PydanticAiKind.name: PydanticAiSettings,
}


def shown() -> list[tuple[str, dict[str, Any]]]:
    blocks = [yaml.safe_load(text)["targets"] for text in re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL)]
    return [(name, block) for targets in blocks for name, block in targets.items()]


@pytest.mark.parametrize(("name", "block"), shown(), ids=[str(block["kind"]) for _, block in shown()])
def test_every_block_it_shows_is_accepted(name: str, block: dict[str, Any]) -> None:
    settings = {field: value for field, value in block.items() if field != "kind"}
    wish = TargetRequest(name=name, settings=settings, environ={"SHOP_KEY": "k"})
    if block["kind"] == AdkKind.name:
        assert AdkKind().make(wish).name == "shop"
    else:
        read_in_process_settings(wish, BLOCKS[block["kind"]])


@pytest.mark.parametrize("settings", [AdkSettings, *BLOCKS.values()])
def test_every_setting_is_explained(settings: type[Struct]) -> None:
    assert [each.name for each in fields(settings) if f"| `{each.name}` |" not in PAGE] == []


def test_every_kind_is_named_with_an_extra_that_exists() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for kind in (AdkKind.name, *BLOCKS):
        assert f"| `{kind}:" in PAGE
    for extra in re.findall(r"howsure\[([a-z-]+)\]", PAGE):
        assert f"\n{extra} = [" in project
