"""Marks and rates are drawn once and look the same wherever they stand."""

from __future__ import annotations

import pytest

from howsure.model.run import Counts
from howsure.reports.figures import Rate
from howsure.web.responses import environment


def rendered(text: str, **values: object) -> str:
    return environment().from_string(text).render(**values)


def test_a_mark_is_drawn_for_its_verdict() -> None:
    assert rendered("{{ mark('failed') }}") == '<span class="mark failed" aria-hidden="true"></span>'
    assert rendered("{{ mark('not run') }}{{ mark('failed') }}").count('class="mark not-run"') == 1


def test_a_rate_is_drawn_once_and_hostile_words_stay_words() -> None:
    drawn = environment().globals["strip"]
    drawn.cache_clear()  # type: ignore[attr-defined]
    once = rendered("{{ strip(rate) }}", rate=Rate(7, 10))
    assert rendered("{{ strip(rate) }}", rate=Rate(7, 10)) == once
    assert (drawn.cache_info().misses, drawn.cache_info().hits) == (1, 1)  # type: ignore[attr-defined]
    assert "70.0 %, likely between" in once
    assert rendered("{{ mark(word) }}", word="<b>") == '<span class="mark &lt;b&gt;" aria-hidden="true"></span>'


@pytest.mark.parametrize(("rate", "said"), [(Rate(0, 0), "–"), (Rate(1, 2), "<b>50.0 %</b>")])
def test_a_rate_over_nothing_is_a_dash(rate: Rate, said: str) -> None:
    assert said in rendered("{{ rated(rate) }}", rate=rate)


def test_verdicts_are_told_with_how_many_there_are_of_each() -> None:
    counts = Counts(total=9, passed=3, failed=2, errored=1)
    assert rendered("{% for word, number in counts|verdicts %}{{ word }} {{ number }} {% endfor %}", counts=counts) == (
        "passed 3 failed 2 errored 1 skipped 0 pending 3 "
    )
