"""Graders for the definitions of the golden world: templates filled from the columns of a conversation, and our own
evals under other names or for certain agents. A missing column is an error that names it, never an empty text. The
columns are the same whatever dialect a case came from: `user_inputs` is what the user said,
`extracted_data:tool_interactions` is what was called. definitions.py reads the file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from howsure.graders.base import BindableGrader
from howsure.graders.custom_evals import MissingInput, PromptedEval
from howsure.graders.definitions import SUPPLIED, ColumnTemplate, MappedColumn, MetricDefinition, Warn, read_definitions
from howsure.graders.judged_evals import SINGLE_TURN, lacks_turns
from howsure.graders.templates import (
    MISSING,
    SOURCES,
    SourceMaterial,
    build_question,
    offers_not_applicable,
    placeholders,
    reply_form,
)
from howsure.judges.base import Question
from howsure.judges.judge_prompts import judge_messages
from howsure.judges.replies import read_share
from howsure.judges.rulings import Ruling
from howsure.matching.values import at_path
from howsure.model.case import Case, World, user_turns
from howsure.model.expectation import AgentsInvolved, FinalState, ToolCalls, Trajectory
from howsure.model.score import Grade, UnscoredReason
from howsure.model.transcript import AgentStep, Message, Role, Transcript
from howsure.traces.declared import declared_instructions

EXTRACTED, REFERENCE = "extracted_data", "reference_data"
ROOT = "root:"
WHOLE_LISTS = ("tool_declarations", "conversation_history", "intermediate_events", "context")
"""Lists under these names are shown as JSON, others one member on each line."""

Json = dict[str, Any]


class ConversationColumns:
    """The columns of one conversation. A column that the case does not have is `MISSING`."""

    def __init__(self, material: SourceMaterial) -> None:
        self._material = material

    def find(self, name: str) -> Any:
        """A column by its name: at the top, in `extracted_data` or `reference_data`, or nested (`column:a.b`)."""
        flat = name.removeprefix(ROOT).replace(":", ".")
        for place in dict.fromkeys((flat, f"{EXTRACTED}.{flat}", f"{REFERENCE}.{flat}", name)):
            value = at_path(self._all, place, MISSING)
            if value is not MISSING and value is not None:
                return value
        return MISSING

    def prompt(self) -> Any:
        return list(user_turns(self._material.case.input))

    def response(self) -> Any:
        """The answer, or without one the steps that were taken."""
        return self._material.transcript.answer or self.find("trace_summary")

    @cached_property
    def _all(self) -> Json:
        case, transcript = self._material.case, self._material.transcript
        columns: Json = {
            **case.metadata,
            "question_id": case.id,
            "user_inputs": self.prompt(),
            "final_response": transcript.answer,
            "response": transcript.answer,
            "agents_evaluated": sorted(agents_of(case)),
            "question_metadata": case.metadata.get("question_metadata", case.metadata.get("metadata", case.labels)),
            "trace_summary": case.metadata.get("trace_summary")
            or [f"{'agent' if isinstance(step, AgentStep) else 'tool'}:{step.name}" for step in transcript.trajectory],
            "sub_agent_trace": list(_agent_messages(transcript.messages)),
            "final_session_state": None if transcript.state is None else {"state": transcript.state},
            "session_state": transcript.state,
            "session_trace": None if transcript.spans is None else [msgspec.to_builtins(s) for s in transcript.spans],
            "system_instructions": self._instructions(),
            EXTRACTED: self._extracted(),
            REFERENCE: self._reference(),
        }
        return {name: value for name, value in columns.items() if value is not None}

    def _extracted(self) -> Json:
        """What the conversation shows; then what the file holds; then the keys of the state. The first of these
        wins."""
        transcript = self._material.transcript
        in_file = self._material.case.metadata.get(EXTRACTED)
        tools = SOURCES["tools"](self._material)
        shown: Json = {
            "state_variables": transcript.state,
            "tool_interactions": [
                {
                    "tool_name": call.name,
                    "input_arguments": call.arguments,
                    **({"output_result": call.result.content} if call.result else {"status": "no_response"}),
                }
                for call in transcript.tool_calls
            ],
            "sub_agent_trace": list(_agent_messages(transcript.messages)),
            "conversation_history": [
                {"role": message.role.value, "content": message.content} for message in transcript.messages
            ],
            "system_instruction": self._instructions(),
            # The list of tools that a converter saw in use is not the list of tools that the agent has.
            "tool_declarations": None if tools is MISSING else tools,
        }
        return {
            **(transcript.state or {}),
            **(in_file if isinstance(in_file, dict) else {}),
            **{name: value for name, value in shown.items() if value is not None or name == "tool_declarations"},
        }

    def _reference(self) -> Json:
        reference: Json = {}
        for expected in self._material.case.expectations:
            match expected:
                case ToolCalls(expected=calls):
                    reference["reference_tool_interactions"] = [
                        {"tool_name": call.name, "input_arguments": call.arguments} for call in calls
                    ]
                case Trajectory(steps=steps):
                    reference["reference_trajectory"] = list(steps)
                case FinalState(variables=variables):
                    reference["reference_state_variables"] = variables
                case _:
                    continue
        in_file = self._material.case.metadata.get(REFERENCE)
        return {**(in_file if isinstance(in_file, dict) else {}), **reference}

    def _instructions(self) -> str | None:
        metadata = self._material.case.metadata
        in_file = metadata.get("system_instructions") or at_path(metadata, f"{EXTRACTED}.system_instruction")
        own = self._material.agent.system_prompt if self._material.agent else ""
        return in_file or own or declared_instructions(self._material.transcript.spans) or None


def agents_of(case: Case) -> set[str]:
    """The agents that a question is for: those that should take part, and those that its file names."""
    names = {name for each in case.expectations if isinstance(each, AgentsInvolved) for name in each.names}
    listed = case.metadata.get("agents_evaluated")
    names.update(name for name in (listed if isinstance(listed, list) else ()) if isinstance(name, str))
    return names | ({case.labels["agent"]} if case.labels.get("agent") else set())


def column_text(name: str, value: Any) -> str:
    """A column as a judge reads it. A list has one line for each member."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and name not in WHOLE_LISTS:
        return "\n".join(each if isinstance(each, str) else _json(each) for each in value)
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def _agent_messages(messages: tuple[Message, ...]) -> Iterator[Json]:
    for message in messages:
        if message.role is Role.ASSISTANT and message.content:
            yield {"agent_name": message.agent, "text_response": message.content}


