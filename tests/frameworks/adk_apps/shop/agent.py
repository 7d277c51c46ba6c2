"""A front desk and a billing agent with two tools, on a model that follows a fixed policy: no network at all."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import ToolContext
from google.genai import types

SPENT = types.GenerateContentResponseUsageMetadata(prompt_token_count=11, candidates_token_count=7)


class ScriptedLlm(BaseLlm):
    """Answers by what the user said last and what the tools gave back."""

    model: str = "scripted"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said = [part for content in llm_request.contents for part in content.parts or []]
        answered = said[-1].function_response
        asked = last_words(said)
        if answered is not None:
            for reply in spoken(f"The tool said {answered.response}.", stream):
                yield reply
        elif "explode" in asked:
            raise RuntimeError("the model exploded")
        elif "quota" in asked:
            yield LlmResponse(error_code="RESOURCE_EXHAUSTED", error_message="out of quota")
        else:
            wanted = chosen(asked, set(llm_request.tools_dict))
            turns = sum(content.role == "user" for content in llm_request.contents)
            for reply in [calling(*wanted)] if wanted else spoken(f"Hello, this is turn {turns}.", stream):
                yield reply


def last_words(said: list[Any]) -> str:
    """What the user said last. ADK tells an agent what others did as words of the user, in brackets."""
    words = [part.text for part in said if part.text and not part.text.startswith(("For context:", "["))]
    return str(words[-1]).lower()


def chosen(asked: str, tools: set[str]) -> tuple[str, dict[str, Any]] | None:
    if "refund" in asked:
        if "issue_refund" in tools:
            return "issue_refund", {"order_id": "A1", "amount": 50}
        return "transfer_to_agent", {"agent_name": "billing"}
    if "order" in asked and "lookup_order" in tools:
        return "lookup_order", {"order_id": "Z9" if "unknown" in asked else "A1"}
    return None


def calling(name: str, arguments: dict[str, Any]) -> LlmResponse:
    parts = [types.Part(text="I need a tool.", thought=True), types.Part.from_function_call(name=name, args=arguments)]
    return LlmResponse(content=types.Content(role="model", parts=parts), usage_metadata=SPENT)


def spoken(text: str, stream: bool) -> list[LlmResponse]:
    whole = LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]), usage_metadata=SPENT)
    if not stream:
        return [whole]
    pieces = [types.Content(role="model", parts=[types.Part(text=piece)]) for piece in (text[:5], text[5:])]
    return [*(LlmResponse(content=piece, partial=True) for piece in pieces), whole]


def lookup_order(order_id: str, tool_context: ToolContext) -> dict[str, Any]:
    """Look an order up."""
    tool_context.state["customer_intent"] = "order"
    if order_id != "A1":
        return {"error": f"no order {order_id}"}
    return {"order_id": order_id, "status": "shipped"}


def issue_refund(order_id: str, amount: float, tool_context: ToolContext) -> dict[str, Any]:
    """Pay an order back."""
    tool_context.state["refund_amount"] = amount
    return {"ok": True, "amount": amount, "tier": tool_context.state.get("tier", "")}


billing = Agent(
    name="billing",
    model=ScriptedLlm(),
    description="Handles refunds",
    instruction="Refund things.",
    tools=[issue_refund],
)
root_agent = Agent(
    name="front_desk",
    model=ScriptedLlm(),
    description="Front desk",
    instruction="Help. Send refunds to billing.",
    tools=[lookup_order],
    sub_agents=[billing],
)
