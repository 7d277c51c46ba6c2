"""A shop's agent that asks another one for refunds, with Pydantic AI."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


@dataclass
class Shop:
    """What tools depend on."""

    tier: str = ""
    intent: str = ""


class Shipping(BaseModel):
    """A structured answer."""

    status: str
    days: int


def model() -> Any:
    return OpenAIChatModel("mock", provider=OpenAIProvider(base_url=os.environ["SHOP_MODEL_URL"], api_key="none"))


def lookup_order(context: RunContext[dict[str, Any]], order_id: str) -> dict[str, Any]:
    """Look an order up."""
    context.deps["intent"] = "order"
    if order_id != "A1":
        raise ModelRetry(f"no order {order_id}")
    return {"order_id": order_id, "status": "shipped"}


async def ask_billing(context: RunContext[dict[str, Any]], order_id: str) -> dict[str, Any]:
    """Ask billing to pay an order back."""
    billing = Agent(model(), name="billing", deps_type=dict, tools=[issue_refund])
    answer = await billing.run("Refund order A1", deps=context.deps, usage=context.usage)
    return {"billing": answer.output}


def issue_refund(context: RunContext[dict[str, Any]], order_id: str, amount: float) -> dict[str, Any]:
    """Pay an order back."""
    context.deps["refunded"] = amount
    return {"ok": True, "amount": amount}


def build() -> Any:
    return Agent(model(), name="front_desk", deps_type=dict, tools=[lookup_order, ask_billing])


def note(context: RunContext[Shop]) -> str:
    """Note the intent."""
    context.deps.intent = "noted"
    return "noted"


def structured() -> Any:
    return Agent(model(), name="tracker", deps_type=Shop, output_type=Shipping)


def shop(state: dict[str, Any]) -> Shop:
    return Shop(**state)
