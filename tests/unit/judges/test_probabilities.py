"""The probability-weighted value."""

from __future__ import annotations

from math import log

import pytest

from howsure.judges.live_judges import weighted_value
from howsure.llm.messages import TokenAlternative, TokenLogprob
from howsure.model.score import LIKERT, UNIT, ZERO_TO_FIVE, Scale


def token(text: str, probability: float = 1.0, **others: float) -> TokenLogprob:
    """A token, and its alternatives by text."""
    return TokenLogprob(
        text, log(probability), tuple(TokenAlternative(each, log(share)) for each, share in others.items())
    )


FOUR = {"4": 0.6, "5": 0.3, "3": 0.1}


def tokens(*texts: str, score: TokenLogprob) -> list[TokenLogprob]:
    """The pieces of a reply; `#` is the score."""
    return [score if text == "#" else token(text) for text in texts]


@pytest.mark.parametrize(
    "reply",
    [
        tokens('{"', "reason", '":"', "x", '","', "score", '":', "#", "}", score=token("4", 0.6, **FOUR)),
        tokens('{"score"', ": ", "#", "}", score=token("4", 0.6, **FOUR)),
        tokens('{ "score" :', "\n", "#", "\n}", score=token("4", 0.6, **FOUR)),
        tokens('{"score":', "#", "}", score=token(" 4", 0.6, **{" 4": 0.6, " 5": 0.3, " 3": 0.1})),
        tokens('{"score":', "#", score=token(" 4}", 0.6, **{" 4}": 0.6, " 5}": 0.3, " 3}": 0.1})),
        tokens('{"score', "#", "}", score=token('":4', 0.6, **{'":4': 0.6, '":5': 0.3, '":3': 0.1})),
        tokens('{"score": "', "#", '"}', score=token("4", 0.6, **FOUR)),
        tokens('{"score": ', "#", ".0}", score=token("4", 0.6, **FOUR)),
        tokens('{"reason": "not \\"score\\": 1 but more", "score": ', "#", "}", score=token("4", 0.6, **FOUR)),
        tokens('```json\n{"score": ', "#", "}\n```", score=token("4", 0.6, **FOUR)),
    ],
    ids=[
        "compact",
        "spaced",
        "odd spaces",
        "space in token",
        "brace in token",
        "quote in token",
        "text",
        "4.0",
        "quoted",
        "fence",
    ],
)
def test_the_value_is_the_mean_over_what_might_have_been_written(reply: list[TokenLogprob]) -> None:
    assert weighted_value(reply, LIKERT) == pytest.approx(4.2)


@pytest.mark.parametrize(
    ("alternatives", "value"),
    [
        ({"4": 0.5, "2": 0.5}, 3.0),
        ({"4": 0.4, "0": 0.2, "7": 0.2, "9": 0.1, "x": 0.1}, 4.0),
        ({"4": 0.3, " 4": 0.2, "5": 0.5}, 4.5),
        ({"4": 0.2, "five": 0.8}, 4.0),
        ({"4": 0.2, "-5": 0.8}, 4.0),
        ({"4": 0.2, "5.5": 0.8}, 4.0),
        ({}, 4.0),
        ({"5": 0.5}, 4.5),
    ],
    ids=["two", "off the scale", "twice", "a word", "negative", "a fraction", "none", "itself not listed"],
)
def test_alternatives_off_the_scale_are_left_out_and_the_rest_sums_to_one(
    alternatives: dict[str, float], value: float
) -> None:
    score = token("4", alternatives.get("4", 0.5), **alternatives)
    assert weighted_value(tokens('{"score": ', "#", "}", score=score), LIKERT) == pytest.approx(value)


@pytest.mark.parametrize(
    "reply",
    [
        [],
        tokens("no json at all", score=token("4")),
        tokens('{"score": "high"}', score=token("4")),
        tokens('{"score": 4} or {"score": 2}', score=token("4")),
        tokens('{"score": ', "1", "0", "}", score=token("4")),
        tokens('{"score": ', "#", ".5}", score=token("4", 0.6, **FOUR)),
        tokens('{"score": ', "#", "}", score=token("9")),
        tokens('{"score": ', "#", "}", score=TokenLogprob("4", float("nan"))),
        tokens('{"score": ', "#", "}", score=TokenLogprob("4", float("-inf"))),
    ],
    ids=["nothing", "prose", "word", "two", "two tokens", "a fraction", "off the scale", "nan", "impossible"],
)
def test_where_there_is_no_single_token_there_is_no_value(reply: list[TokenLogprob]) -> None:
    assert weighted_value(reply, LIKERT) is None


@pytest.mark.parametrize(
    ("scale", "value"), [(ZERO_TO_FIVE, 0.5), (UNIT, 0.5), (Scale(0, 0), 0.0), (Scale(1, 10), 1.0)]
)
def test_the_scale_decides_what_counts(scale: Scale, value: float) -> None:
    reply = tokens('{"score": ', "#", "}", score=token("0", 0.5, **{"0": 0.5, "1": 0.5}))
    assert weighted_value(reply, scale) == pytest.approx(value)


def test_rounding_never_leaves_the_scale() -> None:
    score = TokenLogprob("5", 0.0000001, (TokenAlternative("5", 0.0000001), TokenAlternative("4", -99.0)))
    value = weighted_value(tokens('{"score": ', "#", "}", score=score), LIKERT)
    assert value is not None
    assert 4 <= value <= 5
