"""An agent to begin with: customer support of an invented lamp shop. Put your own in its place, in `howsure.yaml`.

`answer` is given what the user says and the state of the session, and gives back what it says, the tools it called
and the state it leaves.
"""

from __future__ import annotations

import re
from typing import Any

ORDERS = {
    "L-1042": {"status": "shipped", "arrives": "on Friday", "total": "39 euros"},
    "L-1077": {"status": "delivered", "arrives": "yesterday", "total": "24 euros"},
}
ORDER = re.compile(r"\bL-\d{4}\b")


def answer(message: str, state: dict[str, Any]) -> dict[str, Any]:
    known = dict(state)
    if re.search(r"broken|refund|money back", message, re.IGNORECASE):
        known["intent"] = "refund"
    if found := ORDER.search(message):
        known["order_id"] = found[0]
    said, calls = _reply(message, known)
    return {"answer": said, "tool_calls": calls, "state": known, "agent": "support"}


def _reply(message: str, known: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    if "how long" in message.lower():
        return "You have the money back within three working days.", []
    order_id = known.get("order_id")
    if order_id is None:
        return "I am sorry to hear that. What is your order number, please?", []
    order = ORDERS.get(order_id)
    look_up = _call("look_up_order", {"order_id": order_id}, order or {"error": "no such order"})
    if order is None:
        return f"I cannot find an order {order_id}. Could you look it up once more?", [look_up]
    if known.get("intent") == "refund":
        refund = _call("refund_order", {"order_id": order_id}, {"refunded": order["total"]})
        return f"I have refunded {order['total']} for order {order_id}.", [look_up, refund]
    return f"Order {order_id} has been {order['status']} and arrives {order['arrives']}.", [look_up]


def _call(name: str, arguments: dict[str, Any], result: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "result": result}
