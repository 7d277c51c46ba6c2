"""What the in-process adapters share: settings, missing frameworks, limits, contexts."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from howsure.errors import ConfigInvalid, TargetTimedOut
from howsure.model.case import Case, Script
from howsure.targets.base import TargetKind, TargetRequest
from howsure.targets.frameworks.adk_runner import AdkAgentKind
from howsure.targets.frameworks.in_process import (
    Framework,
    InProcessSettings,
    InProcessTarget,
    context_state,
    load_agent,
    read_in_process_settings,
)
from howsure.targets.frameworks.langgraph import LangGraphKind
from howsure.targets.frameworks.openai_agents import OpenAiAgentsKind
from howsure.targets.frameworks.pydantic_ai import PydanticAiKind
from howsure.targets.turns import run_limited

KINDS: list[tuple[TargetKind, str, str, str]] = [
    (AdkAgentKind(), "adk-agent", "google.adk", "adk"),
    (LangGraphKind(), "langgraph", "langgraph", "langgraph"),
    (OpenAiAgentsKind(), "openai-agents", "agents", "openai-agents"),
    (PydanticAiKind(), "pydantic-ai", "pydantic_ai", "pydantic-ai"),
]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize(("kind", "name", "module", "extra"), KINDS, ids=[kind[1] for kind in KINDS])
def test_a_missing_framework_names_the_extra_that_brings_it(
    kind: TargetKind, name: str, module: str, extra: str
) -> None:
    assert kind.name == name
    if installed(module):
        pytest.skip(f"{module} is installed here")
    with pytest.raises(ConfigInvalid) as caught:
        kind.make(TargetRequest(name="shop", rest="shop:agent"))
    assert str(caught.value).startswith(f"a {name} target needs ")
    assert str(caught.value).endswith(f"pip install 'howsure[{extra}]'")


@pytest.mark.parametrize("kind", [kind for kind, *_ in KINDS], ids=[name for _, name, *_ in KINDS])
def test_wrong_settings_are_named_before_anything_is_loaded(kind: TargetKind) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        kind.make(TargetRequest(name="shop", settings={"turn_seconds": -1, "colour": "green"}))
    said = str(caught.value)
    for field in ("object", "turn_seconds", "colour"):
        assert f"`targets.shop.{field}`" in said


def test_the_spec_names_the_object_and_a_block_does_too() -> None:
    assert (
        read_in_process_settings(TargetRequest(name="x", rest="shop:agent"), InProcessSettings).object == "shop:agent"
    )
    settings = {"object": "shop:agent", "turn_seconds": 5}
    assert read_in_process_settings(TargetRequest(name="x", settings=settings), InProcessSettings) == InProcessSettings(
        object="shop:agent", turn_seconds=5.0
    )


def test_an_agent_may_be_made_by_a_function_and_must_be_one(project: Path) -> None:
    (project / "loaded_shop.py").write_text(
        "class Agent:\n    def run(self): ...\n\nagent = Agent()\ndef build(): return agent\ncount = 3\n"
    )
    wish = TargetRequest(name="x", folder=project)
    agent = load_agent(wish, "loaded_shop:agent", ("run",), "an agent")
    assert load_agent(wish, "loaded_shop:build", ("run",), "an agent") is agent
    with pytest.raises(ConfigInvalid, match="'loaded_shop:count': expected an agent, found int"):
        load_agent(wish, "loaded_shop:count", ("run",), "an agent")
    with pytest.raises(ConfigInvalid, match="expected an agent, found type"):
        load_agent(wish, "loaded_shop:Agent", ("run",), "an agent")


async def test_a_turn_has_a_limit_and_a_timeout_of_the_agents_own_is_its_own() -> None:
    async def slow() -> str:
        await asyncio.sleep(5)
        return "late"

    async def raising() -> str:
        raise TimeoutError("the shop's own")

    with pytest.raises(TargetTimedOut, match=r"no answer in 0\.05 s"):
        await run_limited(slow(), 0.05)
    with pytest.raises(TimeoutError, match="the shop's own"):
        await run_limited(raising(), 5)
    assert await run_limited(asyncio.sleep(0, "in time"), 5) == "in time"


def test_the_cases_own_state_wins() -> None:
    case = Case(id="1", input=Script(turns=("Hi",)), state={"tier": "silver"})
    assert TargetRequest(name="x", state={"tier": "gold", "lang": "en"}).initial_state(case) == {
        "tier": "silver",
        "lang": "en",
    }


def test_tools_see_the_state_or_what_a_function_makes_of_it(project: Path) -> None:
    (project / "loaded_context.py").write_text("def context(state): return ('made of', state)\n")
    target = InProcessTarget(TargetRequest(name="x", folder=project), InProcessSettings(), None)
    case = Case(id="1", input=Script(turns=("Hi",)), state={"a": 1})
    assert target.make_context("", case) == {"a": 1}
    assert target.make_context("loaded_context:context", case) == ("made of", {"a": 1})


@dataclass
class Shop:
    tier: str


class Plain:
    def __init__(self) -> None:
        self.tier = "gold"


class Modelled:
    def model_dump(self) -> dict[str, Any]:
        return {"tier": "gold"}


@pytest.mark.parametrize(
    ("held", "state"),
    [
        ({"tier": "gold"}, {"tier": "gold"}),
        (Shop("gold"), {"tier": "gold"}),
        (Plain(), {"tier": "gold"}),
        (Modelled(), {"tier": "gold"}),
        ({}, None),
        (None, None),
        (("a",), None),
    ],
    ids=["dict", "dataclass", "object", "pydantic", "empty", "nothing", "a tuple"],
)
def test_what_is_left_in_a_context_is_the_state(held: Any, state: dict[str, Any] | None) -> None:
    assert context_state(held) == state


def test_what_was_loaded_is_said_with_its_version() -> None:
    assert Framework("x", "msgspec", "unheard-of", "x").describe("shop:agent") == "shop:agent is loaded (unheard-of)"
    assert Framework("x", "pytest", "pytest", "x").describe("shop:agent").startswith("shop:agent is loaded (pytest ")
