"""Runs held against each other: is the newer better, and where not? The sentence, what can be compared at all, the
interval, then flips both ways, and every difference."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from howsure.errors import InputError, PlanRefused
from howsure.model.access_scope import AccessScope
from howsure.model.comparison import Compared, Comparison, Kind
from howsure.model.run import Run
from howsure.reports.compare_text import title
from howsure.reports.html.matrix import UUID
from howsure.store.store import Store
from howsure.web.remembering import as_they_are
from howsure.web.rendering import respond
from howsure.web.sharing import Page, caller_of, host_of, remembered_of

MOST = 5
NAMED = 30
NAMELESS: Mapping[str, str] = MappingProxyType({})


class Side(Struct, frozen=True):
    """One of the runs; the first is the oldest, and the others are held against it."""

    letter: str
    id: str
    name: str


class Pair(Struct, frozen=True, kw_only=True):
    """Two sides. `told` is what the reports say of them; `slices` are the titles of what is about some of the cases."""

    told: Any
    n: int
    unchanged: int
    likely: str
    slices: tuple[str, ...]


class ComparePage(Struct, frozen=True, kw_only=True):
    """What the page shows. `refused`: why nothing can be compared."""

    sides: tuple[Side, ...]
    answer: str
    refused: str
    pairs: tuple[Pair, ...]


def compare_page(
    runs: Sequence[Run],
    comparison: Comparison | None,
    told: Sequence[Any],
    refused: str,
    names: Mapping[str, str] = NAMELESS,
) -> ComparePage:
    pairs = comparison.pairs if comparison else ()
    return ComparePage(
        sides=tuple(Side(chr(65 + place), run.id, run.name or run.id[:8]) for place, run in enumerate(runs)),
        answer=told[0].sentence if told else "These runs cannot be compared.",
        refused=refused,
        pairs=tuple(
            Pair(
                told=_linked(shown, pair, names),
                n=pair.verdict.n,
                unchanged=pair.verdict.same,
                likely=shown.apart[0].likely if shown.apart else "",
                slices=tuple(title(each) for each in pair.differences if each.kind in (Kind.TAG, Kind.SLICE)),
            )
            for pair, shown in zip(pairs, told, strict=True)
        ),
    )


def _linked(shown: Any, pair: Compared, names: Mapping[str, str]) -> Any:
    """With cases that lead to where both are side by side, called by their names where their ids say nothing."""
    sides = pair.first.run_id, pair.second.run_id

    def linked(case: Any) -> Any:
        address = _address(*sides, case.id, pair.second.candidate)
        return replace(case, link=f"/compare/case?{address}", id=names.get(case.id, case.id))

    return replace(shown, worse=[*map(linked, shown.worse)], better=[*map(linked, shown.better)])


def _address(first: str, second: str, case: str, candidate: str) -> str:
    said = [("run", first), ("run", second), ("case", case)]
    return urlencode([*said, *([("candidate", candidate)] if candidate else [])])


async def chosen_runs(request: Request, store: Store, within: AccessScope, most: int) -> list[Run]:
    """The runs that an address names, the oldest first: whoever may not see one is told that it is not there."""
    named = [value for name, value in request.query_params.multi_items() if name == "run" and value]
    if not 2 <= len(dict.fromkeys(named)) <= most:
        raise InputError(
            f"choose two runs to compare{f', or up to {most}' if most > 2 else ''}, not {len(named)}: "
            "tick them in the list of runs"
        )
    return sorted(
        [await store.run(each, within) for each in dict.fromkeys(named)], key=lambda run: (run.created_at, run.id)
    )


async def names_in(store: Store, comparison: Comparison) -> dict[str, str]:
    """What cases are called whose ids only machines read, as far as they are listed first."""
    flips = [(pair.first.run_id, flip.case_id) for pair in comparison.pairs for flip in pair.flips]
    wanted = dict.fromkeys((run_id, case) for run_id, case in flips if UUID.fullmatch(case))
    found = [await store.results(run_id, limit=1, case_id=case) for run_id, case in list(wanted)[:NAMED]]
    return {each.case.id: each.case.name for results in found for each in results if each.case.name}


async def show(request: Request) -> Response:
    store = host_of(request).store
    runs = await chosen_runs(request, store, caller_of(request).within, MOST)
    # Loads numpy and scipy: whoever never compares never waits for them.
    comparing = await asyncio.to_thread(import_module, "howsure.services.comparing")
    told = import_module("howsure.reports.html.comparing")
    try:
        wanted = comparing.Wanted(runs=tuple(run.id for run in runs))
        key = ("compared", as_they_are(runs))
        found = await remembered_of(request)(key, lambda: comparing.compared(store, wanted))
        names = await remembered_of(request)(("names", *key), lambda: names_in(store, found))
    except PlanRefused as refused:
        return respond(request, "compare.html", compare_page(runs, None, (), str(refused)))
    return respond(request, "compare.html", compare_page(runs, found, told.against(found), "", names))


def routes() -> list[Page]:
    return [Page("/compare", show)]
