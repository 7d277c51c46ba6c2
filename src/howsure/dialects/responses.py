"""Responses files: recorded answers for the cases of a dataset. Not a dialect, because they expect nothing: plain
answers, whole transcripts, or an object of case id → answer. `.jsonl` and tables are read line by line, `.json` whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.lines import open_file, read_table
from howsure.dialects.problems import SchemaChecker, Spot, did_you_mean, load_schema, shown
from howsure.dialects.simulation_messages import objects_in
from howsure.dialects.simulation_rows import last_answer
from howsure.dialects.strict_json import parse_json
from howsure.dialects.tables import table_layout
from howsure.errors import Problem
from howsure.model.transcript import (
    AgentStep,
    BrokenRecording,
    Message,
    Role,
    Span,
    ToolCall,
    ToolResult,
    ToolStep,
    Transcript,
    Usage,
)

Row = dict[str, Any]

_PLAIN = frozenset({"case_id", "example_id", "candidate_name", "repeat", "response_text"})
"""The fields of a line that holds only an answer."""

SCHEMA = load_schema("response")
_CHECKER = SchemaChecker(SCHEMA)
_FIELDS = frozenset(SCHEMA["properties"])
_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "case_id": ("id",),
    "response_text": ("response", "answer", "output", "completion"),
    "candidate_name": ("candidate", "model_id", "model"),
}
"""What people call the fields, too. A name of the schema wins; of two other names for one field none is chosen."""
_OF_REPORTS = frozenset(
    re.findall(
        r"\w+",
        "run_id run_started_at_utc dataset provenance judge_mode candidate_provider candidate_model candidate_settings "
        "request_id cache_key cache_hit response_source prompt_messages latency_s metadata reference_answer",
    )
)
"""What `howsure report` writes beside the answers of a legal run: known, and not used here."""


class RecordedResponse(Struct, frozen=True, kw_only=True):
    """One answer of one candidate to one case."""

    case_id: str
    recording: Transcript | BrokenRecording
    candidate: str = ""
    repeat: int = 1
    line: int | None = None


def read_responses(path: Path) -> Iterator[RecordedResponse | Problem]:
    """Every response and every problem of the file, then a warning for each field that is not read."""
    ignored: dict[str, list[Problem]] = {}
    name, ending = path.name, path.suffix.lower()
    with open_file(path) as file:
        if ending == ".json":
            yield from _read_whole(file.read(), name, ignored)
        elif ending in (".csv", ".tsv"):
            for line, cells in read_table(file, name, layout=table_layout(path)):
                if isinstance(cells, Problem):
                    yield cells
                else:
                    yield from _response(_row_of_cells(cells), Spot(name, line), ignored)
        else:
            for line, text in enumerate(file, 1):
                if text.strip(b" \t\r\n\xef\xbb\xbf"):
                    value, problems = parse_json(text.rstrip(b"\r\n"), file=name, line=line)
                    yield from problems or _response(value, Spot(name, line), ignored)
    for warnings in ignored.values():
        lines = f" (on {len(warnings):,} lines)" if len(warnings) > 1 else ""
        yield replace(warnings[0], message=warnings[0].message + lines)


def _row_of_cells(cells: Mapping[str, str]) -> Row:
    """A line of a table. An empty cell is no value, except that of an answer."""
    answers = ("response_text", *_SYNONYMS["response_text"])
    row: Row = {name: text for name, text in cells.items() if text or name in answers}
    if str(row.get("repeat", "")).isdecimal():
        row["repeat"] = int(row["repeat"])
    return row


def _read_whole(text: bytes, name: str, ignored: dict[str, list[Problem]]) -> Iterator[RecordedResponse | Problem]:
    value, problems = parse_json(text, file=name)
    if problems:
        yield from problems
    elif isinstance(value, dict) and all(isinstance(answer, str) for answer in value.values()):
        for case_id, answer in value.items():
            yield RecordedResponse(case_id=case_id, recording=Transcript(answer=answer))
    elif isinstance(value, list):
        for place, row in enumerate(value):
            yield from _response(row, Spot(name, None, f"[{place}]"), ignored)
    else:
        message = "a responses file is a list of objects, or one object of case id → answer"
        expected, found = "list, or object of strings", type(value).__name__
        yield Spot(name, 1).problem("wrong-type", message, expected=expected, found=found)


def _response(given: Any, spot: Spot, ignored: dict[str, list[Problem]]) -> Iterator[RecordedResponse | Problem]:
    if not isinstance(given, dict):
        yield from _CHECKER.problems(given, spot)
        return
    row, names, problems = given, dict[str, str](), list[Problem]()
    if not (_FIELDS.issuperset(given) and _CHECKER.fits(given)):
        names, problems = _documented_names(given, spot)
        row = _documented_row(given, names)
        called = {spot.below(name).prefix: spot.below(other).prefix for other, name in names.items()}
        found = _CHECKER.problems(row, spot)
        problems += [replace(each, field=called.get(each.field, each.field)) for each in found]
        known = _FIELDS | _OF_REPORTS | names.keys()
        for name in [each for each in given if each not in known and given[each] is not None]:
            lines = ignored.setdefault(name, [])
            lines.append(lines[0] if lines else _not_read(name, given[name], given, spot))
    problems = problems or list(_row_problems(row, given, spot))
    if problems:
        yield from problems
    else:
        yield _recorded_response(row, spot.line)


def _documented_row(given: Row, names: Mapping[str, str]) -> Row:
    """The row with the names of the schema, numbers as ids, and calls as we have them; without nulls that say nothing:
    a null is no error, and no answer where there is something else."""
    row: Row = {names.get(name) or name: value for name, value in given.items() if name in names or name in _FIELDS}
    for name in ("case_id", "candidate_name"):
        row |= {name: str(row[name])} if type(row.get(name)) is int else {}
    for holder in (row, *objects_in(row.get("messages"))):
        if isinstance(holder.get("tool_calls"), list):
            holder["tool_calls"] = [_flat_call(each) for each in holder["tool_calls"]]
    without = ("error", "response_text") if {"error", "messages", "spans"} & row.keys() else ("error",)
    return {name: value for name, value in row.items() if value is not None or name not in without}


def _flat_call(call: Any) -> Any:
    """A call with its name, where it came as chat APIs have it: under `function`."""
    inner = call.get("function") if isinstance(call, dict) and "name" not in call else None
    return {**call, **inner} if isinstance(inner, dict) else call


def _documented_names(given: Row, spot: Spot) -> tuple[dict[str, str], list[Problem]]:
    """The fields of the row that have another name than the schema's, with that; and those that cannot be told
    apart."""
    names: dict[str, str] = {}
    problems: list[Problem] = []
    for name, others in _SYNONYMS.items():
        found = [each for each in others if given.get(each) is not None]
        if not found or name in given or (name == "case_id" and "example_id" in given):
            continue
        if any(given[each] != given[found[0]] for each in found):
            message = " and ".join(f"`{each}`" for each in found) + f" could each be the {name}"
            hint, listed = f"call the one that is meant `{name}`", ", ".join(found)
            problems.append(
                spot.below(name).problem("ambiguous-field", message, expected=name, found=listed, hint=hint)
            )
        names |= dict.fromkeys(found, name)
    return names, problems


def _not_read(name: str, value: Any, row: Row, spot: Spot) -> Problem:
    """A field that nothing is made of: another name of a field that is there, or nobody's."""
    known = next((known for known, others in _SYNONYMS.items() if name in others), "")
    used = next((each for each in (known, "example_id") if each in row), "") if known else ""
    hint = f"`{used}` is read" if used else did_you_mean(name, _FIELDS)
    message = f"`{name}` is not a field of recorded answers; it is not read"
    return spot.below(name).warning("unknown-field", message, found=shown(value), hint=hint)


