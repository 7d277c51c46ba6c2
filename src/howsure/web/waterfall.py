"""Spans as a waterfall: one bar each on a shared time axis, child spans indented below their parents."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from howsure.model.transcript import Span, Transcript
from howsure.reports.safe_text import one_line

MAX_SPANS = 200
MAX_DEPTH = 8


class SpanBar(Struct, frozen=True, kw_only=True):
    """One span: the start and the width of its bar, in percent of the axis."""

    name: str
    depth: int
    start: float
    width: float
    took: str


class Waterfall(Struct, frozen=True, kw_only=True):
    """All spans that have times. `invented`: the times come from a converter and say nothing about latency."""

    falls: tuple[SpanBar, ...]
    whole: str
    half: str
    untimed: int
    left_out: int
    invented: bool


def waterfall(transcript: Transcript | None) -> Waterfall | None:
    spans = transcript.spans if transcript and transcript.spans else ()
    timed = [
        (span.start_ns, span.end_ns, span) for span in spans if span.start_ns is not None and span.end_ns is not None
    ]
    if transcript is None or not timed:
        return None
    begin, end = min(start for start, _, _ in timed), max(stop for _, stop, _ in timed)
    known = {span.span_id: span for span in spans if span.span_id}
    ordered = sorted(timed, key=lambda each: (each[0], -each[1]))
    return Waterfall(
        falls=tuple(_span_bar(each, begin, max(end - begin, 1), known) for each in ordered[:MAX_SPANS]),
        whole=milliseconds(end - begin),
        half=milliseconds((end - begin) // 2),
        untimed=len(spans) - len(timed),
        left_out=max(len(timed) - MAX_SPANS, 0),
        invented=transcript.invented_times,
    )


def _span_bar(timed: tuple[int, int, Span], begin: int, whole: int, known: Mapping[str, Span]) -> SpanBar:
    start, stop, span = timed
    return SpanBar(
        name=one_line(span.name, 80),
        depth=_depth(span, known),
        start=round(100 * (start - begin) / whole, 2),
        width=round(max(100 * (stop - start) / whole, 0.3), 2),
        took=milliseconds(stop - start),
    )


def _depth(span: Span, known: Mapping[str, Span]) -> int:
    depth, seen = 0, {span.span_id}
    while (parent := known.get(span.parent_id)) is not None and parent.span_id not in seen and depth < MAX_DEPTH:
        depth, span = depth + 1, parent
        seen.add(span.span_id)
    return depth


def milliseconds(nanoseconds: int) -> str:
    value = nanoseconds / 1e6
    return f"{value / 1000:,.2f} s" if value >= 1000 else f"{value:,.0f} ms"
