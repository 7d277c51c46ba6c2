"""Counters of requests, in the text form that Prometheus reads. Paths are those of the routes, never of the requests:
there are as many series as there are routes, whatever is asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from starlette.types import Scope

from howsure.model.job import QueueLengths

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
UNKNOWN = "unmatched"
PREFIX = "/api/v1"
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"))

Labels = tuple[str, str, int]


def route_of(scope: Scope) -> str:
    """The path that a request was matched to, with names in place of ids. The framework leaves out where it was put."""
    route: str = getattr(scope.get("route"), "path", UNKNOWN)
    return PREFIX + route if route != UNKNOWN and scope["path"].startswith(f"{PREFIX}/") else route


class Counters:
    """What was asked, what was answered, and how long it took."""

    def __init__(self) -> None:
        self._answers: Counter[Labels] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}

    def note(self, scope: Scope, status: int, seconds: float) -> None:
        route = route_of(scope)
        method = scope["method"] if scope["method"] in METHODS else "OTHER"
        self._answers[method, route, status] += 1
        buckets = self._buckets.setdefault(route, [0] * (len(BOUNDS) + 1))
        buckets[bisect_left(BOUNDS, seconds)] += 1
        self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def text(self, queue: QueueLengths) -> str:
        return "\n".join(self._lines(queue)) + "\n"

    def _lines(self, queue: QueueLengths) -> Iterator[str]:
        yield "# HELP howsure_http_requests_total Requests, by method, route and status."
        yield "# TYPE howsure_http_requests_total counter"
        for (method, route, status), number in sorted(self._answers.items()):
            yield f'howsure_http_requests_total{{method="{method}",route="{route}",status="{status}"}} {number}'
        yield "# HELP howsure_http_request_seconds How long answers took."
        yield "# TYPE howsure_http_request_seconds histogram"
        for route, buckets in sorted(self._buckets.items()):
            number = 0
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), buckets, strict=True):
                number += count
                yield f'howsure_http_request_seconds_bucket{{route="{route}",le="{bound}"}} {number}'
            yield f'howsure_http_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}'
            yield f'howsure_http_request_seconds_count{{route="{route}"}} {number}'
        yield "# HELP howsure_runs Runs of the service, by what they are doing."
        yield "# TYPE howsure_runs gauge"
        yield f'howsure_runs{{state="queued"}} {queue.queued}'
        yield f'howsure_runs{{state="running"}} {queue.running}'