def _recorded_response(row: Row, line: int | None) -> RecordedResponse:
    return RecordedResponse(
        case_id=row["case_id"] if "case_id" in row else row["example_id"],
        candidate=row.get("candidate_name", ""),
        repeat=row.get("repeat", 1),
        recording=recording(row),
        line=line,
    )


_NEEDED = (
    ("case_id", ("example_id",), "which case is this the answer to?", ""),
    (
        "response_text",
        ("messages", "spans", "error"),
        "there is no answer here",
        " (an empty answer is an empty string)",
    ),
)


def _row_problems(row: Row, given: Row, spot: Spot) -> Iterator[Problem]:
    for field, others, message, note in _NEEDED:
        if not any(each in row for each in (field, *others)):
            found = ", ".join(f"`{each}`" for each in sorted(given)) or "none"
            expected = ", ".join([field, *_SYNONYMS[field], *others])
            hint = f"call it one of {expected}{note}; the fields here are: {found}"
            yield spot.below(field).problem("missing-field", message, expected=expected, found=found, hint=hint)
    for call in [*row.get("tool_calls", ()), *(c for m in row.get("messages", ()) for c in m.get("tool_calls", ()))]:
        if isinstance(call.get("arguments"), str) and not isinstance(_json_value(call["arguments"]), dict):
            message = f"the arguments of {call['name']!r} are text that is not a JSON object"
            expected, found = "object, or JSON text of one", call["arguments"][:80]
            at = spot.below("tool_calls", "arguments")
            yield at.problem("wrong-type", message, expected=expected, found=found)


