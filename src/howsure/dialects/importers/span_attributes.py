"""What a span of a model's call was given and said, by whichever attributes its library writes; and spans out of JSON
of OpenTelemetry, whose values are wrapped in their types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from howsure.dialects.documents import Json
from howsure.dialects.importers.chat_shapes import ASSISTANT, USER, Call, Said, read_talk
from howsure.dialects.simulation_talk import arguments_of
from howsure.model.transcript import Span

GIVEN = ("gen_ai.input.messages", "langfuse.observation.input", "gcp.vertex.agent.llm_request", "input.value")
SAID = ("gen_ai.output.messages", "langfuse.observation.output", "gcp.vertex.agent.llm_response", "output.value")
_NUMBERED = re.compile(
    r"(?P<family>llm\.(?:input|output)_messages|gen_ai\.(?:prompt|completion))\.(?P<place>\d+)\.(?P<rest>.+)"
)
_CALL = re.compile(
    r"tool_calls\.(?P<call>\d+)\.(?:tool_call\.function\.|tool_call\.|function\.)?(?P<field>id|name|arguments)"
)
_PART = re.compile(r"contents\.\d+\.message_content\.text")
_SPOKEN = re.compile(r"^(system|developer|user|assistant|tool): ", re.MULTILINE)


def given_messages(span: Span) -> list[Said]:
    """The conversation that was put to the model."""
    for name in GIVEN:
        value = span.attributes.get(name)
        if isinstance(value, str) and _SPOKEN.match(value):
            continue
        if talk := read_talk(value, USER):
            return talk
    numbered = _numbered(span, "llm.input_messages", USER) or _numbered(span, "gen_ai.prompt", USER)
    return numbered or _printed(span.attributes.get("langfuse.observation.input"))


def said_messages(span: Span) -> list[Said]:
    """What the model said."""
    for name in SAID:
        talk = [said for said in read_talk(_spoken(span.attributes.get(name)), ASSISTANT) if said.role == ASSISTANT]
        if talk:
            return talk
    numbered = _numbered(span, "llm.output_messages", ASSISTANT) or _numbered(span, "gen_ai.completion", ASSISTANT)
    return [said for said in numbered if said.role == ASSISTANT]


def _spoken(value: Any) -> Any:
    """Some libraries print `None` where the model said nothing in words."""
    return None if value == "None" else value


def _printed(value: Any) -> list[Said]:
    """`system: …`, `user: …` in one text, a message from each such line to the next."""
    if not isinstance(value, str) or not _SPOKEN.match(value):
        return []
    pieces = _SPOKEN.split(value)[1:]
    talk = [
        said
        for role, text in zip(pieces[::2], pieces[1::2], strict=True)
        for said in read_talk({"role": role, "content": text.strip()})
    ]
    return [said for said in talk if said.text != "None"]


def _numbered(span: Span, family: str, role: str) -> list[Said]:
    """Messages that are spread over attributes by number. Where the first ones were cut off, none is told."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in span.attributes.items():
        match = _NUMBERED.fullmatch(name)
        if match and match["family"] == family:
            found.setdefault(int(match["place"]), {})[match["rest"].removeprefix("message.")] = value
    if not found or min(found) > 0:
        return []
    talk = [said for place in sorted(found) for said in _spread(found[place], role)]
    return [said for said in talk if not said.empty]


def _spread(fields: Mapping[str, Any], role: str) -> list[Said]:
    texts = [value for name, value in fields.items() if _PART.fullmatch(name) and isinstance(value, str)]
    content = fields.get("content") or "\n".join(texts)
    message = {"role": fields.get("role") or role, "content": content, "tool_call_id": fields.get("tool_call_id")}
    calls = _spread_calls(fields)
    if calls:
        text = content if isinstance(content, str) else ""
        return [Said(ASSISTANT, text.strip(), calls)]
    return read_talk(message, role)


def _spread_calls(fields: Mapping[str, Any]) -> tuple[Call, ...]:
    found: dict[int, dict[str, Any]] = {}
    for name, value in fields.items():
        if match := _CALL.fullmatch(name):
            found.setdefault(int(match["call"]), {})[match["field"]] = value
    return tuple(
        Call(str(call.get("id") or ""), str(call.get("name") or ""), arguments_of(call.get("arguments")))
        for _, call in sorted(found.items())
    )


def unwrapped(value: Any) -> Any:
    """`{"stringValue": "x"}` is "x", at any depth; whole numbers are written as text."""
    if not isinstance(value, dict):
        return value
    if "arrayValue" in value:
        return [unwrapped(one) for one in (value["arrayValue"] or {}).get("values") or ()]
    if "kvlistValue" in value:
        return attributes_of((value["kvlistValue"] or {}).get("values"))
    if "intValue" in value:
        return int(value["intValue"])
    return next(
        (value[name] for name in ("stringValue", "boolValue", "doubleValue", "bytesValue") if name in value), None
    )


def attributes_of(listed: Any) -> Json:
    """A list of `{"key", "value"}`, or an object already."""
    if isinstance(listed, dict):
        return listed
    pairs = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return {str(one.get("key")): unwrapped(one.get("value")) for one in pairs}
