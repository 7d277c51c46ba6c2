"""What was worked out is kept while nothing changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from howsure.model.run import RunState
from howsure.web.routes import ResultCache, TimedCache, run_states_key
from unit.reports.northwind import a_run, counts_of, refund_results


def counting() -> tuple[list[int], Callable[[], Awaitable[int]]]:
    asked: list[int] = []

    async def work_out() -> int:
        asked.append(1)
        return len(asked)

    return asked, work_out


async def test_the_same_is_worked_out_once() -> None:
    remembered, (asked, work_out) = ResultCache(), counting()
    assert [await remembered("a", work_out), await remembered("a", work_out)] == [1, 1]
    assert len(asked) == 1


async def test_what_was_not_asked_for_longest_is_forgotten() -> None:
    remembered, (asked, work_out) = ResultCache(2), counting()
    for key in ("a", "b", "a", "c", "a", "b"):
        await remembered(key, work_out)
    assert len(asked) == 4


async def test_an_error_is_not_kept() -> None:
    remembered = ResultCache()

    async def breaks() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await remembered("a", breaks)
    assert await remembered("a", counting()[1]) == 1


def test_a_key_changes_when_a_run_does() -> None:
    results = refund_results()
    run = a_run(counts_of(results))
    changed = [replace(run, state=RunState.RUNNING), a_run(counts_of(results[:-1]))]
    assert all(run_states_key([run]) != run_states_key([other]) for other in changed)
    assert run_states_key([run]) == run_states_key([replace(run, name="renamed")])


async def test_within_two_seconds_what_was_read_is_shown_again_unless_something_was_changed() -> None:
    times = iter([0.0, 1.9, 2.1, 2.2, 2.3])
    read: list[str] = []

    async def reading(key: str) -> int:
        read.append(key)
        return len(read)

    lately = TimedCache(reading, lambda: next(times))
    assert [await lately("us"), await lately("us"), await lately("us")] == [1, 1, 2]
    assert await lately("them") == 3
    lately.clear()
    assert await lately("us") == 4
