"""The built-ins: registered once, in an order that never changes, and unknown names answered."""

from __future__ import annotations

import pytest

from howsure.errors import Conflict, UnknownName
from howsure.kit.builtins import builtin_kit, register
from howsure.model.verdict import Profile


def test_the_names_and_their_order_are_fixed() -> None:
    kit = builtin_kit([Profile(name="b"), Profile(name="a")])
    assert kit.dialects.names() == ["explain", "golden", "simulation", "test-set", "legal"]
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
    assert len(names) == len(set(names)) == 58
    assert names == builtin_kit([]).graders.names()
    assert names[:3] == ["choice", "tool_calls", "tool_usage_accuracy"]
    assert names[-1] == "sandbox_usage"
    assert all(kit.graders[name].name == name for name in names)


def test_registering_twice_and_unknown_names_are_refused() -> None:
    kit = builtin_kit([])
    with pytest.raises(Conflict, match="two dialects are named 'explain'"):
        register(kit)
    with pytest.raises(UnknownName, match="unknown dialect 'csv'; known: explain, golden, legal, simulation, test-set"):
        kit.dialects["csv"]
    with pytest.raises(Conflict, match="two profiles are named 'a'"):
        builtin_kit([Profile(name="a"), Profile(name="a")])
