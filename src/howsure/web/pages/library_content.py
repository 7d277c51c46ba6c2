"""What a document holds, as a person reads it: the rules of a rubric or the cases of a set, each with how it went in
the runs that used it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from howsure.errors import Problem
from howsure.model.access_scope import AccessScope
from howsure.model.case import Case, opening
from howsure.model.document import Document, DocumentKind
from howsure.model.expectation import Criteria, WeightedCriteria
from howsure.model.run import Run
from howsure.reports.expected import expected
from howsure.reports.figures import Rate
from howsure.reports.inert import inert, one_line
from howsure.services.hosting.drafting import ENTRIES, cut
from howsure.services.hosting.host import Host
from howsure.services.hosting.materials import is_reference, on_disk, read_reference
from howsure.services.hosting.shapes import body_of
from howsure.store.service.catalog import Ended, PartTally
from howsure.store.store import Store

CASES = 15
RULES = 15
"""On one page."""
RUNS = 8
LOOKED_AT = 40
LARGEST = 5_000
"""Results of a run beyond which its rules are not counted while somebody waits: they are once it has ended."""
LONGEST = 600
DIALECTS = {DocumentKind.TEST_SET: "test-set", DocumentKind.QUESTION_SET: "legal"}


class RunMark(Struct, frozen=True):
    """How a rule or case went in one run."""

    word: str
    said: str
    address: str


class Entry(Struct, frozen=True, kw_only=True):
    """A rule, or a case."""

    id: str
    name: str
    severity: str
    scope: str
    text: str
    conditions: tuple[tuple[str, str], ...]
    rate: Rate
    runs: tuple[RunMark, ...]

    @property
    def unjudged(self) -> str:
        """What is said where there is no rate."""
        return "no verdict yet" if self.runs else "in no run yet"


class Content(Struct, frozen=True, kw_only=True):
    """What a version holds, as far as it is shown. `never` of all rules, or of the cases that are shown, never passed;
    `uncounted` are runs that are too large to be counted before they end."""

    description: str
    entries: tuple[Entry, ...]
    number: int | None
    never: int = 0
    further: str = ""
    uncounted: tuple[str, ...] = ()


def rules_in(document: Document, runs: Sequence[Run], tallies: Sequence[PartTally]) -> Content:
    """The rules of a rubric, each with how it went."""
    body = msgspec.json.decode(document.edition.body)
    rules = [rule for rule in body.get("rules", ()) if isinstance(rule, dict)]
    found = {(each.run_id, each.part_id, each.outcome): each.number for each in tallies}
    entries = tuple(_rule(rule, runs, found) for rule in rules)
    return Content(
        description=inert(str(body.get("description") or "")),
        entries=entries,
        number=len(rules),
        never=_never(entries),
    )


def _never(entries: Sequence[Entry]) -> int:
    """What never failed may ask too little; what never passed may ask too much."""
    return sum(entry.rate.judged > 0 and entry.rate.passed == 0 for entry in entries)


def _rule(rule: Mapping[str, object], runs: Sequence[Run], found: Mapping[tuple[str, str, str], int]) -> Entry:
    key = str(rule.get("id", ""))
    conditions = rule.get("evaluation_criteria")
    given = conditions if isinstance(conditions, dict) else {}
    marks = tuple(_rule_mark(run, key, found) for run in runs)
    passed = sum(found.get((run.id, key, "passed"), 0) for run in runs)
    failed = sum(found.get((run.id, key, "failed"), 0) for run in runs)
    return Entry(
        id=inert(key),
        name=inert(str(rule.get("name", ""))),
        severity=str(rule.get("severity", "")),
        scope=str(rule.get("component_scope") or ""),
        text=inert(str(rule.get("description") or "")),
        conditions=(
            *(("pass if", inert(str(text))) for text in given.get("pass_conditions") or ()),
            *(("fail if", inert(str(text))) for text in given.get("fail_conditions") or ()),
        ),
        rate=Rate(passed, passed + failed),
        runs=marks,
    )


def _rule_mark(run: Run, key: str, found: Mapping[tuple[str, str, str], int]) -> RunMark:
    passed, failed = found.get((run.id, key, "passed"), 0), found.get((run.id, key, "failed"), 0)
    silent = found.get((run.id, key, "error"), 0)
    word = "failed" if failed else "passed" if passed else "errored" if silent else "skipped"
    told = f"{passed} of {passed + failed} passed" if passed + failed else "no verdict"
    said = f"{told}, {silent} times the judge could not say" if silent else told
    return RunMark(word, f"{_called(run)}: {said}", f"/runs/{run.id}")


def cases_in(cases: Sequence[Case], runs: Sequence[Run], endings: Sequence[Ended], *, number: int | None) -> Content:
    """Cases, each with how it went."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in endings:
        found.setdefault((each.run_id, each.case_id), []).append(each.verdict)
    entries = tuple(_case(case, runs, found) for case in cases)
    return Content(description="", entries=entries, number=number, never=_never(entries))


