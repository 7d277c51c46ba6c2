"""The desk that answers tool calls: scripts, functions, and what becomes of calls that neither answers."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from howsure.errors import ConfigInvalid, TargetTimedOut
from howsure.model.transcript import Tool, ToolCall, ToolResult
from howsure.targets.chat.tools import (
    ConstantResult,
    ResultRule,
    ResultsByArguments,
    ResultSequence,
    ToolBackend,
    ToolFunctions,
)

TOOLS = tuple(Tool(name=name) for name in ("refund", "ping", "look"))
PAID, LATE = ToolResult(content="paid"), ToolResult(content="too late", failed=True)


async def results(desk: ToolBackend, *calls: tuple[str, dict[str, Any]]) -> list[ToolResult | None]:
    made = [ToolCall(name=name, arguments=arguments) for name, arguments in calls]
    return [call.result for call in await desk.open(TOOLS).answered(made)]


def failed(why: str) -> ToolResult:
    return ToolResult(content=why, failed=True)


async def test_one_result_is_given_every_time() -> None:
    desk = ToolBackend(scripts={"refund": ConstantResult(PAID)})
    assert await results(desk, ("refund", {}), ("refund", {"order": 1})) == [PAID, PAID]


async def test_results_in_order_are_used_up_and_start_afresh_in_each_conversation() -> None:
    desk = ToolBackend(scripts={"refund": ResultSequence((PAID, LATE))})
    used_up = failed("the script has 2 results of 'refund', and all are used")
    for _ in range(2):
        assert await results(desk, *[("refund", {})] * 3) == [PAID, LATE, used_up]


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ({"order": "A1"}, PAID),
        ({"order": "A1", "note": "free"}, PAID),
        ({"order": "B7"}, LATE),
        ({"order": "C1"}, failed("no scripted result of 'refund' fits these arguments")),
        ({}, failed("no scripted result of 'refund' fits these arguments")),
    ],
    ids=["literal", "more arguments", "matcher", "none fits", "argument missing"],
)
async def test_the_first_result_counts_whose_arguments_fit(arguments: dict[str, Any], result: ToolResult) -> None:
    rules = (ResultRule({"order": "A1"}, PAID), ResultRule({"order": {"$regex": "[AB][0-9]"}}, LATE))
    assert await results(ToolBackend(scripts={"refund": ResultsByArguments(rules)}), ("refund", arguments)) == [result]


async def test_a_rule_without_conditions_takes_what_is_left() -> None:
    script = ResultsByArguments((ResultRule({"order": "A1"}, PAID), ResultRule({}, LATE)))
    assert await results(ToolBackend(scripts={"refund": script}), ("refund", {"order": "x"})) == [LATE]


def refund(order: str, amount: int = 5) -> dict[str, Any]:
    if order == "none":
        raise LookupError("no such order")
    return {"order": order, "paid": (amount, amount)}


async def look(**arguments: Any) -> str:
    return ",".join(sorted(arguments))


def leave() -> None:
    raise SystemExit(3)


async def test_functions_sync_and_async_are_called_with_the_arguments() -> None:
    desk = ToolBackend(functions=ToolFunctions({"refund": refund, "look": look}, "tools"))
    assert await results(desk, ("refund", {"order": "A1", "amount": 7}), ("look", {"b": 1, "a": 2})) == [
        ToolResult(content={"order": "A1", "paid": [7, 7]}),
        ToolResult(content="a,b"),
    ]


async def test_an_error_of_a_function_is_a_result_that_the_model_sees() -> None:
    desk = ToolBackend(functions=ToolFunctions({"refund": refund, "ping": leave}, "tools"))
    wrong, missing, left = await results(desk, ("refund", {"order": "none"}), ("refund", {"id": 1}), ("ping", {}))
    assert wrong == failed("LookupError: no such order")
    assert missing is not None and missing.failed
    assert missing.content == "TypeError: refund() got an unexpected keyword argument 'id'"
    assert left is not None and left.failed
    assert "SystemExit" in left.content


async def test_a_function_that_does_not_come_back_ends_the_conversation() -> None:
    desk = ToolBackend(functions=ToolFunctions({"ping": lambda: time.sleep(1)}, "tools"), seconds=0.05)
    with pytest.raises(TargetTimedOut, match=r"tool 'ping': no answer in 0\.05 s"):
        await results(desk, ("ping", {}))


async def test_a_script_wins_over_a_function() -> None:
    desk = ToolBackend(
        scripts={"refund": ConstantResult(PAID)}, functions=ToolFunctions({"refund": refund, "look": look}, "tools")
    )
    assert await results(desk, ("refund", {"order": "A1"}), ("look", {})) == [PAID, ToolResult(content="")]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (("ping", {}), "nothing answers the tool 'ping' here: it has no scripted result and no function"),
        (("pong", {}), "there is no tool 'pong'; there is: look, ping, refund"),
        (("secret", {}), "there is no tool 'secret'; there is: look, ping, refund"),
        (("refund", {"$unread": "{broken"}), "the arguments are not a JSON object"),
    ],
    ids=["no result", "invented", "not offered though the module has it", "broken arguments"],
)
async def test_a_call_that_nothing_answers_fails_and_says_why(call: tuple[str, dict[str, Any]], why: str) -> None:
    holder = SimpleNamespace(refund=refund, secret=lambda: "code", ping="not callable")
    assert await results(ToolBackend(functions=ToolFunctions(holder, "tools")), call) == [failed(why)]


FILE = """
def refund(order):
    return "paid"

def ping():
    return "pong"

TOOLS = {"refund": refund}
BROKEN = {"refund": refund, "ping": 3}

class Shop:
    refund = staticmethod(refund)
"""


@pytest.mark.parametrize("name", ["TOOLS", "Shop"])
async def test_functions_are_found_in_a_dict_or_a_namespace(tmp_path: Path, name: str) -> None:
    (tmp_path / "shop_tools.py").write_text(FILE, encoding="utf-8")
    functions = ToolFunctions.load(f"shop_tools.py:{name}", tmp_path)
    assert await results(ToolBackend(functions=functions), ("refund", {"order": "1"})) == [PAID]
    assert functions.named("ping") is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("shop_tools.py:refund", "is one function; name a dict of functions by tool name, a class or a module"),
        ("shop_tools.py:BROKEN", "expected functions by tool name; no function: ping"),
        ("shop_tools.py:NONE", "has no 'NONE'"),
        ("shop_tools", "expected `module:object`"),
    ],
)
def test_functions_that_are_none_are_refused_before_anything_runs(tmp_path: Path, spec: str, message: str) -> None:
    (tmp_path / "shop_tools.py").write_text(FILE, encoding="utf-8")
    with pytest.raises(ConfigInvalid, match=message):
        ToolFunctions.load(spec, tmp_path)
