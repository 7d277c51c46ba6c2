"""Why the results of a run did not pass: causes by priority and by who is responsible, and what failures have in
common."""

from __future__ import annotations

import asyncio
from importlib import import_module

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.run import Run
from howsure.model.triage import CauseGroup, Triage
from howsure.reports.figures import pluralize
from howsure.reports.safe_text import one_line
from howsure.reports.triage_report import KIND_WORDS, PRIORITY_WORDS, triage_headline
from howsure.web.pages.run_cases import ALL, CaseFilter
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, host_of

MAX_RESULTS = 1000
"""Above this number of results that did not pass, the page refers to `howsure triage`."""
MAX_GROUPS = 12
CASES_PER_CAUSE = 5


class CauseLine(Struct, frozen=True, kw_only=True):
    party: str
    title: str
    advice: str
    number: int
    cases: tuple[tuple[str, str], ...]


class PriorityGroup(Struct, frozen=True):
    word: str
    causes: tuple[CauseLine, ...]


class TriageGroupLine(Struct, frozen=True, kw_only=True):
    """Another property that results have in common."""

    kind: str
    name: str
    number: int
    of: int | None


class TriagePage(Struct, frozen=True, kw_only=True):
    run_id: str
    run_name: str
    answer: str
    priorities: tuple[PriorityGroup, ...]
    groups: tuple[TriageGroupLine, ...]


def triage_page(run: Run, triage: Triage | None) -> TriagePage:
    """`triage` None: there are too many results to analyse."""
    many = pluralize(run.counts.failed + run.counts.errored, "result")
    too_many = f"{many} did not pass: too many to look into while you wait. `howsure triage {run.id[:8]}` does it."
    return TriagePage(
        run_id=run.id,
        run_name=run.name or run.id[:8],
        answer=triage_headline(triage) if triage else too_many,
        priorities=tuple(
            PriorityGroup(word, causes)
            for priority, word in PRIORITY_WORDS.items()
            if triage and (causes := tuple(_cause(run, each) for each in triage.causes if each.priority is priority))
        ),
        groups=tuple(
            TriageGroupLine(kind=KIND_WORDS[each.kind], name=one_line(each.name, 200), number=each.results, of=each.of)
            for each in sorted(triage.groups if triage else (), key=lambda group: -group.results)[:MAX_GROUPS]
        ),
    )


def _cause(run: Run, group: CauseGroup) -> CauseLine:
    return CauseLine(
        party=group.party.words,
        title=one_line(group.title, 200),
        advice=one_line(group.advice, 400),
        number=len(group.results),
        cases=tuple(
            (one_line(case, 80), f"/runs/{run.id}?{CaseFilter(verdict=ALL, q=case[:200]).query()}#cases")
            for case in group.cases[:CASES_PER_CAUSE]
        ),
    )


async def show(request: Request) -> Response:
    store = host_of(request).store
    run = await store.run(request.path_params["run_id"], caller_of(request).within)
    few = run.counts.failed + run.counts.errored <= MAX_RESULTS
    # Imported by name: only those who ask wait for numpy.
    service = await asyncio.to_thread(import_module, "howsure.services.triage.triage")
    return respond(request, "triage.html", triage_page(run, await service.triage_stored(store, run) if few else None))


ROUTES = [PageRoute("/runs/{run_id}/triage", show)]
