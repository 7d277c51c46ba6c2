"""One conversation with an ADK agent, the same whichever way the agent is reached: turns are sent, what the agent asks
of a person is answered from the case, and the events become replies and spans. How a turn is run is passed in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any

from msgspec.structs import replace

from howsure.model.case import Case
from howsure.model.flag import Flag
from howsure.model.transcript import Span
from howsure.targets.adk.events import Event, author_of, function_parts, read_artifacts, read_reply, written_state
from howsure.targets.adk.spans import AdkTurn, join_spans, turn_beginnings
from howsure.targets.base import Reply
from howsure.traces.values import pick_value

Parts = list[dict[str, Any]]
RunTurn = Callable[[Parts], Awaitable[list[Event]]]
"""Sends the parts of a user's message; gives the events that follow."""

CONFIRMATION = "adk_request_confirmation"
ANSWERS = "tool_answers"
"""The key in a question's `metadata` with the answers of the person whom tools ask, by the name of the tool: for a
confirmation `true`, `false` or `{"confirmed": …, "payload": …}`, for a long-running tool what it gives in the end."""
MOST_ANSWERS = 20
"""How often a person answers in a turn."""


class AdkDialogue:
    """The turns of one conversation."""

    def __init__(self, case: Case, run: RunTurn, session: str, clock: Callable[[], float] = perf_counter) -> None:
        self._answers = tool_answers(case)
        self._run = run
        self._session = session
        self._clock = clock
        self._turns: list[AdkTurn] = []

    async def send(self, text: str) -> Reply:
        """One turn, with the answers that the case has for the agent's tools. (What runs on between them counts.)"""
        began = self._clock()
        events: list[Event] = []
        parts: Parts = [{"text": text}]
        try:
            for _ in range(MOST_ANSWERS):
                events += await self._run(parts)
                parts = list(answer_parts(events, self._answers))
                if not parts:
                    break
                events.append({"author": "user", "content": {"role": "user", "parts": parts}})
        finally:
            self._turns.append(AdkTurn(events, self._clock() - began))
        reply = read_reply(events)
        waiting = [
            Flag("waits_for_a_person", f"{name} waits for an answer that the case does not have")
            for name in unanswered(events)
        ]
        return replace(reply, flags=(*reply.flags, *waiting))

    def spans(
        self, recorded: Sequence[Span] | None, stored: Iterable[Event] = (), inner: Sequence[Event] = ()
    ) -> tuple[Span, ...] | None:
        """The spans: `recorded` ones, completed; else those that the events show. `stored` are the events that the
        server kept, which tell when each turn began; `inner` those of agents behind a tool."""
        began = turn_beginnings(stored)
        turns = [replace(turn, began=began.get(_invocation(turn))) for turn in self._turns]
        return join_spans(recorded, turns, self._session, inner)

    def invocations(self) -> set[str]:
        """The ids of the turns."""
        return set(map(_invocation, self._turns))

    def own_state(self, initial: Mapping[str, Any]) -> dict[str, Any]:
        """What the case began with and what was written since."""
        return {**initial, **written_state(event for turn in self._turns for event in turn.events)}

    def artifacts(self) -> dict[str, int]:
        """What tools saved: the last version of each file."""
        return read_artifacts(event for turn in self._turns for event in turn.events)


def _invocation(turn: AdkTurn) -> str:
    ids = (pick_value(event, "invocation_id", "invocationId") for event in turn.events)
    return next((str(id) for id in ids if id), "")


def tool_answers(case: Case) -> Mapping[str, Any]:
    """The answers in the case's metadata; a golden question's own metadata lies one level deeper."""
    own = case.metadata.get("metadata")
    holders = (case.metadata, own if isinstance(own, Mapping) else {})
    return next((found for holder in holders if isinstance(found := holder.get(ANSWERS), Mapping)), {})


def _waiting(events: Sequence[Event]) -> Iterable[tuple[str, str, str]]:
    """The calls that wait for a person: the id, the function's name, and the tool that it is about."""
    answered = {
        str(one.get("id")) for event in events if not author_of(event) for one in function_parts(event, "response")
    }
    for event in events:
        listed = pick_value(event, "long_running_tool_ids", "longRunningToolIds")
        for call in function_parts(event, "call"):
            id, name = str(call.get("id") or ""), str(call.get("name") or "")
            if id and id not in answered and isinstance(listed, list | tuple | set) and id in listed:
                asked = pick_value(call.get("args"), "originalFunctionCall", "original_function_call")
                yield id, name, str(pick_value(asked, "name") or name) if name == CONFIRMATION else name


def answer_parts(events: Sequence[Event], answers: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """The parts of the message that answers what waits."""
    for id, name, tool in _waiting(events):
        if tool in answers:
            answer = answers[tool]
            if name == CONFIRMATION:
                answer = answer if isinstance(answer, Mapping) else {"confirmed": bool(answer)}
            response = dict(answer) if isinstance(answer, Mapping) else {"result": answer}
            yield {"function_response": {"id": id, "name": name, "response": response}}


def unanswered(events: Sequence[Event]) -> list[str]:
    """The tools that still wait. A long-running tool that already gave something of its own is not waited for."""
    given = {str(one.get("id")) for event in events for one in function_parts(event, "response")}
    return [tool for id, name, tool in _waiting(events) if name == CONFIRMATION or id not in given]
