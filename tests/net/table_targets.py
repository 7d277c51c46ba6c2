"""Rows of the blocks under `targets:`, by kind."""

from __future__ import annotations

import json
from typing import Any

from net.rows import Row
from net.worlds import PROGRAM, entry, question

HTTP = "run one.json --target bot --judge none --json"
CHAT = "run case.jsonl --target bot --trace calls.jsonl --json"
ONE = {"one.json": {"name": "One", "items": [entry(1, "Hello there")]}}
CASE = {"case.jsonl": [question(1)]}


def block(kind: str, **settings: Any) -> str:
    """The block of a target called `bot`; JSON is YAML too."""
    return f"targets: {json.dumps({'bot': {'kind': kind, **settings}})}"


def http(
    key: str, shows: str, given: dict[str, Any], expect: dict[str, Any], absent: dict[str, Any], **other: Any
) -> Row:
    """A row of an HTTP target: its results are looked at. `other` is the block of the other side."""
    base = {"url": "$BOT/rich"}
    return Row(
        f"targets.*[http].{key}",
        shows,
        block("http", **{**base, **given}),
        HTTP,
        expect,
        absent,
        other=block("http", **{**base, **other}),
        world="test-set",
        files=ONE,
        look="results --json",
    )


ECHO = {"url": "$BOT/echo"}
READ = {"answer": "said.plain"}
OPENED = {"url": "$BOT/session"}
SAID = "0.output.answer"
HTTP_ROWS = [
    http("kind", "a bot behind an address", ECHO, {"has " + SAID: '"method": "POST"'}, {"exit": 2},
         url="http://127.0.0.1:9/"),
    http("url", "where it is", {"url": "$BOT/echo/one"}, {"has " + SAID: "/echo/one"}, {"has " + SAID: "/echo/two"},
         url="$BOT/echo/two"),
    http("url", "placeholders are filled", {"url": "$BOT/echo/{case_id}"}, {"has " + SAID: "/echo/t1"},
         {"no has " + SAID: "/echo/t1"}, **ECHO),
    http("method", "how it is asked", {**ECHO, "method": "PUT"}, {"has " + SAID: '"method": "PUT"'},
         {"has " + SAID: '"method": "POST"'}, **ECHO),
    http("headers", "sent with every message", {**ECHO, "headers": {"X-Case": "is {case_id}"}},
         {"has " + SAID: "is t1"}, {"no has " + SAID: "is t1"}, **ECHO),
    http("body", "what is sent", {**ECHO, "body": {"say": "{message}", "no": "{turn}"}},
         {"has " + SAID: r"{\"say\":\"Hello there\",\"no\":1}"}, {"no has " + SAID: "say"}, **ECHO),
    http("answer", "where the answer is", {"answer": "said.plain"}, {SAID: "Answer: A"}, {SAID: "clerk"}, answer="who"),
    http("messages", "where the messages are", {"messages": "log"}, {SAID: "Answer: A"}, {"exit": 3}),
    http("tool_calls", "where the calls are",
         {**READ, "tool_calls": "actions", "tool_call": {"name": "action", "arguments": "given"}},
         {"0.output.tool_calls.0.name": "look_up"}, {"0.output.tool_calls": []}, **READ),
    http("tool_call", "where the parts of a call are",
         {**READ, "tool_calls": "actions", "tool_call": {"name": "action"}}, {"0.output.tool_calls.0.name": "look_up"},
         {"exit": 3}, **READ, tool_calls="actions"),
    http("tool_call.name", "the tool's name", {**READ, "tool_calls": "actions", "tool_call": {"name": "action"}},
         {"0.output.tool_calls.0.name": "look_up"}, {"0.output.tool_calls.0.name": "shipped"}, **READ,
         tool_calls="actions", tool_call={"name": "outcome"}),
    http("tool_call.arguments", "its arguments",
         {**READ, "tool_calls": "actions", "tool_call": {"name": "action", "arguments": "given"}},
         {"has 0.output.tool_calls.0": "42"}, {"no has 0.output.tool_calls.0": "42"}, **READ, tool_calls="actions",
         tool_call={"name": "action"}),
    http("tool_call.id", "its id", {**READ, "tool_calls": "actions", "tool_call": {"name": "action", "id": "no"}},
         {"has 0.output.tool_calls.0": "n7"}, {"no has 0.output.tool_calls.0": "n7"}, **READ, tool_calls="actions",
         tool_call={"name": "action"}),
    http("tool_call.result", "what the tool returned",
         {**READ, "tool_calls": "actions", "tool_call": {"name": "action", "result": "outcome"}},
         {"has 0.output.tool_calls.0": "shipped"}, {"no has 0.output.tool_calls.0": "shipped"}, **READ,
         tool_calls="actions", tool_call={"name": "action"}),
    http("state", "where the state is", {**READ, "state": "vars"}, {"0.output.state.order": "42"},
         {"0.output.state": None}, **READ),
    http("usage", "where the amounts are",
         {**READ, "usage": "metering", "usage_fields": {"prompt_tokens": "in", "completion_tokens": "out"}},
         {"0.output.usage.prompt_tokens": 11}, {"0.output.usage": None}, **READ),
    http("usage_fields", "where the parts of the amounts are",
         {**READ, "usage": "metering", "usage_fields": {"prompt_tokens": "in", "completion_tokens": "out"}},
         {"0.output.usage.prompt_tokens": 11, "0.output.usage.completion_tokens": 7},
         {"0.output.usage.prompt_tokens": 7}, **READ, usage="metering",
         usage_fields={"prompt_tokens": "out", "completion_tokens": "in"}),
    *(
        http(f"usage_fields.{name}", "where it is counted", {**READ, "usage": "metering", "usage_fields": {name: path}},
             {f"0.output.usage.{name}": amount}, {f"no has 0.output.usage.{name}": str(amount)}, **READ,
             usage="metering", usage_fields={"prompt_tokens" if name != "prompt_tokens" else "cached_tokens": "out"})
        for name, path, amount in (("prompt_tokens", "in", 11), ("completion_tokens", "out", 7),
                                   ("cached_tokens", "cached", 3), ("thinking_tokens", "thought", 2),
                                   ("cost_usd", "usd", 0.5))
    ),
    http("agent", "who answered", {**READ, "agent": "who"}, {"has 0.output.messages": "clerk"},
         {"no has 0.output.messages": "clerk"}, **READ),
    http("error", "an error in an answer of status 200", {**READ, "url": "$BOT/rich?fault=asleep", "error": "fault"},
         {"exit": 3, "has 0.error": "asleep"}, {SAID: "Answer: A"}, **READ, url="$BOT/rich?fault=asleep"),
    http("stream", "sse: the answer comes as events", {"url": "$BOT/stream/sse", "stream": "sse", "delta": "piece"},
         {SAID: "Answer: A"}, {"exit": 3}, url="$BOT/stream/sse"),
    http("stream", "ndjson: the answer comes as lines",
         {"url": "$BOT/stream/ndjson", "stream": "ndjson", "delta": "piece"}, {SAID: "Answer: A"}, {"exit": 3},
         url="$BOT/stream/ndjson"),
    http("stream", "none: the answer comes in one piece", {**READ, "stream": "none"}, {SAID: "Answer: A"}, {"exit": 3},
         **READ, stream="sse"),
    http("delta", "pieces are joined", {"url": "$BOT/stream/sse", "stream": "sse", "delta": "piece"},
         {SAID: "Answer: A"}, {SAID: " A"}, url="$BOT/stream/sse", stream="sse", answer="piece"),
    http("session", "conversations are opened and closed", {**ECHO, "session": {"open": {**OPENED, "id": "made.no"}}},
         {"has " + SAID: "no-7"}, {"no has " + SAID: "no-7"}, **ECHO),
    http("session.open", "the call that starts one", {**ECHO, "session": {"open": {**OPENED, "id": "made.no"}}},
         {"has " + SAID: "no-7"}, {"no has " + SAID: "no-7"}, **ECHO, session={}),
    http("session.open.url", "where it is opened", {**ECHO, "session": {"open": {**OPENED, "id": "made.no"}}},
         {"has " + SAID: "no-7"}, {"exit": 3}, **ECHO, session={"open": {"url": "$BOT/nowhere", "id": "made.no"}}),
    http("session.open.method", "how it is opened",
         {**ECHO, "session": {"open": {**OPENED, "method": "PUT", "id": "left.closed_by.method"}}},
         {"has " + SAID: "PUT"}, {"no has " + SAID: "PUT"}, **ECHO,
         session={"open": {**OPENED, "id": "left.closed_by.method"}}),
    http("session.open.headers", "sent when it is opened",
         {**ECHO, "session": {"open": {**OPENED, "headers": {"X-Case": "seven"}, "id": "left.closed_by.case"}}},
         {"has " + SAID: "seven"}, {"no has " + SAID: "seven"}, **ECHO, session={"open": {**OPENED, "id": "made.no"}}),
    http("session.open.body", "what is sent when it is opened",
         {**ECHO, "session": {"open": {**OPENED, "body": {"who": "me"}, "id": "left.closed_by.body"}}},
         {"has " + SAID: "who"}, {"no has " + SAID: "who"}, **ECHO, session={"open": {**OPENED, "id": "made.no"}}),
    http("session.open.id", "the session's id in the answer",
         {**ECHO, "session": {"open": {**OPENED, "id": "made.no"}}}, {"has " + SAID: "no-7"},
         {"no has " + SAID: "no-7"}, **ECHO, session={"open": OPENED}),
    http("session.close", "the call that ends one", {**READ, "session": {"close": {**OPENED, "state": "left"}}},
         {"0.output.state.closed_by.method": "POST"}, {"0.output.state": None}, **READ, session={}),
    http("session.close.url", "where it is closed", {**READ, "session": {"close": {**OPENED, "state": "left"}}},
         {"0.output.state.closed_by.method": "POST"}, {"0.output.state": None}, **READ,
         session={"close": {"url": "$BOT/rich", "state": "nowhere?"}}),
    http("session.close.method", "how it is closed",
         {**READ, "session": {"close": {**OPENED, "method": "DELETE", "state": "left"}}},
         {"0.output.state.closed_by.method": "DELETE"}, {"0.output.state.closed_by.method": "POST"}, **READ,
         session={"close": {**OPENED, "state": "left"}}),
    http("session.close.headers", "sent when it is closed",
         {**READ, "session": {"close": {**OPENED, "headers": {"X-Case": "seven"}, "state": "left"}}},
         {"0.output.state.closed_by.case": "seven"}, {"0.output.state.closed_by.case": ""}, **READ,
         session={"close": {**OPENED, "state": "left"}}),
    http("session.close.body", "what is sent when it is closed",
         {**READ, "session": {"close": {**OPENED, "body": {"bye": "now"}, "state": "left"}}},
         {"has 0.output.state.closed_by.body": "bye"}, {"no has 0.output.state.closed_by.body": "bye"}, **READ,
         session={"close": {**OPENED, "state": "left"}}),
    http("session.close.state", "the final state in its answer",
         {**READ, "session": {"close": {**OPENED, "state": "left"}}}, {"0.output.state.closed_by.method": "POST"},
         {"0.output.state": None}, **READ, session={"close": OPENED}),
    http("turn_seconds", "an answer that takes longer is errored", {"url": "$BOT/slow", "turn_seconds": 0.1},
         {"exit": 3, "0.verdict": "errored"}, {SAID: "Answer: A"}, url="$BOT/slow"),
    http("retries", "a refused message is sent again", {"url": "$BOT/flaky", "retries": 1}, {SAID: "Answer: A"},
         {"exit": 3, "0.verdict": "errored"}, url="$BOT/flaky"),
    Row("targets.*[http].health", "who says whether the bot is well",
        block("http", url="$BOT/echo", health="/health/ill"), "doctor --target bot --json",
        {"exit": 2, "healthy": False}, {"healthy": True}, other=block("http", url="$BOT/echo", health="/health/well")),
    Row("targets.*[http].max_connections",
        "two messages are sent one after the other: the second waits longer than a conversation may take",
        block("http", url="$BOT/slow", max_connections=1), "run cases.jsonl --limit 2 --target bot --json",
        {"exit": 3, "passed": 1, "errored": 1}, {"passed": 2}, other=block("http", url="$BOT/slow"),
        settings="case_seconds: 0.6"),
]  # fmt: skip

