"""Why the results of a run did not pass: causes by priority and by who is responsible, and what failures have in
common."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from howsure.model.run import Run
from howsure.model.triage import CauseGroup, GroupKind, Triage, TriageGroup
from howsure.reports.figures import pluralize
from howsure.reports.headlines import grader_name, page_words
from howsure.reports.safe_text import one_line
from howsure.reports.triage_report import KIND_WORDS, PRIORITY_WORDS, triage_headline
from howsure.web.pages.run_cases import ALL, CaseFilter, case_names
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, host_of, requested_run

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


def _cause(run: Run, group: CauseGroup, names: Mapping[str, str]) -> CauseLine:
    return CauseLine(
        party=group.party.words,
        title=one_line(group.title, 200),
        advice=one_line(page_words(group.advice), 400),
        number=len(group.results),
        cases=tuple(
            (
                names.get(case) or one_line(case, 80),
                f"/runs/{run.id}?{CaseFilter(verdict=ALL, q=case[:200]).query()}#cases",
            )
            for case in group.cases[:CASES_PER_CAUSE]
        ),
    )


def _group(group: TriageGroup) -> TriageGroupLine:
    name = grader_name(group.name) if group.kind in (GroupKind.GRADER, GroupKind.COMPONENT) else group.name
    return TriageGroupLine(kind=KIND_WORDS[group.kind], name=one_line(name, 200), number=group.results, of=group.of)


async def show(request: Request) -> Response:
    store, run = host_of(request).store, await requested_run(request)
    number = run.counts.failed + run.counts.errored
    # Imported by name: only those who ask wait for numpy.
    service = await asyncio.to_thread(import_module, "howsure.services.triage.triage")
    triage: Triage | None = await service.triage_stored(store, run) if number <= MAX_RESULTS else None
    many = f"{pluralize(number, 'result')} did not pass: too many to analyse while you wait."
    causes = triage.causes if triage else ()
    names = await case_names(store, [(run.id, case) for each in causes for case in each.cases[:CASES_PER_CAUSE]])
    page = TriagePage(
        run_id=run.id,
        run_name=run.name or run.id[:8],
        answer=triage_headline(triage) if triage else f"{many} `howsure triage {run.id[:8]}` does it.",
        priorities=tuple(
            PriorityGroup(word, own)
            for priority, word in PRIORITY_WORDS.items()
            if (own := tuple(_cause(run, each, names) for each in causes if each.priority is priority))
        ),
        groups=tuple(
            _group(each)
            for each in sorted(triage.groups if triage else (), key=lambda group: -group.results)[:MAX_GROUPS]
        ),
    )
    return respond(request, "triage.html", page)


ROUTES = [PageRoute("/runs/{run_id}/triage", show)]
