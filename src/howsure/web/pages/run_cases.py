"""The case list on the page of a run: one line for each case and candidate, the grid of checks by case, the filters
that can be chosen, and which part of the results the page shows. Every filter is part of the address, so that a
filtered list can be bookmarked and shared, and the page of a case knows which case is next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

from msgspec import Struct
from msgspec.structs import asdict, replace

from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.figures import pluralize
from howsure.reports.headlines import grader_name
from howsure.reports.html.case_data import CaseEntry, case_entry
from howsure.reports.html.matrix import Matrix, MatrixRow, column_labels
from howsure.reports.html.page import WORST_FIRST
from howsure.reports.safe_text import MADE_ID, one_line, short_case_id
from howsure.store.browse import RepeatVerdict, TagCount
from howsure.store.result_lists import ResultFilter, ResultOrder, ResultPage
from howsure.store.store import Store
from howsure.web.routes import encode_cursor

ALL = "all"
VERDICTS = tuple(verdict.value for verdict in Verdict)
MAX_LENGTH = 200
MAX_NAMES = 30
NAME_LENGTH = 60
FIELDS = ("candidate", "grader", "part", "component", "fault", "tag", "q")
WORDS = {
    "candidate": "candidate",
    "grader": "failed by",
    "part": "failed",
    "component": "component",
    "fault": "answerable",
    "tag": "tag or label",
    "q": "search",
    "flaky": "flaky",
}
"""What a person reads for each of the filters."""
UNNAMED = "unnamed"


class CaseFilter(Struct, frozen=True, kw_only=True):
    """The filters as in the address; "" means any. `-` stands for a candidate or component without a name.
    `raw`: texts are shown as they were written."""

    verdict: str = ""
    candidate: str = ""
    grader: str = ""
    part: str = ""
    component: str = ""
    fault: str = ""
    tag: str = ""
    q: str = ""
    flaky: str = ""
    order: str = ""
    raw: str = ""

    def result_filter(self, failed: int) -> ResultFilter:
        """The filter for the store. Without a verdict it selects the failures, where there are any (`failed` > 0)."""
        verdict = self.shown_verdict(failed)
        return ResultFilter(
            verdicts=() if verdict == ALL else (verdict,),
            candidate=_stored_name(self.candidate),
            grader=self.grader,
            part=self.part,
            component=_stored_name(self.component),
            fault=self.fault,
            tag=self.tag,
            text=self.q,
            flaky=bool(self.flaky),
            order=ResultOrder(self.order or ResultOrder.WORST.value),
        )

    def shown_verdict(self, failed: int) -> str:
        if self.verdict:
            return self.verdict
        return Verdict.FAILED.value if failed and not self.active else ALL

    @property
    def active(self) -> tuple[tuple[str, str], ...]:
        """The name and value of every filter that is set, except the verdict."""
        named = [(name, str(getattr(self, name))) for name in FIELDS if getattr(self, name)]
        return (*named, *((("flaky", "yes"),) if self.flaky else ()))

    def query(self, **changes: str) -> str:
        """These filters with some changes, as the query of an address."""
        return urlencode({name: value for name, value in asdict(replace(self, **changes)).items() if value})


def _stored_name(value: str) -> str | None:
    return None if not value else "" if value == "-" else value


def filter_value(name: str) -> str:
    """A candidate or component as an address names it."""
    return name or "-"


def read_case_filter(query: Mapping[str, str]) -> CaseFilter:
    """The filters of an address; unknown values are ignored."""
    texts: dict[str, Any] = {name: query.get(name, "")[:MAX_LENGTH] for name in FIELDS}
    verdict, order = query.get("verdict", ""), query.get("order", "")
    return CaseFilter(
        **texts,
        verdict=verdict if verdict in (*VERDICTS, ALL) else "",
        order=order if order in [each.value for each in ResultOrder] else "",
        flaky="yes" if query.get("flaky") else "",
        raw="yes" if query.get("raw") else "",
    )


DIFFICULTY = "difficulty"
MAX_CHOICES = 100
LIMIT = 16
ORDERS = {ResultOrder.WORST: "worst first", ResultOrder.FILE: "as in the file", ResultOrder.SLOWEST: "slowest first"}
Tries = Mapping[tuple[str, str], Sequence[RepeatVerdict]]


class CaseLine(Struct, frozen=True, kw_only=True):
    """One case by one candidate. `tries` are the verdicts of its repeats, where it has several."""

    entry: CaseEntry
    called: str
    address: str
    anchor: str
    tries: tuple[str, ...] = ()
    passed: int = 0
    is_flaky: bool = False


class CaseColumn(Struct, frozen=True):
    label: str
    said: str
    address: str


class CheckGrid(Struct, frozen=True, kw_only=True):
    """Checks by cases: for each check, its outcome in each case on the page."""

    columns: tuple[CaseColumn, ...]
    lines: tuple[MatrixRow, ...]


def case_address(run_id: str, position: int, chosen: CaseFilter) -> str:
    query = chosen.query()
    return f"/runs/{run_id}/cases/{position}{f'?{query}' if query else ''}"


async def case_names(store: Store, cases: Iterable[tuple[str, str]]) -> dict[str, str]:
    """By their ids, the names of the first cases (run and id) whose id was made by a machine: how their question
    begins, where nobody named them."""
    nameless = dict.fromkeys((run_id, case) for run_id, case in cases if MADE_ID.fullmatch(case))
    pages = [await store.results(run_id, limit=1, case_id=case) for run_id, case in list(nameless)[:MAX_NAMES]]
    return {each.case.id: case_name(each) for results in pages for each in results}


def case_name(result: Result) -> str:
    """What people call the case: its id, or where a machine made it, its name or how its question begins."""
    made = MADE_ID.fullmatch(result.case.id)
    return one_line(case_entry(result).asked if made else result.case.id, NAME_LENGTH) or short_case_id(result.case.id)


def row_anchor(result: Result) -> str:
    """The name of the line that a case by one candidate has, whichever of its repeats is looked at."""
    return f"case-{crc32(f'{result.case.id} {result.candidate}'.encode('utf-8', 'replace')):x}"


def case_lines(run: Run, results: Sequence[Result], chosen: CaseFilter, tries: Tries) -> tuple[CaseLine, ...]:
    """The repeats of a case by one candidate share a line, which links to the first of them on the page."""
    lines: dict[tuple[str, str], CaseLine] = {}
    for result in results:
        key = (result.case.id, result.candidate)
        if key not in lines:
            own = tuple(each.verdict for each in tries.get(key, ()))
            lines[key] = CaseLine(
                entry=case_entry(result),
                called=short_case_id(result.case.id),
                address=case_address(run.id, result.position, chosen),
                anchor=row_anchor(result),
                tries=own if len(own) > 1 else (),
                passed=own.count(Verdict.PASSED.value),
                is_flaky=len(set(own)) > 1,
            )
    return tuple(lines.values())


def check_grid(run: Run, results: Sequence[Result], chosen: CaseFilter) -> CheckGrid | None:
    """None where a grid would show no more than the list."""
    matrix = Matrix()
    places: dict[tuple[str, str, int], int] = {}
    for result in results:
        listed = case_entry(result)
        places[listed.id, listed.candidate, listed.repeat] = result.position
        matrix.add(result, listed, WORST_FIRST.index(result.verdict))
    columns = matrix.columns()
    lines = tuple(matrix.lines())
    if len(columns) < 2 or not lines:
        return None
    entries = [column.entry for column in columns]
    return CheckGrid(
        columns=tuple(
            CaseColumn(
                label,
                f"{each.id} {each.candidate}".strip(),
                case_address(run.id, places[each.id, each.candidate, each.repeat], chosen),
            )
            for label, each in zip(column_labels(entries), entries, strict=True)
        ),
        lines=lines,
    )


class Facet(Struct, frozen=True):
    """A value of a filter, with the number of its results; None where they are not counted."""

    value: str
    word: str
    number: int | None
    chosen: bool
    address: str = ""


class FacetGroup(Struct, frozen=True):
    """A filter and its possible values."""

    name: str
    word: str
    choices: tuple[Facet, ...]

    @property
    def groups(self) -> tuple[tuple[str, tuple[Facet, ...]], ...]:
        """The values in groups: tags without a label first, then labels (`difficulty: hard`) by name, difficulty
        first."""
        found: dict[str, list[Facet]] = {"": []}
        for each in self.choices:
            name, colon, _ = each.word.partition(": ") if self.name == "tag" else ("", "", "")
            found.setdefault(name if colon else "", []).append(each)
        ordered = sorted(found, key=lambda name: (name != "", name != DIFFICULTY))
        return tuple((name, tuple(found[name])) for name in ordered if found[name])


def chips(run: Run, chosen: CaseFilter, flaky: int) -> tuple[Facet, ...]:
    """The verdicts, "flaky" and "all", each with its number in the whole run."""
    shown = "" if chosen.flaky else chosen.shown_verdict(run.counts.failed)

    def chip(word: str, number: int, **changes: str) -> Facet:
        is_chosen = bool(chosen.flaky) if word == "flaky" else shown == word
        return Facet(word, word, number, is_chosen, f"/runs/{run.id}?{chosen.query(**changes)}#cases")

    counts = run.counts
    numbers = {each.value: getattr(counts, each.value) for each in WORST_FIRST}
    # Few stores have damaged results.
    listed = [word for word in numbers if word != Verdict.DAMAGED.value or numbers[word] or word == shown]
    verdicts = [chip(word, numbers[word], verdict=word, flaky="") for word in listed]
    repeats = [chip("flaky", flaky, verdict=ALL, flaky="yes")] if run.pins.request.repeat > 1 else []
    return (*verdicts, *repeats, chip(ALL, counts.completed, verdict=ALL, flaky=""))


def facets(summary: Summary, tags: Sequence[TagCount], chosen: CaseFilter) -> tuple[FacetGroup, ...]:
    """The filters that have something to choose."""
    candidates = [
        (filter_value(name), name or UNNAMED, counts.completed) for name, counts in summary.candidates.items()
    ]
    graders: dict[str, int] = {}
    for grader in summary.graders:
        graders[grader.name] = graders.get(grader.name, 0) + grader.failed + grader.errored
    failing = [(name, grader_name(name), number) for name, number in graders.items() if number]
    components = [
        (name, name.replace("_", " "), tally.failed + tally.errored) for name, tally in summary.components.items()
    ]
    faults = [(name, name, number) for name, number in summary.faults.items()]
    order = chosen.order or ResultOrder.WORST.value
    orders = tuple(Facet(each.value, word, None, each.value == order) for each, word in ORDERS.items())
    groups = [
        _facet_group("candidate", candidates if len(candidates) > 1 else [], chosen.candidate),
        _facet_group("grader", failing, chosen.grader),
        _facet_group("component", [each for each in components if each[2]], chosen.component),
        _facet_group("fault", faults, chosen.fault),
        _facet_group("tag", [(tag.text, tag.text, tag.cases) for tag in tags], chosen.tag),
        FacetGroup("order", "order", orders),
    ]
    return tuple(group for group in groups if group.choices)


def _facet_group(name: str, values: Sequence[tuple[str, str, int]], chosen: str) -> FacetGroup:
    known = [Facet(value, shown, number, value == chosen) for value, shown, number in values[:MAX_CHOICES]]
    if chosen and not any(each.chosen for each in known):
        known.append(Facet(chosen, chosen, None, True))
    return FacetGroup(name, WORDS[name], tuple(known))


class SearchedRange(Struct, frozen=True):
    """The part of the results that a text search has covered: from which result to which, of how many."""

    first: int
    last: int
    of: int


def searched_range(listed: ResultPage) -> SearchedRange | None:
    """None where all results were searched, or no text was searched for."""
    if listed.looked_at is None:
        return None
    return SearchedRange(listed.start + 1, listed.start + listed.looked_at, listed.total)


def describe_page(listed: ResultPage, completed: int) -> str:
    """Which part of all results the page shows. The headline above stays that of the whole run."""
    number, part = len(listed.positions), searched_range(listed)
    if part is not None:
        rest = " (the rest was not looked through yet)" if part.last < part.of else ""
        return f"{number:,} found in results {part.first:,}–{part.last:,} of {part.of:,}{rest}"
    if not number:
        return f"none of {pluralize(completed, 'result')} matches"
    first, matching = listed.first or 0, listed.matching or 0
    every = "" if matching == completed else f" that match, of {pluralize(completed, 'result')}"
    return f"{first + 1:,}–{first + number:,} of {matching:,}{every}"


def read_start(after: str | None) -> int | None:
    """The position after which the page begins; None: at the start."""
    return int(after) if after is not None and after.isdecimal() else None


def next_page_address(run_id: str, chosen: CaseFilter, listed: ResultPage) -> str:
    return "" if listed.further is None else f"{page_address(run_id, chosen, listed.further)}#cases"


def previous_page_address(run_id: str, chosen: CaseFilter, listed: ResultPage) -> str:
    """Empty on the first page. A search through a part of a large run goes back to its beginning."""
    before = listed.start if listed.first is None else listed.first
    return f"{page_address(run_id, chosen, listed.back)}#cases" if before else ""


def page_address(run_id: str, chosen: CaseFilter, after: int | None) -> str:
    """The list of a run with these filters, from after a position on."""
    start = "" if after is None else urlencode({"after": encode_cursor(str(after))})
    query = "&".join(part for part in (chosen.query(), start) if part)
    return f"/runs/{run_id}{f'?{query}' if query else ''}"
