"""Counters for Prometheus: what was asked by route, how long it took, and no more series than there are routes."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from howsure.api.counters import BOUNDS, Counters, route_of
from howsure.model.job import QueueLengths

NONE = QueueLengths(queued=0, running=0)


def scope(path: str = "/api/v1/rubrics/x", route: str | None = "/rubrics/{id}", method: str = "GET") -> dict[str, Any]:
    found = {} if route is None else {"route": SimpleNamespace(path=route)}
    return {"method": method, "path": path, **found}


@pytest.mark.parametrize(
    ("asked", "route"),
    [
        (scope(), "/api/v1/rubrics/{id}"),
        (scope(route=None), "unmatched"),
        (scope("/runs/7", "/runs/{run_id}"), "/runs/{run_id}"),
        (scope("/etc/passwd", None), "unmatched"),
    ],
    ids=["the API's", "nobody's", "a page's", "anything"],
)
def test_a_request_is_counted_by_its_route(asked: dict[str, Any], route: str) -> None:
    assert route_of(asked) == route


def lines(counters: Counters, name: str) -> list[str]:
    return [line for line in counters.text(NONE).splitlines() if line.startswith(name)]


def test_answers_are_counted_by_method_route_and_status() -> None:
    counters = Counters()
    for status in (200, 200, 404):
        counters.note(scope(), status, 0.001)
    counters.note(scope(method="PUT"), 200, 0.001)
    assert lines(counters, "howsure_http_requests_total") == [
        'howsure_http_requests_total{method="GET",route="/api/v1/rubrics/{id}",status="200"} 2',
        'howsure_http_requests_total{method="GET",route="/api/v1/rubrics/{id}",status="404"} 1',
        'howsure_http_requests_total{method="PUT",route="/api/v1/rubrics/{id}",status="200"} 1',
    ]


def test_times_are_put_into_buckets_that_grow() -> None:
    counters = Counters()
    for seconds in (0.0, 0.005, 0.0051, 0.3, 99.0):
        counters.note(scope(), 200, seconds)
    found = lines(counters, "howsure_http_request_seconds_bucket")
    numbers = [int(line.rpartition(" ")[2]) for line in found]
    assert len(found) == len(BOUNDS) + 1
    assert numbers == sorted(numbers)
    assert numbers[:2] == [2, 3]
    assert (numbers[-2], numbers[-1]) == (4, 5)
    assert 'le="+Inf"' in found[-1]
    assert lines(counters, "howsure_http_request_seconds_count")[0].endswith(" 5")
    assert lines(counters, "howsure_http_request_seconds_sum")[0].endswith(" 99.310100")


def test_odd_requests_make_no_series_of_their_own() -> None:
    counters = Counters()
    for number in range(50):
        counters.note(scope(f"/x{number}", None, f"ODD{number}"), 404, 0.0)
    assert lines(counters, "howsure_http_requests_total") == [
        'howsure_http_requests_total{method="OTHER",route="unmatched",status="404"} 50'
    ]


def test_the_text_is_what_prometheus_reads() -> None:
    counters = Counters()
    counters.note(scope(), 200, 0.1)
    text = counters.text(QueueLengths(queued=3, running=1))
    assert text.endswith("\n")
    series = re.compile(r'[a-z_]+(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? [0-9.]+')
    for line in text.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or series.fullmatch(line), line
    assert 'howsure_runs{state="queued"} 3' in text
    assert 'howsure_runs{state="running"} 1' in text
    named = re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)
    assert len(named) == len(set(named))
