"""A model that follows a fixed policy, takes its time, names itself, counts its tokens and cites a source."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

SECONDS = 0.3
SOURCE = types.GroundingMetadata(
    grounding_chunks=[types.GroundingChunk(web=types.GroundingChunkWeb(uri="https://example.com", title="Shipping"))]
)


class ScriptedLlm(BaseLlm):
    """Answers by what the user said last and what the tools gave back."""

    model: str = "scripted"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        await asyncio.sleep(float(os.environ.get("DESK_SECONDS", SECONDS)))
        parts = [part for content in llm_request.contents for part in content.parts or []]
        said = [part.text for part in parts if part.text and not part.text.startswith(("For context:", "["))]
        asked, result = said[-1].lower(), parts[-1].function_response
        if result is not None:
            yield response(types.Part(text=f"The tool said {result.response}."), (200, 30, 120, 5), SOURCE)
        elif wanted := chosen(asked, set(llm_request.tools_dict)):
            yield response(types.Part.from_function_call(name=wanted[0], args=wanted[1]), (100, 10, 0, 20))
        else:
            yield response(types.Part(text="Hello."), (50, 4, 0, 0))


def chosen(asked: str, tools: set[str]) -> tuple[str, dict[str, Any]] | None:
    if "refund" in asked:
        if "issue_refund" in tools:
            return "issue_refund", {"order_id": "A1", "amount": 50}
        return "transfer_to_agent", {"agent_name": "billing"}
    if "discount" in asked:
        return "ask_manager", {"percent": 10}
    if "weather" in asked and "expert" in tools:
        return "expert", {"request": "Hi"}
    if "receipt" in asked:
        return "save_artifact", {"text": "Paid."}
    return ("lookup_order", {"order_id": "A1"}) if "order" in asked else None


def response(
    part: types.Part, counts: tuple[int, int, int, int], grounding: types.GroundingMetadata | None = None
) -> LlmResponse:
    """`counts`: prompt, completion, cached, thinking."""
    prompt, written, cached, thought = counts
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=prompt,
        candidates_token_count=written,
        cached_content_token_count=cached,
        thoughts_token_count=thought,
        total_token_count=prompt + written + thought,
    )
    return LlmResponse(
        content=types.Content(role="model", parts=[part]),
        usage_metadata=usage,
        model_version="gemini-2.5-flash",
        finish_reason=types.FinishReason.STOP,
        grounding_metadata=grounding,
    )
