"""A real agent of the Agent Development Kit: two tools and a sub-agent, behind its API server and in this process."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from frameworks.talking import HERE, REFUND, a_case_with_a_past, a_wish, run_by_command, talk_to, try_out
from howsure.errors import TargetFailed
from howsure.model.transcript import ToolResult, Transcript, Usage
from howsure.targets.adk.target import AdkKind
from howsure.targets.frameworks.adk_runner import AdkAgentKind

APPS = HERE / "adk_apps"
SECONDS_TO_START = 90


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(verb: str, folder: Path, apps: Path = APPS) -> Iterator[str]:
    """`adk api_server` or `adk web`, as a user starts them."""
    port = free_port()
    adk = str(Path(sys.executable).parent / "adk")
    services = [word for name in ("session", "artifact") for word in (f"--{name}_service_uri", "memory://")]
    with (folder / f"{verb}.log").open("w") as log:
        command = [adk, verb, "--port", str(port), "--no-reload", *services, str(apps)]
        server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}", server, folder / f"{verb}.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(60)


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until and server.poll() is None:
        try:
            with urlopen(f"{url}/list-apps", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"the ADK server did not start: {log.read_text()[-2000:]}")


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving("api_server", tmp_path_factory.mktemp("adk")) as url:
        yield url


@pytest.fixture(scope="session", params=["run", "run_sse", "in process"])
def way(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    if request.param == "in process":
        return AdkAgentKind(), a_wish("adk_apps/shop/agent.py:root_agent", state={"tier": "gold"})
    url = request.getfixturevalue("api")
    settings = {"url": url, "app_name": "shop", "stream": request.param == "run_sse"}
    return AdkKind(), a_wish(settings=settings, state={"tier": "gold"})


async def told(way: tuple[Any, Any], *turns: str, **state: Any) -> Transcript:
    kind, wish = way
    return await talk_to(kind, wish, *turns, state=state)


async def test_a_transfer_its_tools_state_and_tokens_arrive(way: tuple[Any, Any]) -> None:
    found = await told(way, "I want a refund", tier="silver", **{"user:name": "Ann", "app:shop": "Moss"})
    transfer, refund = found.tool_calls
    assert (transfer.name, transfer.arguments) == ("transfer_to_agent", {"agent_name": "billing"})
    assert (refund.name, refund.arguments) == ("issue_refund", {"order_id": "A1", "amount": 50})
    assert refund.result == ToolResult(content={"ok": True, "amount": 50, "tier": "silver"})
    assert found.agents == ("front_desk", "billing")
    assert found.answer == "The tool said {'ok': True, 'amount': 50, 'tier': 'silver'}."
    assert found.state == {"tier": "silver", "refund_amount": 50, "user:name": "Ann", "app:shop": "Moss"}
    assert found.usage == Usage(prompt_tokens=33, completion_tokens=21)


async def test_turns_share_one_session_thoughts_are_not_said_and_errors_of_tools_are_seen(way: tuple[Any, Any]) -> None:
    found = await told(way, "Hi", "Where is the unknown order?", "Where is my order?")
    assert [(message.role.value, message.content) for message in found.messages if message.content] == [
        ("user", "Hi"),
        ("assistant", "Hello, this is turn 1."),
        ("user", "Where is the unknown order?"),
        ("assistant", "The tool said {'error': 'no order Z9'}."),
        ("user", "Where is my order?"),
        ("assistant", "The tool said {'order_id': 'A1', 'status': 'shipped'}."),
    ]
    assert [call.result for call in found.tool_calls] == [
        ToolResult(content={"error": "no order Z9"}, failed=True),
        ToolResult(content={"order_id": "A1", "status": "shipped"}),
    ]
    assert found.state is not None and found.state["customer_intent"] == "order"
    assert found.usage == Usage(prompt_tokens=55, completion_tokens=35)


async def test_an_earlier_conversation_and_the_context_of_a_question_reach_the_agent(way: tuple[Any, Any]) -> None:
    kind, wish = way
    greeted = await try_out(kind, wish, a_case_with_a_past("Hi"))
    assert [message.content for message in greeted.messages] == ["Hi", "Hello, this is turn 2."]
    found = await try_out(kind, wish, a_case_with_a_past("Where is it?", "This is about my order."))
    assert [call.name for call in found.tool_calls] == ["lookup_order"]


async def test_an_error_the_model_reports_is_named(way: tuple[Any, Any]) -> None:
    with pytest.raises(TargetFailed, match="agent 'front_desk' reported an error: RESOURCE_EXHAUSTED: out of quota"):
        await told(way, "Use up the quota")


@pytest.mark.parametrize(
    ("stream", "said"), [(False, r"HTTP 500 from http.*: Internal Server Error"), (True, "the model exploded")]
)
async def test_a_server_that_breaks_says_so(api: str, stream: bool, said: str) -> None:
    settings = {"url": api, "app_name": "shop", "stream": stream}
    with pytest.raises(TargetFailed, match=said):
        await talk_to(AdkKind(), a_wish(settings=settings), "Explode, please")


async def test_a_wrong_app_name_is_answered_with_the_right_ones(api: str) -> None:
    wish = a_wish(f"{api}/shopp")
    wanted = "no app 'shopp' on the ADK server at .*; did you mean 'shop'\\? it has: library, scripted, shop"
    with pytest.raises(TargetFailed, match=wanted):
        await talk_to(AdkKind(), wish, "Hi")
    with pytest.raises(TargetFailed, match=wanted):
        await AdkKind().make(wish).check()
    assert await AdkKind().make(a_wish(f"{api}/shop")).check() == (
        f"the ADK server at {api} has the app 'shop' (3 in all)"
    )


async def test_an_api_server_has_no_traces_and_the_developers_one_has(api: str, tmp_path: Path) -> None:
    built = (await talk_to(AdkKind(), a_wish(f"{api}/shop"), "Where is my order?")).spans
    assert built is not None and {span.attributes["howsure.source"] for span in built} == {"events"}
    with serving("web", tmp_path) as url:
        found = await talk_to(AdkKind(), a_wish(f"{url}/shop"), "Where is my order?")
        silent = await talk_to(AdkKind(), a_wish(settings={"url": url, "app_name": "shop", "trace": False}), "Hi")
    assert found.spans is not None
    (lookup,) = [span for span in found.spans if span.name == "execute_tool lookup_order"]
    assert lookup.start_ns is not None and lookup.end_ns is not None and lookup.end_ns >= lookup.start_ns
    assert len(lookup.trace_id) == 32
    assert silent.spans is not None and {span.attributes["howsure.source"] for span in silent.spans} == {"events"}


@pytest.mark.parametrize("way", ["api server", "in process"])
def test_a_run_by_command_drives_it_and_keeps_calls_state_agents_and_tokens(way: str, api: str, tmp_path: Path) -> None:
    agent = APPS / "shop" / "agent.py"
    result = run_by_command(
        tmp_path, f"adk:{api}/shop" if way == "api server" else f"adk-agent:{agent}:root_agent", REFUND
    )
    assert [call["name"] for call in result["output"]["tool_calls"]] == ["transfer_to_agent", "issue_refund"]
    assert result["output"]["state"]["refund_amount"] == 50
    assert {message.get("agent") for message in result["output"]["messages"]} >= {"billing"}
    assert result["output"]["usage"]["prompt_tokens"] == 33
