"""One case in two runs, side by side: how each ended and why, and what was said, with the differences marked."""

from __future__ import annotations

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import NotFound
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.reports.inert import inert, one_line
from howsure.store.store import Store
from howsure.web.differing import Beside, Spoken, side_by_side
from howsure.web.filtering import Filter
from howsure.web.pages.compare import chosen_runs
from howsure.web.pages.run_cases import address_of
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, host_of
from howsure.web.talk import fitting


class Half(Struct, frozen=True, kw_only=True):
    """One of the two."""

    letter: str
    run_id: str
    run_name: str
    address: str
    verdict: str
    why: str
    grades: tuple[tuple[str, str, str], ...]


class CompareCasePage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    case_id: str
    answer: str
    up: str
    halves: tuple[Half, ...]
    turns: tuple[Beside, ...]
    same_turns: int


def compare_case_page(runs: tuple[Run, Run], results: tuple[Result, Result]) -> CompareCasePage:
    first, second = results
    turns = side_by_side(spoken(first), spoken(second))
    was, now = first.verdict.value, second.verdict.value
    return CompareCasePage(
        case_id=first.case.id,
        answer=f"Both {now}." if was == now else f"It {was} in A and {now} in B.",
        up=f"/compare?run={runs[0].id}&run={runs[1].id}",
        halves=tuple(_half(letter, run, result) for letter, run, result in zip("AB", runs, results, strict=True)),
        turns=tuple(turns),
        same_turns=sum(not each.differs for each in turns),
    )


def _half(letter: str, run: Run, result: Result) -> Half:
    shown = fitting(result)
    return Half(
        letter=letter,
        run_id=run.id,
        run_name=run.name or run.id[:8],
        address=address_of(run.id, result.position, Filter()),
        verdict=result.verdict.value,
        why=one_line("; ".join(result.reasons), 300),
        grades=tuple((each["name"], each["mark"], one_line(each["reason"], 200)) for each in shown["grades"]),
    )


def spoken(result: Result) -> list[Spoken]:
    """What was said, with each call on a line of its own."""
    return [
        Spoken(
            each["role"],
            each["text"],
            tuple(f"→ {call['name']}({call['brief']}) ← {call['said']}" for call in each["calls"]),
        )
        for each in fitting(result)["talk"]
    ]


async def show(request: Request) -> Response:
    store, query = host_of(request).store, request.query_params
    first, second = await chosen_runs(request, store, caller_of(request).within, 2)
    case, candidate = query.get("case", ""), query.get("candidate")
    results = await _result(store, first, case, candidate), await _result(store, second, case, candidate)
    return respond(request, "compare-case.html", compare_case_page((first, second), results))


async def _result(store: Store, run: Run, case: str, candidate: str | None) -> Result:
    """By the candidate that was named, where the run has one of that name; else the first attempt."""
    found = await store.results(run.id, limit=1, case_id=case, candidate=candidate) if candidate is not None else []
    found = found or await store.results(run.id, limit=1, case_id=case)
    if not found:
        raise NotFound(f"run {run.name or run.id} has no case {inert(case)!r}")
    return found[0]


def routes() -> list[Page]:
    return [Page("/compare/case", show)]
