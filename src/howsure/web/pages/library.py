"""The library: test sets, datasets, question sets and rubrics, each with its newest version and the note on it; and the
page of one document: the rules of a rubric or the cases of a set, each with its results in the runs that used it, and
the versions and export formats of the document."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.case import Case, opening
from howsure.model.document import Document, DocumentKind
from howsure.model.expectation import Criteria, WeightedCriteria
from howsure.model.run import Run
from howsure.reports.case_facts import expectation_texts
from howsure.reports.figures import Rate, pluralize, short_time
from howsure.reports.safe_text import make_inert, one_line
from howsure.services.host.document_files import document_path, is_reference, read_reference
from howsure.services.host.documents import document_body
from howsure.services.host.drafts import ENTRIES, select_entries
from howsure.services.host.keys import Caller
from howsure.services.host.roles import Permission
from howsure.services.host.transfer import EXPORT_DIALECTS
from howsure.services.workspace import Host
from howsure.store.documents import DocumentPreview, Revision
from howsure.store.pages import is_number, next_cursor
from howsure.store.store import Store
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, caller_of, decode_cursor, encode_cursor, host_of, number_in_query

DOCUMENTS_PER_PAGE = 50
CASES_PER_PAGE = 15
RULES_PER_PAGE = 15
RUNS_SHOWN = 8
RUNS_SEARCHED = 40
VERSIONS_SHOWN = 20
MAX_UNCOUNTED_RESULTS = 5_000
"""The rules of a larger run are counted only when it has ended."""
MAX_TEXT = 600
DIALECTS = {DocumentKind.TEST_SET: "test-set", DocumentKind.QUESTION_SET: "legal"}


class LibraryShelf(Struct, frozen=True):
    """One kind of document, with its name in addresses and in sentences."""

    slug: str
    kind: DocumentKind
    word: str
    words: str

    @property
    def address(self) -> str:
        return f"/library/{self.slug}"

    def of(self, key: str) -> str:
        """The address of one of its documents."""
        return f"{self.address}/{quote(key, safe='')}"


SHELVES = (
    LibraryShelf("test-sets", DocumentKind.TEST_SET, "test set", "test sets"),
    LibraryShelf("datasets", DocumentKind.DATASET, "dataset", "datasets"),
    LibraryShelf("question-sets", DocumentKind.QUESTION_SET, "question set", "question sets"),
    LibraryShelf("rubrics", DocumentKind.RUBRIC, "rubric", "rubrics"),
)


def shelf_of(request: Request) -> LibraryShelf:
    slug = request.path_params["shelf"]
    shelf = next((each for each in SHELVES if each.slug == slug), None)
    if shelf is None:
        raise NotFound(f"the library has no shelf {slug!r}: {', '.join(each.slug for each in SHELVES)} are there")
    return shelf


class DocumentLine(Struct, frozen=True, kw_only=True):
    name: str
    address: str
    agent_id: str
    version: int
    changed: str
    author: str
    note: str
    holds: str


class LibraryPage(Struct, frozen=True, kw_only=True):
    answer: str
    shelf: LibraryShelf
    shelves: tuple[LibraryShelf, ...]
    lines: tuple[DocumentLine, ...]
    further: str
    may_write: bool


async def show_shelf(request: Request) -> Response:
    caller, store, shelf = caller_of(request), host_of(request).store, shelf_of(request)
    place = decode_cursor(request.query_params.get("after", ""))
    cards = await store.documents.previews(shelf.kind, limit=DOCUMENTS_PER_PAGE, before=place, within=caller.within)
    counts: Mapping[tuple[str, str], int] = {}
    if shelf.kind is DocumentKind.DATASET:
        counts = await store.dataset_cases.count(cards)
    full = len(cards) == DOCUMENTS_PER_PAGE
    number = pluralize(len(cards), shelf.word) + (" and more" if full else "")
    page = LibraryPage(
        answer=f"{number}, newest first." if cards else f"No {shelf.words} yet.",
        shelf=shelf,
        shelves=SHELVES,
        lines=tuple(_document_line(shelf, card, counts) for card in cards),
        further=f"{shelf.address}?{urlencode({'after': encode_cursor(next_cursor(cards[-1]))})}" if full else "",
        may_write=caller.may(Permission.EDIT),
    )
    return respond(request, "library.html", page)


def _document_line(shelf: LibraryShelf, card: DocumentPreview, counts: Mapping[tuple[str, str], int]) -> DocumentLine:
    cases = f"{pluralize(counts.get((card.organization_id, card.id), 0), 'case')}, {card.dialect}"
    return DocumentLine(
        name=card.name or card.id[:8],
        address=shelf.of(card.id),
        agent_id=card.agent_id,
        version=card.version,
        changed=short_time(card.updated_at),
        author=card.author,
        note=card.note,
        holds=cases if shelf.kind is DocumentKind.DATASET else f"{max(1, round(card.size / 1000)):,} kB",
    )


class RunMark(Struct, frozen=True):
    """The outcome of a rule or case in one run."""

    word: str
    said: str
    address: str


class EntryView(Struct, frozen=True, kw_only=True):
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
        """The text shown in place of a rate."""
        return "no verdict yet" if self.runs else "in no run yet"


class DocumentContent(Struct, frozen=True, kw_only=True):
    """The rules or cases of a version that are on the page. `never`: how many of all rules, or of the shown cases,
    never passed; `uncounted`: runs that are too large to be counted before they end."""

    description: str
    entries: tuple[EntryView, ...]
    number: int | None
    never: int = 0
    further: str = ""
    uncounted: tuple[str, ...] = ()


def _never_passed(entries: Sequence[EntryView]) -> int:
    """How many entries were judged and never passed: they may ask too much."""
    return sum(entry.rate.judged > 0 and entry.rate.passed == 0 for entry in entries)


def _rule_entry(
    rule: Mapping[str, object], runs: Sequence[Run], counts: Mapping[tuple[str, str, str], int]
) -> EntryView:
    key = str(rule.get("id", ""))
    criteria = rule.get("evaluation_criteria")
    conditions = criteria if isinstance(criteria, dict) else {}
    marks, rate = [], Rate(0, 0)
    for run in runs:
        passed, failed, silent = (counts.get((run.id, key, outcome), 0) for outcome in ("passed", "failed", "error"))
        rate = Rate(rate.passed + passed, rate.judged + passed + failed)
        word = "failed" if failed else "passed" if passed else "errored" if silent else "skipped"
        text = f"{passed} of {passed + failed} passed" if passed + failed else "no verdict"
        text += f", {silent} times the judge could not say" if silent else ""
        marks.append(RunMark(word, f"{_run_name(run)}: {text}", f"/runs/{run.id}"))
    return EntryView(
        id=make_inert(key),
        name=make_inert(str(rule.get("name", ""))),
        severity=str(rule.get("severity", "")),
        scope=str(rule.get("component_scope") or ""),
        text=make_inert(str(rule.get("description") or "")),
        conditions=(
            *(("pass if", make_inert(str(text))) for text in conditions.get("pass_conditions") or ()),
            *(("fail if", make_inert(str(text))) for text in conditions.get("fail_conditions") or ()),
        ),
        rate=rate,
        runs=tuple(marks),
    )


def _case_entry(case: Case, runs: Sequence[Run], by_run: Mapping[tuple[str, str], Sequence[str]]) -> EntryView:
    marks: list[RunMark] = []
    verdicts: list[str] = []
    for run in runs:
        own = by_run.get((run.id, case.id), ())
        word = next((word for word in ("failed", "errored", "skipped", "passed") if word in own), "pending")
        text = ", ".join(dict.fromkeys(own)) or "not in it"
        marks.append(RunMark(word, f"{_run_name(run)}: {text}", f"/runs/{run.id}?verdict=all"))
        verdicts += own
    passed, failed = verdicts.count("passed"), verdicts.count("failed")
    criteria = [each.criteria[:20] for each in case.expectations if isinstance(each, Criteria | WeightedCriteria)]
    return EntryView(
        id=make_inert(case.id),
        name=one_line(case.name, MAX_TEXT),
        severity="",
        scope=", ".join(make_inert(tag) for tag in case.tags[:6]),
        text=one_line(opening(case.input), MAX_TEXT),
        conditions=(
            *(("must hold", one_line(criterion.text, MAX_TEXT)) for each in criteria for criterion in each),
            *((make_inert(title), one_line(text, MAX_TEXT)) for title, text in expectation_texts(case)),
        ),
        rate=Rate(passed, passed + failed),
        runs=tuple(marks),
    )


def _run_name(run: Run) -> str:
    return one_line(run.name or run.id[:8], 80)


async def runs_using(store: Store, document: Document, within: AccessScope) -> list[Run]:
    """The newest runs that used some version of the document."""
    runs = await store.runs(limit=RUNS_SEARCHED, agent_id=document.agent_id or None, within=within)
    using = []
    for run in [run for run in runs if run.counts.completed]:
        named = [read_reference(pin.path) for pin in run.pins.datasets if is_reference(pin.path)]
        used = [(each.kind, each.id) for each in named]
        used += [(DocumentKind.RUBRIC, run.pins.rubric.id)] if run.pins.rubric else []
        if (document.kind, document.id) in used:
            using.append(run)
    return using[:RUNS_SHOWN]


async def read_content(host: Host, document: Document, runs: Sequence[Run], start: int) -> DocumentContent:
    if document.kind is DocumentKind.RUBRIC:
        content = await _read_rules(host.store, document, runs)
        end = start + RULES_PER_PAGE
        further = f"?version={document.edition.version}&start={end}" if len(content.entries) > end else ""
        return replace(content, entries=content.entries[start:end], further=further)
    cases = await asyncio.to_thread(_read_cases, host, document, start)
    page = cases[:CASES_PER_PAGE]
    verdicts = await host.store.browse.case_verdicts([run.id for run in runs], [case.id for case in page])
    by_run: dict[tuple[str, str], list[str]] = {}
    for each in verdicts:
        by_run.setdefault((each.run_id, each.case_id), []).append(each.verdict)
    entries = tuple(_case_entry(case, runs, by_run) for case in page)
    further = f"?version={document.edition.version}&start={start + CASES_PER_PAGE}" if cases[CASES_PER_PAGE:] else ""
    never, number = _never_passed(entries), await _case_count(host, document, cases, start)
    return DocumentContent(description="", entries=entries, number=number, never=never, further=further)


async def _read_rules(store: Store, document: Document, runs: Sequence[Run]) -> DocumentContent:
    """Counts of a run that has ended are read from the store; a small run in progress is counted now."""
    saved = {run_id: each.rules for run_id, each in (await store.stored_counts([run.id for run in runs])).items()}
    unfinished = [run for run in runs if saved.get(run.id) is None]
    small = [run.id for run in unfinished if run.counts.total <= MAX_UNCOUNTED_RESULTS]
    body = msgspec.json.decode(document.edition.body)
    rules = [rule for rule in body.get("rules", ()) if isinstance(rule, dict)]
    tallies = await store.browse.part_tallies(small, [str(rule["id"]) for rule in rules if "id" in rule])
    counts = {(each.run_id, each.part_id, each.outcome): each.number for each in tallies}
    for run_id, counted in saved.items():
        for key, outcomes in (counted or {}).items():
            counts |= {(run_id, key, outcome): number for outcome, number in outcomes.items()}
    left_out = [run for run in unfinished if run.counts.total > MAX_UNCOUNTED_RESULTS]
    counted_runs = [run for run in runs if run not in left_out]
    entries = tuple(_rule_entry(rule, counted_runs, counts) for rule in rules)
    return DocumentContent(
        description=make_inert(str(body.get("description") or "")),
        entries=entries,
        number=len(rules),
        never=_never_passed(entries),
        uncounted=tuple(_run_name(run) for run in left_out),
    )


def _read_cases(host: Host, document: Document, start: int) -> list[Case]:
    """The cases of one page and one more. They were validated when they were stored, so the rest is not read."""
    dialect = host.work.kit.dialects[DIALECTS.get(document.kind) or document.edition.dialect]
    if document.kind is DocumentKind.DATASET:
        path = document_path(document, host.work.data_folder / "documents")
        cases = (each for each in dialect.read(path) if isinstance(each, Case))
        return list(islice(cases, start, start + CASES_PER_PAGE + 1))
    with TemporaryDirectory() as folder:
        path = document_path(select_entries(document, start, CASES_PER_PAGE + 1), Path(folder))
        return [each for each in dialect.read(path) if isinstance(each, Case)]


async def _case_count(host: Host, document: Document, cases: Sequence[Case], start: int) -> int | None:
    """The number of cases; None where all of them would have to be read to count them."""
    if document.kind is not DocumentKind.DATASET:
        return len(document_body(document).get(ENTRIES[document.kind]) or ())
    if len(cases) <= CASES_PER_PAGE:
        return start + len(cases)
    if document.edition.version != document.latest:
        return None
    return (await host.store.dataset_cases.count([document])).get((document.organization_id, document.id))


class VersionLine(Struct, frozen=True, kw_only=True):
    version: int
    address: str
    changed: str
    author: str
    note: str
    difference: str
    shown: bool


class DocumentPage(Struct, frozen=True, kw_only=True):
    answer: str
    across: str
    shelf: LibraryShelf
    id: str
    name: str
    agent_id: str
    version: int
    latest: int
    description: str
    entries: tuple[EntryView, ...]
    has_rules: bool
    further: str
    versions: tuple[VersionLine, ...]
    shapes: tuple[str, ...]
    may_write: bool
    may_run: bool


def document_page(
    shelf: LibraryShelf,
    document: Document,
    content: DocumentContent,
    runs: Sequence[Run],
    steps: Sequence[Revision],
    caller: Caller,
) -> DocumentPage:
    noun = "rule" if shelf.kind is DocumentKind.RUBRIC else "case"
    number = pluralize(content.number, noun) if content.number is not None else f"{noun}s"
    version = document.edition.version
    which = ", the newest" if version == document.latest else f" of {document.latest}"
    left = f" Not counted before they end: {', '.join(content.uncounted)}." if content.uncounted else ""
    counted = pluralize(len(runs) - len(content.uncounted), "run")
    return DocumentPage(
        answer=f"Version {version}{which}: {number}{_never_text(content, noun)}.",
        across=f"Each {noun} over the last {counted} that used it, newest first.{left}"
        if runs
        else "No run that can be seen here used it yet.",
        shelf=shelf,
        id=document.id,
        name=document.label or document.id[:8],
        agent_id=document.agent_id,
        version=version,
        latest=document.latest,
        description=content.description,
        entries=content.entries,
        has_rules=shelf.kind is DocumentKind.RUBRIC,
        further=content.further,
        versions=tuple(_version_line(shelf, document, each) for each in steps),
        shapes=() if shelf.kind is DocumentKind.RUBRIC else EXPORT_DIALECTS,
        may_write=caller.may(Permission.EDIT),
        may_run=caller.may(Permission.RUN),
    )


def _never_text(content: DocumentContent, noun: str) -> str:
    """How many never passed: of all rules, but only of the shown cases."""
    if not content.never:
        return ""
    never = pluralize(content.never, noun)
    if noun == "case" and content.number != len(content.entries):
        never = f"of the {pluralize(len(content.entries), noun)} below {content.never}"
    return f"; {never} never passed in the runs below"


def _version_line(shelf: LibraryShelf, document: Document, each: Revision) -> VersionLine:
    number, address = each.version, shelf.of(document.id)
    return VersionLine(
        version=number,
        address=f"{address}?version={number}",
        changed=short_time(each.created_at),
        author=each.author,
        note=each.note,
        difference=f"{address}/difference?from={number - 1}&to={number}" if number > 1 else "",
        shown=number == document.edition.version,
    )


async def requested_document(request: Request) -> tuple[LibraryShelf, Document]:
    """The document and version that the address names."""
    shelf, store = shelf_of(request), host_of(request).store
    number, key = request.query_params.get("version", ""), request.path_params["key"]
    version = int(number) if is_number(number) else None
    return shelf, await store.documents.get(shelf.kind, key, version, within=caller_of(request).within)


async def show_document(request: Request) -> Response:
    caller, host = caller_of(request), host_of(request)
    shelf, document = await requested_document(request)
    runs = await runs_using(host.store, document, caller.within)
    content = await read_content(host, document, runs, number_in_query(request, "start"))
    steps = await host.store.documents.changes(document, VERSIONS_SHOWN)
    return respond(request, "document.html", document_page(shelf, document, content, runs, steps, caller))


ROUTES = [PageRoute("/library/{shelf}/{key}", show_document), PageRoute("/library/{shelf}", show_shelf)]
