"""What a new run takes over from the one before it: cases that are still the same, and nothing that broke."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from howsure.errors import ConfigInvalid
from howsure.model.case import Case
from howsure.model.run import DatasetPin
from howsure.services.run.start import alike, carry_over, start
from two_runs import pins
from unit.services.places import Counting, asking, house, lines, mcq, unwatched, workplace


async def test_only_cases_that_changed_are_tried_again(tmp_path: Path) -> None:
    bot = Counting()
    work = workplace(tmp_path, bot)
    data = house(tmp_path, 4)
    await start(work, asking(data), unwatched)
    lines(tmp_path / "house.jsonl", mcq(1), mcq(5), mcq(2, prompt="Another question?"), mcq(4))
    bot.asked.clear()
    summary = await start(work, asking(data), unwatched, carry_over)
    assert bot.asked == ["q5", "q2"]
    assert (summary.run.counts.total, summary.run.counts.passed) == (4, 4)
    async with await work.store(read_only=True) as store:
        order = [result.case.id async for result in store.iterate(summary.run.id)]
    assert order == ["q1", "q5", "q2", "q4"]


async def test_what_broke_is_tried_again(tmp_path: Path) -> None:
    def refuses(case: Case) -> str:
        if case.id == "q2" and len(bot.asked) < 4:
            raise ConnectionError("refused")
        return "A"

    bot = Counting(refuses)
    work = workplace(tmp_path, bot)
    data = house(tmp_path, 3)
    first = await start(work, asking(data), unwatched)
    assert first.run.counts.errored == 1
    bot.asked += ["later", "later"]
    second = await start(work, asking(data), unwatched, carry_over)
    assert bot.asked[5:] == ["q2"]
    assert second.run.counts.passed == 3


async def test_a_run_that_is_unlike_gives_nothing(tmp_path: Path) -> None:
    bot = Counting()
    work = workplace(tmp_path, bot)
    data = house(tmp_path, 2)
    await start(work, asking(data), unwatched)
    await start(work, asking(data, repeat=2), unwatched, carry_over)
    assert bot.asked == ["q1", "q2", "q1", "q1", "q2", "q2"]


async def test_the_first_run_ever_has_nothing_to_take_over(tmp_path: Path) -> None:
    bot = Counting()
    summary = await start(workplace(tmp_path, bot), asking(house(tmp_path, 2)), unwatched, carry_over)
    assert (bot.asked, summary.run.counts.passed) == (["q1", "q2"], 2)


async def test_a_plan_that_is_refused_takes_nothing_over(tmp_path: Path) -> None:
    work = workplace(tmp_path, Counting())
    with pytest.raises(ConfigInvalid):
        await start(work, asking(house(tmp_path, 2), gates=("nonsense",)), unwatched, carry_over)


def test_runs_are_alike_whatever_their_files_hold_but_not_whatever_else() -> None:
    first = pins(judge="offline")
    edited = replace(first, datasets=(DatasetPin(path="house.jsonl", sha256="cd" * 32, dialect="legal", cases=9),))
    moved = replace(first, request=replace(first.request, datasets=("other.jsonl",)))
    assert alike(first, edited)
    assert not alike(first, moved)
    assert not alike(first, replace(edited, request=replace(edited.request, judge="openai:x")))
    assert not alike(first, replace(edited, plugins=("shop.py 12",)))
