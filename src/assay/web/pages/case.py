"""One case: why this verdict? The deciding reason first, then the talk with what the judges quote marked in it, and the
scores beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from assay.errors import NotFound
from assay.model.result import Result
from assay.model.run import Run
from assay.model.verdict import Verdict
from assay.reports.html.blocks import block
from assay.reports.inert import inert, one_line
from assay.store.store import Store
from assay.web.pages.run import address_of
from assay.web.rendering import respond
from assay.web.sharing import Page, caller_of, host_of


class Piece(Struct, frozen=True):
    """A stretch of text; `numbers` are those of the quotes it is part of."""

    text: str
    numbers: tuple[int, ...] = ()


class Turn(Struct, frozen=True, kw_only=True):
    """One thing that was said, with the calls that were made beside it."""

    role: str
    agent: str
    pieces: tuple[Piece, ...]
    calls: tuple[dict[str, Any], ...]


class Quote(Struct, frozen=True):
    """Words a judge points at; `found`: whether they are in the talk."""

    number: int
    text: str
    found: bool


class Graded(Struct, frozen=True, kw_only=True):
    """A grade, or one criterion or rule of one."""

    name: str
    mark: str
    status: str
    value: str
    needed: str
    severity: str
    reason: str
    judge: str
    conditions: tuple[tuple[str, str], ...]
    quotes: tuple[Quote, ...]
    parts: tuple[Graded, ...] = ()


class CasePage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    run_id: str
    run_name: str
    case_id: str
    name: str
    verdict: str
    answer: str
    turns: tuple[Turn, ...]
    is_silent: bool
    grades: tuple[Graded, ...]
    expected: tuple[tuple[str, str], ...]
    given: tuple[tuple[str, str], ...]
    state: str
    failures: tuple[tuple[str, str], ...]
    tags: tuple[str, ...]
    repeats: tuple[tuple[str, str, str], ...]
    previous: str
    following: str
    raw: str


class Neighbours(Struct, frozen=True, kw_only=True):
    """The failures before and after this one, and the same case in other repeats and by other candidates."""

    previous: str = ""
    following: str = ""
    repeats: tuple[tuple[str, str, str], ...] = ()


def case_page(run: Run, result: Result, near: Neighbours) -> CasePage:
    shown = block(result)
    conditions = _conditions(run)
    numbering = Numbering([each["text"] for each in shown["talk"]])
    grades = tuple(_graded(each, each["name"], conditions, numbering) for each in shown["grades"])
    return CasePage(
        run_id=run.id,
        run_name=run.name or run.id[:8],
        case_id=inert(result.case.id),
        name=one_line(result.case.name),
        verdict=result.verdict.value,
        answer=_answer(result),
        turns=tuple(_turn(each, numbering) for each in shown["talk"]),
        is_silent=shown["silent"],
        grades=grades,
        expected=tuple((each["title"], each["text"]) for each in shown["expected"]),
        given=tuple((each["title"], each["text"]) for each in shown["given"]),
        state=shown["state"],
        failures=tuple((each["kind"], each["message"]) for each in shown["failures"]),
        tags=tuple(shown["tags"]),
        repeats=near.repeats,
        previous=near.previous,
        following=near.following,
        raw=f"/runs/{run.id}/cases/{result.position}?format=json",
    )


def _answer(result: Result) -> str:
    """The verdict and what decided it, in one line."""
    why = one_line("; ".join(result.reasons), 300)
    return f"{result.verdict.value.capitalize()}{': ' + why if why else '.'}"


class Numbering:
    """Gives every quote its number, once, and knows where in the talk it is."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._numbers: dict[str, int] = {}

    def quote(self, text: str) -> Quote:
        number = self._numbers.setdefault(text, len(self._numbers) + 1)
        return Quote(number, text, any(text in each for each in self._texts))

    def pieces(self, text: str) -> tuple[Piece, ...]:
        """The text in stretches, each with the numbers of the quotes over it."""
        spans = [
            (found.start(), found.end(), number)
            for quote, number in self._numbers.items()
            if quote
            for found in re.finditer(re.escape(quote), text)
        ]
        edges = sorted({0, len(text), *(edge for start, end, _ in spans for edge in (start, end))})
        return tuple(
            Piece(text[start:end], tuple(sorted({n for low, high, n in spans if low <= start and end <= high})))
            for start, end in pairwise(edges)
        )


def _turn(shown: Mapping[str, Any], numbering: Numbering) -> Turn:
    pieces = numbering.pieces(shown["text"])
    return Turn(role=shown["role"], agent=shown["agent"], pieces=pieces, calls=tuple(shown["calls"]))


Conditions = Mapping[str, tuple[tuple[str, str], ...]]


def _conditions(run: Run) -> Conditions:
    """When each rule passes and fails, by the rule's name."""
    rules = run.pins.rubric.rules if run.pins.rubric else ()
    return {
        inert(rule.name): (
            *(("pass if", inert(text)) for text in rule.pass_conditions),
            *(("fail if", inert(text)) for text in rule.fail_conditions),
        )
        for rule in rules
    }


def _graded(shown: Mapping[str, Any], name: str, conditions: Conditions, numbering: Numbering) -> Graded:
    return Graded(
        name=name,
        mark=shown["mark"],
        status=shown["status"],
        value=shown.get("value", ""),
        needed=shown["needed"],
        severity=shown.get("severity", ""),
        reason=shown["reason"],
        judge=shown["judge"],
        conditions=conditions.get(name, ()),
        quotes=tuple(numbering.quote(text) for text in shown["evidence"]),
        parts=tuple(_graded(part, part["text"], conditions, numbering) for part in shown.get("parts", ())),
    )


async def show(request: Request) -> Response:
    asking, store = caller_of(request), host_of(request).store
    run = await store.run(request.path_params["run_id"], asking.within)
    result = await _result(store, run, request.path_params["result_id"])
    near = await neighbours(store, run, result)
    return respond(request, "case.html", case_page(run, result, near))


async def _result(store: Store, run: Run, key: str) -> Result:
    """By its position in the run, or by its id or its case's."""
    if key.isascii() and key.isdecimal() and len(key) < 12:
        found = await store.results(run.id, after=int(key) - 1, limit=1)
        if found and found[0].position == int(key):
            return found[0]
        raise NotFound(f"run {run.id} has no result at position {key}")
    return await store.result(run.id, key)


async def neighbours(store: Store, run: Run, result: Result) -> Neighbours:
    failed = await store.positions(run.id, Verdict.FAILED)
    before = [place for place in failed if place < result.position]
    after = [place for place in failed if place > result.position]
    others = await store.results(run.id, limit=20, case_id=result.case.id)
    return Neighbours(
        previous=f"/runs/{run.id}/cases/{before[-1]}" if before else "",
        following=f"/runs/{run.id}/cases/{after[0]}" if after else "",
        repeats=tuple(
            (_called(each), each.verdict.value, address_of(run.id, each)) for each in others if len(others) > 1
        ),
    )


def _called(result: Result) -> str:
    return " ".join(part for part in (inert(result.candidate), f"repeat {result.repeat}") if part)


def routes() -> list[Page]:
    return [Page("/runs/{run_id}/cases/{result_id}", show)]