def definition_graders(path: Path, warn: Warn | None = None) -> tuple[BindableGrader, ...]:
    """The judged evals of a definition file, or DatasetInvalid with all its problems. A definition with the name of one
    of our own judged evals replaces that eval."""
    return tuple(
        ManagedEval(definition) if definition.managed else DefinedEval(definition)
        for definition in read_definitions(path, warn)
    )


def _is_for(definition: MetricDefinition, case: Case) -> bool:
    if case.world != World.GOLDEN:
        return False
    return not definition.agents or not agents_of(case).isdisjoint(definition.agents)


class DefinedEval(PromptedEval):
    """One definition that brings its own question."""

    def __init__(self, definition: MetricDefinition) -> None:
        self.definition = definition
        self.name = definition.name
        self.scale = definition.scale
        self.may_not_apply = offers_not_applicable(self._question)

    def wants(self, case: Case) -> bool:
        return _is_for(self.definition, case)

    def prompt(self, case: Case, transcript: Transcript) -> str:
        definition = self.definition
        columns = ConversationColumns(SourceMaterial(case, transcript, self.context.agent))
        text = definition.template or definition.question
        # A template names the columns it needs. Without one, the judge sees every mapped column.
        names = placeholders(text) if definition.template else dict.fromkeys((*SUPPLIED, *definition.mapping))
        texts = {name: self._text(name, columns) for name in names}
        closing = reply_form(self.scale, whole=False, may_not_apply=self.may_not_apply)
        return build_question(self._question, texts, closing)

    @property
    def _question(self) -> str:
        """The guidelines, then the words of the definition. "N/A" can be read where they offer it."""
        definition = self.definition
        return "\n\n".join(filter(None, (definition.guidelines, definition.template or definition.question)))

    def _text(self, name: str, columns: ConversationColumns) -> str:
        mapped = self.definition.mapping.get(name)
        match mapped:
            case MappedColumn(source=source):
                value = columns.find(source) if source else MISSING
                if value is MISSING:
                    value = _default(mapped.default, source, name)
                elif mapped.last and isinstance(value, list):
                    value = value[-1] if value else _default(mapped.default, f"{source} (its last entry)", name)
                return column_text(name, value)
            case ColumnTemplate(sources=sources):
                values = {source: columns.find(source) for source in sources}
                for source, value in values.items():
                    values[source] = _default(mapped.default, source, name) if value is MISSING else value
                return mapped.fill({source: column_text(source, value) for source, value in values.items()})
            case None:
                supplied = columns.prompt() if name == SUPPLIED[0] else columns.response()
                return column_text(name, "" if supplied is MISSING else supplied)


def _default(default: Any, source: str, name: str) -> Any:
    if default is MISSING:
        raise MissingInput(f"the case has no column `{source}`, which `{name}` is mapped to and has no default for")
    return default


class ManagedEval(PromptedEval):
    """One of our own evals (a share of verdicts), under the name and for the agents of a definition."""

    def __init__(self, definition: MetricDefinition) -> None:
        self.definition = definition
        self.name = definition.name
        self.may_not_apply = offers_not_applicable(definition.guidelines)

    def wants(self, case: Case) -> bool:
        return _is_for(self.definition, case)

    def prompt(self, case: Case, transcript: Transcript) -> str:
        """The question of our own eval, below the guidelines of the definition."""
        agent = self.context.agent
        *_, question = judge_messages(
            Question(grader=self.definition.managed, case=case, transcript=transcript, agent=agent)
        )
        return "\n\n".join(part for part in (self.definition.guidelines, question.content) if part)

    def read(self, content: Any) -> Ruling:
        return read_share(content)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        if lacks_turns(self.definition.managed, case, transcript):
            return [self.unscored(UnscoredReason.NOT_APPLICABLE, SINGLE_TURN)]
        return await super().grade(case, transcript)
