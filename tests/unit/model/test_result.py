"""Results: ids that never change and never meet, and failures as data."""

from __future__ import annotations

from math import inf, nan
from uuid import UUID, uuid5

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from howsure.errors import TargetFailed, TargetTimedOut
from howsure.model.result import FORMAT, Failure, result_id
from howsure.model.run import Counts, ModelSpending, Pins, RunState
from howsure.model.run_request import RunRequest
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
from howsure.model.summary import Tally
from howsure.store.result_batches import result_key

RUN = UUID("12345678-1234-5678-1234-567812345678")
# Separators, digits and empty parts: what a joined name could be taken apart wrongly at.
PARTS = st.text(alphabet="a1\x1f\x1e\\,é", max_size=5)
ATTEMPTS = st.tuples(PARTS, PARTS, st.integers(1, 12))


@pytest.mark.parametrize(
    ("case", "candidate", "repeat", "expected"),
    [
        ("case-1", "", 1, "14f877f7-93a9-5fd3-8d8c-059db8d59f9c"),
        ("é", "gpt", 2, "253950b9-b44c-56e1-9502-6c56df3b7007"),
    ],
)
def test_the_id_of_a_result_never_changes(case: str, candidate: str, repeat: int, expected: str) -> None:
    assert result_id(RUN, case, candidate, repeat) == UUID(expected)


@given(ATTEMPTS, ATTEMPTS)
@example(("a\x1fb", "c", 1), ("a", "b\x1fc", 1))
@example(("a\x1f", "", 1), ("a", "\x1f", 1))
@example(("1", "1", 11), ("1", "11", 1))
@example(("1\x1fa\x1f", "", 1), ("a", "\x1f", 1))
def test_two_attempts_never_share_an_id(one: tuple[str, str, int], other: tuple[str, str, int]) -> None:
    assume(one != other)
    assert result_id(RUN, *one) != result_id(RUN, *other)


@given(st.uuids(), ATTEMPTS)
def test_the_store_makes_the_same_id(run: UUID, attempt: tuple[str, str, int]) -> None:
    assert result_key(run.bytes, *attempt) == str(result_id(run, *attempt))


@given(st.text(alphabet="a1é \n", max_size=6), st.text(alphabet="a1é \n", max_size=6), st.integers(1, 99))
def test_an_attempt_without_separators_keeps_the_id_that_stored_runs_have(case: str, who: str, repeat: int) -> None:
    assert result_id(RUN, case, who, repeat) == uuid5(RUN, "\x1f".join((case, who, str(repeat))))


def test_the_same_case_in_another_run_is_another_result() -> None:
    assert result_id(UUID(int=1), "a", "", 1) != result_id(UUID(int=2), "a", "", 1)


class Unplugged(TargetFailed):
    """A kind of failure that only its target knows: whoever reads results knows those of errors.py."""


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (TargetTimedOut("no answer in 30 s"), "TargetTimedOut", "no answer in 30 s"),
        (ValueError(), "ValueError", ""),
        (KeyError("a"), "KeyError", "'a'"),
        (Unplugged("no power"), "TargetFailed", "no power"),
    ],
)
def test_a_failure_is_the_class_and_the_words_of_what_broke(error: Exception, kind: str, message: str) -> None:
    assert Failure.of(error) == Failure(kind=kind, message=message)


def test_stored_bodies_have_format_one() -> None:
    assert FORMAT == 1


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


MANY = st.integers(0, 10**6)


@pytest.mark.parametrize(
    ("counts", "completed", "pending", "rate"),
    [
        (Counts(), 0, 0, None),
        (Counts(total=5), 0, 5, None),
        (Counts(total=4, passed=3, failed=1), 4, 0, 0.75),
        (Counts(total=10, passed=1, failed=3, errored=2, skipped=1), 7, 3, 0.25),
        (Counts(total=3, errored=2, skipped=1), 3, 0, None),
        (Counts(total=2, failed=2), 2, 0, 0.0),
        (Counts(total=2, passed=1, errored=1), 2, 0, 1.0),
    ],
    ids=["nothing", "not begun", "all judged", "all kinds", "none judged is not zero", "all failed", "errored is out"],
)
def test_counts_add_up(counts: Counts, completed: int, pending: int, rate: float | None) -> None:
    assert counts.completed == completed
    assert counts.pending == pending
    assert counts.pass_rate == rate


@pytest.mark.parametrize(
    ("tally", "total", "rate"),
    [
        (Tally(), 0, None),
        (Tally(passed=1), 1, 1.0),
        (Tally(passed=1, failed=1, errored=1, skipped=1), 4, 0.5),
        (Tally(errored=3, skipped=2), 5, None),
    ],
)
def test_tallies_add_up(tally: Tally, total: int, rate: float | None) -> None:
    assert tally.total == total
    assert tally.pass_rate == rate


@given(MANY, MANY, MANY, MANY, MANY)
def test_every_case_is_in_exactly_one_count(passed: int, failed: int, errored: int, skipped: int, pending: int) -> None:
    total = passed + failed + errored + skipped + pending
    counts = Counts(total=total, passed=passed, failed=failed, errored=errored, skipped=skipped)
    assert counts.completed + pending == total
    assert counts.pending == pending
    assert (counts.pass_rate is None) is (passed == failed == 0)


@given(MANY, MANY, MANY, MANY)
def test_what_could_not_be_judged_changes_no_rate(passed: int, failed: int, errored: int, skipped: int) -> None:
    judged, all_of_them = Tally(passed=passed, failed=failed), Tally(
        passed=passed, failed=failed, errored=errored, skipped=skipped
    )  # fmt: skip
    assert judged.pass_rate == all_of_them.pass_rate
    assert judged.pass_rate is None or 0 <= judged.pass_rate <= 1


def test_counts_are_given_and_the_rest_cannot_be() -> None:
    with pytest.raises(TypeError):
        Counts(total=1, pending=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Tally(total=1)  # type: ignore[call-arg]


def test_the_states_of_a_run_have_the_names_that_are_stored() -> None:
    assert [state.value for state in RunState] == [
        "pending",
        "running",
        "completed",
        "failed",
        "interrupted",
        "out_of_budget",
        "paused",
        "cancelled",
    ]


def test_a_request_says_nothing_that_nobody_said_and_a_run_has_spent_nothing() -> None:
    request = Pins(request=RunRequest(target="recorded")).request
    assert (request.candidates, request.repeat, request.graders) == ((), 1, None)
    assert ModelSpending() == ModelSpending(usd=0.0, tokens=0, seconds=0.0, calls=0, cached=0, unpriced=0)
