"""Files of traces and coding sessions that hold no results and that nothing here reads yet: what each of them is, and
what would be read instead. They are recognised only to tell the user what they are."""

from __future__ import annotations

import re

from howsure.dialects.tool_results.streams import first_keys

OTLP_JSON = "export it as OTLP JSON (`resourceSpans`), which `howsure convert` reads"
LOGS = "export the traces beside it as OTLP JSON (`resourceSpans`), which `howsure convert` reads"
SESSIONS = "sessions of coding agents are not read yet"


def describe_trace(head: bytes) -> str:
    """What a file of traces is, in a sentence; empty where it is none of those known."""
    keys = first_keys(head)
    if re.search(rb'(?m),"?\[(PASS|FAIL|ERROR)\]', head):
        return "this is a table of promptfoo, which has no scores: `promptfoo eval -o output.json` writes them"
    spans = b'"span_id"' in head and b'"trace_id"' in head and "sample_id" not in keys
    codex = ("events" in keys and b'"item.completed"' in head) or ("items" in keys and b'"function_call"' in head)
    kinds = (
        ("data" in keys and b'"spanID"' in head, "a trace in Jaeger's JSON", OTLP_JSON),
        ("resourceLogs" in keys, "a log in OTLP JSON", LOGS),
        (spans, "a dump of OpenTelemetry spans, not in OTLP", OTLP_JSON),
        (
            head[:1] == b"\n" and b"service.name" in head[:512] and b"\0" in head,
            "a trace in OTLP's binary form (protobuf)",
            OTLP_JSON,
        ),
        ({"type", "message"} <= keys and b'"role"' in head, "a session of Claude Code", SESSIONS),
        (codex, "a session of Codex", SESSIONS),
    )
    return next((f"this is {what}, which holds no results; {hint}" for shows, what, hint in kinds if shows), "")
