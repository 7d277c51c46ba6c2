"""A model behind OpenAI's two APIs, on loopback, that follows a fixed policy: which tool to call, what to say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Said = dict[str, Any]
CHAT_USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "total_tokens": 18,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
RESPONSE_USAGE = {
    "input_tokens": 11,
    "output_tokens": 7,
    "total_tokens": 18,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens_details": {"reasoning_tokens": 2},
}


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else " ".join(str(part.get("text", "")) for part in content or [])


def decide(said: list[Said], tools: set[str]) -> tuple[str, dict[str, Any]] | str:
    """A call, or words."""
    last = max((at for at, message in enumerate(said) if message["role"] == "user"), default=0)
    asked = text_of(said[last]["content"]).lower()
    done = {call for message in said[last:] for call in message.get("calls", ())}
    wanted: dict[str, tuple[bool, dict[str, Any]]] = {
        "transfer_to_billing": ("refund" in asked, {}),
        "ask_billing": ("refund" in asked, {"order_id": "A1"}),
        "issue_refund": ("refund" in asked, {"order_id": "A1", "amount": 50}),
        "lookup_order": ("order" in asked, {"order_id": "Z9" if "unknown" in asked else "A1"}),
        "final_result": (True, {"status": "shipped", "days": 2}),
    }
    for name, (is_wanted, arguments) in wanted.items():
        if is_wanted and name in tools and name not in done:
            return name, arguments
    if said[-1]["role"] == "tool":
        return f"The tool said {text_of(said[-1]['content'])}."
    return f"Hello, this is turn {sum(message['role'] == 'user' for message in said)}."


def from_chat(body: dict[str, Any]) -> list[Said]:
    return [
        {**message, "calls": [call["function"]["name"] for call in message.get("tool_calls") or ()]}
        for message in body["messages"]
    ]


def from_responses(body: dict[str, Any]) -> list[Said]:
    given = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
    said: list[Said] = []
    for each in given:
        match each.get("type"):
            case "function_call":
                said.append({"role": "assistant", "content": "", "calls": [each["name"]]})
            case "function_call_output":
                said.append({"role": "tool", "content": each["output"]})
            case _:
                said.append({"role": each.get("role"), "content": each.get("content")})
    return said


def chat_reply(found: tuple[str, dict[str, Any]] | str, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": found}
    if not isinstance(found, str):
        function = {"name": found[0], "arguments": json.dumps(found[1])}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
        }
    choice = {"index": 0, "message": message, "finish_reason": "stop" if isinstance(found, str) else "tool_calls"}
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": "mock"}
    return {**head, "choices": [choice], "usage": CHAT_USAGE}


def responses_reply(found: tuple[str, dict[str, Any]] | str, number: int) -> dict[str, Any]:
    if isinstance(found, str):
        content = [{"type": "output_text", "text": found, "annotations": []}]
        output: dict[str, Any] = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    else:
        output = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": found[0]}
        output["arguments"] = json.dumps(found[1])
    head = {"id": f"resp_{number}", "object": "response", "created_at": 1.0, "model": "mock", "status": "completed"}
    tail = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": RESPONSE_USAGE}
    return {**head, "output": [{**output, "status": "completed"}], **tail}


class Mock(BaseHTTPRequestHandler):
    """Both APIs; calls are numbered over the life of the server."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Mock.asked += 1
        tools = {tool.get("function", tool).get("name") for tool in body.get("tools") or ()}
        if self.path.endswith("/responses"):
            self._send(responses_reply(decide(from_responses(body), tools), Mock.asked))
        else:
            self._send(chat_reply(decide(from_chat(body), tools), Mock.asked))

    def _send(self, reply: dict[str, Any]) -> None:
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serving() -> Iterator[str]:
    """The mock's base URL while it serves."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Mock)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
