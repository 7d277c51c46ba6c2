"""The `simulation` dialect: CSV or JSONL of finished conversations with their traces, in every column set that the
tools of the golden world have written. docs/dialects/simulation.md describes every column. Cases are written in the
newest column set; what its columns cannot hold goes, with the whole case, into a column of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import TextIO

import msgspec
from msgspec import structs

from howsure.dialects import reference_data
from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.extras import restore_unknown
from howsure.dialects.golden import involved_agents, labels
from howsure.dialects.ids import SeenIds
from howsure.dialects.lines import (
    ENDINGS,
    first_keys,
    header_of,
    is_table,
    open_file,
    read_objects,
    read_table,
    write_table,
)
from howsure.dialects.problems import Spot, shown
from howsure.dialects.reference_data import is_restored, reference_document
from howsure.dialects.simulation_columns import (
    DISTINCTIVE,
    FOREIGN,
    GENERIC,
    JSON_COLUMNS,
    NUMBERED,
    PLAIN,
    QUESTION_COLUMNS,
    cells_of,
    is_known,
    read_cells,
    table_row,
)
from howsure.dialects.simulation_messages import events_of, shown_columns
from howsure.dialects.simulation_rows import AGENT_DECLARES, DURATIONS, SIMULATED, read_row
from howsure.dialects.simulation_traces import span_document, steps_of_spans
from howsure.dialects.strict_json import Json
from howsure.dialects.writers import write_lines, write_whole
from howsure.errors import Problem
from howsure.model.case import Case, Script, World, user_turns
from howsure.model.transcript import AgentStep, BrokenRecording, Tool, Transcript

_KINDS = {dict: "object", list: "array", str: "string", bool: "boolean"}
_TEXTS: Json = {"type": "array", "items": {"type": "string"}}
_OWN: dict[str, Json] = {
    "user_inputs": _TEXTS,
    "agents_evaluated": _TEXTS,
    "reference_data": reference_data.SCHEMA,
    "final_response": {"type": ["string", "null"]},
}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "A finished conversation (one row of a simulation file)",
    "type": "object",
    "properties": {
        **{name: {} for name in PLAIN},
        **{
            name: {"type": [*dict.fromkeys([*(_KINDS[kind] for kind in kinds), "string", "null"])]}
            for name, kinds in JSON_COLUMNS.items()
        },
        **_OWN,
    },
    "patternProperties": {f"^{family.removesuffix('.')}\\.": {} for family in NUMBERED},
}


_QUESTION = {"question_metadata", "reference_data", "agent_name"}


def is_never_restored(case: Case) -> bool:
    """Whether the columns certainly cannot give the case back: it has what no row is ever read as."""
    return (
        case.world != World.GOLDEN
        or type(case.input) is not Script
        or "repeat" not in case.labels
        or bool(case.name or case.profile or case.tags or case.state)
    )


def is_surely_restored(case: Case) -> bool:
    """Whether the columns of a line certainly give the case back: a plain question, once, without a conversation. The
    case is not one of `is_never_restored`."""
    metadata = case.metadata
    if case.recorded is not None or case.tools is not None or not metadata.keys() <= _QUESTION:
        return False
    own, agent, reference = (
        metadata.get("question_metadata", {}),
        metadata.get("agent_name", "x"),
        metadata.get("reference_data"),
    )
    return (
        type(own) is dict
        and type(agent) is str
        and agent != ""
        and (reference is None or (type(reference) is dict and bool(reference)))
        and case.id.strip() != ""
        and any(map(str.strip, user_turns(case.input)))
        and is_restored(case.expectations, reference or {})
        and labels(own, agent=metadata.get("agent_name", ""), repeat="1") == case.labels
    )


def row_of(case: Case, question: str) -> Json:
    """The columns of a case; `question` is its id without the repeat number."""
    metadata = {key: value for key, value in case.metadata.items() if key not in ("reference_data", UNKNOWN)}
    row: Json = {"question_id": question, "user_inputs": list(user_turns(case.input))}
    reference = reference_document(case.expectations, case.metadata.get("reference_data", {}))
    if reference or involved_agents(case):
        row["reference_data"] = reference
    if involved_agents(case):
        row["agents_evaluated"] = involved_agents(case)
    if case.world == World.GOLDEN:
        # Elsewhere their places are those of another format; the whole case in a column of its own has them.
        restore_unknown(row, case.metadata.get(UNKNOWN, {}))
    row["status"] = {"boolean": "success"}
    row |= metadata
    match case.recorded:
        case BrokenRecording(reason=reason, transcript=transcript):
            row["status"] = metadata.get("status", {"boolean": "failed", "error_message": reason})
            if transcript and transcript.spans:
                row["session_trace"] = [span_document(span) for span in transcript.spans]
        case Transcript():
            row |= _recording(case.recorded, case.tools, metadata)
        case None:
            pass
    return row


def _recording(transcript: Transcript, tools: tuple[Tool, ...] | None, metadata: Json) -> Json:
    session = {**metadata.get("final_session_state", {}), "events": list(events_of(transcript.messages))}
    extracted = dict(metadata.get("extracted_data", {}))
    if transcript.state is not None:
        extracted["state_variables"] = transcript.state
    if tools is not None:
        declarations = [
            {"name": tool.name, "description": tool.description}
            | ({} if tool.parameters is None else {"parameters": tool.parameters})
            for tool in tools
        ]
        extracted["tool_declarations"] = [{"function_declarations": declarations}]
        if metadata.get("base_url") == SIMULATED:
            extracted[AGENT_DECLARES] = True
    if DURATIONS in transcript.metadata:
        extracted[DURATIONS] = transcript.metadata[DURATIONS]
    row: Json = {"final_response": transcript.answer, "final_session_state": session}
    for column, value in shown_columns(transcript.messages).items():
        inside = column == "tool_interactions"
        if value and column not in (extracted if inside else metadata):
            (extracted if inside else row)[column] = value
    if extracted:
        row["extracted_data"] = extracted
    if transcript.spans is not None:
        row["session_trace"] = [span_document(span) for span in transcript.spans]
    if transcript.steps and not steps_of_spans(transcript.spans or (), made_up=transcript.invented_times):
        row["trace_summary"] = [
            (f"agent:{step.name}" if isinstance(step, AgentStep) else f"tool:{step.name}") for step in transcript.steps
        ]
    return row


_OF_REFERENCE_DATA = {*reference_data.SCHEMA["properties"], "expected_response", "expected_responses"}


class SimulationDialect(WatchedDialect):
    """CSV or JSONL of finished conversations."""

    name = "simulation"

    def detect(self, path: Path, head: bytes) -> bool:
        if path.suffix.lower() not in ENDINGS:
            return False
        columns = set(header_of(head) if is_table(path) else first_keys(head))
        own, beside = columns & DISTINCTIVE, columns & GENERIC
        return ((len(own | beside) >= 2 and bool(own)) or columns >= QUESTION_COLUMNS) and not columns & FOREIGN

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        file, table, warned = str(path), is_table(path), set[str]()
        numbers, ids = RepeatNumbers(), SeenIds("question_id")
        records = read_table if table else read_objects
        with open_file(path, watch) as stream:
            for line, row in records(stream, file):
                if isinstance(row, Problem):
                    yield row
                    continue
                spot = Spot(file, line)
                for column in row:
                    if column not in warned and not is_known(column):  # once a file
                        warned.add(column)
                        message = f"the column {column!r} is not known; it is kept"
                        inside = column in _OF_REFERENCE_DATA
                        hint = "nothing is checked by it here: it belongs into `reference_data`" if inside else ""
                        yield spot.below(column).warning("unknown-field", message, found=shown(row[column]), hint=hint)
                values, problems = read_cells(row, spot, table=table)
                case, problems = read_row(values, spot, problems)
                yield from problems
                if case is not None:
                    case = case if "howsure_case" in values else numbers.numbered(case)
                    yield case if ids.is_new(case.id, line) else ids.repeated(case.id, spot)

    def write(self, cases: Iterable[Case], path: Path) -> None:
        table = is_table(path)
        numbers = RepeatNumbers()
        rows = (_row_to_write(case, numbers, table=table) for case in cases)
        if table:
            write_whole(path, lambda file: _write_cells(rows, file))
        else:
            write_lines(rows, path)

    def schema(self) -> Json:
        return SCHEMA


class RepeatNumbers:
    """Gives rows of the same question different ids: the first keeps the question's id, the others are `id#2`, `id#3`
    …"""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def following(self, case: Case) -> Case:
        count = self._rows.get(case.id, 0) + 1
        if count == 1:
            return case
        return structs.replace(case, id=f"{case.id}#{count}", labels={**case.labels, "repeat": str(count)})

    def numbered(self, case: Case) -> Case:
        """The next case of its question, counted."""
        numbered = self.following(case)
        self.count(case.id)
        return numbered

    def count(self, id: str) -> None:
        self._rows[id] = self._rows.get(id, 0) + 1


def question_of(case: Case) -> tuple[str, int]:
    """The id of the case's question, and the number of this conversation about it."""
    repeat = case.labels.get("repeat", "1")
    return (case.id.removesuffix(f"#{repeat}"), int(repeat)) if repeat.isdecimal() and repeat != "1" else (case.id, 1)


