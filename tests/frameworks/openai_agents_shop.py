"""A front desk that hands refunds over to billing, with the OpenAI Agents SDK, on either of OpenAI's two APIs."""

from __future__ import annotations

import os
from typing import Any

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunContextWrapper,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

set_tracing_disabled(True)


@function_tool
def lookup_order(context: RunContextWrapper[dict[str, Any]], order_id: str) -> dict[str, Any]:
    """Look an order up."""
    context.context["intent"] = "order"
    if order_id != "A1":
        raise ValueError(f"no order {order_id}")
    return {"order_id": order_id, "status": "shipped"}


@function_tool
def issue_refund(context: RunContextWrapper[dict[str, Any]], order_id: str, amount: float) -> dict[str, Any]:
    """Pay an order back."""
    context.context["refunded"] = amount
    return {"ok": True, "amount": amount, "tier": context.context["tier"]}


def desk(model: Any) -> Agent:
    billing = Agent(name="billing", instructions="Refund things.", model=model, tools=[issue_refund])
    return Agent(name="front_desk", instructions="Help.", model=model, tools=[lookup_order], handoffs=[billing])


def client() -> AsyncOpenAI:
    return AsyncOpenAI(base_url=os.environ["SHOP_MODEL_URL"], api_key="none", max_retries=0)


def chat() -> Agent:
    return desk(OpenAIChatCompletionsModel(model="mock", openai_client=client()))


def responses() -> Agent:
    return desk(OpenAIResponsesModel(model="mock", openai_client=client()))
