"""The case list on the page of a run: one line for each case and candidate, the grid of checks by case, the filters
that can be chosen, and which part of the results the page shows. Every filter is part of the address, so that a
filtered list can be bookmarked and shared, and the page of a case knows which case is next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import asdict, replace

from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.figures import pluralize
from howsure.reports.html.case_data import CaseEntry, case_entry
from howsure.reports.html.matrix import UUID, Matrix, MatrixRow, column_labels
from howsure.reports.safe_text import one_line
from howsure.store.browse import RepeatVerdict, TagCount
from howsure.store.result_lists import ResultFilter, ResultOrder, ResultPage
from howsure.web.routes import encode_cursor

ALL = "all"
VERDICTS = tuple(verdict.value for verdict in Verdict)
MAX_LENGTH = 200
FIELDS = ("candidate", "grader", "part", "component", "fault", "tag", "q")


class CaseFilter(Struct, frozen=True, kw_only=True):
    """The filters as in the address; "" means any. `-` stands for a candidate or component without a name."""

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
    )


WORST_FIRST = (Verdict.FAILED, Verdict.ERRORED, Verdict.SKIPPED, Verdict.PASSED)
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


def case_lines(run: Run, results: Sequence[Result], chosen: CaseFilter, tries: Tries) -> tuple[CaseLine, ...]:
    """The repeats of a case by one candidate share a line, which links to the first of them on the page."""
    lines: dict[tuple[str, str], CaseLine] = {}
    for result in results:
        key = (result.case.id, result.candidate)
        if key not in lines:
            own = tuple(each.verdict for each in tries.get(key, ()))
            lines[key] = CaseLine(
                entry=case_entry(result),
                called=result.case.id[:8] if UUID.fullmatch(result.case.id) else one_line(result.case.id, 80),
                address=case_address(run.id, result.position, chosen),
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
    verdicts = [chip(each.value, getattr(counts, each.value), verdict=each.value, flaky="") for each in WORST_FIRST]
    repeats = [chip("flaky", flaky, verdict=ALL, flaky="yes")] if run.pins.request.repeat > 1 else []
    return (*verdicts, *repeats, chip(ALL, counts.completed, verdict=ALL, flaky=""))


def facets(summary: Summary, tags: Sequence[TagCount], chosen: CaseFilter) -> tuple[FacetGroup, ...]:
    """The filters that have something to choose."""
    candidates = [
        (filter_value(name), name or "unnamed", counts.completed) for name, counts in summary.candidates.items()
    ]
    graders: dict[str, int] = {}
    for grader in summary.graders:
        graders[grader.name] = graders.get(grader.name, 0) + grader.failed + grader.errored
    failing = [(name, name, number) for name, number in graders.items() if number]
    components = [
        (name, name.replace("_", " "), tally.failed + tally.errored) for name, tally in summary.components.items()
    ]
    faults = [(name, name, number) for name, number in summary.faults.items()]
    order = chosen.order or ResultOrder.WORST.value
    orders = tuple(Facet(each.value, word, None, each.value == order) for each, word in ORDERS.items())
    groups = [
        _facet_group("candidate", "candidate", candidates if len(candidates) > 1 else [], chosen.candidate),
        _facet_group("grader", "failed by", failing, chosen.grader),
        _facet_group("component", "component", [each for each in components if each[2]], chosen.component),
        _facet_group("fault", "answerable", faults, chosen.fault),
        _facet_group("tag", "tag or label", [(tag.text, tag.text, tag.cases) for tag in tags], chosen.tag),
        FacetGroup("order", "order", orders),
    ]
    return tuple(group for group in groups if group.choices)


def _facet_group(name: str, word: str, values: Sequence[tuple[str, str, int]], chosen: str) -> FacetGroup:
    known = [Facet(value, shown, number, value == chosen) for value, shown, number in values[:MAX_CHOICES]]
    if chosen and not any(each.chosen for each in known):
        known.append(Facet(chosen, chosen, None, True))
    return FacetGroup(name, word, tuple(known))


class CaseListing(Struct, frozen=True, kw_only=True):
    """The results on the page, with the filter and the page of results they come from."""

    results: Sequence[Result]
    chosen: CaseFilter
    listed: ResultPage
    tries: Tries


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


def describe_page(shown: CaseListing, completed: int) -> str:
    """Which part of all results the page shows. The headline above stays that of the whole run."""
    listed, part = shown.listed, searched_range(shown.listed)
    if part is not None:
        rest = " (the rest was not looked through yet)" if part.last < part.of else ""
        return f"{len(shown.results):,} found in results {part.first:,}–{part.last:,} of {part.of:,}{rest}"
    if not shown.results:
        return f"none of {pluralize(completed, 'result')} is like that"
    first, matching = listed.first or 0, listed.matching or 0
    every = "" if matching == completed else f" that match, of {pluralize(completed, 'result')}"
    return f"{first + 1:,}–{first + len(shown.results):,} of {matching:,}{every}"


def read_start(after: str | None) -> int | None:
    """The position after which the page begins; None: at the start."""
    return int(after) if after is not None and after.isdecimal() else None


def next_page_address(run_id: str, shown: CaseListing) -> str:
    if shown.listed.further is None:
        return ""
    after = urlencode({"after": encode_cursor(str(shown.listed.further))})
    return f"/runs/{run_id}?{'&'.join(part for part in (shown.chosen.query(), after) if part)}#cases"
