"""One case: why this verdict? The deciding reason first, then the talk with what the judges quote marked in it, and the
scores beside it; then spans, repeats, the same case elsewhere, and everything raw."""

from __future__ import annotations

from collections.abc import Sequence
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
from howsure.reports.inert import inert, one_line
from howsure.store.browsing import Elsewhere
from howsure.store.store import Store
from howsure.web.evidence import Numbering
from howsure.web.filtering import Filter, filter_in
from howsure.web.pages.case_grades import Graded, conditions_of, graded, people_of
from howsure.web.pages.run_cases import address_of
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, host_of
from howsure.web.talk import Change, Turn, changes, fitting, ghosts, texts_of, turns
from howsure.web.waterfall import Waterfall, waterfall

REPEATS = 20
ANSWER = 3000


class Again(Struct, frozen=True, kw_only=True):
    """Another attempt at the case: in another repeat, by another candidate."""

    called: str
    verdict: str
    address: str
    answer: str
    why: str
    is_this: bool


class Other(Struct, frozen=True, kw_only=True):
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
    turns: tuple[Turn, ...]
    ghosts: tuple[str, ...]
    changes: tuple[Change, ...]
    is_silent: bool
    grades: tuple[Graded, ...]
    expected: tuple[tuple[str, str], ...]
    given: tuple[tuple[str, str], ...]
    attachments: tuple[tuple[str, str, str], ...]
    has_rubric: bool
    state: str
    failures: tuple[tuple[str, str], ...]
    tags: tuple[str, ...]
    seconds: str
    spans: Waterfall | None
    repeats: tuple[Again, ...]
    others: tuple[Other, ...]
    place: str
    previous: str
    following: str
    up: str
    raw: str
    files: str


class Near(Struct, frozen=True, kw_only=True):
    """What is before and after this one in the filter, and the same case elsewhere."""

    chosen: Filter = Filter()
    place: str = ""
    previous: int | None = None
    following: int | None = None
    attempts: Sequence[Result] = ()
    others: Sequence[Elsewhere] = ()
    labels: Sequence[HumanLabel] = ()


def case_page(run: Run, result: Result, near: Near) -> CasePage:
    shown = fitting(result)
    conditions, numbering = conditions_of(run), Numbering(texts_of(shown))
    # The grades first: they say what is quoted.
    people = people_of(result, near.labels)
    grades = tuple(graded(each, each["name"], conditions, numbering, people) for each in shown["grades"])
    query = near.chosen.query()
    return CasePage(
        run_id=run.id,
        run_name=run.name or run.id[:8],
        case_id=result.case.id,
        position=result.position,
        name=one_line(result.case.name),
        verdict=result.verdict.value,
        answer=_answer(result),
        fault=f"{result.fault.party.words}: {one_line(result.fault.reason, 300)}" if result.fault else "",
        turns=turns(shown, numbering),
        ghosts=ghosts(result),
        changes=changes(result),
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
        repeats=tuple(_again(run, each, result, near.chosen) for each in near.attempts if len(near.attempts) > 1),
        others=tuple(_other(run, each, result) for each in near.others),
        place=near.place,
        previous="" if near.previous is None else address_of(run.id, near.previous, near.chosen),
        following="" if near.following is None else address_of(run.id, near.following, near.chosen),
        up=f"/runs/{run.id}{f'?{query}' if query else ''}#cases",
        raw=f"/runs/{run.id}/cases/{result.position}/raw",
        files=f"/runs/{run.id}/cases/{result.position}/attachments",
    )


def _answer(result: Result) -> str:
    """The verdict and what decided it, in one line."""
    why = one_line("; ".join(result.reasons), 300)
    return f"{result.verdict.value.capitalize()}{': ' + why if why else '.'}"


def _attachments(result: Result) -> tuple[tuple[str, str, str], ...]:
    given = result.case.input
    files = given.attachments if isinstance(given, SingleTurn) else ()
    return tuple((one_line(file.title or file.path, 200), inert(file.path), inert(file.kind)) for file in files)


def _again(run: Run, result: Result, this: Result, chosen: Filter) -> Again:
    return Again(
        called=" ".join(part for part in (inert(result.candidate), f"repeat {result.repeat}") if part),
        verdict=result.verdict.value,
        address=address_of(run.id, result.position, chosen),
        answer=inert(result.transcript.answer)[:ANSWER] if result.transcript else "",
        why=one_line("; ".join(result.reasons), 200),
        is_this=result.position == this.position,
    )


def _other(run: Run, found: Elsewhere, result: Result) -> Other:
    called = (found.run_name or found.run_id[:8], found.candidate, f"repeat {found.repeat}" if found.repeat > 1 else "")
    held = [("run", found.run_id), ("run", run.id), ("case", result.case.id)]
    return Other(
        called=inert(" ".join(part for part in called if part)),
        verdict=found.verdict,
        address=f"/runs/{found.run_id}/cases/{found.position}",
        compare=f"/compare/case?{urlencode(held)}",
    )


async def show(request: Request) -> Response:
    asking, store = caller_of(request), host_of(request).store
    run = await store.run(request.path_params["run_id"], asking.within)
    result = await result_at(store, run, request.path_params["position"])
    chosen = filter_in(request.query_params)
    beside = await store.browsing.beside(run.id, chosen.chosen(run.counts.failed), result.position)
    near = Near(
        chosen=chosen,
        place="" if beside.place is None else f"{beside.place:,} of {beside.matching:,}",
        previous=beside.previous,
        following=beside.following,
        attempts=await store.results(run.id, limit=REPEATS, case_id=result.case.id),
        others=await store.browsing.elsewhere(run, result.case.id, asking.within),
        labels=await store.labels.of_run(run.id, asking.within, [result.position]),
    )
    return respond(request, "case.html", case_page(run, result, near))


async def raw(request: Request) -> Response:
    """The result as it is stored, whole."""
    store = host_of(request).store
    run = await store.run(request.path_params["run_id"], caller_of(request).within)
    result = await result_at(store, run, request.path_params["position"])
    return Response(msgspec.json.encode(result), media_type="application/json")


async def by_id(request: Request) -> Response:
    """To the first result of a case, by the case's own id."""
    store, query = host_of(request).store, request.query_params
    run = await store.run(request.path_params["run_id"], caller_of(request).within)
    found = await store.results(run.id, limit=1, case_id=query.get("id", ""), candidate=query.get("candidate"))
    if not found:
        raise NotFound(f"run {run.id} has no case {query.get('id', '')!r}")
    return RedirectResponse(address_of(run.id, found[0].position, Filter()), 303)


async def result_at(store: Store, run: Run, position: str) -> Result:
    known = position.isascii() and position.isdecimal() and len(position) < 12
    found = await store.browsing.at(run.id, [int(position)]) if known else []
    if not found:
        raise NotFound(f"run {run.id} has no result at position {position}")
    return found[0]


def routes() -> list[Page]:
    return [
        Page("/runs/{run_id}/cases/{position}", show),
        Page("/runs/{run_id}/cases/{position}/raw", raw),
        Page("/runs/{run_id}/case", by_id),
    ]
