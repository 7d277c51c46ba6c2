"""Which results are on a page of a run, and which of how many; and what is said where not all were looked through."""

from __future__ import annotations

import pytest

from howsure.store.browsing import Listed
from howsure.web.filtering import Filter
from howsure.web.pages.run_shown import LookedThrough, Shown, behind, further, looked_through, showing
from store.making import RUN, a_result


def shown(number: int, **listed: int | None) -> Shown:
    """So many results on the page."""
    plain: dict[str, int | None] = {"total": 40, "first": 0, "matching": 40, **listed}
    return Shown(
        results=[a_result(place) for place in range(number)],
        chosen=Filter(q="x"),
        listed=Listed(positions=list(range(number)), **plain),  # type: ignore[arg-type]
        tries={},
    )


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (shown(3), "1–3 of 40"),
        (shown(3, first=25), "26–28 of 40"),
        (shown(3, matching=7), "1–3 of 7 that match, of 40 results"),
        (shown(0, matching=0), "none of 40 results is like that"),
        (
            shown(2, total=20_000, first=None, matching=None, start=1000, looked_at=1000),
            "2 found in results 1,001–2,000 of 20,000 (the rest was not looked through yet)",
        ),
        (
            shown(0, total=20_000, first=None, matching=None, start=19_000, looked_at=1000),
            "0 found in results 19,001–20,000 of 20,000",
        ),
    ],
    ids=["all", "second page", "filtered", "nothing", "some looked through", "the last looked through"],
)
def test_a_page_says_which_it_shows_of_how_many(page: Shown, said: str) -> None:
    assert showing(page, 40) == said


def test_what_was_looked_through_is_told_to_programs_too() -> None:
    part = shown(2, total=20_000, first=None, matching=None, start=1000, looked_at=1000)
    assert looked_through(part.listed) == LookedThrough(1001, 2000, 20_000)
    assert looked_through(shown(2).listed) is None


def test_the_next_page_begins_behind_a_position() -> None:
    assert further(RUN, shown(3)) == ""
    assert further(RUN, shown(3, further=24)) == f"/runs/{RUN}?q=x&after=MjQ%3D#cases"


@pytest.mark.parametrize(("after", "position"), [(None, None), ("24", 24), ("nonsense", None), ("-1", None)])
def test_an_address_is_read_with_care(after: str | None, position: int | None) -> None:
    assert behind(after) == position