TOOL = {"name": "look_up", "description": "Finds an order", "parameters": {"type": "object", "properties": {}}}
TOOLS = "TOOLS = {'look_up': lambda order: f'order {order} is lost'}\n"
SLEEPY = (
    "import time\n\n\ndef look_up(order):\n    time.sleep(0.3)\n    return 'found'\n\n\nTOOLS = {'look_up': look_up}\n"
)


def chat(
    key: str, shows: str, given: dict[str, Any], expect: dict[str, Any], absent: dict[str, Any], **other: Any
) -> Row:
    """A row of a model under test: the calls of the model are looked at."""
    base = {"model": "openai-compatible:plain"}
    return Row(
        f"targets.*[chat].{key}",
        shows,
        block("chat", **{**base, **given}),
        CHAT,
        expect,
        absent,
        other=block("chat", **{**base, **other}),
        files={**CASE, "tools.py": TOOLS, "sleepy.py": SLEEPY},
    )


CALLS = "file calls.jsonl"
CHAT_ROWS = [
    chat("kind", "a model", {}, {"passed": 1}, {"failed": 1}, model="openai-compatible:wrong"),
    chat("model", "which one", {"model": "openai-compatible:wrong"}, {"failed": 1}, {"passed": 1}),
    chat("system_prompt", "what it is told first", {"system_prompt": "Be terse."}, {CALLS: "Be terse."},
         {"no " + CALLS: "Be terse."}),
    chat("tools", "what it is offered", {"tools": [TOOL]}, {CALLS: '"tools":'}, {"no " + CALLS: '"tools":'}),
    chat("tools[].name", "the tool's name", {"tools": [TOOL]}, {CALLS: '"name":"look_up"'}, {CALLS: '"name":"search"'},
         tools=[{**TOOL, "name": "search"}]),
    chat("tools[].description", "what it is for", {"tools": [TOOL]}, {CALLS: "Finds an order"},
         {"no " + CALLS: "Finds an order"}, tools=[{"name": "look_up"}]),
    chat("tools[].parameters", "the schema of its arguments",
         {"tools": [{**TOOL, "parameters": {"type": "object", "properties": {"order": {"type": "string"}}}}]},
         {CALLS: '"order":{"type":"string"}'}, {"no " + CALLS: '"order":{"type":"string"}'}, tools=[TOOL]),
    chat("tool_results", "what a tool gives", {"tools": [TOOL], "tool_results": {"look_up": "it is lost"}},
         {"passed": 1, CALLS: "it is lost"}, {"no " + CALLS: "it is lost"}, tools=[TOOL]),
    chat("tool_functions", "Python functions give it", {"tools": [TOOL], "tool_functions": "tools.py:TOOLS"},
         {"passed": 1, CALLS: "order 42 is lost"}, {"no " + CALLS: "order 42 is lost"}, tools=[TOOL]),
    chat("tool_seconds", "a function that takes longer is errored",
         {"tools": [TOOL], "tool_functions": "sleepy.py:TOOLS", "tool_seconds": 0.1}, {"exit": 3, "errored": 1},
         {"passed": 1}, tools=[TOOL], tool_functions="sleepy.py:TOOLS"),
    Row("targets.*[chat].max_tool_rounds", "a model that calls tools more often is errored",
        block("chat", model="openai-compatible:eager", tools=[TOOL], tool_results={"look_up": "?"}, max_tool_rounds=1),
        CHAT, {"exit": 3, "errored": 1}, {"passed": 1},
        other=block("chat", model="openai-compatible:eager", tools=[TOOL], tool_results={"look_up": "?"}), files=CASE),
    Row("targets.*[chat].agent", "the name under which it takes part",
        block("chat", model="openai-compatible:plain", agent="shop"),
        "run shop_golden.json --limit 1 --target bot --graders agent_routing --json",
        {"passed": 1, "scores": {"g1 agent_routing": 1}}, {"failed": 1, "scores": {"g1 agent_routing": 0}},
        other=block("chat", model="openai-compatible:plain", agent="clerk"), world="golden"),
]  # fmt: skip
LETTERS = """
import time


def answer(text, letter="A"):
    time.sleep(0.2)
    return f"Answer: {letter}"


def other(text):
    return "Answer: B"
"""
WHERE = """
import json
import os
import sys
import time

for line in sys.stdin:
    asked = json.loads(line)
    told = {"cwd": os.path.basename(os.getcwd()), "env": sorted(os.environ), "pid": os.getpid()}
    time.sleep(0.2)
    print(json.dumps({"answer": f"Answer: A {told}", "id": asked.get("id")}), flush=True)
time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
open("ended", "w").close()
"""

