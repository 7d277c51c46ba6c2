"""The spans of one transcript as a forest: who is inside whom, and in which order they began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from howsure.model.transcript import Span
from howsure.traces.kinds import Kind, kind_of
from howsure.traces.phases import joined
from howsure.traces.values import Notes


class Tree:
    """Spans by position, in order of time where all have one, else in the order they came."""

    def __init__(self, spans: Sequence[Span], notes: Notes) -> None:
        self.spans = _in_order(joined(_once(spans, notes)))
        self.kinds = [kind_of(span) for span in self.spans]
        self._parents = self._links()
        self._children: dict[int, list[int]] = {}
        for place, parent in enumerate(self._parents):
            if parent is not None:
                self._children.setdefault(parent, []).append(place)

    def _links(self) -> list[int | None]:
        # By span id alone: converters give every span a trace id of its own.
        known: dict[str, int] = {}
        for place, span in enumerate(self.spans):
            if span.span_id:
                known.setdefault(span.span_id, place)
        found = [known.get(span.parent_id) if span.parent_id else None for span in self.spans]
        return _without_circles(found)

    def of_kind(self, *kinds: Kind) -> list[int]:
        return [place for place, kind in enumerate(self.kinds) if kind in kinds]

    def above(self, place: int) -> Iterator[int]:
        """The spans around this one, from the inside out."""
        parent = self._parents[place]
        while parent is not None:
            yield parent
            parent = self._parents[parent]

    def nearest(self, place: int, *kinds: Kind) -> int | None:
        """The closest span of these kinds around this one."""
        return next((around for around in self.above(place) if self.kinds[around] in kinds), None)

    def below(self, place: int) -> list[int]:
        """Every span inside this one."""
        found: list[int] = []
        waiting = list(self._children.get(place, ()))
        while waiting:
            inner = waiting.pop()
            found.append(inner)
            waiting += self._children.get(inner, ())
        return sorted(found)

    def title(self, place: int) -> str:
        """How a problem names the span."""
        span = self.spans[place]
        return f"span {span.span_id or place + 1} ({span.name})"


def _without_circles(parents: list[int | None]) -> list[int | None]:
    """Of spans that are inside one another, the first is outside: none may get lost for want of an outermost one."""
    for place in range(len(parents)):
        seen: set[int] = set()
        around = parents[place]
        while around is not None and around not in seen:
            if around == place:
                parents[place] = None
                break
            seen.add(around)
            around = parents[around]
    return parents


def _once(spans: Sequence[Span], notes: Notes) -> list[Span]:
    """A span that was exported twice is one span."""
    seen: set[tuple[str, str, str]] = set()
    out: list[Span] = []
    for span in spans:
        key = (span.trace_id, span.span_id, span.name)
        if span.span_id and key in seen:
            notes.add("span_twice", "was recorded twice; the first counts", f"span {span.span_id} ({span.name})")
            continue
        seen.add(key)
        out.append(span)
    return out


def _in_order(spans: list[Span]) -> list[Span]:
    if any(span.start_ns is None for span in spans):
        return spans
    return sorted(spans, key=lambda span: span.start_ns or 0)
