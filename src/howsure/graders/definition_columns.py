"""The columns that a definition of the golden world may name, told from a case and its transcript: whatever dialect the
case came from, `user_inputs` is what the user said and `extracted_data:tool_interactions` is what was called. A column
that the case does not have is `MISSING`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import msgspec

from howsure.graders.case_sources import MISSING, SOURCES, Material
from howsure.matching.arguments import at_path
from howsure.model.case import Case, user_turns
from howsure.model.expectation import AgentsInvolved, ExpectedCall, FinalState, ToolCalls, Trajectory
from howsure.model.transcript import AgentStep, Message, Role, ToolCall

EXTRACTED, REFERENCE = "extracted_data", "reference_data"
ROOT = "root:"
WHOLE_LISTS = ("tool_declarations", "conversation_history", "intermediate_events", "context")
"""Lists under these names stay JSON; others are read line by line."""

Json = dict[str, Any]


class Columns:
    """The columns of one conversation."""

    def __init__(self, material: Material) -> None:
        self._given = material

    def find(self, name: str) -> Any:
        """A column by its name: as it stands, inside `extracted_data` or `reference_data`, or nested (`column:a.b`)."""
        flat = name.removeprefix(ROOT).replace(":", ".")
        for place in dict.fromkeys((flat, f"{EXTRACTED}.{flat}", f"{REFERENCE}.{flat}", name)):
            found = at_path(self._all, place, MISSING)
            if found is not MISSING and found is not None:
                return found
        return MISSING

    def prompt(self) -> Any:
        return list(user_turns(self._given.case.input))

    def response(self) -> Any:
        """The answer; without one, the steps that were taken."""
        return self._given.transcript.answer or self.find("trace_summary")

    @cached_property
    def _all(self) -> Json:
        case, transcript = self._given.case, self._given.transcript
        told: Json = {
            **case.metadata,
            "question_id": case.id,
            "user_inputs": self.prompt(),
            "final_response": transcript.answer,
            "response": transcript.answer,
            "agents_evaluated": self._agents(),
            "question_metadata": case.metadata.get("question_metadata", case.metadata.get("metadata", case.labels)),
            "trace_summary": case.metadata.get("trace_summary") or list(self._summary()),
            "sub_agent_trace": list(_spoken(transcript.messages)),
            "final_session_state": None if transcript.state is None else {"state": transcript.state},
            "session_state": transcript.state,
            "session_trace": None if transcript.spans is None else [msgspec.to_builtins(s) for s in transcript.spans],
            "system_instructions": self._instructions(),
            EXTRACTED: self._extracted(),
            REFERENCE: self._reference(),
        }
        return {name: value for name, value in told.items() if value is not None}

    def _extracted(self) -> Json:
        """What the conversation told, over what the file kept beside it, over the state's own keys."""
        transcript = self._given.transcript
        kept = self._given.case.metadata.get(EXTRACTED)
        tools = SOURCES["tools"](self._given)
        told: Json = {
            "state_variables": transcript.state,
            "tool_interactions": [_interaction(call) for call in transcript.tool_calls],
            "sub_agent_trace": list(_spoken(transcript.messages)),
            "conversation_history": [
                {"role": message.role.value, "content": message.content} for message in transcript.messages
            ],
            "system_instruction": self._instructions(),
            # A converter's list of the tools that were used says nothing of those the agent has.
            "tool_declarations": None if tools is MISSING else tools,
        }
        return {
            **(transcript.state or {}),
            **(kept if isinstance(kept, dict) else {}),
            **{name: value for name, value in told.items() if value is not None or name == "tool_declarations"},
        }

    def _reference(self) -> Json:
        reference: Json = {}
        for expected in self._given.case.expectations:
            match expected:
                case ToolCalls(expected=calls):
                    reference["reference_tool_interactions"] = list(map(_expected, calls))
                case Trajectory(steps=steps):
                    reference["reference_trajectory"] = list(steps)
                case FinalState(variables=variables):
                    reference["reference_state_variables"] = variables
                case _:
                    continue
        kept = self._given.case.metadata.get(REFERENCE)
        return {**(kept if isinstance(kept, dict) else {}), **reference}

    def _agents(self) -> list[str]:
        return sorted(agents_of(self._given.case))

    def _summary(self) -> Iterator[str]:
        for step in self._given.transcript.trajectory:
            yield f"{'agent' if isinstance(step, AgentStep) else 'tool'}:{step.name}"

    def _instructions(self) -> str | None:
        kept = self._given.case.metadata
        told = kept.get("system_instructions") or at_path(kept, f"{EXTRACTED}.system_instruction")
        return told or (self._given.agent.system_prompt if self._given.agent else None) or None


def agents_of(case: Case) -> set[str]:
    """The agents that a question is for: those that should take part, and the one that its file names."""
    names = {name for each in case.expectations if isinstance(each, AgentsInvolved) for name in each.names}
    listed = case.metadata.get("agents_evaluated")
    names.update(name for name in (listed if isinstance(listed, list) else ()) if isinstance(name, str))
    return names | ({case.labels["agent"]} if case.labels.get("agent") else set())


def column_text(name: str, value: Any) -> str:
    """A column as a judge reads it: of a list, one line for each of its members."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and name not in WHOLE_LISTS:
        return "\n".join(each if isinstance(each, str) else _json(each) for each in value)
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def _spoken(messages: tuple[Message, ...]) -> Iterator[Json]:
    for message in messages:
        if message.role is Role.ASSISTANT and message.content:
            yield {"agent_name": message.agent, "text_response": message.content}


def _interaction(call: ToolCall) -> Json:
    seen = {"output_result": call.result.content} if call.result else {"status": "no_response"}
    return {"tool_name": call.name, "input_arguments": call.arguments, **seen}


def _expected(call: ExpectedCall) -> Json:
    return {"tool_name": call.name, "input_arguments": call.arguments}
