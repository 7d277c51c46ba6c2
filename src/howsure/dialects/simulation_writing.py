"""A Case as a row of a simulation file: one set of columns, the newest that the tools of the golden world know; and
whether those columns tell the whole case, as far as a look at it shows that."""

from __future__ import annotations

from howsure.dialects.documents import Json
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import put_back
from howsure.dialects.golden_schema import labels
from howsure.dialects.golden_writing import involved
from howsure.dialects.reference_data import reference_document
from howsure.dialects.reference_plain import comes_back
from howsure.dialects.simulation_recording import AGENT_DECLARES
from howsure.dialects.simulation_rows import SIMULATED
from howsure.dialects.simulation_talk import events_of
from howsure.dialects.simulation_trace import span_document, steps_of_spans
from howsure.model.case import Case, Script, World, user_turns
from howsure.model.transcript import AgentStep, Mishap, Step, Tool, Transcript

_QUESTION = {"question_metadata", "reference_data", "agent_name"}


def never_told(case: Case) -> bool:
    """Whether it is certain that no columns give the case back: it has what no row is ever read as."""
    return (
        case.world != World.GOLDEN
        or type(case.input) is not Script
        or "repeat" not in case.labels
        or bool(case.name or case.profile or case.tags or case.state)
    )


def surely_told(case: Case) -> bool:
    """Whether it is certain that the columns of a line give the case back: a plain question, once, without a
    conversation. `never_told` is false."""
    given = case.metadata
    if case.recorded is not None or case.tools is not None or not given.keys() <= _QUESTION:
        return False
    free, agent, reference = (
        given.get("question_metadata", {}),
        given.get("agent_name", "x"),
        given.get("reference_data"),
    )
    return (
        type(free) is dict
        and type(agent) is str
        and agent != ""
        and (reference is None or (type(reference) is dict and bool(reference)))
        and case.id.strip() != ""
        and any(map(str.strip, user_turns(case.input)))
        and comes_back(case.expectations, reference or {})
        and labels(free, agent=given.get("agent_name", ""), repeat="1") == case.labels
    )


def row_of(case: Case, question: str) -> Json:
    """The columns of a case; `question` is its id without the number among equals."""
    kept = {key: value for key, value in case.metadata.items() if key not in ("reference_data", UNKNOWN)}
    row: Json = {"question_id": question, "user_inputs": list(user_turns(case.input))}
    reference = reference_document(case.expectations, case.metadata.get("reference_data", {}))
    if reference or involved(case):
        row["reference_data"] = reference
    if involved(case):
        row["agents_evaluated"] = involved(case)
    if case.world == World.GOLDEN:
        # Elsewhere their places are those of another format; the whole case in a column of its own has them.
        put_back(row, case.metadata.get(UNKNOWN, {}))
    row["status"] = {"boolean": "success"}
    row |= kept
    match case.recorded:
        case Mishap(reason=reason):
            row["status"] = kept.get("status", {"boolean": "failed", "error_message": reason})
        case Transcript():
            row |= _recording(case.recorded, case.tools, kept)
        case None:
            pass
    return row


def _recording(transcript: Transcript, tools: tuple[Tool, ...] | None, kept: Json) -> Json:
    session = {**kept.get("final_session_state", {}), "events": list(events_of(transcript.messages))}
    extracted = dict(kept.get("extracted_data", {}))
    if transcript.state is not None:
        extracted["state_variables"] = transcript.state
    if tools is not None:
        extracted["tool_declarations"] = [{"function_declarations": [_declaration(tool) for tool in tools]}]
        if kept.get("base_url") == SIMULATED:
            extracted[AGENT_DECLARES] = True
    row: Json = {"final_response": transcript.answer, "final_session_state": session}
    if extracted:
        row["extracted_data"] = extracted
    if transcript.spans is not None:
        row["session_trace"] = [span_document(span) for span in transcript.spans]
    if transcript.steps and not steps_of_spans(transcript.spans or (), made_up=transcript.invented_times):
        row["trace_summary"] = [_step(step) for step in transcript.steps]
    return row


def _declaration(tool: Tool) -> Json:
    declaration: Json = {"name": tool.name, "description": tool.description}
    return declaration if tool.parameters is None else {**declaration, "parameters": tool.parameters}


def _step(step: Step) -> str:
    return f"agent:{step.name}" if isinstance(step, AgentStep) else f"tool:{step.name}"
