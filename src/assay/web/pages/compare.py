"""Two runs: is the second better, and where not? The sentence, what can be compared at all, then flips both ways."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from assay.errors import InputError
from assay.model.run import Run
from assay.web.rendering import respond
from assay.web.sharing import Page, caller_of, host_of


class ComparePage(Struct, frozen=True, kw_only=True):
    """What the page shows; `pairs` are those of the reports."""

    first: str
    second: str
    first_id: str
    second_id: str
    answer: str
    pairs: tuple[Any, ...]


def compare_page(first: Run, second: Run, pairs: tuple[Any, ...]) -> ComparePage:
    return ComparePage(
        first=first.name or first.id[:8],
        second=second.name or second.id[:8],
        first_id=first.id,
        second_id=second.id,
        answer=pairs[0].sentence if pairs else "There is nothing to compare.",
        pairs=tuple(_linked(pair, second.id) for pair in pairs),
    )


def _linked(pair: Any, run_id: str) -> Any:
    """With cases that lead to their own pages."""

    def linked(cases: list[Any]) -> list[Any]:
        return [replace(case, link=f"/runs/{run_id}/cases/{quote(case.id, safe='')}") for case in cases]

    return replace(pair, worse=linked(pair.worse), better=linked(pair.better))


async def show(request: Request) -> Response:
    asking, store = caller_of(request), host_of(request).store
    chosen = [value for name, value in request.query_params.multi_items() if name == "run" and value]
    if len(chosen) != 2:
        raise InputError(f"choose two runs to compare, not {len(chosen)}: tick them in the list of runs")
    # The newer one is held against the older.
    first, second = sorted([await store.run(each, asking.within) for each in chosen], key=lambda run: run.created_at)
    # Loads numpy and scipy: whoever never compares never waits for them.
    comparing = await asyncio.to_thread(import_module, "assay.services.comparing")
    told = import_module("assay.reports.html.comparing")
    found = await comparing.compared(store, comparing.Wanted(runs=(first.id, second.id)))
    return respond(request, "compare.html", compare_page(first, second, tuple(told.against(found))))


def routes() -> list[Page]:
    return [Page("/compare", show)]
