"""Results over many runs, newest run first: a page goes on in the run and at the position where the last one ended."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

import msgspec
from msgspec import Struct

from howsure.errors import InputError, NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.verdict import Verdict
from howsure.store.queries.runs import cursor
from howsure.store.service.places import is_number
from howsure.store.store import Store

RUNS = 50
"""Runs looked at in one page: whoever asks for something rare goes on from there."""


class Filter(Struct, frozen=True, kw_only=True):
    """Which results; None: any."""

    agent_id: str | None = None
    failed_only: bool = False
    rule_id: str | None = None
    since: str | None = None


async def results_across(
    store: Store, wanted: Filter, place: str | None, limit: int, within: AccessScope
) -> tuple[list[tuple[Run, Result]], str | None]:
    """A page of results with their runs, and where the next one begins; None: that was all."""
    since = _moment(wanted.since)
    run_id, position, before = _read(place)
    found: list[tuple[Run, Result]] = []
    if run_id:
        # It may have been deleted since: then the page begins with the next one.
        with suppress(NotFound):
            run = await store.run(run_id, within)
            found += [(run, each) for each in await _of(store, run, wanted, position, limit)]
        if len(found) == limit:
            return found, _place(*_last(found))
    runs = await store.runs(limit=RUNS, before=before, agent_id=wanted.agent_id, within=within)
    for run in runs:
        if since is not None and run.created_at < since:
            return found, None
        found += [(run, each) for each in await _of(store, run, wanted, None, limit - len(found))]
        if len(found) == limit:
            return found, _place(*_last(found))
    return found, _place(runs[-1], None) if len(runs) == RUNS else None


async def _of(store: Store, run: Run, wanted: Filter, after: int | None, limit: int) -> list[Result]:
    verdict = Verdict.FAILED if wanted.failed_only else None
    if wanted.rule_id is None:
        return await store.results(run.id, after=after, limit=limit, verdict=verdict)
    failed = sorted(
        each.position for each in await store.part_grades(run.id, [wanted.rule_id]) if each.outcome == "failed"
    )
    later = [position for position in dict.fromkeys(failed) if after is None or position > after]
    found: list[Result] = []
    for position in later:
        page = await store.results(run.id, after=position - 1, limit=1)
        found += [result for result in page if verdict is None or result.verdict is verdict]
        if len(found) == limit:
            break
    return found


def _last(found: list[tuple[Run, Result]]) -> tuple[Run, int]:
    run, result = found[-1]
    return run, result.position


def _place(run: Run, position: int | None) -> str:
    return f"{'' if position is None else position}|{cursor(run)}"


def _read(place: str | None) -> tuple[str, int | None, str | None]:
    """The run to go on in, after which position, and the run after which others follow."""
    if place is None:
        return "", None, None
    position, _, before = place.partition("|")
    if (position and not is_number(position)) or "~" not in before:
        raise InputError("this cursor is of another list")
    return (before.partition("~")[2] if position else ""), int(position) if position else None, before


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = msgspec.convert(text, datetime)
    except msgspec.ValidationError:
        raise InputError(f"since: {text!r} is not a time; expected such as 2026-11-15T09:30:00Z") from None
    if moment.tzinfo is None:
        raise InputError(f"since: {text!r} has no time zone; add Z for UTC")
    return moment
