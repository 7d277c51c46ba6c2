"""An agent that does what `script.json` beside it says: for each message of the user the calls, all at once, and then
the answer. Its tools carry the names of the script. No network at all."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import BaseTool, ToolContext
from google.genai import types

SCRIPT: dict[str, Any] = json.loads((Path(__file__).parent / "script.json").read_text(encoding="utf-8"))
SPENT = types.GenerateContentResponseUsageMetadata(prompt_token_count=11, candidates_token_count=7)


class ScriptedTool(BaseTool):
    """Takes any arguments."""

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return {"ok": True}


class ScriptedLlm(BaseLlm):
    """Answers the last message of the user by the script."""

    model: str = "scripted"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said = [part for content in llm_request.contents for part in content.parts or []]
        asked = next(part.text for part in reversed(said) if part.text and part.text in SCRIPT)
        step = SCRIPT[asked]
        if step["calls"] and said[-1].function_response is None:
            parts = [types.Part.from_function_call(name=call["name"], args=call["args"]) for call in step["calls"]]
        else:
            parts = [types.Part(text=step["answer"])]
        content = types.Content(role="model", parts=parts)
        yield LlmResponse(content=content, usage_metadata=SPENT, model_version="gemini-2.5-flash")


NAMES = dict.fromkeys(call["name"] for step in SCRIPT.values() for call in step["calls"])
root_agent = Agent(
    name="scripted",
    model=ScriptedLlm(),
    instruction="Follow the script.",
    tools=[ScriptedTool(name=name, description=f"Does {name}.") for name in NAMES],
)
