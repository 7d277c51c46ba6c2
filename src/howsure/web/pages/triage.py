"""Why each result of a run did not pass, sorted by cause and by who is answerable."""

from __future__ import annotations

import asyncio
from importlib import import_module

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.run import Run
from howsure.model.triage import CauseGroup, Triage
from howsure.reports.figures import counted
from howsure.reports.inert import one_line
from howsure.reports.triage_words import KIND_WORDS, PRIORITY_WORDS, headline
from howsure.web.filtering import ALL, Filter
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, host_of

MOST = 1000
"""So many results that did not pass are looked into while somebody waits."""
SHOWN = 12
CASES = 5


class CauseLine(Struct, frozen=True, kw_only=True):
    """Results that share a cause."""

    party: str
    title: str
    advice: str
    number: int
    cases: tuple[tuple[str, str], ...]


class Priority(Struct, frozen=True):
    """What to do first, then, and last."""

    word: str
    causes: tuple[CauseLine, ...]


class GroupLine(Struct, frozen=True, kw_only=True):
    """Something else that results have in common."""

    kind: str
    name: str
    number: int
    of: int | None


class TriagePage(Struct, frozen=True, kw_only=True):
    """What the page shows."""

    run_id: str
    run_name: str
    answer: str
    priorities: tuple[Priority, ...]
    groups: tuple[GroupLine, ...]


def triage_page(run: Run, found: Triage | None) -> TriagePage:
    """None: there are too many to look into."""
    many = counted(run.counts.failed + run.counts.errored, "result")
    too_many = f"{many} did not pass: too many to look into while you wait. `howsure triage {run.id[:8]}` does it."
    return TriagePage(
        run_id=run.id,
        run_name=run.name or run.id[:8],
        answer=headline(found) if found else too_many,
        priorities=tuple(_priorities(run, found)) if found else (),
        groups=tuple(_groups(found)) if found else (),
    )


def _priorities(run: Run, found: Triage) -> list[Priority]:
    return [
        Priority(word, causes)
        for priority, word in PRIORITY_WORDS.items()
        if (causes := tuple(_cause(run, each) for each in found.causes if each.priority is priority))
    ]


def _cause(run: Run, group: CauseGroup) -> CauseLine:
    return CauseLine(
        party=group.party.words,
        title=one_line(group.title, 200),
        advice=one_line(group.advice, 400),
        number=len(group.results),
        cases=tuple((one_line(case, 80), _search(run, case)) for case in group.cases[:CASES]),
    )


def _search(run: Run, case: str) -> str:
    return f"/runs/{run.id}?{Filter(verdict=ALL, q=case[:200]).query()}#cases"


def _groups(found: Triage) -> list[GroupLine]:
    return [
        GroupLine(kind=KIND_WORDS[each.kind], name=one_line(each.name, 200), number=each.results, of=each.of)
        for each in sorted(found.groups, key=lambda group: -group.results)[:SHOWN]
    ]


async def show(request: Request) -> Response:
    store = host_of(request).store
    run = await store.run(request.path_params["run_id"], caller_of(request).within)
    few = run.counts.failed + run.counts.errored <= MOST
    # Loads numpy: whoever never asks never waits for it.
    triaging = await asyncio.to_thread(import_module, "howsure.services.triage.triaging")
    found = await triaging.triaged(store, run) if few else None
    return respond(request, "triage.html", triage_page(run, found))


def routes() -> list[Page]:
    return [Page("/runs/{run_id}/triage", show)]
