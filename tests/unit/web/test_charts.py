"""What the answers took: of all of them, or of some that are drawn by chance, and then that is said."""

from __future__ import annotations

from msgspec.structs import replace

from howsure.model.run import Counts, Run
from howsure.store.queries.tolls import Toll
from howsure.web.pages.charts import LOOKED_AT, charts_page, looked_at
from store.making import a_run


def of(passed: int) -> Run:
    return replace(a_run(), counts=Counts(total=passed, passed=passed))


TOLLS = [Toll(position=place, seconds=1.0 + place) for place in range(4)]


def test_of_few_all_are_looked_at() -> None:
    run = of(LOOKED_AT)
    assert looked_at(run) is None
    page = charts_page(run, TOLLS)
    assert page.answer == "Time of an answer: 2 s as a rule, 95 of 100 under 4 s."
    assert (page.looked_at, page.results) == (4, LOOKED_AT)


def test_of_many_some_are_drawn_and_the_page_says_so() -> None:
    run = of(20_000)
    drawn = looked_at(run)
    assert drawn is not None
    assert (len(set(drawn)), drawn == sorted(drawn), drawn == looked_at(run)) == (LOOKED_AT, True, True)
    # By chance, not every hundredth: where two candidates take turns, both are among them.
    assert LOOKED_AT / 3 < sum(position % 2 for position in drawn) < LOOKED_AT * 2 / 3
    assert max(drawn) > 19_000
    page = charts_page(run, TOLLS)
    assert page.answer.endswith("under 4 s. Of 4 answers drawn by chance from 20,000 results.")


def test_where_nothing_was_recorded_that_is_said() -> None:
    assert charts_page(of(3), []).answer == "Nobody recorded what the answers took."
