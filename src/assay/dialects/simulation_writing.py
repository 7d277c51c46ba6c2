"""A Case as a row of a simulation file: one set of columns, the newest that the tools of the golden world know."""

from __future__ import annotations

from assay.dialects.documents import Json
from assay.dialects.extras import KEY as UNKNOWN
from assay.dialects.extras import put_back
from assay.dialects.golden import involved
from assay.dialects.reference_data import reference_document
from assay.dialects.simulation_recording import AGENT_DECLARES
from assay.dialects.simulation_rows import SIMULATED
from assay.dialects.simulation_talk import events_of
from assay.dialects.simulation_trace import span_document, steps_of_spans
from assay.model.case import Case, user_turns
from assay.model.transcript import AgentStep, Mishap, Step, Tool, Transcript


def row_of(case: Case, question: str) -> Json:
    """The columns of a case; `question` is its id without the number among equals."""
    kept = {key: value for key, value in case.metadata.items() if key not in ("reference_data", UNKNOWN)}
    row: Json = {"question_id": question, "user_inputs": list(user_turns(case.input))}
    reference = reference_document(case.expectations, case.metadata.get("reference_data", {}))
    if reference or involved(case):
        row["reference_data"] = reference
    if involved(case):
        row["agents_evaluated"] = involved(case)
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
