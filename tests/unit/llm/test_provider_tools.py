"""A conversation in which tools were called: what each provider is sent of it, and what it wants to see again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.llm.base import Completion, ModelRequest, ModelSpec
from howsure.llm.cache import CacheKeys, decode_completion, encode_completion
from howsure.llm.messages import CallSettings, ChatMessage, ToolTurn
from howsure.llm.providers import BUILTINS_BY_NAME
from howsure.llm.providers.shared import result_text
from howsure.model.transcript import Role, Tool, ToolCall, ToolResult, Usage
from unit.llm import bodies

PARAMETERS = {"type": "object", "properties": {"order": {"type": "string"}}}
TOOLS = (Tool(name="refund", description="Pays back.", parameters=PARAMETERS), Tool(name="ping"))
REFUND = ToolCall(name="refund", arguments={"order": "A1"}, id="c1", result=ToolResult(content={"paid": 50}))
PING = ToolCall(name="ping", id="c2", result=ToolResult(content="no route", failed=True))
ASKED = ChatMessage(Role.USER, "Refund A1.")
TURN = ToolTurn(Role.ASSISTANT, "Let me see.", (), (REFUND, PING))
REQUEST = ModelRequest(
    messages=(ChatMessage(Role.SYSTEM, "Help."), ASKED, TURN, ChatMessage(Role.USER, "And?")), tools=TOOLS
)

OPENAI_TOOLS = [
    {"type": "function", "function": {"name": "refund", "description": "Pays back.", "parameters": PARAMETERS}},
    {
        "type": "function",
        "function": {"name": "ping", "description": "", "parameters": {"type": "object", "properties": {}}},
    },
]
OPENAI_CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"order":"A1"}'}},
    {"id": "c2", "type": "function", "function": {"name": "ping", "arguments": "{}"}},
]
OPENAI_CHAT = [
    {"role": "system", "content": "Help."},
    {"role": "user", "content": "Refund A1."},
    {"role": "assistant", "content": "Let me see.", "tool_calls": OPENAI_CALLS},
    {"role": "tool", "tool_call_id": "c1", "content": '{"paid":50}'},
    {"role": "tool", "tool_call_id": "c2", "content": '{"error":"no route"}'},
    {"role": "user", "content": "And?"},
]
ANTHROPIC_BODY = {
    "model": "m",
    "max_tokens": 4096,
    "system": "Help.",
    "messages": [
        {"role": "user", "content": "Refund A1."},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "c1", "name": "refund", "input": {"order": "A1"}},
                {"type": "tool_use", "id": "c2", "name": "ping", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": '{"paid":50}'},
                {"type": "tool_result", "tool_use_id": "c2", "content": "no route", "is_error": True},
            ],
        },
        {"role": "user", "content": "And?"},
    ],
    "tools": [
        {"name": "refund", "description": "Pays back.", "input_schema": PARAMETERS},
        {"name": "ping", "description": "", "input_schema": {"type": "object"}},
    ],
}
GOOGLE_BODY = {
    "contents": [
        {"role": "user", "parts": [{"text": "Refund A1."}]},
        {
            "role": "model",
            "parts": [
                {"text": "Let me see."},
                {"functionCall": {"name": "refund", "id": "c1", "args": {"order": "A1"}}},
                {"functionCall": {"name": "ping", "id": "c2", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "refund", "id": "c1", "response": {"output": {"paid": 50}}}},
                {"functionResponse": {"name": "ping", "id": "c2", "response": {"error": "no route"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "And?"}]},
    ],
    "systemInstruction": {"parts": [{"text": "Help."}]},
    "tools": [
        {
            "functionDeclarations": [
                {"name": "refund", "description": "Pays back.", "parametersJsonSchema": PARAMETERS},
                {"name": "ping", "description": ""},
            ]
        }
    ],
}
OLLAMA_BODY = {
    "model": "m",
    "stream": False,
    "messages": [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "Refund A1."},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {"function": {"name": "refund", "arguments": {"order": "A1"}}, "id": "c1"},
                {"function": {"name": "ping", "arguments": {}}, "id": "c2"},
            ],
        },
        {"role": "tool", "tool_name": "refund", "content": '{"paid":50}', "tool_call_id": "c1"},
        {"role": "tool", "tool_name": "ping", "content": '{"error":"no route"}', "tool_call_id": "c2"},
        {"role": "user", "content": "And?"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "refund", "description": "Pays back.", "parameters": PARAMETERS}},
        {"type": "function", "function": {"name": "ping", "description": "", "parameters": {}}},
    ],
}


def a_spec(provider: str) -> ModelSpec:
    return ModelSpec(provider=provider, model="m", base_url="http://h/v1", api_version="2024-10-21")


def body_of(provider: str, request: ModelRequest) -> Any:
    return json.loads(BUILTINS_BY_NAME[provider].body(a_spec(provider), request, CallSettings()))


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("openai", {"model": "m", "messages": OPENAI_CHAT, "tools": OPENAI_TOOLS}),
        ("vllm", {"model": "m", "messages": OPENAI_CHAT, "tools": OPENAI_TOOLS}),
        ("azure", {"messages": OPENAI_CHAT, "tools": OPENAI_TOOLS}),
        ("mistral", {"model": "m", "messages": OPENAI_CHAT, "tools": OPENAI_TOOLS}),
        ("anthropic", ANTHROPIC_BODY),
        ("google", GOOGLE_BODY),
        ("ollama", OLLAMA_BODY),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_calls_and_results_in_the_words_of_each_provider(provider: str, expected: dict[str, Any]) -> None:
    assert body_of(provider, REQUEST) == expected


def again(provider: str, body: dict[str, Any]) -> Any:
    """What is sent after a reply with calls, all of which gave `ok`: the messages of our side and theirs."""
    answer = BUILTINS_BY_NAME[provider].read_reply(bodies.raw(body))
    calls = tuple(replace(call, result=ToolResult(content="ok")) for call in answer.tool_calls)
    turn = ToolTurn(Role.ASSISTANT, answer.text, (), calls, answer.echo)
    return body_of(provider, ModelRequest(messages=(turn,), tools=TOOLS))


def test_anthropics_thinking_goes_back_with_its_signature() -> None:
    content = [
        {"type": "thinking", "thinking": "Hm.", "signature": "EqQB"},
        {"type": "tool_use", "id": "toolu_1", "name": "refund", "input": {"order": "A1"}},
    ]
    sent = again("anthropic", {**bodies.ANTHROPIC_TOOL, "content": content})
    assert sent["messages"] == [
        {"role": "assistant", "content": content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]},
    ]


def test_googles_calls_go_back_with_their_signature() -> None:
    signed = {"functionCall": {"name": "refund", "args": {"order": "A1"}}, "thoughtSignature": "c2ln"}
    response = {"functionResponse": {"name": "refund", "response": {"output": "ok"}}}
    assert again("google", bodies.GOOGLE_TOOL)["contents"] == [
        {"role": "model", "parts": [signed]},
        {"role": "user", "parts": [response]},
    ]


def test_ollamas_thinking_goes_back_and_a_call_without_an_id_needs_none() -> None:
    thought = {**bodies.OLLAMA_TOOL["message"], "thinking": "Hm."}  # type: ignore[dict-item]
    assert again("ollama", {**bodies.OLLAMA_TOOL, "message": thought})["messages"] == [
        {
            "role": "assistant",
            "content": "",
            "thinking": "Hm.",
            "tool_calls": [{"function": {"name": "refund", "arguments": {"order": "A1"}}}],
        },
        {"role": "tool", "tool_name": "refund", "content": "ok"},
    ]


def openai_said(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls), **fields}
    return {"model": "m", "choices": [{"message": message, "finish_reason": "tool_calls"}]}


SIGNED = {
    "id": "c1",
    "type": "function",
    "function": {"name": "refund", "arguments": '{"order": "A1"}'},
    "extra_content": {"google": {"thought_signature": "c2ln"}},
}


def test_a_sound_call_goes_back_to_an_openai_server_as_it_came() -> None:
    sent = again("openai-compatible", openai_said(SIGNED, reasoning_content="Hm."))
    assert sent["messages"] == [
        {"role": "assistant", "content": None, "tool_calls": [SIGNED], "reasoning_content": "Hm."},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]


@pytest.mark.parametrize(
    ("call", "id", "arguments"),
    [
        ({"function": {"name": "ping", "arguments": "{}"}}, "call_1", "{}"),
        ({"id": "c1", "function": {"name": "ping", "arguments": "{broken"}}, "c1", '{"$unread":"{broken"}'),
        ({"function": {"name": "ping", "arguments": {"n": 1}}}, "call_1", '{"n":1}'),
        ({"function": {"name": "ping"}}, "call_1", "{}"),
    ],
    ids=["no id", "broken arguments", "arguments as an object", "no arguments"],
)
def test_what_a_server_may_stumble_over_is_mended_before_it_goes_back(
    call: dict[str, Any], id: str, arguments: str
) -> None:
    sent = again("vllm", openai_said(call))["messages"]
    made = {"id": id, "type": "function", "function": {"name": "ping", "arguments": arguments}}
    assert sent == [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": id, "content": "ok"},
    ]


@pytest.mark.parametrize("provider", list(BUILTINS_BY_NAME))
def test_a_call_that_nobody_answered_is_not_left_open(provider: str) -> None:
    open_call = ToolTurn(Role.ASSISTANT, "", (), (ToolCall(name="ping", id="c1"),))
    sent = json.dumps(body_of(provider, ModelRequest(messages=(open_call,), tools=TOOLS)))
    assert sent.count("this call was noted, and not carried out") == 1


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult(content="Straße"), "Straße"),
        (ToolResult(), "null"),
        (ToolResult(content=[1, "ü"]), '[1,"ü"]'),
        (ToolResult(content="gone", failed=True), '{"error":"gone"}'),
        (ToolResult(content={"code": 7}, failed=True), '{"error":{"code":7}}'),
    ],
)
def test_results_as_text(result: ToolResult, text: str) -> None:
    assert result_text(result) == text


def test_calls_and_results_are_part_of_the_key() -> None:
    keys = CacheKeys(a_spec("openai"))
    told = [REQUEST.messages[:2], REQUEST.messages[:3], (*REQUEST.messages[:2], replace(TURN, tool_calls=(REFUND,)))]
    other = replace(REFUND, result=ToolResult(content={"paid": 0}))
    told.append((*REQUEST.messages[:2], replace(TURN, tool_calls=(other, PING))))
    assert len({keys.key(replace(REQUEST, messages=messages), CallSettings()) for messages in told}) == 4


def test_the_cache_keeps_what_is_to_be_seen_again() -> None:
    whole = Completion(text="", model="m", usage=Usage(), tool_calls=(REFUND,), echo=[{"type": "thinking", "n": [1]}])
    assert decode_completion(encode_completion(whole)) == whole
    assert b"echo" not in encode_completion(Completion(text="", model="m", usage=Usage()))
