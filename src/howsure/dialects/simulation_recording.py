"""What a simulation row recorded of a conversation, as a Transcript: of several columns that tell the same thing, the
one that tells it best is read. docs/dialects/simulation.md lists the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from howsure.dialects.documents import Json
from howsure.dialects.json_places import Spot
from howsure.dialects.simulation_repair import originals_in, repaired
from howsure.dialects.simulation_talk import (
    Talk,
    either,
    from_contents,
    from_events,
    from_extract,
    from_traces,
    from_turns,
    objects_in,
)
from howsure.dialects.simulation_trace import calls_of_spans, invented, read_spans, steps_of_spans, steps_of_summary
from howsure.errors import Problem
from howsure.model.transcript import Message, Mishap, Role, Span, Step, Tool, Transcript, Usage

_SESSION = {"state", "events", "appName", "app_name", "userId", "user_id", "lastUpdateTime", "last_update_time"}
AGENT_DECLARES = "declared_by_agent"
"""Beside `tool_declarations` of a converted conversation: the agent made them; they are no list of what it called."""
DETAILS = "event_details"
"""Where what the events said beyond the messages is kept, in the column that held them."""
_TOKENS = {
    "prompt_tokens": ("prompt_token_count", "promptTokenCount"),
    "completion_tokens": ("candidates_token_count", "candidatesTokenCount"),
    "cached_tokens": ("cached_content_token_count", "cachedContentTokenCount"),
    "thinking_tokens": ("thoughts_token_count", "thoughtsTokenCount"),
}


class Recording:
    """Reads the columns of one row that hold its conversation, and takes out of `left` what it read."""

    def __init__(self, left: Json, turns: Sequence[str], spot: Spot, *, simulated: bool) -> None:
        self._left = left
        self._turns = turns
        self._spot = spot
        self._simulated = simulated
        self.problems: list[Problem] = []
        self.tools: tuple[Tool, ...] | None = None
        self._extracted: Json = dict(left.get("extracted_data", {}))
        self._column = "final_session_state" if "final_session_state" in left else "session_state"
        session = left.get(self._column, {})
        bare = self._column == "session_state" and session and not _SESSION & session.keys()
        self._session: Json = {"state": session} if bare else dict(session)
        self._details_in = self._column

    def made(self) -> Transcript | Mishap:
        answer = self._answer()
        if answer is None and self._silent():
            return Mishap(reason="no answer was recorded: the row has no final_response and nothing that was said")
        self._left.pop("final_response", None)
        spans = self._spans()
        talk = self._talk(answer)
        originals = [*originals_in(self._left.get("custom_extract")), *calls_of_spans(spans or ())]
        messages = repaired(talk.messages, originals)
        made_up = self._simulated or bool(spans and invented(spans))
        steps = self._steps(spans or (), messages, made_up)
        state = self._state()
        self._declared()
        usage = usage_of([*talk.details, *self._earlier()], self._extracted.get("per_turn_tokens"))
        self._keep(talk.details)
        return Transcript(
            answer=last_said(messages) if answer is None else answer,
            messages=messages,
            steps=steps,
            state=state,
            spans=spans,
            usage=usage,
            invented_times=made_up,
        )

    def _answer(self) -> str | None:
        """None: no column tells it, and what was said must."""
        given = self._left.get("final_response")
        if given is not None:
            return str(given)
        candidates = objects_in(self._left.get("response", {}).get("candidates"))
        contents = objects_in([one.get("content") for one in candidates[:1]])
        said = from_contents([{"role": "model", **one} for one in contents], None).messages
        return said[-1].content if said else None

    def _silent(self) -> bool:
        """Whether nothing in the row tells what was said."""
        told = ("custom_extract", "sub_agent_trace", "request")
        inside = ("sub_agent_trace", "tool_interactions", "conversation_history")
        return not (
            "events" in self._session
            or any(self._left.get(column) for column in told)
            or any(self._extracted.get(name) for name in inside)
        )

    def _earlier(self) -> list[Json]:
        """Details that were kept when the row was written by us."""
        sessions = [self._left.get(column, {}) for column in ("final_session_state", "session_state")]
        kept = [*(session.get(DETAILS) for session in sessions), self._left.get("custom_extract")]
        return [one for details in kept for one in objects_in(details) if "event" in one]

    def _spans(self) -> tuple[Span, ...] | None:
        if "session_trace" not in self._left:
            return None
        spans, problems = read_spans(self._left["session_trace"], self._spot.below("session_trace"))
        self.problems += problems
        del self._left["session_trace"]
        return spans

    def _talk(self, answer: str | None) -> Talk:
        """The best account of who said and did what."""
        events = self._session.get("events")
        if isinstance(events, list) and events:
            del self._session["events"]
            return from_events(events)
        if extract := self._left.pop("custom_extract", None):
            talk = from_extract(extract)
            self._details_in = "custom_extract"
            return talk
        spoken = self._taken("sub_agent_trace") or self._left.pop("sub_agent_trace", None) or []
        interactions = self._taken("tool_interactions") or []
        if spoken or interactions:
            return from_traces(self._turns, spoken, interactions)
        contents = self._left.get("request", {}).get("contents") or self._extracted.get("conversation_history")
        if isinstance(contents, list) and contents:
            return from_contents(contents, answer)
        return from_turns(self._turns, answer)

    def _taken(self, name: str) -> Any:
        return self._extracted.pop(name, None) if isinstance(self._extracted.get(name), list) else None

    def _steps(self, spans: Sequence[Span], messages: Sequence[Message], made_up: bool) -> tuple[Step, ...]:
        """Real spans show agents inside agents; messages show the rest; a summary without repeats comes last."""
        shown = steps_of_spans(spans, made_up=made_up)
        if shown and not made_up:
            return shown
        if any(message.agent or message.tool_calls for message in messages):
            return ()
        if shown:
            return shown
        summary = steps_of_summary(self._left.get("trace_summary"))
        if summary:
            del self._left["trace_summary"]
        return summary

    def _state(self) -> Json | None:
        told, held = self._extracted.pop("state_variables", None), self._session.get("state")
        state = told if isinstance(told, dict) and (told or not held) else held
        if not isinstance(state, dict):
            return None
        for key, value in state.items():
            if key in self._extracted and self._extracted[key] == value:
                del self._extracted[key]
        public = _public(state)
        if isinstance(held, dict) and _public(held) == public:
            del self._session["state"]
        return public

    def _declared(self) -> None:
        """The tools the agent has, unless they were only gathered from those it used."""
        declared = self._extracted.get("tool_declarations")
        own = self._extracted.get(AGENT_DECLARES) is True
        if not isinstance(declared, list) or (self._simulated and not own):
            return
        tools = tuple(_tools(declared))
        if tools and not all(tool.description == f"Tool: {tool.name}" for tool in tools):
            del self._extracted["tool_declarations"]
            self._extracted.pop(AGENT_DECLARES, None)
            self.tools = tools

    def _keep(self, details: list[Json]) -> None:
        """What is left of the columns that were read in part."""
        if details and self._details_in == "custom_extract":
            self._left["custom_extract"] = details
        elif details:
            self._session[DETAILS] = [*objects_in(self._session.get(DETAILS)), *details]
        for column, value in (("extracted_data", self._extracted), (self._column, self._session)):
            self._left.pop(column, None)
            rest = {key: inner for key, inner in value.items() if (key, inner) != ("events", [])}
            if rest:
                self._left[column] = rest


def _public(state: Json) -> Json:
    """Without what frameworks hide in a session (`__llm_request_key__` …)."""
    return {key: value for key, value in state.items() if not key.startswith("__")}


def _tools(declared: Sequence[Any]) -> Iterable[Tool]:
    for declaration in objects_in(declared):
        functions = either(declaration, "function_declarations", "functionDeclarations") or [declaration]
        for function in objects_in(functions):
            if isinstance(function.get("name"), str):
                parameters = either(function, "parameters", "parameters_json_schema", "parametersJsonSchema")
                yield Tool(
                    name=function["name"],
                    description=str(function.get("description") or ""),
                    parameters=parameters if isinstance(parameters, dict) else None,
                )


def usage_of(details: Iterable[Json], per_turn: Any) -> Usage | None:
    """The tokens of all calls together; None where nobody counted."""
    counted = [either(one, "usageMetadata", "usage_metadata", "token_usage") for one in details]
    counted = objects_in(counted) or objects_in(per_turn)
    sums: dict[str, int | None] = {}
    for name, spellings in _TOKENS.items():
        told = [count for one in counted if type(count := either(one, *spellings)) is int]
        sums[name] = sum(told) if told else None
    return Usage(**sums) if any(count is not None for count in sums.values()) else None


def last_said(messages: Sequence[Message]) -> str:
    """The last text to the user; what stands beside a tool call is thinking aloud."""
    said = (one for one in reversed(messages) if one.role is Role.ASSISTANT and one.content and not one.tool_calls)
    return next((one.content for one in said), "")