def _case(case: Case, runs: Sequence[Run], found: Mapping[tuple[str, str], Sequence[str]]) -> Entry:
    marks = tuple(_case_mark(run, case.id, found.get((run.id, case.id), ())) for run in runs)
    verdicts = [verdict for run in runs for verdict in found.get((run.id, case.id), ())]
    passed, failed = verdicts.count("passed"), verdicts.count("failed")
    return Entry(
        id=inert(case.id),
        name=one_line(case.name, LONGEST),
        severity="",
        scope=", ".join(inert(tag) for tag in case.tags[:6]),
        text=one_line(opening(case.input), LONGEST),
        conditions=(*_criteria(case), *((inert(title), one_line(text, LONGEST)) for title, text in expected(case))),
        rate=Rate(passed, passed + failed),
        runs=marks,
    )


def _criteria(case: Case) -> tuple[tuple[str, str], ...]:
    kinds = Criteria | WeightedCriteria
    own = [each for each in case.expectations if isinstance(each, kinds)]
    return tuple(("must hold", one_line(criterion.text, LONGEST)) for each in own for criterion in each.criteria[:20])


def _case_mark(run: Run, key: str, verdicts: Sequence[str]) -> RunMark:
    ranked = ("failed", "errored", "skipped", "passed")
    word = next((word for word in ranked if word in verdicts), "pending")
    said = ", ".join(dict.fromkeys(verdicts)) or "not in it"
    query = urlencode({"verdict": "all"})
    return RunMark(word, f"{_called(run)}: {said}", f"/runs/{run.id}?{query}")


def _called(run: Run) -> str:
    return one_line(run.name or run.id[:8], 80)


async def runs_with(store: Store, document: Document, within: AccessScope) -> list[Run]:
    """The newest runs that used some version of it."""
    agent = document.agent_id or None
    found = await store.runs(limit=LOOKED_AT, agent_id=agent, within=within)
    fitting = [run for run in found if _used(run, document) and run.counts.completed]
    return fitting[:RUNS]


def _used(run: Run, document: Document) -> bool:
    if document.kind is DocumentKind.RUBRIC:
        return run.pins.rubric is not None and run.pins.rubric.id == document.id
    named = [read_reference(pin.path) for pin in run.pins.datasets if is_reference(pin.path)]
    return any(each.kind is document.kind and each.id == document.id for each in named)


async def content_of(host: Host, document: Document, runs: Sequence[Run], start: int) -> Content:
    if document.kind is DocumentKind.RUBRIC:
        content = await _rules_of(host.store, document, runs)
        shown, rest = content.entries[start : start + RULES], content.entries[start + RULES :]
        further = f"?version={document.edition.version}&start={start + RULES}" if rest else ""
        return msgspec.structs.replace(content, entries=shown, further=further)
    cases = await asyncio.to_thread(_read, host, document, start)
    endings = await host.store.catalog.endings([run.id for run in runs], [case.id for case in cases[:CASES]])
    content = cases_in(cases[:CASES], runs, endings, number=await _number(host, document, cases, start))
    further = f"?version={document.edition.version}&start={start + CASES}" if len(cases) > CASES else ""
    return msgspec.structs.replace(content, further=further)


async def _rules_of(store: Store, document: Document, runs: Sequence[Run]) -> Content:
    """What was counted when a run ended is read; a small run that has not ended is counted now."""
    kept = {run_id: each.rules for run_id, each in (await store.counted([run.id for run in runs])).items()}
    open_ones = [run for run in runs if kept.get(run.id) is None]
    small = [run.id for run in open_ones if run.counts.total <= LARGEST]
    rules = msgspec.json.decode(document.edition.body).get("rules", ())
    keys = [str(rule["id"]) for rule in rules if isinstance(rule, dict) and "id" in rule]
    tallies = await store.catalog.tallies(small, keys)
    tallies += [
        PartTally(run_id, key, outcome, number)
        for run_id, counted in kept.items()
        for key, outcomes in (counted or {}).items()
        for outcome, number in outcomes.items()
    ]
    left_out = tuple(run for run in open_ones if run.counts.total > LARGEST)
    content = rules_in(document, [run for run in runs if run not in left_out], tallies)
    return msgspec.structs.replace(content, uncounted=tuple(_called(run) for run in left_out))


def _read(host: Host, document: Document, start: int) -> list[Case]:
    """As many as a page holds and one more. They were checked when they were written: no more is read than is shown."""
    dialect = host.work.kit.dialects[DIALECTS.get(document.kind) or document.edition.dialect]
    if document.kind is DocumentKind.DATASET:
        path = on_disk(document, host.work.data_folder / "documents")
        return list(islice(_cases_in(dialect.read(path)), start, start + CASES + 1))
    with TemporaryDirectory() as folder:
        return list(_cases_in(dialect.read(on_disk(cut(document, start, CASES + 1), Path(folder)))))


def _cases_in(read: Iterable[Case | Problem]) -> Iterator[Case]:
    return (each for each in read if isinstance(each, Case))


async def _number(host: Host, document: Document, cases: Sequence[Case], start: int) -> int | None:
    """How many cases there are; None where that is not known without reading all of them."""
    if document.kind is not DocumentKind.DATASET:
        return len(body_of(document).get(ENTRIES[document.kind]) or ())
    if len(cases) <= CASES:
        return start + len(cases)
    if document.edition.version != document.latest:
        return None
    return (await host.store.dataset_cases.count([document])).get((document.organization_id, document.id))
