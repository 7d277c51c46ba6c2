"""The kit: names, and the plug-ins that add to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.errors import ConfigInvalid, Conflict, UnknownName
from howsure.kit import Kit, Registry
from howsure.kit.plugins import plugin_file
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
