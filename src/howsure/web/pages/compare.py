"""Comparing runs: whether the newer run is better, with its interval, the cases that changed and every difference; and
one case in two runs side by side, with the differing words marked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from importlib import import_module
from itertools import zip_longest
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup, escape
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import InputError, NotFound, PlanRefused
from howsure.model.access_scope import AccessScope
from howsure.model.comparison import Comparison, DifferenceKind, PairComparison, PinKind
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.reports.comparisons import difference_title
from howsure.reports.headlines import headline, page_words
from howsure.reports.markdown import Tree, flat_text, tree_html
from howsure.reports.safe_text import make_inert, one_line
from howsure.store.store import Store
from howsure.web.conversations import MarkdownWriter, fit_case_block
from howsure.web.pages.run_cases import CaseFilter, case_address, case_name, case_names
from howsure.web.responses import respond
from howsure.web.routes import PageRoute, cache_of, caller_of, host_of, run_states_key

MAX_RUNS = 5
WORDS = re.compile(r"\s+|[^\s]+")
MAX_WORDS = 1500
"""Longer texts are marked as a whole."""
MAX_TURNS = 400
"""How many turns of each side are shown."""
MAX_FLIPS = 80
"""Changed cases that are listed of each kind, over all pairs: a page stays under 300 KB."""
MAX_SIDE = 30_000
"""Bytes of each side: two of them fit on a page."""


class ComparedRun(Struct, frozen=True):
    """One of the runs; the first is the oldest, and the others are compared with it."""

    letter: str
    id: str
    name: str


class PairView(Struct, frozen=True, kw_only=True):
    """Two compared runs, by their letters. `told` is the comparison as in the reports; `slices` are the titles of
    differences that concern some of the cases. `shared`: what is known to be the same on both sides."""

    first_letter: str
    second_letter: str
    told: Any
    shared: str
    n: int
    unchanged: int
    likely: str
    slices: tuple[str, ...]


class ComparePage(Struct, frozen=True, kw_only=True):
    """What the page shows. `refused`: why nothing can be compared."""

    sides: tuple[ComparedRun, ...]
    answer: str
    refused: str
    pairs: tuple[PairView, ...]


def compare_page(
    runs: Sequence[Run],
    comparison: Comparison | None,
    told: Sequence[Any],
    refused: str,
    names: Mapping[str, str] | None = None,
) -> ComparePage:
    pairs = comparison.pairs if comparison else ()
    letters = {run.id: chr(65 + place) for place, run in enumerate(runs)}
    return ComparePage(
        sides=tuple(ComparedRun(letters[run.id], run.id, run.name or run.id[:8]) for run in runs),
        answer=told[0].sentence if told else "These runs cannot be compared.",
        refused=refused,
        pairs=tuple(
            PairView(
                first_letter=letters[pair.first.run_id],
                second_letter=letters[pair.second.run_id],
                told=_linked(shown, pair, names or {}, MAX_FLIPS // len(pairs)),
                shared=shared_setup(pair, [run for run in runs if run.id in (pair.first.run_id, pair.second.run_id)]),
                n=pair.verdict.n,
                unchanged=pair.verdict.same,
                likely=shown.apart[0].likely if shown.apart else "",
                slices=tuple(
                    difference_title(each)
                    for each in pair.differences
                    if each.kind in (DifferenceKind.TAG, DifferenceKind.SLICE)
                ),
            )
            for pair, shown in zip(pairs, told, strict=True)
        ),
    )


def shared_setup(pair: PairComparison, runs: Sequence[Run]) -> str:
    """What is known to be the same of two runs without a flag. Of scores that another tool gave, and of recordings that
    name no judge, it is not known who judged."""
    told = next((f"judge: {each.said}" for each in pair.unlike if each.what is PinKind.JUDGE), "")
    tools = sorted({run.pins.imported.tool for run in runs if run.pins.imported})
    if not tools:
        return (
            f"Same cases, rubric and policy; {told}." if told else "Comparable: same cases, rubric, judge and policy."
        )
    models = [", ".join(dict.fromkeys(run.pins.models.values())) for run in runs]
    asked = f" Models: {' and '.join(models)}." if all(models) and len(set(models)) > 1 else ""
    given = f"The grades are those that {' and '.join(tools)} gave"
    return f"Same cases. {given}: by which judge, rubric and policy is not known to be the same.{asked}"


def _linked(shown: Any, pair: PairComparison, names: Mapping[str, str], most: int) -> Any:
    """The comparison with a link for each changed case, and its name in place of a UUID; `most` cases a list."""
    candidate = [("candidate", pair.second.candidate)] if pair.second.candidate else []

    def linked(case: Any) -> Any:
        query = [("run", pair.first.run_id), ("run", pair.second.run_id), ("case", case.id), *candidate]
        return replace(case, link=f"/compare/case?{urlencode(query)}", id=names.get(case.id, case.id))

    return replace(shown, worse=[*map(linked, shown.worse[:most])], better=[*map(linked, shown.better[:most])])


async def chosen_runs(request: Request, store: Store, within: AccessScope, most: int) -> list[Run]:
    """The runs that an address names, oldest first; NotFound for a run that the caller may not see."""
    named = [value for name, value in request.query_params.multi_items() if name == "run" and value]
    ids = list(dict.fromkeys(named))
    if not 2 <= len(ids) <= most:
        raise InputError(
            f"choose two runs to compare{f', or up to {most}' if most > 2 else ''}, not {len(named)}: "
            "tick them in the list of runs"
        )
    newest_first = await store.runs(ids=ids, within=within)
    if missing := set(ids) - {run.id for run in newest_first}:
        raise NotFound(f"there is no run {missing.pop()}")
    return newest_first[::-1]


async def show(request: Request) -> Response:
    store = host_of(request).store
    runs = await chosen_runs(request, store, caller_of(request).within, MAX_RUNS)
    # Imported by name: only those who compare wait for numpy and scipy.
    compare = await asyncio.to_thread(import_module, "howsure.services.compare.compare")
    report = import_module("howsure.reports.html.comparison")
    try:
        compare_request = compare.CompareRequest(runs=tuple(run.id for run in runs))
        key = ("compared", run_states_key(runs))
        comparison = await cache_of(request)(key, lambda: compare.compare_stored(store, compare_request))
        flips = [(pair.first.run_id, flip.case_id) for pair in comparison.pairs for flip in pair.flips]
        names = await cache_of(request)(("names", *key), lambda: case_names(store, flips))
    except PlanRefused as refused:
        return respond(request, "compare.html", compare_page(runs, None, (), page_words(str(refused))))
    page = compare_page(runs, comparison, report.baseline_comparisons(comparison), "", names)
    return respond(request, "compare.html", page)


class ComparedTurn(Struct, frozen=True):
    """One turn of a conversation: what is compared of it."""

    role: str
    text: str
    calls: tuple[str, ...] = ()
    tree: Tree | None = None

    @property
    def words(self) -> str:
        return self.text if self.tree is None else flat_text(self.tree)

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        return self.role, " ".join(self.text.split()), self.calls


class DiffSpan(Struct, frozen=True):
    """A piece of text; `differs`: the other side does not have it."""

    text: str
    differs: bool = False


class TurnCell(Struct, frozen=True, kw_only=True):
    role: str
    words: tuple[DiffSpan, ...]
    calls: tuple[DiffSpan, ...]
    html: Markup = Markup()


class TurnPair(Struct, frozen=True):
    """Two turns side by side; None: that side has no such turn."""

    first: TurnCell | None
    second: TurnCell | None

    @property
    def differs(self) -> bool:
        sides = [side for side in (self.first, self.second) if side]
        return len(sides) < 2 or any(each.differs for side in sides for each in (*side.words, *side.calls))


def side_by_side(first: Sequence[ComparedTurn], second: Sequence[ComparedTurn]) -> list[TurnPair]:
    ours, theirs = first[:MAX_TURNS], second[:MAX_TURNS]
    matcher = SequenceMatcher(None, [each.key for each in ours], [each.key for each in theirs], autojunk=False)
    return [pair for _, a, b, c, d in matcher.get_opcodes() for pair in _turn_pairs(ours[a:b], theirs[c:d])]


def _turn_pairs(ours: Sequence[ComparedTurn], theirs: Sequence[ComparedTurn]) -> Iterator[TurnPair]:
    """Pairs of equal turns, or of turns that replace each other; turns of different roles stay alone."""
    for one, other in zip_longest(ours, theirs):
        if one is None or other is None or one.role != other.role:
            if one is not None:
                yield TurnPair(_single_cell(one), None)
            if other is not None:
                yield TurnPair(None, _single_cell(other))
            continue
        if one.words == other.words and one.text != other.text:
            # Only the signs of Markdown differ: they are shown.
            one, other = replace(one, tree=None), replace(other, tree=None)
        words = diff_words(one.words, other.words)
        calls = _diff_calls(one.calls, other.calls), _diff_calls(other.calls, one.calls)
        yield TurnPair(
            TurnCell(role=one.role, words=words[0], calls=calls[0], html=_diff_html(one, words[0])),
            TurnCell(role=other.role, words=words[1], calls=calls[1], html=_diff_html(other, words[1])),
        )


def _single_cell(turn: ComparedTurn) -> TurnCell:
    words = (DiffSpan(turn.words, True),) if turn.words else ()
    calls = tuple(DiffSpan(call, True) for call in turn.calls)
    return TurnCell(role=turn.role, words=words, calls=calls, html=_diff_html(turn, words))


def _diff_html(turn: ComparedTurn, words: Sequence[DiffSpan]) -> Markup:
    def write(text: str, span: DiffSpan, _: bool) -> Markup:
        return Markup("<ins>{}</ins>").format(text) if span.differs and text.strip() else escape(text)

    return Markup() if turn.tree is None else tree_html(turn.tree, [(each.text, each) for each in words], write)


def _diff_calls(own: Sequence[str], others: Sequence[str]) -> tuple[DiffSpan, ...]:
    remaining = list(others)
    spans = []
    for call in own:
        shared = call in remaining
        if shared:
            remaining.remove(call)
        spans.append(DiffSpan(call, not shared))
    return tuple(spans)


def diff_words(first: str, second: str) -> tuple[tuple[DiffSpan, ...], tuple[DiffSpan, ...]]:
    """Both texts in pieces; those that the other text does not have are marked."""
    ours, theirs = WORDS.findall(first), WORDS.findall(second)
    if first == second or max(len(ours), len(theirs)) > MAX_WORDS:
        one, other = (((DiffSpan(text, first != second),) if text else ()) for text in (first, second))
        return one, other
    steps = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    return (
        tuple(DiffSpan("".join(ours[a:b]), word != "equal") for word, a, b, _, _ in steps if b > a),
        tuple(DiffSpan("".join(theirs[c:d]), word != "equal") for word, _, _, c, d in steps if d > c),
    )


class CaseSide(Struct, frozen=True, kw_only=True):
    letter: str
    run_id: str
    run_name: str
    address: str
    verdict: str
    why: str
    grades: tuple[tuple[str, str, str], ...]


class CompareCasePage(Struct, frozen=True, kw_only=True):
    case_id: str
    name: str
    answer: str
    up: str
    halves: tuple[CaseSide, ...]
    turns: tuple[TurnPair, ...]
    same_turns: int


def compared_turns(result: Result, writer: MarkdownWriter) -> list[ComparedTurn]:
    """The turns of a conversation, with each tool call on a line of its own."""
    return [
        ComparedTurn(
            each["role"],
            each["text"],
            tuple(f"→ {call['name']}({call['brief']}) ← {call['said']}" for call in each["calls"]),
            writer.tree(each["text"]),
        )
        for each in fit_case_block(result, MAX_SIDE)["talk"]
    ]


async def show_case(request: Request) -> Response:
    store, query = host_of(request).store, request.query_params
    runs = await chosen_runs(request, store, caller_of(request).within, 2)
    case, candidate = query.get("case", ""), query.get("candidate")
    first, second = results = [await _result(store, run, case, candidate) for run in runs]
    writer = MarkdownWriter(raw=bool(query.get("raw")))
    turns = side_by_side(compared_turns(first, writer), compared_turns(second, writer))
    was, now = first.verdict.value, second.verdict.value
    page = CompareCasePage(
        case_id=first.case.id,
        name=case_name(first),
        answer=f"Both {now}." if was == now else f"It {was} in A and {now} in B.",
        up=f"/compare?run={runs[0].id}&run={runs[1].id}",
        halves=tuple(_case_side(*half) for half in zip("AB", runs, results, strict=True)),
        turns=tuple(turns),
        same_turns=sum(not each.differs for each in turns),
    )
    return respond(request, "compare-case.html", page)


def _case_side(letter: str, run: Run, result: Result) -> CaseSide:
    return CaseSide(
        letter=letter,
        run_id=run.id,
        run_name=run.name or run.id[:8],
        address=case_address(run.id, result.position, CaseFilter()),
        verdict=result.verdict.value,
        why=headline(result, 300),
        grades=tuple(
            (each["name"], each["mark"], one_line(each["reason"], 200))
            for each in fit_case_block(result, MAX_SIDE)["grades"]
        ),
    )


async def _result(store: Store, run: Run, case: str, candidate: str | None) -> Result:
    """The result of the named candidate, if the run has one; else the first attempt."""
    results = await store.results(run.id, limit=1, case_id=case, candidate=candidate) if candidate is not None else []
    results = results or await store.results(run.id, limit=1, case_id=case)
    if not results:
        raise NotFound(f"run {run.name or run.id} has no case {make_inert(case)!r}")
    return results[0]


ROUTES = [PageRoute("/compare", show), PageRoute("/compare/case", show_case)]
