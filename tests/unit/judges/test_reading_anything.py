"""Whatever a judge says: a ruling on the scale, or `UnparsableReply`. Nothing else, and never a sentinel such as −1."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from howsure.judges.replies import read_check, read_rating, read_share
from howsure.judges.rulings import NotApplicable, Rating, UnparsableReply
from howsure.model.score import LIKERT, UNIT, ZERO_TO_FIVE, Scale

KEYS = st.sampled_from(
    ["score", "Score", "rating", "grade", "result", "passed", "met", "verdict", "reason", "criteria"]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.floats(),
    st.sampled_from(["yes", "no", "N/A", "4/5", "4 out of 5", "pass", "not met", "", "4-5", "-1"]),
    st.text(max_size=12),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=8,
)
PIECES = st.one_of(
    VALUES.map(json.dumps),
    st.text(max_size=20),
    st.sampled_from(
        ["Score: 4", "{", "}", "[", '"', "```json\n", "<think>", "</think>", "Yes,", "\n", ",}", "Verdict: no"]
    ),
)
REPLIES = st.one_of(VALUES, st.lists(PIECES, max_size=6).map("".join), st.lists(PIECES, max_size=6).map("\n".join))


def ruling_on(content: Any, scale: Scale, *, whole: bool) -> Rating | NotApplicable | None:
    try:
        return read_rating(content, scale, whole=whole)
    except UnparsableReply as error:
        assert str(error)
        return None


@given(REPLIES)
def test_every_reply_is_on_its_scale_or_unreadable(content: Any) -> None:
    for scale in (LIKERT, UNIT, ZERO_TO_FIVE):
        ruling = ruling_on(content, scale, whole=False)
        if isinstance(ruling, Rating):
            assert ruling.value in scale
    ruling = ruling_on(content, LIKERT, whole=True)
    if isinstance(ruling, Rating):
        assert ruling.value in (1.0, 2.0, 3.0, 4.0, 5.0)


@given(REPLIES)
def test_every_check_and_share_is_a_ruling_or_unreadable(content: Any) -> None:
    for read in (read_check, read_share):
        try:
            ruling = read(content)
        except UnparsableReply as error:
            assert str(error)
        else:
            assert isinstance(ruling, NotApplicable) or ruling.value in UNIT


@given(REPLIES)
def test_reading_twice_gives_the_same(content: Any) -> None:
    first, second = (ruling_on(content, UNIT, whole=False) for _ in range(2))
    assert str(first) == str(second)