def _usage(counts: Row) -> Usage:
    """JSON may write a whole number with a fraction of zero: 12.0."""
    known = {name: value for name, value in counts.items() if name in Usage.__struct_fields__}
    tokens = {name: int(value) for name, value in known.items() if name != "cost_usd" and value is not None}
    return msgspec.convert({**known, **tokens}, Usage)


def recording(row: Row) -> Transcript | BrokenRecording:
    """The transcript of a valid response, or the failure that it records."""
    if _PLAIN.issuperset(row):
        text = row["response_text"]
        return Transcript(answer=text, messages=(Message(role=Role.ASSISTANT, content=text),) if text else ())
    messages = _messages(row)
    transcript = Transcript(
        answer=row["response_text"] if "response_text" in row else last_answer(messages),
        messages=messages,
        steps=tuple(
            (AgentStep(name=step["agent"]) if "agent" in step else ToolStep(name=step["tool"]))
            for step in row.get("agent_steps", ())
        ),
        state=row.get("state"),
        spans=None if row.get("spans") is None else tuple(_span(span) for span in row["spans"]),
        usage=_usage(row["usage"]) if "usage" in row else None,
        duration_ms=row.get("duration_ms"),
    )
    if "response_text" in row or ("messages" in row and "error" not in row):
        return transcript
    # Spans can be measured, whatever was said.
    measured = transcript if transcript.spans else None
    return BrokenRecording(reason=row.get("error", "no answer was recorded"), transcript=measured)


def _messages(row: Row) -> tuple[Message, ...]:
    """The messages. Results that came as `tool` messages are attached to their calls."""
    listed = row.get("messages", [])
    results = {message.get("tool_call_id"): message.get("content") for message in listed if message["role"] == "tool"}
    messages = [
        Message(
            role=Role(message["role"]),
            content=message.get("content") or "",
            agent=message.get("agent", ""),
            tool_calls=tuple(_call(call, results) for call in message.get("tool_calls", ())),
        )
        for message in listed
        if message["role"] != "tool"
    ]
    messages += [Message(role=Role.ASSISTANT, tool_calls=(_call(call, results),)) for call in row.get("tool_calls", ())]
    if not listed and row.get("response_text"):
        messages.append(Message(role=Role.ASSISTANT, content=row["response_text"]))
    return tuple(messages)


def _call(call: Row, results: dict[str | None, Any]) -> ToolCall:
    arguments = call.get("arguments", {})
    result = None
    if "error" in call:
        result = ToolResult(content=call["error"], failed=True)
    elif "result" in call:
        result = ToolResult(content=call["result"])
    elif call.get("id") in results:
        result = ToolResult(content=results[call.get("id")])
    return ToolCall(
        name=call["name"],
        arguments=_json_value(arguments) if isinstance(arguments, str) else arguments,
        id=call.get("id", ""),
        result=result,
    )


def _json_value(text: str) -> Any:
    return parse_json(text.encode(), file="")[0]


def _span(span: Row) -> Span:
    return Span(
        name=span["name"],
        span_id=str(span.get("span_id") or ""),
        trace_id=str(span.get("trace_id") or ""),
        parent_id=str(span.get("parent_span_id") or ""),
        start_ns=span.get("start_time"),
        end_ns=span.get("end_time"),
        attributes=span.get("attributes", {}),
    )
