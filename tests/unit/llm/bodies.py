"""Bodies as the providers send them: one answer, structured answers, tool calls, refusals, errors."""

from __future__ import annotations

import json
from typing import Any

OPENAI: dict[str, Any] = {
    "id": "chatcmpl-9xYz",
    "object": "chat.completion",
    "created": 1762000000,
    "model": "gpt-5-2025-08-07",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Yes.", "refusal": None, "annotations": []},
            "logprobs": {
                "content": [
                    {
                        "token": "Yes",
                        "logprob": -0.105,
                        "bytes": [89, 101, 115],
                        "top_logprobs": [
                            {"token": "Yes", "logprob": -0.105, "bytes": [89]},
                            {"token": "No", "logprob": -2.3, "bytes": None},
                        ],
                    },
                    {"token": ".", "logprob": -0.01, "bytes": [46], "top_logprobs": []},
                ],
                "refusal": None,
            },
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 120,
        "completion_tokens": 90,
        "total_tokens": 210,
        "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 80, "audio_tokens": 0, "accepted_prediction_tokens": 0},
    },
    "service_tier": "default",
    "system_fingerprint": None,
}
OPENAI_TOOL = {
    **OPENAI,
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "refund", "arguments": '{"order":"A1","amount":50}'},
                    },
                    {"id": "call_2", "type": "function", "function": {"name": "note", "arguments": "{broken"}},
                ],
            },
            "finish_reason": "tool_calls",
        }
    ],
}
OPENAI_REFUSAL = {
    **OPENAI,
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": None, "refusal": "I can't help with that."},
            "finish_reason": "stop",
        }
    ],
}
VLLM = {
    "id": "chat-1",
    "object": "chat.completion",
    "created": 1762000000,
    "model": "Qwen/Qwen3-8B",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "reasoning_content": "thinking", "content": "Yes.", "tool_calls": []},
            "logprobs": None,
            "finish_reason": "stop",
            "stop_reason": None,
        }
    ],
    "usage": {"prompt_tokens": 20, "total_tokens": 25, "completion_tokens": 5, "prompt_tokens_details": None},
    "prompt_logprobs": None,
}
MISTRAL = {
    "id": "cmpl-e5cc70bb28c444948073e77776eb30ef",
    "object": "chat.completion",
    "created": 1762000000,
    "model": "magistral-medium-2509",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}]},
                    {"type": "text", "text": "Yes."},
                ],
                "tool_calls": None,
                "prefix": False,
            },
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 16, "completion_tokens": 34, "total_tokens": 50},
}
ANTHROPIC = {
    "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5-20250929",
    "content": [
        {"type": "thinking", "thinking": "Let me see.", "signature": "EqQB"},
        {"type": "text", "text": "Yes"},
        {"type": "text", "text": "."},
    ],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 30,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 60,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 42},
        "service_tier": "standard",
    },
}
ANTHROPIC_TOOL = {
    **ANTHROPIC,
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "refund", "input": {"order": "A1"}}],
    "stop_reason": "tool_use",
}
GOOGLE = {
    "candidates": [
        {
            "content": {
                "parts": [{"text": "Let me see.", "thought": True}, {"text": "Yes."}],
                "role": "model",
            },
            "finishReason": "STOP",
            "avgLogprobs": -0.05,
            "logprobsResult": {
                "topCandidates": [
                    {
                        "candidates": [
                            {"token": "Yes", "tokenId": 9, "logProbability": -0.1},
                            {"token": "No", "tokenId": 8, "logProbability": -2.5},
                        ]
                    }
                ],
                "chosenCandidates": [
                    {"token": "Yes", "tokenId": 9, "logProbability": -0.1},
                    {"token": ".", "tokenId": 1, "logProbability": -0.02},
                ],
            },
            "index": 0,
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 40,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 30,
        "toolUsePromptTokenCount": 5,
        "totalTokenCount": 155,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}],
    },
    "modelVersion": "gemini-2.5-pro",
    "responseId": "3w4Vad6yF",
}
GOOGLE_TOOL = {
    "candidates": [
        {
            "content": {
                "parts": [{"functionCall": {"name": "refund", "args": {"order": "A1"}}, "thoughtSignature": "c2ln"}],
                "role": "model",
            },
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {"promptTokenCount": 10, "totalTokenCount": 14, "thoughtsTokenCount": 4},
    "modelVersion": "gemini-2.5-pro",
}
GOOGLE_BLOCKED = {
    "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
    "usageMetadata": {"promptTokenCount": 10, "totalTokenCount": 10},
    "modelVersion": "gemini-2.5-pro",
}
OLLAMA = {
    "model": "llama3.2:3b",
    "created_at": "2026-11-01T10:00:00.000000Z",
    "message": {"role": "assistant", "content": "Yes.", "thinking": "Let me see."},
    "done": True,
    "done_reason": "stop",
    "total_duration": 4883583458,
    "load_duration": 1334875,
    "prompt_eval_count": 26,
    "prompt_eval_duration": 342546000,
    "eval_count": 298,
    "eval_duration": 4535599000,
    "logprobs": [{"token": "Yes", "logprob": -0.1, "top_logprobs": [{"token": "No", "logprob": -2.0}]}],
}
OLLAMA_TOOL = {
    **OLLAMA,
    "message": {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "refund", "arguments": {"order": "A1"}}}],
    },
    "logprobs": None,
}


def raw(body: Any) -> bytes:
    return json.dumps(body).encode()


def said(body: dict[str, Any], text: str) -> dict[str, Any]:
    """The body of a provider, with another answer in it."""
    if "candidates" in body:
        return {**body, "candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]}
    if "choices" in body:
        return {**body, "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    if "message" in body:
        return {**body, "message": {"role": "assistant", "content": text}}
    return {**body, "content": [{"type": "text", "text": text}]}
