"""One bot for every kind of live target: the same behaviour behind HTTP, a function and a program. Run as a program, it
speaks JSON lines.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

GREETING = "Hello! How can I help?"
GARBAGE = "<html>this is no answer</html>"
MISHAPS = ("break", "hang", "leave", "garbage", "refuse", "nothing of use")
"""Messages that the bot cannot cope with; how that looks depends on the way to it."""


class ShopBot:
    """Answers by what the message starts with; remembers how often each session has spoken."""

    def __init__(self) -> None:
        self.spoken: dict[str, int] = {}

    def answer(self, message: str, session_id: str, state: dict[str, Any]) -> dict[str, Any]:
        self.spoken[session_id] = self.spoken.get(session_id, 0) + 1
        match message.split(":")[0]:
            case "hello":
                return {"answer": GREETING}
            case "order":
                return order(message.partition(":")[2])
            case "count":
                return {
                    "answer": f"{state.get('count', 0) + 1}",
                    "state": {**state, "count": state.get("count", 0) + 1},
                }
            case "how often":
                return {"answer": f"{self.spoken[session_id]} times"}
            case "silence":
                return {"answer": ""}
            case "several":
                return {"answer": ["One moment.", "There it is."]}
            case "refuse":
                return {"error": {"message": "no tokens left"}}
            case "nothing of use":
                return {"weather": "fine"}
            case _:
                return {"answer": f"You said: {message}"}


def order(number: str) -> dict[str, Any]:
    """Looks an order up, as frameworks tell it: calls and results as messages."""
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": json.dumps({"order": number})}}
    return {
        "messages": [
            {"role": "assistant", "content": "Let me see.", "tool_calls": [call], "name": "router"},
            {"role": "tool", "tool_call_id": "c1", "content": '{"status": "shipped"}'},
            {"role": "assistant", "content": f"Order {number} is on its way.", "name": "orders"},
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
    }


def program() -> None:
    """The bot as a program."""
    bot = ShopBot()
    if path := os.environ.get("SHOP_BOT_PIDS"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
    for line in sys.stdin:
        asked = json.loads(line)
        match asked["message"]:
            case "break":
                print("the shop is on fire", file=sys.stderr)
                raise RuntimeError("boom")
            case "hang":
                time.sleep(60)
            case "leave":
                sys.exit(3)
            case "garbage":
                print(GARBAGE)
            case message:
                answer = bot.answer(message, asked["session_id"], asked["state"])
                print(json.dumps({**answer, **({"id": asked["id"]} if "id" in asked else {})}))


if __name__ == "__main__":
    program()
