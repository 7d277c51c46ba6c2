"""One row of a simulation file as a Case: which columns hold the user's turns, what was expected, whether the
conversation broke, and its recording. Of several columns with the same content the best is read
(docs/dialects/simulation.md lists the order). A column is either read into the case or kept in its metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from howsure.dialects import reference_data
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.golden import labels
from howsure.dialects.problems import SchemaChecker, Spot, shown
from howsure.dialects.reference_data import read_reference, reference_faults
from howsure.dialects.simulation_columns import RECORDING
from howsure.dialects.simulation_messages import (
    ConversationLog,
    first_present,
    log_from_contents,
    log_from_events,
    log_from_extract,
    log_from_traces,
    log_from_turns,
    objects_in,
    shown_columns,
)
from howsure.dialects.simulation_traces import (
    calls_of_spans,
    has_made_up_times,
    originals_in,
    read_spans,
    repair_calls,
    steps_of_spans,
    steps_of_summary,
    user_turns_of_spans,
)
from howsure.dialects.strict_json import Json
from howsure.errors import Level, Problem
from howsure.model.case import Case, Script, World
from howsure.model.transcript import BrokenRecording, Message, Role, Span, Step, Tool, Transcript, Usage

_SESSION = {"state", "events", "appName", "app_name", "userId", "user_id", "lastUpdateTime", "last_update_time"}
AGENT_DECLARES = "declared_by_agent"
"""A mark beside the `tool_declarations` of a converted conversation: the agent declared them, they are not just the
tools that it called.
"""
DETAILS = "event_details"
"""The key, in the column of the events, with what the events hold beyond the messages."""
_TOKENS = {
    "prompt_tokens": ("prompt_token_count", "promptTokenCount"),
    "completion_tokens": ("candidates_token_count", "candidatesTokenCount"),
    "cached_tokens": ("cached_content_token_count", "cachedContentTokenCount"),
    "thinking_tokens": ("thoughts_token_count", "thoughtsTokenCount"),
    "tool_prompt_tokens": ("tool_use_prompt_token_count", "toolUsePromptTokenCount"),
}


DURATIONS = "turn_durations"
"""The seconds of each turn as the framework measured them, in `extracted_data`: `[{"duration", "model_duration"?,
"tool_duration"?}]`. They are real where the times of the spans are made up."""


class RowRecording:
    """Reads the columns of one row that hold its conversation, and removes from `left` what it read."""

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

    def made(self) -> Transcript | BrokenRecording:
        answer = self._answer()
        if answer is None and self._silent():
            return self.broken("no answer was recorded: the row has no final_response and nothing that was said")
        self._left.pop("final_response", None)
        spans: tuple[Span, ...] | None = None
        if "session_trace" in self._left:
            trace = self._left.pop("session_trace")
            spans, self.problems = read_spans(trace, self._spot.below("session_trace"))
        log = self._log(answer)
        originals = [*originals_in(self._left.get("custom_extract")), *calls_of_spans(spans or ())]
        messages = repair_calls(log.messages, originals)
        made_up = self._simulated or bool(spans and has_made_up_times(spans))
        steps = self._steps(spans or (), messages, made_up)
        state = self._state()
        self._declared()
        # A row that we wrote has the details of the events of an earlier reading.
        sessions = [self._left.get(column, {}) for column in ("final_session_state", "session_state")]
        written = [*(session.get(DETAILS) for session in sessions), self._left.get("custom_extract")]
        earlier = [one for details in written for one in objects_in(details) if "event" in one]
        usage = usage_of([*log.details, *earlier], self._extracted.get("per_turn_tokens"))
        for column, value in shown_columns(messages).items():
            holder = self._extracted if column == "tool_interactions" else self._left
            if holder.get(column) == value:
                del holder[column]
        durations = self._taken(DURATIONS) or []
        self._keep(log.details)
        return Transcript(
            answer=last_answer(messages) if answer is None else answer,
            messages=messages,
            steps=steps,
            state=state,
            spans=spans,
            usage=usage,
            invented_times=made_up,
            metadata={DURATIONS: durations} if durations else {},
        )

    def broken(self, reason: str) -> BrokenRecording:
        """A conversation that broke, with its spans where they can be read."""
        spans, problems = read_spans(self._left.get("session_trace", ()), self._spot)
        if problems or not spans:
            return BrokenRecording(reason=reason)
        del self._left["session_trace"]
        made_up = self._simulated or has_made_up_times(spans)
        messages = log_from_turns(self._turns, None).messages
        transcript = Transcript(answer="", messages=messages, spans=spans, invented_times=made_up)
        return BrokenRecording(reason=reason, transcript=transcript)

    def _answer(self) -> str | None:
        """The answer; None where no column has it and the messages must tell."""
        answer = self._left.get("final_response")
        if answer is not None:
            return str(answer)
        candidates = objects_in(self._left.get("response", {}).get("candidates"))
        contents = objects_in([one.get("content") for one in candidates[:1]])
        messages = log_from_contents([{"role": "model", **one} for one in contents], None).messages
        return messages[-1].content if messages else None

    def _silent(self) -> bool:
        """Whether no column holds any part of the conversation."""
        filled = ("custom_extract", "sub_agent_trace", "request")
        inside = ("sub_agent_trace", "tool_interactions", "conversation_history")
        return not (
            "events" in self._session
            or any(self._left.get(column) for column in filled)
            or any(self._extracted.get(name) for name in inside)
        )

    def _log(self, answer: str | None) -> ConversationLog:
        """The messages, from the best column there is."""
        events = self._session.get("events")
        if isinstance(events, list) and events:
            del self._session["events"]
            return log_from_events(events)
        if extract := self._left.pop("custom_extract", None):
            self._details_in = "custom_extract"
            return log_from_extract(extract)
        spoken = self._taken("sub_agent_trace") or self._left.pop("sub_agent_trace", None) or []
        interactions = self._taken("tool_interactions") or []
        if spoken or interactions:
            return log_from_traces(self._turns, spoken, interactions)
        contents = self._left.get("request", {}).get("contents") or self._extracted.get("conversation_history")
        if isinstance(contents, list) and contents:
            return log_from_contents(contents, answer)
        return log_from_turns(self._turns, answer)

    def _taken(self, name: str) -> Any:
        return self._extracted.pop(name, None) if isinstance(self._extracted.get(name), list) else None

    def _steps(self, spans: Sequence[Span], messages: Sequence[Message], made_up: bool) -> tuple[Step, ...]:
        """The steps: from real spans, which show agents inside agents, else from the messages, else from a summary."""
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
        stated, session = self._extracted.pop("state_variables", None), self._session.get("state")
        state = stated if isinstance(stated, dict) and (stated or not session) else session
        if not isinstance(state, dict):
            return None
        for key, value in state.items():
            if key in self._extracted and self._extracted[key] == value:
                del self._extracted[key]
        public = _public(state)
        if isinstance(session, dict) and _public(session) == public:
            del self._session["state"]
        return public

    def _declared(self) -> None:
        """The tools of the agent; None where the list was only gathered from the tools it used."""
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
        """Puts back what is left of the columns that were read in part."""
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
    """The state without what frameworks hide in a session (`__llm_request_key__` …)."""
    return {key: value for key, value in state.items() if not key.startswith("__")}


def _tools(declared: Sequence[Any]) -> Iterable[Tool]:
    for declaration in objects_in(declared):
        functions = first_present(declaration, "function_declarations", "functionDeclarations") or [declaration]
        for function in objects_in(functions):
            if isinstance(function.get("name"), str):
                parameters = first_present(function, "parameters", "parameters_json_schema", "parametersJsonSchema")
                yield Tool(
                    name=function["name"],
                    description=str(function.get("description") or ""),
                    parameters=parameters if isinstance(parameters, dict) else None,
                )


def usage_of(details: Iterable[Json], per_turn: Any) -> Usage | None:
    """The tokens of all calls together; None where they were not counted."""
    counted = [first_present(one, "usageMetadata", "usage_metadata", "token_usage") for one in details]
    counted = objects_in(counted) or objects_in(per_turn)
    sums: dict[str, int | None] = {}
    for name, spellings in _TOKENS.items():
        counts = [count for one in counted if type(count := first_present(one, *spellings)) is int]
        sums[name] = sum(counts) if counts else None
    if sums["prompt_tokens"] is not None:
        # Gemini counts what tools brought apart from the prompt.
        sums["prompt_tokens"] += sums["tool_prompt_tokens"] or 0
    return Usage(**sums) if any(count is not None for count in sums.values()) else None


def last_answer(messages: Sequence[Message]) -> str:
    """The last text to the user. A text beside a tool call does not count: it is a thought."""
    answers = (one for one in reversed(messages) if one.role is Role.ASSISTANT and one.content and not one.tool_calls)
    return next((one.content for one in answers), "")


SIMULATED = "simulation"
"""What converters write as `base_url`: nothing was reached over a network."""
_REFERENCE = SchemaChecker(reference_data.SCHEMA)
_STRINGS = SchemaChecker({"type": "array", "items": {"type": "string"}})
_SUCCESS = ("success", "succeeded", "ok", "completed", "passed", "true", "")
_FAILURE = ("failed", "failure", "error", "errored", "false")
_NOTHING = ("none", "null", "nan")
"""How tables write an empty cell."""
_SAYS_WHY = {"status": ("error_message", "failed"), "missing_information": ("details", "true")}
"""The field with the reason, and the word that it implies where the object has no other."""


def read_row(values: Json, spot: Spot, problems: Sequence[Problem] = ()) -> tuple[Case | None, list[Problem]]:
    """The case (its id without a repeat number), or None; and the problems, after those of its cells."""
    reader, problems = _RowReader(values, spot), [*problems]
    if (whole := values.get("howsure_case")) is not None:
        try:
            return msgspec.convert(whole, Case), problems
        except (msgspec.ValidationError, ValueError) as error:
            at = spot.below("howsure_case")
            hint = "this column is written by Howsure and not meant to be edited; without it the others are read"
            problem = at.problem("bad-case", str(error), expected="a case", found=shown(whole), hint=hint)
            return None, [*problems, problem]
    problems += reader.problems()
    if any(problem.level is Level.ERROR for problem in problems):
        return None, problems
    case = reader.case()
    problems += reader.late_problems
    return (None if reader.late_problems else case), problems


class _RowReader:
    """Takes the values out of a row one by one; what is left at the end is metadata."""

    def __init__(self, values: Json, spot: Spot) -> None:
        self._values = values
        self._left = dict(values)
        self._spot = spot
        self._simulated = values.get("base_url") == SIMULATED
        self.late_problems: list[Problem] = []

    def problems(self) -> Iterator[Problem]:
        shapes = {"user_inputs": _STRINGS, "agents_evaluated": _STRINGS, "reference_data": _REFERENCE}
        for column, shape in shapes.items():
            if column in self._values and not shape.fits(self._values[column]):
                yield from shape.problems(self._values[column], self._spot.below(column))
        yield from reference_faults(self._values.get("reference_data"), self._spot)
        for column in ("status", "missing_information"):
            if self._marked(column) is None:
                word = shown(self._word(column))
                yield self._spot.below(column).problem(
                    "unknown-value", f"{word} is neither success nor failure", expected="success or failed", found=word
                )

    def case(self) -> Case | None:
        turns = self._turns()
        if not turns:
            hint = (
                "`user_inputs` is a JSON list of what the user said; `custom_extract` and `session_trace` may tell it"
            )
            message = "nothing in this row tells what the user said"
            self.late_problems.append(self._spot.below("user_inputs").problem("no-user-inputs", message, hint=hint))
            return None
        case_id = self._id(turns)
        failed, missing = self._marked("status") is False, self._marked("missing_information") is False
        reason, details = self._reason("status", "error_message"), self._reason("missing_information", "details")
        broken = ""
        if failed:
            broken = reason or details or "the row is marked as failed"
        elif missing:
            broken = details or "the row is marked as missing information"
        reference = read_reference(self._left.pop("reference_data", {}), self._agents())
        recorded, tools = self._recorded(turns, broken)
        metadata = {key: value for key, value in self._left.items() if value != ""}
        if reference.custom:
            metadata["reference_data"] = reference.custom
        if reference.unknown:
            metadata[UNKNOWN] = reference.unknown
        agent = metadata.get("app_name") or metadata.get("agent_name") or ""
        return Case(
            id=case_id,
            input=Script(turns=tuple(turns)),
            expectations=reference.expectations,
            world=World.GOLDEN,
            labels=labels(metadata.get("question_metadata", {}), agent=str(agent), repeat="1"),
            metadata=metadata,
            tools=tools,
            recorded=recorded,
        )

    def _turns(self) -> list[str]:
        """The user's turns, from the first column that holds them."""
        listed: list[str] = self._left.pop("user_inputs", [])
        if any(map(str.strip, listed)):
            return listed
        sessions = [self._values.get(column, {}).get("events") for column in ("final_session_state", "session_state")]
        logs = (
            log_from_extract(self._values.get("custom_extract", ())),
            *(log_from_events(events) for events in sessions if isinstance(events, list)),
        )
        for log in logs:
            turns = [message.content for message in log.messages if message.role is Role.USER]
            if any(map(str.strip, turns)):
                return turns
        turns = user_turns_of_spans(self._values.get("session_trace", ()))
        return turns if any(map(str.strip, turns)) else []

    def _id(self, turns: list[str]) -> str:
        for column in ("question_id", "eval_id"):
            raw = self._left.get(column)
            if raw is not None and str(raw).strip():
                del self._left[column]
                return str(raw)
        text = json.dumps(turns, ensure_ascii=False)
        return f"sim-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"

    def _agents(self) -> Iterable[str]:
        """The agents that should take part. `agents_evaluated` is a reference where it was copied from a golden
        question, not where a converter wrote the agent that ran."""
        names: list[str] = self._left.get("agents_evaluated", [])
        ran = [self._left.get("app_name") or self._left.get("agent_name")]
        if "reference_data" not in self._values or (self._simulated and names == ran):
            return ()
        return tuple(self._left.pop("agents_evaluated", ()))

    def _word(self, column: str) -> str:
        word = self._values.get(column, "")
        if isinstance(word, dict):
            stated = next((word[name] for name in ("boolean", column) if word.get(name) is not None), "")
            field, implied = _SAYS_WHY[column]
            word = implied if stated == "" and word.get(field) else stated
        plain = str(word).strip().lower()
        return "" if plain in _NOTHING else plain

    def _marked(self, column: str) -> bool | None:
        """Whether this column says success; None where its value is unknown."""
        word = self._word(column)
        if column == "missing_information":
            return {"true": False, "false": True, "": True}.get(word)
        return True if word in _SUCCESS else False if word in _FAILURE else None

    def _reason(self, column: str, field: str) -> str:
        """The reason for a failure in this column; the column is kept where it holds more."""
        value = self._left.get(column)
        if isinstance(value, dict) and value.keys() - {"boolean", field}:
            return str(value.get(field) or "")
        self._left.pop(column, None)
        return str(value.get(field) or "") if isinstance(value, dict) else ""

    def _recorded(self, turns: list[str], broken: str) -> tuple[Transcript | BrokenRecording | None, Any]:
        recording = RowRecording(self._left, turns, self._spot, simulated=self._simulated)
        if broken:
            return recording.broken(broken), None
        if not any(self._values.get(column) not in (None, "") for column in RECORDING):
            self._left.pop("final_response", None)
            return None, None
        made = recording.made()
        self.late_problems += recording.problems
        return made, recording.tools
