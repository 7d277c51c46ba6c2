"""A front desk with tools that note what they did in the state of the app, and a billing agent it hands over to."""

from __future__ import annotations

from typing import Any

from google.adk.agents import Agent
from google.adk.tools import AgentTool, LongRunningFunctionTool, ToolContext
from google.genai import types

from .model import ScriptedLlm  # noqa: TID252


def lookup_order(order_id: str, tool_context: ToolContext) -> dict[str, Any]:
    """Look an order up."""
    tool_context.state["app:lookups"] = tool_context.state.get("app:lookups", 0) + 1
    return {"order_id": order_id, "status": "shipped"}


def issue_refund(order_id: str, amount: float, tool_context: ToolContext) -> dict[str, Any]:
    """Pay an order back."""
    tool_context.state["refund_amount"] = amount
    return {"ok": True, "amount": amount}


async def save_artifact(text: str, tool_context: ToolContext) -> dict[str, Any]:
    """Keep a receipt."""
    version = await tool_context.save_artifact("receipt.txt", types.Part(text=text))
    return {"saved": version}


def ask_manager(percent: int) -> dict[str, Any]:
    """Ask for a discount."""
    return {"status": "pending"}


expert = Agent(
    name="expert",
    model=ScriptedLlm(model="gemini-2.5-flash"),  # a server's spans tell of it only what was asked for
    description="Knows the weather",
    instruction="Tell the weather.",
)
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
    tools=[lookup_order, save_artifact, LongRunningFunctionTool(ask_manager), AgentTool(expert)],
    sub_agents=[billing],
)
