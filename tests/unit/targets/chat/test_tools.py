"""The tools of a chat target: its settings, scripted results, Python functions, and rounds of calls."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from howsure.errors import ConfigInvalid, TargetFailed, TargetTimedOut
from howsure.llm.base import Completion
from howsure.llm.messages import ChatMessage, ToolTurn
from howsure.model.agent import Agent, AgentTool
from howsure.model.case import Case, Script
from howsure.model.transcript import Message as Said
from howsure.model.transcript import Role, Tool, ToolCall, ToolResult, Usage
from howsure.targets.base import Reply
from howsure.targets.chat.target import ChatTarget
from howsure.targets.chat.tools import (
    ChatSettings,
    ResultRule,
    ResultsByArguments,
    ResultSequence,
    ScriptedResult,
    ToolBackend,
    ToolFunctions,
    ToolOffer,
    read_chat_settings,
    tool_offer,
)
from howsure.testing import ScriptedModel, a_case

TOOLS = tuple(Tool(name=name) for name in ("refund", "ping", "look"))
PAID, LATE = ToolResult(content="paid"), ToolResult(content="too late", failed=True)


async def results(backend: ToolBackend, *calls: tuple[str, dict[str, Any]]) -> list[ToolResult | None]:
    made = [ToolCall(name=name, arguments=arguments) for name, arguments in calls]
    return [call.result for call in await backend.open(TOOLS).answered(made)]


def always(result: ToolResult) -> ResultsByArguments:
    return ResultsByArguments((ResultRule({}, result),))


def failed(why: str) -> ToolResult:
    return ToolResult(content=why, failed=True)


async def test_one_result_is_given_every_time() -> None:
    backend = ToolBackend(scripts={"refund": always(PAID)})
    assert await results(backend, ("refund", {}), ("refund", {"order": 1})) == [PAID, PAID]


async def test_results_in_order_are_used_up_and_start_afresh_in_each_conversation() -> None:
    backend = ToolBackend(scripts={"refund": ResultSequence((PAID, LATE))})
    used_up = failed("the script has 2 results of 'refund', and all are used")
    for _ in range(2):
        assert await results(backend, *[("refund", {})] * 3) == [PAID, LATE, used_up]


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
    backend = ToolBackend(functions=ToolFunctions({"refund": refund, "look": look}, "tools"))
    assert await results(backend, ("refund", {"order": "A1", "amount": 7}), ("look", {"b": 1, "a": 2})) == [
        ToolResult(content={"order": "A1", "paid": [7, 7]}),
        ToolResult(content="a,b"),
    ]


async def test_an_error_of_a_function_is_a_result_that_the_model_sees() -> None:
    backend = ToolBackend(functions=ToolFunctions({"refund": refund, "ping": leave}, "tools"))
    wrong, missing, left = await results(backend, ("refund", {"order": "none"}), ("refund", {"id": 1}), ("ping", {}))
    assert wrong == failed("LookupError: no such order")
    assert missing is not None and missing.failed
    assert missing.content == "TypeError: refund() got an unexpected keyword argument 'id'"
    assert left is not None and left.failed
    assert "SystemExit" in left.content


async def test_a_function_that_does_not_come_back_ends_the_conversation() -> None:
    backend = ToolBackend(functions=ToolFunctions({"ping": lambda: time.sleep(5)}, "tools"), seconds=0.05)
    with pytest.raises(TargetTimedOut, match=r"tool 'ping': no answer in 0\.05 s"):
        await results(backend, ("ping", {}))


async def test_a_script_wins_over_a_function() -> None:
    backend = ToolBackend(
        scripts={"refund": always(PAID)}, functions=ToolFunctions({"refund": refund, "look": look}, "tools")
    )
    assert await results(backend, ("refund", {"order": "A1"}), ("look", {})) == [PAID, ToolResult(content="")]


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


AGENT = Agent(id="a", name="Moss", tools=(AgentTool(tool_name="look", description="Looks."), AgentTool(tool_name="b")))


def scripts(text: str) -> dict[str, ScriptedResult]:
    return read_chat_settings("bot", {"tool_results": yaml.safe_load(text)})[1]


def offer(settings: dict[str, Any], agent: Agent | None = None, folder: Path = Path()) -> ToolOffer:
    return tool_offer(*read_chat_settings("bot", settings), folder, agent)


def test_nothing_said_is_nothing_offered() -> None:
    assert read_chat_settings("chat", {}) == (ChatSettings(), {})
    assert offer({}) == ToolOffer()


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("t: paid", always(ToolResult(content="paid"))),
        ("t: {a: [1, 2]}", always(ToolResult(content={"a": [1, 2]}))),
        ("t: null", always(ToolResult())),
        ("t: {result: gone, failed: true}", always(ToolResult(content="gone", failed=True))),
        ("t: {result: here}", always(ToolResult(content={"result": "here"}))),
        ("t: {failed: maybe}", always(ToolResult(content={"failed": "maybe"}))),
        ("t: [one, 2]", ResultSequence((ToolResult(content="one"), ToolResult(content=2)))),
        ("t: [[]]", ResultSequence((ToolResult(content=[]),))),
        ("t: [{failed: true}, ok]", ResultSequence((ToolResult(failed=True), ToolResult(content="ok")))),
        ("t: {when: {a: 1}, result: x}", ResultsByArguments((ResultRule({"a": 1}, ToolResult(content="x")),))),
        (
            "t: [{when: {day: 2026-11-15}, result: x}, {result: {day: 2026-11-16}, failed: true}]",
            ResultsByArguments(
                (
                    ResultRule({"day": "2026-11-15"}, ToolResult(content="x")),
                    ResultRule({}, ToolResult(content={"day": "2026-11-16"}, failed=True)),
                )
            ),
        ),
    ],
)
def test_results_are_read_as_they_are_written(text: str, script: ScriptedResult) -> None:
    assert scripts(text) == {"t": script}


def test_every_wrong_setting_is_in_one_error() -> None:
    settings = {
        "modle": "openai:gpt",
        "system_prompt": 3,
        "tools": [{"name": "a"}, {"name": "a"}],
        "tool_results": {
            "a": [],
            "b": [{"when": {"x": {"$regex": "("}}, "result": 1}, {"results": 2}],
            "c": {"when": 3},
        },
        "tool_seconds": 0,
        "max_tool_rounds": 0,
    }
    with pytest.raises(ConfigInvalid) as raised:
        read_chat_settings("bot", settings)
    said = str(raised.value)
    for part in (
        "`targets.bot.modle`: is not a setting; did you mean `model`?",
        "`targets.bot.system_prompt`: Expected `str`, got `int`",
        "`targets.bot.tools`: 'a' is there 2 times",
        "`targets.bot.tool_results.a`: expected at least one result",
        "`targets.bot.tool_results.b.0.when`: `x`: $regex",
        "`targets.bot.tool_results.b.1`: Object contains unknown field `results`",
        "`targets.bot.tool_results.c`: Expected `object`, got `int`",
        "`targets.bot.tool_seconds`: expected a number of seconds above 0",
        "`targets.bot.max_tool_rounds`: expected 1 or more, found 0",
    ):
        assert part in said


@pytest.mark.parametrize("tool", [{"description": "no name"}, {"name": "a", "params": {}}, {"name": " "}, "a"])
def test_a_tool_that_is_none_is_refused(tool: Any) -> None:
    with pytest.raises(ConfigInvalid, match=r"`targets\.bot\.tools`"):
        read_chat_settings("bot", {"tools": [tool]})


OWN = {"name": "own", "description": "d", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    ("case_tools", "block", "agent", "offered"),
    [
        ((Tool(name="c"),), {"tools": [OWN]}, AGENT, (Tool(name="c"),)),
        ((), {"tools": [OWN]}, AGENT, ()),
        (None, {"tools": [OWN]}, AGENT, (Tool(name="own", description="d", parameters={"type": "object"}),)),
        (None, {"tools": []}, AGENT, ()),
        (None, {}, AGENT, (Tool(name="look", description="Looks."), Tool(name="b"))),
        (None, {}, None, ()),
    ],
    ids=["the case's", "the case has none", "the block's", "the block has none", "the agent's", "nobody's"],
)
def test_whose_tools_are_offered(
    case_tools: tuple[Tool, ...] | None, block: dict[str, Any], agent: Agent | None, offered: tuple[Tool, ...]
) -> None:
    assert offer(block, agent).to(a_case(tools=case_tools)) == offered


def test_without_results_and_functions_there_is_no_desk(tmp_path: Path) -> None:
    (tmp_path / "desk_tools.py").write_text("TOOLS = {'own': lambda: 1}", encoding="utf-8")
    assert offer({"tools": [OWN]}).backend is None
    assert offer({"tools": [OWN], "tool_results": {"own": 1}}).backend is not None
    made = offer({"tool_functions": "desk_tools.py:TOOLS", "max_tool_rounds": 2, "tool_seconds": 5}, folder=tmp_path)
    assert made.backend is not None and made.backend.functions is not None
    assert (made.rounds, made.backend.seconds, made.backend.functions.spec) == (2, 5.0, "desk_tools.py:TOOLS")


REFUND, PING = Tool(name="refund", description="Pays back."), Tool(name="ping")
PAID_FIFTY = ToolResult(content={"paid": 50})
DESK = ToolBackend(scripts={"refund": always(PAID_FIFTY)})
OFFER = ToolOffer(tools=(REFUND, PING), backend=DESK)


def calling(*names: str, text: str = "", echo: Any = None, **usage: Any) -> Completion:
    calls = tuple(ToolCall(name=name, arguments={"order": "A1"}, id=f"id-{name}") for name in names)
    return Completion(text=text, model="m", usage=Usage(**usage), tool_calls=calls, echo=echo)


def saying(text: str, **usage: Any) -> Completion:
    return Completion(text=text, model="m", usage=Usage(**usage))


async def replies(model: ScriptedModel, offer: ToolOffer, case: Case | None = None, *texts: str) -> list[Reply]:
    session = await ChatTarget(model, namespace="repeat 1", offer=offer).open(case or a_case())
    return [await session.send(text) for text in texts or ("Hello",)]


def called(name: str, result: ToolResult | None) -> ToolCall:
    return ToolCall(name=name, arguments={"order": "A1"}, id=f"id-{name}", result=result)


async def test_a_call_is_answered_and_the_model_speaks_then() -> None:
    model = ScriptedModel(calling("refund", text="One moment.", echo=["signed"]), saying("Done."))
    (reply,) = await replies(model, OFFER)
    assert reply.messages == (
        Said(role=Role.ASSISTANT, content="One moment.", tool_calls=(called("refund", PAID_FIFTY),)),
        Said(role=Role.ASSISTANT, content="Done."),
    )
    assert model.asked[1].messages == (
        ChatMessage(Role.USER, "Hello"),
        ToolTurn(Role.ASSISTANT, "One moment.", (), (called("refund", PAID_FIFTY),), ["signed"]),
    )
    assert [(asked.tools, asked.namespace, asked.purpose) for asked in model.asked] == [
        ((REFUND, PING), "repeat 1", "target")
    ] * 2


async def test_a_turn_takes_as_long_as_its_calls_of_the_model_and_of_its_tools() -> None:
    quick = replace(calling("refund"), latency_ms=100.0), replace(saying("Done."), latency_ms=20.0)
    (reply,) = await replies(ScriptedModel(*quick), OFFER)
    assert isinstance(reply.duration_ms, float)
    assert 120.0 <= reply.duration_ms < 1_000.0


@pytest.mark.parametrize("cached", [0, 1])
async def test_a_turn_of_which_one_call_came_from_the_cache_was_not_timed(cached: int) -> None:
    calls = [replace(call, latency_ms=9.0) for call in (calling("refund"), saying("Done."))]
    calls[cached] = replace(calls[cached], cached=True)
    (reply,) = await replies(ScriptedModel(*calls), OFFER)
    assert reply.duration_ms is None


async def test_several_calls_and_rounds_are_all_kept_in_order() -> None:
    model = ScriptedModel(calling("refund", "ping"), calling("refund"), saying("Done."))
    (reply,) = await replies(model, OFFER)
    lost = ToolResult(
        content="nothing answers the tool 'ping' here: it has no scripted result and no function", failed=True
    )
    assert [message.tool_calls for message in reply.messages] == [
        (called("refund", PAID_FIFTY), called("ping", lost)),
        (called("refund", PAID_FIFTY),),
        (),
    ]


async def test_without_a_desk_calls_are_recorded_and_the_turn_ends() -> None:
    model = ScriptedModel(calling("refund", text="One moment."))
    (reply,) = await replies(model, ToolOffer(tools=(REFUND,)))
    assert reply.messages == (Said(role=Role.ASSISTANT, content="One moment.", tool_calls=(called("refund", None),)),)
    assert len(model.asked) == 1


async def test_a_call_without_result_stays_in_the_conversation() -> None:
    model = ScriptedModel(calling("refund"), saying("Hm."))
    await replies(model, ToolOffer(tools=(REFUND,)), Case(id="1", input=Script(turns=("Hi", "And?"))), "Hi", "And?")
    assert model.asked[1].messages == (
        ChatMessage(Role.USER, "Hi"),
        ToolTurn(Role.ASSISTANT, "", (), (called("refund", None),)),
        ChatMessage(Role.USER, "And?"),
    )


async def test_a_model_that_calls_what_nobody_offered_is_recorded_and_not_reminded_of_it() -> None:
    model = ScriptedModel(calling("refund", text="Hm."), saying("Yes."))
    case = Case(id="1", input=Script(turns=("Hi", "And?")))
    first, _ = await replies(model, ToolOffer(backend=DESK), case, "Hi", "And?")
    assert first.messages[0].tool_calls == (called("refund", None),)
    assert model.asked[1].messages[1] == ChatMessage(Role.ASSISTANT, "Hm.")
    assert model.asked[0].tools == ()


@pytest.mark.parametrize("rounds", [1, 3])
async def test_rounds_without_end_are_ended_and_the_setting_is_named(rounds: int) -> None:
    model = ScriptedModel(calling("refund", "ping", "ping"))
    with pytest.raises(TargetFailed) as raised:
        await replies(model, ToolOffer(tools=(REFUND, PING), backend=DESK, rounds=rounds))
    assert str(raised.value) == (
        f"the model called tools in {rounds} rounds of one turn and goes on with refund, ping;"
        " `max_tool_rounds` allows no more"
    )
    assert len(model.asked) == rounds + 1


async def test_as_many_rounds_as_are_allowed_may_be_used() -> None:
    model = ScriptedModel(*[calling("refund")] * 3, saying("Done."))
    (reply,) = await replies(model, ToolOffer(tools=(REFUND,), backend=DESK, rounds=3))
    assert reply.messages[-1].content == "Done."


async def test_usage_is_that_of_all_rounds_and_what_one_does_not_know_stays_unknown() -> None:
    first = calling("refund", prompt_tokens=10, completion_tokens=2, cost_usd=0.5)
    model = ScriptedModel(first, saying("Done.", prompt_tokens=30, completion_tokens=4, thinking_tokens=7))
    (reply,) = await replies(model, OFFER)
    assert reply.usage == Usage(prompt_tokens=40, completion_tokens=6)


async def test_the_tools_of_a_case_come_before_those_of_the_run() -> None:
    model = ScriptedModel(calling("refund"), saying("Done."))
    own = (Tool(name="ping"),)
    (reply,) = await replies(model, OFFER, a_case(tools=own))
    assert model.asked[0].tools == own
    result = reply.messages[0].tool_calls[0].result
    assert result == ToolResult(content="there is no tool 'refund'; there is: ping", failed=True)


async def test_each_turn_has_its_own_rounds() -> None:
    model = ScriptedModel(calling("refund"), saying("One."), calling("refund"), saying("Two."))
    case = Case(id="1", input=Script(turns=("Hi", "And?")))
    both = await replies(model, ToolOffer(tools=(REFUND,), backend=DESK, rounds=1), case, "Hi", "And?")
    assert [reply.messages[-1].content for reply in both] == ["One.", "Two."]
    assert len(model.asked[3].messages) == 5


async def test_the_model_takes_part_under_the_name_it_was_given() -> None:
    session = await ChatTarget(ScriptedModel("Hi."), agent="moss").open(a_case())
    assert (await session.send("Hello")).messages == (Said(role=Role.ASSISTANT, content="Hi.", agent="moss"),)
