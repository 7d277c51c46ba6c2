"""Pages of results: whichever way they are ordered and chosen, pages join without a gap, neighbours are those of the
list, and what was not looked through is said; on both databases the same."""

from __future__ import annotations

from itertools import product

import pytest

from howsure.model.result import Result
from howsure.model.score import Part, Score
from howsure.model.verdict import Verdict
from howsure.store import result_lists
from howsure.store.result_lists import ResultFilter, ResultNeighbors, ResultOrder
from howsure.store.store import Store
from howsure.testing import a_case, a_transcript
from store.making import NOON, RUN, a_run, asked, shown_page

KINDS = (Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED, Verdict.SKIPPED, Verdict.FAILED)
WORST = [1, 4, 6, 9, 11, 2, 7, 3, 8, 0, 5, 10]
SLOWEST = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]


def a_result(position: int) -> Result:
    """Twelve of them: every second one has a tag, every third one says `refund`."""
    verdict = KINDS[position % len(KINDS)]
    rule = Part(id=f"r{position % 2}", text="Be kind", scope="prompt" if position % 2 else "")
    grade = Score(name="rubric", value=float(verdict is not Verdict.FAILED), pass_mark=1.0, part=rule)
    case = a_case(id=f"case-{position:02}", message="Where is it?", tags=("even",) if position % 2 == 0 else ())
    return Result(
        case=case,
        verdict=verdict,
        grades=(grade,),
        transcript=a_transcript("Your REFUND is on its way" if position % 3 == 0 else "No."),
        position=position,
        created_at=NOON,
        duration_ms=float(position),
    )


@pytest.fixture
async def kept(store: Store) -> Store:
    await store.create_run(a_run(total=12))
    await store.save(RUN, [a_result(position) for position in range(12)])
    return store


CHOSEN = {
    "worst first": (ResultFilter(), WORST),
    "as in the file": (ResultFilter(order=ResultOrder.FILE), list(range(12))),
    "slowest first": (ResultFilter(order=ResultOrder.SLOWEST), SLOWEST),
    "two verdicts": (ResultFilter(verdicts=("errored", "failed")), [1, 4, 6, 9, 11, 2, 7]),
    "a tag": (ResultFilter(tag="even"), [4, 6, 2, 8, 0, 10]),
    "a grader": (ResultFilter(grader="rubric", order=ResultOrder.FILE), [1, 4, 6, 9, 11]),
    "a rule": (ResultFilter(grader="rubric", part="r0"), [4, 6]),
    "a component": (ResultFilter(component="prompt", order=ResultOrder.SLOWEST), [11, 9, 1]),
    "words": (ResultFilter(text="refund"), [6, 9, 3, 0]),
    "words and a tag": (ResultFilter(text="refund", tag="even"), [6, 0]),
    "nothing": (ResultFilter(verdicts=("passed",), grader="rubric"), []),
}


@pytest.mark.parametrize(("name", "limit"), [*product(CHOSEN, (1, 5, 25))])
async def test_pages_join_without_a_gap(kept: Store, name: str, limit: int) -> None:
    chosen, expected = CHOSEN[name]
    found: list[int] = []
    after: int | None = None
    starts: list[int | None] = [None, None]
    while True:
        page = await kept.browse.result_page(RUN, chosen, after, limit)
        assert page.back == starts[-2]
        assert (page.first, page.matching, page.looked_at) == (len(found), len(expected), None)
        found += page.positions
        after = page.further
        starts.append(after)
        if after is None:
            break
    assert found == expected


@pytest.mark.parametrize("name", CHOSEN)
async def test_the_neighbours_are_those_of_the_list(kept: Store, name: str) -> None:
    chosen, expected = CHOSEN[name]
    around = [None, *expected, None]
    for place, position in enumerate(expected):
        near = await kept.browse.neighbors(RUN, chosen, position, 5)
        page = expected[place - place % 5 - 1] if place >= 5 else None
        assert near == ResultNeighbors(around[place], around[place + 2], place + 1, len(expected), page), position


