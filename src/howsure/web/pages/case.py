"""The page of one case: the verdict and its reason, the conversation with the judges' quotes marked in it, and the
grades; then spans, repeats, the same case in other runs, and the raw result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from howsure.errors import NotFound
from howsure.model.case import SingleTurn
from howsure.model.label import HumanLabel
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.reports.safe_text import make_inert, one_line
from howsure.store.browse import OtherRunResult
from howsure.store.store import Store
from howsure.web.case_filters import CaseFilter, read_case_filter
from howsure.web.conversations import (
    Quote,
    QuoteNumbers,
    StateChange,
    TurnView,
    conversation_texts,
    fit_case_block,
    missing_calls,
    state_changes,
    turn_views,
)
from howsure.web.pages.label import WORDS
from howsure.web.pages.run_cases import case_address
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, host_of
from howsure.web.waterfall import Waterfall, waterfall

Conditions = Mapping[str, tuple[tuple[str, str], ...]]
Opinions = Mapping[str, Sequence[tuple[str, str, str]]]
NO_OPINIONS: Opinions = MappingProxyType({})
REPEATS = 20
MAX_ANSWER = 3000


class GradeView(Struct, frozen=True, kw_only=True):
    """A grade, or the grade of one criterion or rule."""

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
    people: tuple[tuple[str, str, str], ...] = ()
    details: str = ""
    parts: tuple[GradeView, ...] = ()


def opinions_by_grade(result: Result, labels: Sequence[HumanLabel]) -> Opinions:
    """The labels of people (who, opinion, reason), by the text of the grade they are about."""
    texts = {
        (grade.name, grade.part.id if grade.part else ""): make_inert(grade.part.text if grade.part else grade.name)
        for grade in result.grades
    }
    opinions: dict[str, list[tuple[str, str, str]]] = {}
    for label in labels:
        text = texts.get((label.grader, label.part_id))
        if text is not None:
            opinion = (make_inert(label.labeler), WORDS[label.opinion], one_line(label.why, 300))
            opinions.setdefault(text, []).append(opinion)
    return opinions


def rule_conditions(run: Run) -> Conditions:
    """The pass and fail conditions of each rule, by its name."""
    rules = run.pins.rubric.rules if run.pins.rubric else ()
    return {
        make_inert(rule.name): (
            *(("pass if", make_inert(text)) for text in rule.pass_conditions),
            *(("fail if", make_inert(text)) for text in rule.fail_conditions),
        )
        for rule in rules
    }


def grade_view(
    shown: Mapping[str, Any], name: str, conditions: Conditions, quotes: QuoteNumbers, opinions: Opinions = NO_OPINIONS
) -> GradeView:
    return GradeView(
        name=name,
        mark=shown["mark"],
        status=shown["status"],
        value=shown.get("value", ""),
        needed=shown["needed"],
        severity=shown.get("severity", ""),
        reason=shown["reason"],
        judge=shown["judge"],
        conditions=conditions.get(name, ()),
        quotes=tuple(quotes.quote(text) for text in shown["evidence"]),
        people=tuple(opinions.get(name, ())),
        details=shown.get("details", ""),
        parts=tuple(grade_view(part, part["text"], conditions, quotes, opinions) for part in shown.get("parts", ())),
    )


class OtherAttempt(Struct, frozen=True, kw_only=True):
    """An attempt at the same case: another repeat, or another candidate."""

    called: str
    verdict: str
    address: str
    answer: str
    why: str
    is_this: bool


class OtherRunCase(Struct, frozen=True, kw_only=True):
    """The same case in another run."""

    called: str
    verdict: str
    address: str
    compare: str


class CasePage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    run_id: str
    run_name: str
    case_id: str
    position: int
    name: str
    verdict: str
    answer: str
    fault: str
    turns: tuple[TurnView, ...]
    ghosts: tuple[str, ...]
    changes: tuple[StateChange, ...]
    is_silent: bool
    grades: tuple[GradeView, ...]
    expected: tuple[tuple[str, str], ...]
    given: tuple[tuple[str, str], ...]
    attachments: tuple[tuple[str, str, str], ...]
    has_rubric: bool
    state: str
    failures: tuple[tuple[str, str], ...]
    tags: tuple[str, ...]
    seconds: str
    spans: Waterfall | None
    repeats: tuple[OtherAttempt, ...]
    others: tuple[OtherRunCase, ...]
    place: str
    previous: str
    following: str
    up: str
    raw: str
    files: str


class CaseNeighbours(Struct, frozen=True, kw_only=True):
    """The previous and next case in the filtered list, other attempts at this case, and its labels."""

    chosen: CaseFilter = CaseFilter()
    place: str = ""
    previous: int | None = None
    following: int | None = None
    attempts: Sequence[Result] = ()
    others: Sequence[OtherRunResult] = ()
    labels: Sequence[HumanLabel] = ()


def case_page(run: Run, result: Result, neighbours: CaseNeighbours) -> CasePage:
    shown = fit_case_block(result)
    conditions, quotes = rule_conditions(run), QuoteNumbers(conversation_texts(shown))
    # The grades come first: they number the quotes.
    opinions = opinions_by_grade(result, neighbours.labels)
    grades = tuple(grade_view(each, each["name"], conditions, quotes, opinions) for each in shown["grades"])
    query, attempts = neighbours.chosen.query(), neighbours.attempts
    return CasePage(
        run_id=run.id,
        run_name=run.name or run.id[:8],
        case_id=result.case.id,
        position=result.position,
        name=one_line(result.case.name),
        verdict=result.verdict.value,
        answer=_answer(result),
        fault=f"{result.fault.party.words}: {one_line(result.fault.reason, 300)}" if result.fault else "",
        turns=turn_views(shown, quotes),
        ghosts=missing_calls(result),
        changes=state_changes(result),
        is_silent=shown["silent"],
        grades=grades,
        expected=tuple((each["title"], each["text"]) for each in shown["expected"]),
        given=tuple((each["title"], each["text"]) for each in shown["given"] if each["title"] != "attachment"),
        attachments=_attachments(result),
        has_rubric=run.pins.rubric is not None,
        state=shown["state"],
        failures=tuple((each["kind"], each["message"]) for each in shown["failures"]),
        tags=tuple(shown["tags"]),
        seconds=shown["seconds"],
        spans=waterfall(result.transcript),
        repeats=tuple(_other_attempt(run, each, result, neighbours.chosen) for each in attempts if len(attempts) > 1),
        others=tuple(_other_run(run, each, result) for each in neighbours.others),
        place=neighbours.place,
        previous="" if neighbours.previous is None else case_address(run.id, neighbours.previous, neighbours.chosen),
        following="" if neighbours.following is None else case_address(run.id, neighbours.following, neighbours.chosen),
        up=f"/runs/{run.id}{f'?{query}' if query else ''}#cases",
        raw=f"/runs/{run.id}/cases/{result.position}/raw",
        files=f"/runs/{run.id}/cases/{result.position}/attachments",
    )


def _answer(result: Result) -> str:
    """The verdict and its reasons, in one line."""
    why = one_line("; ".join(result.reasons), 300)
    return f"{result.verdict.value.capitalize()}{': ' + why if why else '.'}"


def _attachments(result: Result) -> tuple[tuple[str, str, str], ...]:
    given = result.case.input
    files = given.attachments if isinstance(given, SingleTurn) else ()
    return tuple(
        (one_line(file.title or file.path, 200), make_inert(file.path), make_inert(file.kind)) for file in files
    )


def _other_attempt(run: Run, result: Result, this: Result, chosen: CaseFilter) -> OtherAttempt:
    return OtherAttempt(
        called=" ".join(part for part in (make_inert(result.candidate), f"repeat {result.repeat}") if part),
        verdict=result.verdict.value,
        address=case_address(run.id, result.position, chosen),
        answer=make_inert(result.transcript.answer)[:MAX_ANSWER] if result.transcript else "",
        why=one_line("; ".join(result.reasons), 200),
        is_this=result.position == this.position,
    )


def _other_run(run: Run, other: OtherRunResult, result: Result) -> OtherRunCase:
    called = (other.run_name or other.run_id[:8], other.candidate, f"repeat {other.repeat}" if other.repeat > 1 else "")
    compared = [("run", other.run_id), ("run", run.id), ("case", result.case.id)]
    return OtherRunCase(
        called=make_inert(" ".join(part for part in called if part)),
        verdict=other.verdict,
        address=f"/runs/{other.run_id}/cases/{other.position}",
        compare=f"/compare/case?{urlencode(compared)}",
    )


async def show(request: Request) -> Response:
    caller, store = caller_of(request), host_of(request).store
    run = await store.run(request.path_params["run_id"], caller.within)
    result = await result_at(store, run, request.path_params["position"])
    chosen = read_case_filter(request.query_params)
    page = await store.browse.neighbors(run.id, chosen.result_filter(run.counts.failed), result.position)
    neighbours = CaseNeighbours(
        chosen=chosen,
        place="" if page.place is None else f"{page.place:,} of {page.matching:,}",
        previous=page.previous,
        following=page.following,
        attempts=await store.results(run.id, limit=REPEATS, case_id=result.case.id),
        others=await store.browse.other_results(run, result.case.id, caller.within),
        labels=await store.labels.of_run(run.id, caller.within, [result.position]),
    )
    return respond(request, "case.html", case_page(run, result, neighbours))


async def raw(request: Request) -> Response:
    """The stored result as JSON."""
    store = host_of(request).store
    run = await store.run(request.path_params["run_id"], caller_of(request).within)
    result = await result_at(store, run, request.path_params["position"])
    return Response(msgspec.json.encode(result), media_type="application/json")


async def by_id(request: Request) -> Response:
    """Redirect to the first result of the case with this id."""
    store, query = host_of(request).store, request.query_params
    run = await store.run(request.path_params["run_id"], caller_of(request).within)
    found = await store.results(run.id, limit=1, case_id=query.get("id", ""), candidate=query.get("candidate"))
    if not found:
        raise NotFound(f"run {run.id} has no case {query.get('id', '')!r}")
    return RedirectResponse(case_address(run.id, found[0].position, CaseFilter()), 303)


async def result_at(store: Store, run: Run, position: str) -> Result:
    known = position.isascii() and position.isdecimal() and len(position) < 12
    found = await store.browse.results_at(run.id, [int(position)]) if known else []
    if not found:
        raise NotFound(f"run {run.id} has no result at position {position}")
    return found[0]


def routes() -> list[PageRoute]:
    return [
        PageRoute("/runs/{run_id}/cases/{position}", show),
        PageRoute("/runs/{run_id}/cases/{position}/raw", raw),
        PageRoute("/runs/{run_id}/case", by_id),
    ]
