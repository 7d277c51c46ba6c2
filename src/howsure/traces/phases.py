"""Calls written as several spans, one for each phase (`tool.search.start-12`, `….success-12`), joined to one span."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from howsure.model.transcript import Span
from howsure.traces import names

PHASE = re.compile(r"(?P<path>.+)\.(?P<phase>start|success|error|finish)-(?P<number>\d+)")
Call = tuple[str, str]


def joined(spans: Iterable[Span]) -> list[Span]:
    """The spans, those of one call as one; others untouched and in their order."""
    out: list[Span] = []
    places: dict[Call, int] = {}
    parts: dict[Call, list[Span]] = {}
    for span in spans:
        call = _call(span)
        if call is None:
            out.append(span)
            continue
        if call not in places:
            places[call] = len(out)
            out.append(span)
        parts.setdefault(call, []).append(span)
    for call, place in places.items():
        out[place] = _one(call, parts[call])
    return out


def _call(span: Span) -> Call | None:
    """Which call the span is a phase of: the emitter's path without the phase, and the number."""
    if span.attributes.get(names.SPAN_KIND) not in ("LLM", "TOOL"):
        return None
    match = PHASE.fullmatch(span.name)
    return (match["path"], match["number"]) if match else None


def _one(call: Call, parts: list[Span]) -> Span:
    """The phases' spans all end with the run, so a call ends where its last phase starts; one alone has no end."""
    ordered = sorted(parts, key=lambda span: (span.start_ns is None, span.start_ns or 0))
    attributes: dict[str, Any] = {}
    for span in ordered:
        attributes.update({name: value for name, value in span.attributes.items() if value is not None})
    if any(f"{call[0]}.error-" in span.name for span in parts):
        attributes.setdefault("error.type", "error")
    first, last = ordered[0], ordered[-1]
    return Span(
        name=call[0],
        span_id=first.span_id,
        trace_id=first.trace_id,
        parent_id=first.parent_id,
        start_ns=first.start_ns,
        end_ns=last.start_ns if len(parts) > 1 else None,
        attributes=attributes,
    )