@pytest.mark.parametrize(
    ("chosen", "position", "near"),
    [
        (ResultFilter(verdicts=("failed",)), 5, ResultNeighbors(4, 6)),
        (ResultFilter(verdicts=("failed",)), 0, ResultNeighbors(None, 1)),
        (ResultFilter(verdicts=("failed",), tag="even"), 11, ResultNeighbors(6, None)),
        (ResultFilter(text="refund"), 4, ResultNeighbors(3, 6)),
    ],
    ids=["between", "before all", "behind all", "without the words"],
)
async def test_what_a_filter_leaves_out_stands_where_it_would_in_the_file(
    kept: Store, chosen: ResultFilter, position: int, near: ResultNeighbors
) -> None:
    assert await kept.browse.neighbors(RUN, chosen, position, 5) == near


async def test_of_a_run_that_is_not_there_nothing_is_listed(store: Store) -> None:
    page = await store.browse.result_page(RUN, ResultFilter(), 7, 5)
    assert (page.positions, page.total, page.further) == ([], 0, None)
    assert await store.browse.neighbors(RUN, ResultFilter(), 7, 5) == ResultNeighbors()


@pytest.fixture
def small_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a run of thousands: four results are looked through for a page, two at a time."""
    monkeypatch.setattr(result_lists, "SEARCHED_PER_PAGE", 4)
    monkeypatch.setattr(result_lists, "SEARCH_CHUNK", 2)
    monkeypatch.setattr(result_lists, "FIRST_SEARCH_CHUNK", 1)
    monkeypatch.setattr(result_lists, "SEARCH_SECONDS", 0)


async def test_a_large_run_is_looked_through_a_part_at_a_time(kept: Store, small_looks: None) -> None:
    chosen = ResultFilter(text="refund", order=ResultOrder.FILE)
    pages, after = [], None
    while True:
        page = await kept.browse.result_page(RUN, chosen, after, 10)
        pages.append((page.positions, page.start, page.looked_at, page.total, page.matching, page.further))
        after = page.further
        if after is None:
            break
    assert pages == [
        ([0, 3], 0, 4, 12, None, 3),
        ([6], 4, 4, 12, None, 7),
        ([9], 8, 4, 12, None, None),
    ]


async def test_a_search_goes_on_to_the_end_of_the_run_while_there_is_time(
    kept: Store, small_looks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_lists, "SEARCH_SECONDS", 60)
    page = await kept.browse.result_page(RUN, ResultFilter(text="refund", order=ResultOrder.FILE), None, 10)
    assert (page.positions, page.looked_at, page.further) == ([0, 3, 6, 9], 12, None)


async def test_a_full_page_says_how_far_it_looked(kept: Store, small_looks: None) -> None:
    page = await kept.browse.result_page(RUN, ResultFilter(text="refund", order=ResultOrder.FILE), None, 1)
    assert (page.positions, page.looked_at, page.further) == ([0], 1, 0)
    rest = await kept.browse.result_page(RUN, ResultFilter(text="refund", order=ResultOrder.FILE), 0, 1)
    assert (rest.positions, rest.start, rest.looked_at, rest.further) == ([3], 1, 4, 4)


async def test_in_a_large_run_the_neighbours_are_looked_for_nearby(kept: Store, small_looks: None) -> None:
    chosen = ResultFilter(text="refund", order=ResultOrder.FILE)
    assert await kept.browse.neighbors(RUN, chosen, 5, 5) == ResultNeighbors(3, 6)
    # Two to each side are looked at: 3 is too far from 6, and nobody says that there is none.
    assert await kept.browse.neighbors(RUN, chosen, 6, 5) == ResultNeighbors(None, None)


async def test_what_was_written_before_tags_had_a_column_is_still_found_by_them(kept: Store) -> None:
    before = (await shown_page(kept)).tags
    await asked(kept, "UPDATE cases SET face = NULL WHERE position < 7")
    assert await kept.browse.positions(RUN, ResultFilter(tag="even")) == [4, 6, 2, 8, 0, 10]
    assert [(tag.text, tag.cases) for tag in before] == [("even", 6)]
    assert [face.tags for face in await kept.case_previews(RUN)] == [("even",), ()] * 6
