"""Files of traces and coding sessions that hold no results and that nothing here reads yet: what each of them is, and
what would be read instead. They are recognised only to tell the user what they are."""

from __future__ import annotations

import re

from howsure.dialects.strict_json import head_keys

OTLP_JSON = "export it as OTLP JSON (`resourceSpans`), which `howsure convert` reads"
LOGS = "export the traces beside it as OTLP JSON (`resourceSpans`), which `howsure convert` reads"
SESSIONS = "sessions of coding agents are not read yet"


def describe_trace(head: bytes) -> tuple[str, str]:
    """What a file of traces is, and what to do with it; empty where it is none of those known."""
    keys = set(head_keys(head.lstrip().removeprefix(b"[").lstrip()))
    spans = b'"span_id"' in head and b'"trace_id"' in head and "sample_id" not in keys
    codex = ("events" in keys and b'"item.completed"' in head) or ("items" in keys and is_codex(head))
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
        (
            re.search(rb'(?m),"?\[(PASS|FAIL|ERROR)\]', head),
            "a table of promptfoo without scores",
            "`promptfoo eval -o output.json` writes them",
        ),
    )
    return next(((what, hint) for shows, what, hint in kinds if shows), ("", ""))


def is_codex(head: bytes) -> bool:
    """Whether `items` are those of a session of Codex, and not of a test set."""
    return b'"call_id"' in head and b'"item_id"' not in head
