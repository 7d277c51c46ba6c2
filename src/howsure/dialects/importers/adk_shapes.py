"""What ADK writes, in either spelling of its keys: contents and their texts, calls, events, invocations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from howsure.dialects.documents import Json
from howsure.dialects.simulation_repair import camel
from howsure.dialects.simulation_talk import arguments_of, either, objects_in
from howsure.model.expectation import ExpectedCall

PRIVATE = "__"
"""How the names of what frameworks hide in a session begin (`__llm_request_key__`)."""


def told(holder: Any, name: str) -> Any:
    """The value under `name`, spelt as_here or asHere; None where there is none."""
    return either(holder, name, next(iter(camel({name: 0})))) if isinstance(holder, dict) else None


def parts_of(content: Any) -> list[Json]:
    return objects_in(told(content, "parts"))


def text_of(content: Any) -> str:
    """What a content says to the other side; thoughts are not said."""
    said = [part["text"] for part in parts_of(content) if isinstance(part.get("text"), str) and not part.get("thought")]
    return "\n".join(said)


def calls_in(content: Any) -> list[Json]:
    return objects_in([told(part, "function_call") for part in parts_of(content)])


def responses_in(content: Any) -> list[Json]:
    return objects_in([told(part, "function_response") for part in parts_of(content)])


def expected_calls(invocation: Json) -> tuple[ExpectedCall, ...] | None:
    """The calls that an expected invocation lists (in either of the two forms); None where it says nothing of calls."""
    data = told(invocation, "intermediate_data")
    if not isinstance(data, dict):
        return None
    uses = told(data, "tool_uses")
    events = told(data, "invocation_events")
    if not isinstance(uses, list) and not isinstance(events, list):
        return None
    calls = objects_in(uses) or [call for event in objects_in(events) for call in calls_in(event.get("content"))]
    return tuple(
        ExpectedCall(name=str(call.get("name", "")), arguments=arguments_of(call.get("args"))) for call in calls
    )


def public(value: Any) -> Any:
    """Without private keys, at any depth."""
    if isinstance(value, dict):
        return {key: public(inner) for key, inner in value.items() if not key.startswith(PRIVATE)}
    return [public(inner) for inner in value] if isinstance(value, list) else value


def events_of_invocation(invocation: Json) -> Iterator[Json]:
    """The events of one turn, for histories without a session: what the user said, what was done, the answer."""
    said = told(invocation, "user_content")
    if said is not None:
        yield {"author": "user", "content": said}
    data = told(invocation, "intermediate_data") or {}
    yield from _done(data)
    answer = told(invocation, "final_response")
    if answer is not None and text_of(answer):
        last = objects_in(told(data, "invocation_events"))
        if not last or text_of(last[-1].get("content")) != text_of(answer):
            yield {"author": "model", "content": answer}


def _done(data: Json) -> Iterator[Json]:
    events = told(data, "invocation_events")
    if isinstance(events, list):
        yield from objects_in(events)
        return
    answers = {str(one.get("id")): one for one in objects_in(told(data, "tool_responses")) if one.get("id")}
    for call in objects_in(told(data, "tool_uses")):
        yield {"author": "model", "content": {"role": "model", "parts": [{"function_call": call}]}}
        if str(call.get("id")) in answers:
            response = {"function_response": answers[str(call.get("id"))]}
            yield {"author": "model", "content": {"role": "user", "parts": [response]}}
