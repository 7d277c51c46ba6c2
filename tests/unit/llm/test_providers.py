"""Every provider: what it is sent for one and the same request, and what we read in its replies."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from howsure.llm.base import ModelReply, ModelRequest, ModelSpec, UnreadableReply
from howsure.llm.messages import CallSettings, ChatMessage, FinishReason, Image, TokenAlternative, TokenLogprob
from howsure.llm.providers import BUILTINS_BY_NAME
from howsure.llm.providers.openai import is_strict
from howsure.model.transcript import Role, Tool, ToolCall, Usage
from unit.llm import bodies

SCHEMA = {
    "title": "Ruling!",
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "minimum": 1, "maximum": 5}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
ASKED = (
    ChatMessage(Role.SYSTEM, "Be strict."),
    ChatMessage(Role.USER, "Is it good?"),
    ChatMessage(Role.ASSISTANT, "Which one?"),
    ChatMessage(Role.USER, "This one."),
)
SETTINGS = CallSettings(
    temperature=0.0, max_tokens=64, top_p=0.9, seed=7, logprobs=5, effort="low", stop=("END",), extra={"user": "u1"}
)
CHAT = [
    {"role": "system", "content": "Be strict."},
    {"role": "user", "content": "Is it good?"},
    {"role": "assistant", "content": "Which one?"},
    {"role": "user", "content": "This one."},
]
RESPONSE_FORMAT = {"type": "json_schema", "json_schema": {"name": "Ruling_", "schema": SCHEMA, "strict": True}}


def a_spec(provider: str, model: str = "m", base_url: str = "http://h/v1") -> ModelSpec:
    return ModelSpec(provider=provider, model=model, base_url=base_url, api_version="2024-10-21")


def body_of(provider: str, request: ModelRequest, settings: CallSettings) -> Any:
    return json.loads(BUILTINS_BY_NAME[provider].body(a_spec(provider), request, settings))


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        (
            "openai",
            {"model": "m", "messages": CHAT, "temperature": 0.0, "max_completion_tokens": 64, "top_p": 0.9, "seed": 7,
             "reasoning_effort": "low", "stop": ["END"], "logprobs": True, "top_logprobs": 5,
             "response_format": RESPONSE_FORMAT, "user": "u1"},
        ),
        (
            "vllm",
            {"model": "m", "messages": CHAT, "temperature": 0.0, "max_tokens": 64, "top_p": 0.9, "seed": 7,
             "reasoning_effort": "low", "stop": ["END"], "logprobs": True, "top_logprobs": 5,
             "response_format": RESPONSE_FORMAT, "user": "u1"},
        ),
        (
            "azure",
            {"messages": CHAT, "temperature": 0.0, "max_completion_tokens": 64, "top_p": 0.9, "seed": 7,
             "reasoning_effort": "low", "stop": ["END"], "logprobs": True, "top_logprobs": 5,
             "response_format": RESPONSE_FORMAT, "user": "u1"},
        ),
        (
            "mistral",
            {"model": "m", "messages": CHAT, "temperature": 0.0, "max_tokens": 64, "top_p": 0.9, "random_seed": 7,
             "reasoning_effort": "low", "stop": ["END"], "response_format": RESPONSE_FORMAT, "user": "u1"},
        ),
        (
            "anthropic",
            {"model": "m", "max_tokens": 64, "system": "Be strict.", "messages": CHAT[1:], "temperature": 0.0,
             "top_p": 0.9, "stop_sequences": ["END"],
             "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}, "effort": "low"}, "user": "u1"},
        ),
        (
            "google",
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "Is it good?"}]},
                    {"role": "model", "parts": [{"text": "Which one?"}]},
                    {"role": "user", "parts": [{"text": "This one."}]},
                ],
                "systemInstruction": {"parts": [{"text": "Be strict."}]},
                "generationConfig": {
                    "temperature": 0.0, "maxOutputTokens": 64, "topP": 0.9, "seed": 7, "stopSequences": ["END"],
                    "thinkingConfig": {"thinkingLevel": "low"}, "responseLogprobs": True, "logprobs": 5,
                    "responseMimeType": "application/json", "responseJsonSchema": SCHEMA,
                },
                "user": "u1",
            },
        ),
        (
            "ollama",
            {"model": "m", "stream": False, "messages": CHAT, "format": SCHEMA, "think": "low", "logprobs": True,
             "top_logprobs": 5, "user": "u1",
             "options": {"temperature": 0.0, "num_predict": 64, "top_p": 0.9, "seed": 7, "stop": ["END"]}},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_full_request_in_the_words_of_each_provider(provider: str, expected: dict[str, Any]) -> None:
    assert body_of(provider, ModelRequest(messages=ASKED, schema=SCHEMA), SETTINGS) == expected


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("openai", {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}),
        ("mistral", {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}),
        ("azure", {"messages": [{"role": "user", "content": "Hi"}]}),
        ("anthropic", {"model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "Hi"}]}),
        ("google", {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}),
        ("ollama", {"model": "m", "stream": False, "messages": [{"role": "user", "content": "Hi"}]}),
    ],
)
def test_what_was_not_set_is_not_sent(provider: str, expected: dict[str, Any]) -> None:
    assert body_of(provider, ModelRequest(messages=(ChatMessage(Role.USER, "Hi"),)), CallSettings()) == expected


@pytest.mark.parametrize("provider", list(BUILTINS_BY_NAME))
def test_a_schema_is_asked_for_in_words_where_the_server_cannot_enforce_it(provider: str) -> None:
    sent = json.dumps(
        body_of(provider, ModelRequest(messages=ASKED, schema=SCHEMA), CallSettings(schema_by_prompt=True))
    )
    assert "valid against this JSON Schema" in sent
    assert sent.count("Ruling!") == 1
    assert "response_format" not in sent and "responseJsonSchema" not in sent and '"format"' not in sent


def test_a_schema_in_words_stands_in_the_last_message_of_the_user() -> None:
    request = ModelRequest(messages=(ChatMessage(Role.SYSTEM, "Judge."),), schema={"type": "object"})
    sent = body_of("openai", request, CallSettings(schema_by_prompt=True))
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["messages"][1]["content"].endswith('JSON Schema:\n{"type":"object"}')


@pytest.mark.parametrize(
    ("provider", "model", "base_url", "url", "headers"),
    [
        ("openai", "gpt", "https://o/v1", "https://o/v1/chat/completions", {"Authorization": "Bearer k"}),
        (
            "azure",
            "our gpt",
            "https://a",
            "https://a/openai/deployments/our%20gpt/chat/completions?api-version=2024-10-21",
            {"api-key": "k"},
        ),
        ("mistral", "m", "https://m/v1", "https://m/v1/chat/completions", {"Authorization": "Bearer k"}),
        (
            "anthropic",
            "c",
            "https://c",
            "https://c/v1/messages",
            {"anthropic-version": "2023-06-01", "x-api-key": "k"},
        ),
        (
            "google",
            "models/gemini-2.5-pro",
            "https://g",
            "https://g/v1beta/models/gemini-2.5-pro:generateContent",
            {"x-goog-api-key": "k"},
        ),
        ("ollama", "l", "http://l", "http://l/api/chat", {"Authorization": "Bearer k"}),
    ],
)
def test_where_to_ask_and_how_the_key_is_sent(
    provider: str, model: str, base_url: str, url: str, headers: dict[str, str]
) -> None:
    spec = a_spec(provider, model, base_url)
    assert BUILTINS_BY_NAME[provider].url(spec) == url
    assert BUILTINS_BY_NAME[provider].headers(spec, "k") == headers
    assert "k" not in BUILTINS_BY_NAME[provider].headers(spec, "").values()


YES = (
    TokenLogprob("Yes", -0.105, (TokenAlternative("Yes", -0.105), TokenAlternative("No", -2.3))),
    TokenLogprob(".", -0.01, ()),
)


@pytest.mark.parametrize(
    ("provider", "body", "answer"),
    [
        (
            "openai",
            bodies.OPENAI,
            ModelReply(
                text="Yes.",
                model="gpt-5-2025-08-07",
                usage=Usage(prompt_tokens=120, completion_tokens=10, cached_tokens=64, thinking_tokens=80),
                logprobs=YES,
            ),
        ),
        (
            "vllm",
            bodies.VLLM,
            ModelReply(text="Yes.", model="Qwen/Qwen3-8B", usage=Usage(prompt_tokens=20, completion_tokens=5)),
        ),
        (
            "mistral",
            bodies.MISTRAL,
            ModelReply(text="Yes.", model="magistral-medium-2509", usage=Usage(prompt_tokens=16, completion_tokens=34)),
        ),
        (
            "anthropic",
            bodies.ANTHROPIC,
            ModelReply(
                text="Yes.",
                model="claude-sonnet-4-5-20250929",
                usage=Usage(prompt_tokens=100, completion_tokens=8, cached_tokens=60, thinking_tokens=42),
            ),
        ),
        (
            "google",
            bodies.GOOGLE,
            ModelReply(
                text="Yes.",
                model="gemini-2.5-pro",
                usage=Usage(
                    prompt_tokens=105, completion_tokens=20, cached_tokens=40, thinking_tokens=30, tool_prompt_tokens=5
                ),
                logprobs=(
                    TokenLogprob("Yes", -0.1, (TokenAlternative("Yes", -0.1), TokenAlternative("No", -2.5))),
                    TokenLogprob(".", -0.02, ()),
                ),
            ),
        ),
        (
            "ollama",
            bodies.OLLAMA,
            ModelReply(
                text="Yes.",
                model="llama3.2:3b",
                usage=Usage(prompt_tokens=26, completion_tokens=298),
                logprobs=(TokenLogprob("Yes", -0.1, (TokenAlternative("No", -2.0),)),),
            ),
        ),
    ],
)
def test_a_reply_is_read_in_our_words(provider: str, body: dict[str, Any], answer: ModelReply) -> None:
    assert BUILTINS_BY_NAME[provider].read_reply(bodies.raw(body)) == answer


@pytest.mark.parametrize(
    ("provider", "body", "calls"),
    [
        (
            "azure",
            bodies.OPENAI_TOOL,
            (
                ToolCall(name="refund", arguments={"order": "A1", "amount": 50}, id="call_1"),
                ToolCall(name="note", arguments={"$unread": "{broken"}, id="call_2"),
            ),
        ),
        (
            "anthropic",
            bodies.ANTHROPIC_TOOL,
            (ToolCall(name="refund", arguments={"order": "A1"}, id="toolu_1"),),
        ),
        ("google", bodies.GOOGLE_TOOL, (ToolCall(name="refund", arguments={"order": "A1"}),)),
        ("ollama", bodies.OLLAMA_TOOL, (ToolCall(name="refund", arguments={"order": "A1"}),)),
    ],
)
def test_tool_calls_are_read_and_none_is_lost(provider: str, body: dict[str, Any], calls: tuple[ToolCall, ...]) -> None:
    answer = BUILTINS_BY_NAME[provider].read_reply(bodies.raw(body))
    assert (answer.tool_calls, answer.finish, answer.text) == (calls, FinishReason.TOOL_CALLS, "")


@pytest.mark.parametrize(
    ("provider", "body", "text", "finish"),
    [
        ("openai", bodies.OPENAI_REFUSAL, "I can't help with that.", FinishReason.REFUSED),
        ("google", bodies.GOOGLE_BLOCKED, "", FinishReason.REFUSED),
        ("google", {"candidates": [{"finishReason": "MAX_TOKENS"}]}, "", FinishReason.LENGTH),
        ("google", {"candidates": [{"finishReason": "NEW_REASON"}]}, "", FinishReason.OTHER),
        ("anthropic", {"content": [], "stop_reason": "refusal"}, "", FinishReason.REFUSED),
        ("anthropic", {"content": [], "stop_reason": "max_tokens"}, "", FinishReason.LENGTH),
        ("ollama", {"message": {"content": "cut"}, "done_reason": "length"}, "cut", FinishReason.LENGTH),
        (
            "openai",
            {"choices": [{"message": {"content": None}, "finish_reason": "length"}]},
            "",
            FinishReason.LENGTH,
        ),
    ],
)
def test_how_an_answer_ended_is_told(provider: str, body: dict[str, Any], text: str, finish: FinishReason) -> None:
    answer = BUILTINS_BY_NAME[provider].read_reply(bodies.raw(body))
    assert (answer.text, answer.finish) == (text, finish)


def test_thinking_that_was_counted_apart_is_not_subtracted() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 100}}
    answer = BUILTINS_BY_NAME["openai-compatible"].read_reply(bodies.raw({**bodies.VLLM, "usage": usage}))
    assert answer.usage == Usage(prompt_tokens=5, completion_tokens=3, thinking_tokens=100)


@pytest.mark.parametrize("provider", list(BUILTINS_BY_NAME))
def test_tokens_that_were_not_counted_are_not_zero(provider: str) -> None:
    provided: dict[str, dict[str, Any]] = {
        "anthropic": bodies.ANTHROPIC,
        "google": bodies.GOOGLE,
        "ollama": {**bodies.OLLAMA, "prompt_eval_count": None, "eval_count": None},
    }
    whole = provided.get(provider, bodies.OPENAI)
    uncounted = {name: value for name, value in whole.items() if name not in ("usage", "usageMetadata")}
    assert BUILTINS_BY_NAME[provider].read_reply(bodies.raw(uncounted)).usage == Usage()


@pytest.mark.parametrize("provider", list(BUILTINS_BY_NAME))
@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"null", b"<html>", b'{"error": {"message": "busy"}}',
     b'{"choices": [], "done": false, "message": {}}', b"\xff\xfe", b'{"choices": [{}]}', b"[" * 100_000],
    ids=["empty", "no field", "null", "page", "error inside", "nothing in it", "not UTF-8", "half", "deep"],
)  # fmt: skip
def test_a_body_without_an_answer_is_never_an_answer(provider: str, body: bytes) -> None:
    with pytest.raises((msgspec.DecodeError, UnreadableReply, UnicodeDecodeError, RecursionError)):
        BUILTINS_BY_NAME[provider].read_reply(body)


def test_tools_are_described_to_each_provider_in_its_way() -> None:
    tool = Tool(name="refund", description="Pays back.", parameters={"type": "object", "properties": {}})
    request = ModelRequest(messages=(ChatMessage(Role.USER, "Hi"),), tools=(tool, Tool(name="ping")))
    described = {provider: body_of(provider, request, CallSettings())["tools"] for provider in BUILTINS_BY_NAME}
    assert described["openai"][0]["function"]["name"] == "refund"
    assert described["openai"][1]["function"]["parameters"] == {"type": "object", "properties": {}}
    assert described["anthropic"][0]["input_schema"] == {"type": "object", "properties": {}}
    assert described["google"][0]["functionDeclarations"][0]["parametersJsonSchema"]["type"] == "object"
    assert described["ollama"][1]["function"]["name"] == "ping"


def test_pictures_are_shown_to_each_provider_in_its_way() -> None:
    picture = ChatMessage(Role.USER, "What is it?", (Image(media_type="image/png", base64="aGk="),))
    sent = {
        provider: body_of(provider, ModelRequest(messages=(picture,)), CallSettings()) for provider in BUILTINS_BY_NAME
    }
    openai = sent["openai"]["messages"][0]["content"]
    assert openai[1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    anthropic = sent["anthropic"]["messages"][0]["content"]
    assert anthropic[0]["source"] == {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert sent["google"]["contents"][0]["parts"][0] == {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    assert sent["ollama"]["messages"][0]["images"] == ["aGk="]


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (SCHEMA, True),
        ({**SCHEMA, "required": ["reason"]}, False),
        ({**SCHEMA, "additionalProperties": True}, False),
        ({"type": "object"}, False),
        ({"type": "array", "items": SCHEMA}, True),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}, False),
        ({**SCHEMA, "$defs": {"open": {"type": "object"}}}, False),
        ({"anyOf": [SCHEMA, {"type": "null"}]}, True),
        ({"type": "string", "enum": ["object"]}, True),
    ],
)
def test_strict_is_asked_only_of_schemas_that_it_takes(schema: dict[str, Any], strict: bool) -> None:
    assert is_strict(schema) is strict


def test_ollama_thinks_not_at_all_when_told_so() -> None:
    sent = body_of("ollama", ModelRequest(messages=(ChatMessage(Role.USER, "Hi"),)), CallSettings(effort="none"))
    assert sent["think"] is False
