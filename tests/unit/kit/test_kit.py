"""The kit: names, and the plug-ins that add to them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from howsure.dialects.tool_datasets import tool_dialects
from howsure.errors import ConfigInvalid, Conflict, UnknownName
from howsure.kit import Kit, Registry
from howsure.kit.plugins import builtin_kit, plugin_file, register
from howsure.model.verdict import Profile
from howsure.testing import ScriptedTarget


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    kit = Kit()
    kit.targets.add(ScriptedTarget())
    with pytest.raises(UnknownName, match="unknown target 'http'; known: scripted"):
        kit.targets["http"]


def test_two_things_cannot_have_one_name() -> None:
    registry: Registry[ScriptedTarget] = Registry("target")
    registry.add(ScriptedTarget())
    with pytest.raises(Conflict, match="two targets are named 'scripted'"):
        registry.add(ScriptedTarget())


def test_names_keep_the_order_they_came_in() -> None:
    kit = Kit()
    kit.targets.add(ScriptedTarget())
    assert kit.targets.names() == ["scripted"]
    assert "scripted" in kit.targets
    assert [target.name for target in kit.targets] == ["scripted"]


def plugin(folder: Path, text: str) -> Path:
    path = folder / "plug in.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plugin_file_registers_what_it_has(tmp_path: Path) -> None:
    text = "from howsure.testing import ScriptedTarget\ndef register(kit):\n    kit.targets.add(ScriptedTarget('hi'))\n"
    kit = Kit()
    plugin_file(plugin(tmp_path, text))(kit)
    assert kit.targets.names() == ["scripted"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import nothing_of_that_name\n", "ModuleNotFoundError"),
        ("def register(kit:\n", "SyntaxError"),
        ("x = 1\n", "no function `register(kit)`"),
        ("register = 3\n", "no function `register(kit)`"),
    ],
    ids=["import fails", "does not parse", "no register", "register is no function"],
)
def test_a_plugin_that_cannot_be_loaded_says_why(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        plugin_file(plugin(tmp_path, text))
    assert told in str(caught.value)
    assert "plug in.py" in str(caught.value)


def test_a_plugin_that_breaks_while_registering_says_why(tmp_path: Path) -> None:
    register = plugin_file(plugin(tmp_path, "def register(kit):\n    raise RuntimeError('boom')\n"))
    with pytest.raises(ConfigInvalid, match="RuntimeError: boom"):
        register(Kit())


def test_a_plugin_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="no such file"):
        plugin_file(tmp_path / "missing.py")


def test_the_names_and_their_order_are_fixed() -> None:
    kit = builtin_kit([Profile(name="b"), Profile(name="a")])
    own = ["explain", "golden", "simulation", "test-set", "legal"]
    assert kit.dialects.names() == [*own, *(each.name for each in tool_dialects())]
    assert kit.targets.names() == ["recorded"]
    assert kit.kinds.names() == [
        "http",
        "function",
        "command",
        "adk",
        "adk-agent",
        "langgraph",
        "openai-agents",
        "pydantic-ai",
    ]
    assert kit.users.names() == []
    assert kit.profiles.names() == ["b", "a"]
    assert list(kit.policies) == ["explain", "golden", "test-set", "legal", "plain"]
    assert len(kit.contracts) == 5
    names = kit.graders.names()
    assert len(names) == len(set(names)) == 77
    assert names == builtin_kit([]).graders.names()
    assert names[:3] == ["choice", "tool_calls", "tool_usage_accuracy"]
    assert names[-1] == "sandbox_usage"
    assert all(kit.graders[name].name == name for name in names)


def test_registering_twice_and_unknown_names_are_refused() -> None:
    kit = builtin_kit([])
    with pytest.raises(Conflict, match="two dialects are named 'explain'"):
        register(kit)
    with pytest.raises(UnknownName, match="unknown dialect 'csv'; known: azure-evaluation, braintrust, deepeval, "):
        kit.dialects["csv"]
    with pytest.raises(Conflict, match="two profiles are named 'a'"):
        builtin_kit([Profile(name="a"), Profile(name="a")])


AGENTS = ["raw-logs", "adk-evalset", "adk-history", "adk-session", "agent-session"]


def test_importers_are_no_dialects_and_found_by_name() -> None:
    kit = builtin_kit([])
    assert set(kit.dialects.names()).isdisjoint(kit.importers.names())
    assert kit.importers.names()[: len(AGENTS)] == AGENTS
    assert kit.reader("raw-logs").name == "raw-logs"
    assert kit.reader("golden").name == "golden"
    with pytest.raises(UnknownName, match="unknown dialect 'nonsense'; known: ace, "):
        kit.reader("nonsense")


def test_a_kit_is_made_without_loading_importers() -> None:
    code = "import sys, howsure.kit.plugins as b; b.builtin_kit([]); print('howsure.dialects.importers' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


class Thing:
    def __init__(self, name: str) -> None:
        self.name = name


def test_lazily_loaded_items_stand_after_added_ones_and_are_loaded_when_they_are_needed() -> None:
    known: Registry[Thing] = Registry("thing")
    known.load_lazily(lambda: [Thing("a"), Thing("b")])
    known.add(Thing("c"))
    assert [each.name for each in known.at_hand] == ["c"]
    assert known.names() == ["c", "a", "b"]
    assert "b" in known
    clashing: Registry[Thing] = Registry("thing")
    clashing.load_lazily(lambda: [Thing("a")])
    clashing.add(Thing("a"))
    with pytest.raises(Conflict, match="two things are named 'a'"):
        clashing.names()
