"""Importers in the kit: loaded when somebody asks, never among the dialects, found by name beside them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from howsure.errors import Conflict, UnknownName
from howsure.kit import Registry
from howsure.kit.builtins import builtin_kit

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
    code = (
        "import sys, howsure.kit.builtins as b; b.builtin_kit([]); print('howsure.dialects.importers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


class Thing:
    def __init__(self, name: str) -> None:
        self.name = name


def test_lazily_loaded_items_stand_before_added_ones() -> None:
    known: Registry[Thing] = Registry("thing")
    known.load_lazily(lambda: [Thing("a"), Thing("b")])
    known.add(Thing("c"))
    assert known.names() == ["a", "b", "c"]
    assert "b" in known
    clashing: Registry[Thing] = Registry("thing")
    clashing.load_lazily(lambda: [Thing("a")])
    clashing.add(Thing("a"))
    with pytest.raises(Conflict, match="two things are named 'a'"):
        clashing.names()
