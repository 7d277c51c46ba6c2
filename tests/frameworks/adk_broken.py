"""An agent that breaks in the way that the user names, and one that works beside it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from google.adk.agents import Agent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import ToolContext
from google.genai import types
from google.genai.errors import ClientError

HANG = 600


class BrokenLlm(BaseLlm):
    """Does what the user says."""

    model: str = "broken"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        asked = next(part.text for part in parts if part.text)
        match asked:
            case "model raises":
                raise RuntimeError("the model exploded")
            case "model hangs":
                await asyncio.sleep(HANG)
            case "model dies":
                raise SystemExit(7)
            case "quota":
                yield LlmResponse(error_code="RESOURCE_EXHAUSTED", error_message="out of quota")
            case "quota raised":
                said = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "out of quota"}
                raise ClientError(429, {"error": said})
            case "nothing":
                yield saying(types.Part(text=""))
            case "image":
                yield saying(types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png"))
            case "loop":
                await asyncio.sleep(0.05)  # ADK ends a turn itself after 500 calls
                other = "ping" if "pong" in str(llm_request.config.system_instruction).partition(".")[0] else "pong"
                yield saying(types.Part.from_function_call(name="transfer_to_agent", args={"agent_name": other}))
            case _ if parts[-1].function_response:
                yield saying(types.Part(text="Done."))
            case _:
                yield saying(types.Part.from_function_call(name="work", args={"how": asked}))


def saying(part: types.Part) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[part]))


def work(how: str, tool_context: ToolContext) -> dict[str, Any]:
    """Work, or break."""
    match how:
        case "tool raises":
            raise ValueError("the tool exploded")
        case "tool hangs":
            Path("hangs").touch()
            time.sleep(HANG)
        case "tool dies":
            os.environ["BROKEN_DEATHS"] = "1"
            raise SystemExit(9)
        case "large state":
            tool_context.state["large"] = "x" * 10_000_000
        case "strange state":
            tool_context.state["strange"] = object()
        case _:
            pass
    return {"ok": True}


def check(callback_context: CallbackContext) -> None:
    content = callback_context.user_content
    if content and content.parts and content.parts[0].text == "callback raises":
        raise KeyError("the callback exploded")


pong = Agent(name="pong", model=BrokenLlm(), description="Another", instruction="I am pong.", tools=[work])
root_agent = Agent(
    name="ping",
    model=BrokenLlm(),
    instruction="I am ping.",
    tools=[work],
    sub_agents=[pong],
    before_agent_callback=check,
)
