"""A front desk that hands refunds over to billing, as a LangGraph of two agents with a tool each."""

from __future__ import annotations

import os
from typing import Annotated, Any

from langchain.agents import AgentState, create_agent
from langchain.tools import InjectedState, InjectedToolCallId, tool
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt


class ShopState(AgentState):
    """The conversation and what the shop notes about it."""

    tier: str
    intent: str
    refunded: float


@tool
def lookup_order(order_id: str) -> dict[str, Any]:
    """Look an order up."""
    if order_id != "A1":
        raise ValueError(f"no order {order_id}")
    return {"order_id": order_id, "status": "shipped"}


@tool
def transfer_to_billing(
    state: Annotated[dict[str, Any], InjectedState], call_id: Annotated[str, InjectedToolCallId]
) -> Command:
    """Hand over to billing."""
    handed = ToolMessage("Billing takes over.", tool_call_id=call_id, name="transfer_to_billing")
    update = {"messages": [*state["messages"], handed], "intent": "refund"}
    return Command(goto="billing", graph=Command.PARENT, update=update)


@tool
def issue_refund(
    order_id: str,
    amount: float,
    state: Annotated[dict[str, Any], InjectedState],
    call_id: Annotated[str, InjectedToolCallId],
) -> Command:
    """Pay an order back."""
    paid = ToolMessage(f'{{"ok": true, "amount": {amount}, "tier": "{state["tier"]}"}}', tool_call_id=call_id)
    return Command(update={"messages": [paid], "refunded": amount})


def model() -> Any:
    return ChatOpenAI(model="mock", base_url=os.environ["SHOP_MODEL_URL"], api_key="none", max_retries=0)


def build() -> Any:
    """Two agents; the graph has no checkpointer of its own."""
    desk = create_agent(model(), [lookup_order, transfer_to_billing], state_schema=ShopState, name="front_desk")
    billing = create_agent(model(), [issue_refund], state_schema=ShopState, name="billing")
    graph = StateGraph(ShopState)
    graph.add_node("front_desk", desk)
    graph.add_node("billing", billing)
    graph.add_edge(START, "front_desk")
    return graph.compile()


def approve(state: ShopState) -> dict[str, Any]:
    """Asks before it acts."""
    answer = interrupt("Shall I cancel the order?")
    return {"messages": [{"role": "assistant", "content": f"You said {answer}."}], "intent": "cancel"}


asking = StateGraph(ShopState)
asking.add_node("approve", approve)
asking.add_edge(START, "approve")
