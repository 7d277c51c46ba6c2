"""A Score says what it is on which scale, and cannot contradict itself; a thing without a value has none."""

from __future__ import annotations

from math import inf, nan

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.model.score import (
    LIKERT,
    OPEN,
    UNIT,
    ZERO_TO_FIVE,
    Direction,
    Grade,
    Part,
    Scale,
    Score,
    Unscored,
    UnscoredReason,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "scale"),
    [
        (-0.01, UNIT),
        (1.0000000000000002, UNIT),
        (0, LIKERT),
        (7, LIKERT),
        (5.1, ZERO_TO_FIVE),
        (-1, OPEN),
        (nan, UNIT),
        (nan, OPEN),
        (inf, OPEN),
        (-inf, Scale(-inf, None)),
        (3, Scale(5, 1)),
    ],
    ids=[
        "just below",
        "one step above",
        "zero on 1 to 5",
        "seven on 1 to 5",
        "above 5",
        "below an open scale",
        "not a number",
        "not a number on an open scale",
        "infinity on an open scale",
        "minus infinity",
        "nothing is on a scale that is upside down",
    ],
)
def test_a_value_off_its_scale_is_refused(value: float, scale: Scale) -> None:
    with pytest.raises(ValueError, match=r"fluency: .* is not on the scale"):
        Score(name="fluency", value=value, scale=scale)


@pytest.mark.parametrize(
    ("value", "scale"),
    [(0, UNIT), (1, UNIT), (-0.0, UNIT), (1, LIKERT), (5, LIKERT), (0, OPEN), (1e308, OPEN), (True, UNIT)],
)
def test_both_ends_are_on_the_scale(value: float, scale: Scale) -> None:
    assert value in scale
    assert Score(name="x", value=value, scale=scale).value == value


def test_the_refusal_names_the_score_the_value_and_the_scale() -> None:
    with pytest.raises(ValueError) as caught:
        Score(name="empathy", value=7, scale=LIKERT)
    assert str(caught.value) == "empathy: 7 is not on the scale 1 to 5"


@pytest.mark.parametrize("mark", [nan, inf, -inf])
def test_a_mark_that_no_value_can_be_held_against_is_refused(mark: float) -> None:
    # JSON would write it as null, and a failed Score would come back as one that was never judged.
    with pytest.raises(ValueError, match=r"x: .* is no pass mark"):
        Score(name="x", value=1, pass_mark=mark)


@pytest.mark.parametrize(
    ("value", "mark", "direction", "passed"),
    [
        (0.7, 0.7, Direction.HIGHER, True),
        (0.6999999999999999, 0.7, Direction.HIGHER, False),
        (0.7, 0.7, Direction.LOWER, True),
        (0.7000000000000001, 0.7, Direction.LOWER, False),
        (0.1, 0.7, Direction.LOWER, True),
        (1, 0.7, Direction.HIGHER, True),
        (0, 0, Direction.HIGHER, True),
        (0, 0, Direction.LOWER, True),
        (0.7, 0.7, Direction.NEITHER, True),
        (0, None, Direction.HIGHER, None),
        (1, None, Direction.LOWER, None),
    ],
)
def test_passed_follows_from_value_mark_and_direction(
    value: float, mark: float | None, direction: Direction, passed: bool | None
) -> None:
    assert Score(name="x", value=value, pass_mark=mark, direction=direction).passed is passed


def test_a_mark_of_zero_is_a_mark() -> None:
    assert Score(name="x", value=0.0, pass_mark=0.0).passed is True


def test_a_mark_above_the_scale_is_never_reached() -> None:
    assert Score(name="x", value=1.0, pass_mark=1.5).passed is False


def test_passed_cannot_be_set() -> None:
    score = Score(name="x", value=0.0, pass_mark=1.0)
    with pytest.raises(AttributeError):
        score.passed = True  # type: ignore[misc]
    with pytest.raises(TypeError):
        Score(name="x", value=0.0, passed=True)  # type: ignore[call-arg]


def test_a_changed_copy_is_checked_again() -> None:
    score = Score(name="x", value=0.5)
    with pytest.raises(ValueError, match="2 is not on the scale 0 to 1"):
        msgspec.structs.replace(score, value=2)


@pytest.mark.parametrize(
    "body",
    [
        b'{"kind":"score","name":"x","value":2}',
        b'{"kind":"score","name":"x","value":6,"scale":{"low":1,"high":5}}',
        b'{"kind":"score","name":"x","value":null}',
        b'{"kind":"score","name":"x","value":"1"}',
        b'{"kind":"score","name":"x","value":1e999}',
        b'{"kind":"score","name":"x"}',
        b'{"kind":"unscored","name":"x","why":"tired","reason":""}',
        b'{"kind":"unscored","name":"x","why":"error"}',
        b'{"kind":"guess","name":"x","value":1}',
        b'{"name":"x","value":1}',
    ],
    ids=[
        "off the scale",
        "off its own scale",
        "no value",
        "a text",
        "too large",
        "absent",
        "unknown why",
        "no reason",
        "unknown kind",
        "no kind",
    ],
)
def test_a_stored_grade_that_contradicts_itself_is_not_read(body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=Grade)


def test_the_stored_form_of_a_score_is_fixed() -> None:
    score = Score(name="x", value=4, scale=LIKERT, pass_mark=3, direction=Direction.LOWER, part=Part(id="c1", text="t"))
    assert msgspec.json.encode(score) == (
        b'{"kind":"score","name":"x","value":4,"scale":{"low":1,"high":5},"pass_mark":3,"direction":"lower",'
        b'"part":{"id":"c1","text":"t"}}'
    )


def test_what_has_no_value_has_none_and_no_verdict_either() -> None:
    unscored = Unscored(name="x", why=UnscoredReason.ERROR, reason="the judge broke", pass_mark=0.5)
    assert not hasattr(unscored, "value")
    assert not hasattr(unscored, "passed")
    assert {why.value for why in UnscoredReason} == {"error", "not_applicable", "no_judge"}


@pytest.mark.parametrize(
    ("scale", "text"),
    [
        (UNIT, "0 to 1"),
        (LIKERT, "1 to 5"),
        (ZERO_TO_FIVE, "0 to 5"),
        (OPEN, "0 to ∞"),
        (Scale(-1.5, 2.25), "-1.5 to 2.25"),
        (Scale(0.0, 10.0), "0 to 10"),
        (Scale(3), "3 to ∞"),
    ],
)
def test_a_scale_in_words(scale: Scale, text: str) -> None:
    assert str(scale) == text


def test_scales_are_values() -> None:
    assert Scale(0, 1) == UNIT
    assert hash(Scale(0.0, 1.0)) == hash(UNIT)
    assert Scale(0, None) != Scale(0, 1)


@given(st.tuples(FINITE, FINITE).map(sorted), FINITE)
def test_a_score_can_be_built_exactly_when_its_value_is_between_the_ends(ends: list[float], value: float) -> None:
    scale = Scale(*ends)
    if ends[0] <= value <= ends[1]:
        assert Score(name="x", value=value, scale=scale).value == value
    else:
        with pytest.raises(ValueError, match="not on the scale"):
            Score(name="x", value=value, scale=scale)


@given(FINITE, FINITE)
def test_turning_value_mark_and_direction_around_changes_no_verdict(value: float, mark: float) -> None:
    wide = Scale(-1.8e308, None)
    one = Score(name="x", value=value, scale=wide, pass_mark=mark)
    other = Score(name="x", value=-value, scale=wide, pass_mark=-mark, direction=Direction.LOWER)
    assert one.passed is other.passed