THRICE = "run cases.jsonl --limit 3 --target bot --json"
ONCE = """
import json
import sys

with open("starts", "a") as file:
    file.write("s")
for line in sys.stdin:
    print(json.dumps({"answer": "A", "id": json.loads(line).get("id")}), flush=True)
"""


def program(
    key: str, shows: str, given: dict[str, Any], expect: dict[str, Any], absent: dict[str, Any], **other: Any
) -> Row:
    base = {"command": "python3 where.py"}
    return Row(
        f"targets.*[command].{key}",
        shows,
        block("command", **{**base, **given}),
        "run one.json --target bot --judge none --json",
        expect,
        absent,
        other=block("command", **{**base, **other}),
        world="test-set",
        files={**ONE, "where.py": WHERE, "inside/where.py": WHERE, "quick.py": PROGRAM},
        look="results --json",
        env={"SHOP_KEY": "k", "OTHER_KEY": "k"},
    )


COMMAND_ROWS = [
    program("kind", "a program", {"command": "python3 quick.py"}, {SAID: "Answer: A"}, {"has " + SAID: "cwd"}),
    program("command", "which one", {"command": ["python3", "quick.py"]}, {SAID: "Answer: A"}, {"has " + SAID: "cwd"}),
    program("cwd", "where it starts", {"cwd": "inside"}, {"has " + SAID: "'inside'"}, {"no has " + SAID: "'inside'"}),
    program("env", "what it gets of the environment", {"env": ["SHOP_KEY"]},
            {"has " + SAID: "SHOP_KEY", "no has " + SAID: "OTHER_KEY"}, {"no has " + SAID: "SHOP_KEY"}),
    Row("targets.*[command].mode", "server: one process for the run",
        block("command", command="python3 once.py", mode="server"), THRICE, {"no file starts": "sss"},
        {"file starts": "sss"}, other=block("command", command="python3 once.py", mode="conversation"),
        files={"once.py": ONCE}),
    Row("targets.*[command].mode", "conversation: one process for each",
        block("command", command="python3 once.py", mode="conversation"), THRICE, {"file starts": "sss"},
        {"no file starts": "sss"}, other=block("command", command="python3 once.py", mode="server"),
        files={"once.py": ONCE}),
    program("turn_seconds", "an answer that takes longer is errored", {"turn_seconds": 0.1},
            {"exit": 3, "0.verdict": "errored"}, {"has " + SAID: "Answer: A"}),
    program("stop_seconds", "it is ended where it takes longer to end",
            {"command": "python3 where.py 1", "stop_seconds": 0.1}, {"no file ended": ""}, {"file ended": ""},
            command="python3 where.py 0"),
]  # fmt: skip
FUNCTION_ROWS = [
    Row(
        f"targets.*[function].{key}",
        shows,
        block("function", **{"function": "letters.py:answer", **given}),
        "run case.jsonl --target bot --json",
        expect,
        absent,
        other=block("function", **{"function": "letters.py:answer", **other}),
        files={**CASE, "letters.py": LETTERS},
    )
    for key, shows, given, expect, absent, other in (
        ("kind", "Python code", {}, {"passed": 1}, {"failed": 1}, {"function": "letters.py:other"}),
        ("function", "which one", {"function": "letters.py:other"}, {"failed": 1}, {"passed": 1}, {}),
        ("arguments", "given to it by name", {"arguments": {"letter": "B"}}, {"failed": 1}, {"passed": 1}, {}),
        (
            "turn_seconds",
            "an answer that takes longer is errored",
            {"turn_seconds": 0.1},
            {"exit": 3, "errored": 1},
            {"passed": 1},
            {},
        ),
    )
]
ADK = {"url": "$BOT/adk", "app_name": "shop"}
ADK_ROWS = [
    Row(
        f"targets.*[adk].{key}",
        shows,
        block("adk", **{**ADK, **given}),
        HTTP,
        expect,
        absent,
        other=block("adk", **{**ADK, **other}),
        world="test-set",
        files=ONE,
        look="results --json",
    )
    for key, shows, given, expect, absent, other in (
        ("kind", "an ADK API server", {}, {"has " + SAID: "by /run"}, {"exit": 3}, {"url": "$BOT/nowhere"}),
        ("url", "where it is", {}, {"has " + SAID: "by /run"}, {"exit": 3}, {"url": "$BOT/nowhere"}),
        (
            "app_name",
            "the app on it",
            {"app_name": "sleepy"},
            {"has " + SAID: "of sleepy"},
            {"has " + SAID: "of shop"},
            {},
        ),
        ("user_id", "one user", {"user_id": "ana"}, {"has " + SAID: "user ana"}, {"no has " + SAID: "user ana"}, {}),
        (
            "headers",
            "sent with every request",
            {"headers": {"X-Case": "seven"}},
            {"has " + SAID: "with seven"},
            {"has " + SAID: "with nothing"},
            {},
        ),
        ("stream", "asks for pieces", {"stream": True}, {"has " + SAID: "run_sse"}, {"no has " + SAID: "run_sse"}, {}),
        (
            "turn_seconds",
            "a turn that takes longer is errored",
            {"app_name": "sleepy", "turn_seconds": 0.1},
            {"exit": 3, "0.verdict": "errored"},
            {"has " + SAID: "by /run"},
            {"app_name": "sleepy"},
        ),
    )
]
FRAMEWORKS = {
    "adk-agent": "adk",
    "langgraph": "langgraph",
    "openai-agents": "openai-agents",
    "pydantic-ai": "pydantic-ai",
}
IN_PROCESS_ROWS = [
    row
    for kind, extra in FRAMEWORKS.items()
    for row in (
        Row(
            f"targets.*[{kind}].kind",
            "an agent of a framework, which has to be installed",
            block(kind, object="agent.py:agent"),
            "run case.jsonl --target bot",
            {"exit": 2, "err": f"howsure[{extra}]"},
            {"exit": 2, "no err": f"howsure[{extra}]"},
            other=block("function", function="agent.py:agent"),
            files=CASE,
        ),
        Row(
            f"targets.*[{kind}].object",
            "the agent; without it the target is refused",
            block(kind, object="agent.py:agent"),
            "run case.jsonl --target bot",
            {"exit": 2, "no err": "targets.bot.object"},
            {"exit": 2, "err": "`targets.bot.object`: missing"},
            other=block(kind),
            files=CASE,
        ),
    )
]
ROWS = [*ADK_ROWS, *IN_PROCESS_ROWS, *HTTP_ROWS, *CHAT_ROWS, *FUNCTION_ROWS, *COMMAND_ROWS]
