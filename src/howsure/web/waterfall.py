"""Spans as a waterfall: one line each on a shared axis of time, those inside others indented under them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from howsure.model.transcript import Span, Transcript
from howsure.reports.inert import one_line

SHOWN = 200
DEEPEST = 8


class Fall(Struct, frozen=True, kw_only=True):
    """One span: where its bar begins and how long it is, in percent of the whole."""

    name: str
    depth: int
    start: float
    width: float
    took: str


class Waterfall(Struct, frozen=True, kw_only=True):
    """All spans that have times. `invented`: a converter made the times up, and no latency may be read from them."""

    falls: tuple[Fall, ...]
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
        falls=tuple(_fall(each, begin, max(end - begin, 1), known) for each in ordered[:SHOWN]),
        whole=milliseconds(end - begin),
        half=milliseconds((end - begin) // 2),
        untimed=len(spans) - len(timed),
        left_out=max(len(timed) - SHOWN, 0),
        invented=transcript.invented_times,
    )


def _fall(timed: tuple[int, int, Span], begin: int, whole: int, known: Mapping[str, Span]) -> Fall:
    start, stop, span = timed
    return Fall(
        name=one_line(span.name, 80),
        depth=_depth(span, known),
        start=round(100 * (start - begin) / whole, 2),
        width=round(max(100 * (stop - start) / whole, 0.3), 2),
        took=milliseconds(stop - start),
    )


def _depth(span: Span, known: Mapping[str, Span]) -> int:
    depth, seen = 0, {span.span_id}
    while (parent := known.get(span.parent_id)) is not None and parent.span_id not in seen and depth < DEEPEST:
        depth, span = depth + 1, parent
        seen.add(span.span_id)
    return depth


def milliseconds(nanoseconds: int) -> str:
    value = nanoseconds / 1e6
    return f"{value / 1000:,.2f} s" if value >= 1000 else f"{value:,.0f} ms"