def _write_cells(rows: Iterable[Json], file: TextIO) -> None:
    """Writes a table. Its header must name all columns, which are known only after the last row, so the rows wait in a
    temporary file."""
    columns: dict[str, None] = {}
    with TemporaryFile("w+", encoding="utf-8") as waiting:
        for row in map(table_row, rows):
            columns |= dict.fromkeys(row)
            waiting.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
        waiting.seek(0)
        write_table((cells_of(json.loads(line), columns) for line in waiting), file)


def _row_to_write(case: Case, numbers: RepeatNumbers, *, table: bool) -> Json:
    """The row of a case. What the columns cannot hold goes, with the whole case, into a column of its own."""
    question, _ = question_of(case)
    row = row_of(case, question)
    if _is_restored(case, row, numbers, table=table):
        numbers.count(question)
        return row
    return {**row, "question_id": case.id, "howsure_case": msgspec.to_builtins(case) if table else case}


def _is_restored(case: Case, row: Json, numbers: RepeatNumbers, *, table: bool) -> bool:
    """Whether the columns give the case back; in doubt, they are read again."""
    if is_never_restored(case):
        return False
    if not table and is_surely_restored(case):
        return numbers.following(case) is case
    read = cells_of(table_row(row)) if table else row
    values, problems = read_cells(read, Spot(""), table=table)
    again, _ = read_row(values, Spot(""), problems)
    return again is not None and numbers.following(again) == case
