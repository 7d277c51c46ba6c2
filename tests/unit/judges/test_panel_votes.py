"""Several rulings become one, or an error: split votes, missing members, votes that do not apply, both directions."""

from __future__ import annotations

import pytest

from howsure.config import PanelRule
from howsure.errors import JudgeFailed
from howsure.judges.base import VotingProcedure
from howsure.judges.panels import (
    Ballot,
    PanelJudge,
    PanelMember,
    PassMark,
    ask_panel,
    combine_ballots,
    combine_votes,
    is_near,
    vote_details,
)
from howsure.judges.rulings import Check, NotApplicable, Rating, RubricVerdict, RubricVerdicts, Ruling
from howsure.model.score import Direction
from howsure.testing import ScriptedJudge
from judge_questions import a_question

MAJORITY, MEAN, UNANIMOUS = PanelRule.MAJORITY, PanelRule.MEAN, PanelRule.UNANIMOUS
HOLDS = PassMark(1.0)
AT_FOUR = PassMark(4.0)
SEVEN_TENTHS = PassMark(0.7)
COSTS_POINTS = PassMark(0.0, Direction.LOWER)
NO_MARK = PassMark()
ANN_ALONE = VotingProcedure(rule=PanelRule.MAJORITY, members=("ann",))

Said = float | bool | str | None


def a_ruling(said: Said) -> Ruling | None:
    """A number, yes or no, `n/a`, or nothing that can be read."""
    match said:
        case None:
            return None
        case bool():
            return Check(passed=said, reason="so it is" if said else "it is not")
        case str():
            return NotApplicable(reason="no such case")
        case _:
            return Rating(value=float(said), reason=f"worth {said:g}")


def ballots(*said: Said) -> list[Ballot]:
    names = ("ann", "bob", "cho", "dee", "eve")
    return [
        Ballot(judge=name, ruling=ruling, error="" if ruling else "unreadable")
        for name, each in zip(names, said, strict=False)
        for ruling in (a_ruling(each),)
    ]


def value_of(ruling: Ruling) -> float | None:
    return None if isinstance(ruling, NotApplicable) else ruling.value


@pytest.mark.parametrize(
    ("rule", "said", "mark", "value"),
    [
        (MAJORITY, (True, True, False), HOLDS, 1.0),
        (MAJORITY, (False, True, False), HOLDS, 0.0),
        (MAJORITY, (True, True), HOLDS, 1.0),
        (MAJORITY, (True, True, None), HOLDS, 1.0),
        (MAJORITY, (True, True, True, False), HOLDS, 1.0),
        (MAJORITY, (4, 4, 5), AT_FOUR, 4.0),
        (MAJORITY, (5, 5, 4, 3, 2), AT_FOUR, 5.0),
        (MAJORITY, (0.2, 0.8, 0.9), SEVEN_TENTHS, 0.8),
        (MAJORITY, (0.8, 0.9), SEVEN_TENTHS, 0.8),
        (MAJORITY, (0.2, 0.9), NO_MARK, 0.2),
        (MAJORITY, (True, True, "n/a"), HOLDS, 1.0),
        (MAJORITY, ("n/a", "n/a", True), HOLDS, None),
        (MAJORITY, ("n/a", "n/a", True, True, False), HOLDS, 1.0),
        (MEAN, (0.2, 0.6, 0.7), SEVEN_TENTHS, 0.5),
        (MEAN, (4, 5), AT_FOUR, 4.5),
        (MEAN, (4, 5, None), AT_FOUR, 4.5),
        (MEAN, (4, 5, "n/a"), AT_FOUR, 4.5),
        (MEAN, (0.1, 0.1, 0.1), SEVEN_TENTHS, 0.1),
        (MEAN, (True, True, False), HOLDS, 1.0),
        (UNANIMOUS, (True, True, True), HOLDS, 1.0),
        (UNANIMOUS, (True, True, False), HOLDS, 0.0),
        (UNANIMOUS, (5, 3, 4), AT_FOUR, 3.0),
        (UNANIMOUS, (0, 0, 1), COSTS_POINTS, 1.0),
        (UNANIMOUS, (True, True, None), HOLDS, 1.0),
        (UNANIMOUS, ("n/a", "n/a", "n/a"), HOLDS, None),
        (UNANIMOUS, (True, "n/a", True), HOLDS, 1.0),
    ],
    ids=[
        "two of three",
        "two of three against",
        "an even panel that agrees",
        "one of three unreadable",
        "three of four",
        "the integer that most gave",
        "two fives of five where three pass",
        "fractions: the middle one",
        "fractions, even: the lower of the middle two",
        "fractions without a mark",
        "one finds that it does not apply",
        "most find that it does not apply",
        "two do not apply, of the rest most say yes",
        "mean",
        "mean of two",
        "mean without the unreadable one",
        "mean of those that apply",
        "a mean that binary fractions would put above its values",
        "checks have no mean",
        "unanimous",
        "one dissenter",
        "unanimous on a scale is the lowest",
        "unanimous where low is good is the highest",
        "unanimous among those who ruled",
        "unanimously not applicable",
        "unanimous among those it applies for",
    ],
)
def test_a_panel_comes_to_one_ruling(
    rule: PanelRule, said: tuple[Said, ...], mark: PassMark, value: float | None
) -> None:
    assert value_of(combine_ballots(rule, ballots(*said), mark)) == value


@pytest.mark.parametrize(
    ("rule", "said", "mark", "told"),
    [
        (MAJORITY, (True, False), HOLDS, "the panel is split 1:1 between 1 and 0"),
        (MAJORITY, (True, False, True, False), HOLDS, "the panel is split 2:2 between 1 and 0"),
        (MAJORITY, (True, False, None), HOLDS, "the panel is split 1:1 between 1 and 0"),
        (MAJORITY, (5, 4, 3), AT_FOUR, "the panel is split 1:1:1 between 5, 4 and 3"),
        (
            MAJORITY,
            (5, 5, 3, 2, 1),
            AT_FOUR,
            "the panel is split 2:1:1:1 between 5, 3, 2 and 1: most say 5, but not most are on its side of the mark",
        ),
        (MAJORITY, (0.2, 0.9), SEVEN_TENTHS, "the panel is split 1:1 between 0.9 and 0.2"),
        (MEAN, (True, False), HOLDS, "the panel is split 1:1 between 1 and 0"),
        (MAJORITY, (True, "n/a"), HOLDS, "the panel is split 1:1 on whether the question applies"),
        (MEAN, (4, "n/a"), AT_FOUR, "the panel is split 1:1 on whether the question applies"),
        (UNANIMOUS, (True, "n/a"), HOLDS, "the panel is split 1:1 on whether the question applies"),
        (MAJORITY, (True, None, None), HOLDS, "no quorum: 1 of 3 ruled; bob: unreadable; cho: unreadable"),
        (MEAN, (4, None), AT_FOUR, "no quorum: 1 of 2 ruled; bob: unreadable"),
        (UNANIMOUS, (None, None, None), HOLDS, "no quorum: 0 of 3 ruled"),
        (MAJORITY, ("n/a", None, None), HOLDS, "no quorum: 1 of 3 ruled"),
    ],
    ids=[
        "one to one",
        "two to two",
        "the third unreadable leaves one to one",
        "three values",
        "most say 5 and most say fail",
        "fractions on both sides of the mark",
        "checks under mean",
        "applies or not",
        "applies or not, mean",
        "applies or not, unanimous",
        "two of three unreadable",
        "one of two unreadable",
        "nobody",
        "a lone not applicable",
    ],
)
def test_a_split_or_a_lack_of_members_is_an_error(
    rule: PanelRule, said: tuple[Said, ...], mark: PassMark, told: str
) -> None:
    with pytest.raises(JudgeFailed) as failure:
        combine_ballots(rule, ballots(*said), mark)
    assert told in str(failure.value)


@pytest.mark.parametrize(
    ("said", "mark", "value"),
    [
        ((True, False, True), HOLDS, 1.0),
        ((4, 3, 5), AT_FOUR, 4.0),
        ((4, 3, 3), AT_FOUR, 3.0),
        ((4, 5, None), AT_FOUR, 4.0),
        ((0.7, 0.6, 0.65), SEVEN_TENTHS, 0.65),
        ((4, "n/a", "n/a"), AT_FOUR, None),
    ],
    ids=["majority of checks", "median of ratings", "median below", "of two the lower", "fractions", "not applicable"],
)
def test_votes_of_one_judge_give_the_majority_or_the_median(
    said: tuple[Said, ...], mark: PassMark, value: float | None
) -> None:
    assert value_of(combine_votes(ballots(*said), mark)) == value


@pytest.mark.parametrize(
    ("said", "mark", "told"),
    [
        ((True, False, None), HOLDS, "the vote is split 1:1 between 1 and 0"),
        ((4, 3, None), AT_FOUR, "the vote is split 1:1 between 4 and 3"),
        ((4, None, None), AT_FOUR, "the vote has no quorum: 1 of 3 ruled"),
    ],
)
def test_votes_that_fall_on_both_sides_are_an_error(said: tuple[Said, ...], mark: PassMark, told: str) -> None:
    with pytest.raises(JudgeFailed, match=told):
        combine_votes(ballots(*said), mark)


@pytest.mark.parametrize(
    ("said", "mark", "near", "asked_again"),
    [
        (4, AT_FOUR, 0.0, True),
        (4, AT_FOUR, 0.5, True),
        (3, AT_FOUR, 0.5, False),
        (3, AT_FOUR, 1.0, True),
        (5, AT_FOUR, 1.0, True),
        (2, AT_FOUR, 1.0, False),
        (True, HOLDS, 0.5, True),
        (False, HOLDS, 0.5, True),
        (False, HOLDS, 0.4, False),
        (True, HOLDS, 0.4, False),
        (0, COSTS_POINTS, 0.2, True),
        ("n/a", HOLDS, 9.0, False),
        (None, HOLDS, 9.0, False),
        (4, NO_MARK, 9.0, False),
    ],
    ids=[
        "at the mark",
        "at the mark, wider",
        "a step below",
        "a step below, wider",
        "a step above",
        "two steps below",
        "a yes is half a step away",
        "and so is a no",
        "narrower: no",
        "narrower: yes",
        "where low is good",
        "not applicable",
        "unreadable",
        "no mark",
    ],
)
def test_near_the_mark_a_judge_is_asked_again(said: Said, mark: PassMark, near: float, asked_again: bool) -> None:
    assert is_near(a_ruling(said), mark, near) is asked_again


def test_the_reason_is_of_those_who_prevailed() -> None:
    ruled = [
        Ballot(judge="ann", ruling=Check(passed=False, reason="never looked", evidence=("turn 1",))),
        Ballot(judge="bob", ruling=Check(passed=True, reason="looked it up", evidence=("turn 2",))),
        Ballot(judge="cho", ruling=Check(passed=True, reason="called the tool", evidence=("turn 2", "turn 3"))),
    ]
    assert combine_ballots(MAJORITY, ruled, HOLDS) == Check(
        passed=True, reason="2 of 3 say yes: looked it up", evidence=("turn 2", "turn 3")
    )
    assert combine_ballots(UNANIMOUS, ruled, HOLDS) == Check(
        passed=False, reason="not unanimous: 1 of 3 say no: never looked", evidence=("turn 1",)
    )


@pytest.mark.parametrize(
    ("rule", "said", "reason"),
    [
        (MEAN, (2, 4, 5), "the mean of 2, 4 and 5: worth 4"),
        (MAJORITY, (0.2, 0.8, 0.9), "the middle one of 0.2, 0.8 and 0.9: worth 0.8"),
        (UNANIMOUS, (4, 4), "all 2 say 4: worth 4"),
    ],
)
def test_a_number_says_how_it_came_about(rule: PanelRule, said: tuple[Said, ...], reason: str) -> None:
    given = combine_ballots(rule, ballots(*said), NO_MARK)
    assert given.reason == reason


def test_shares_of_verdicts_are_combined_by_their_value() -> None:
    half = RubricVerdicts(verdicts=(RubricVerdict(text="a", passed=True), RubricVerdict(text="b", passed=False)))
    whole = RubricVerdicts(verdicts=(RubricVerdict(text="a", passed=True),), reason="all of it")
    ruled = [Ballot(judge="ann", ruling=half), Ballot(judge="bob", ruling=whole)]
    assert value_of(combine_ballots(MEAN, ruled, NO_MARK)) == 0.75
    assert ruled[0].as_details()["details"]["rubric_verdicts"][1]["verdict"] is False


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
async def test_a_value_that_is_no_number_is_an_error(value: float) -> None:
    judge = PanelJudge([PanelMember("ann", ScriptedJudge({"criteria": "yes"}))], ANN_ALONE)
    with pytest.raises(JudgeFailed, match="is not a value"):
        await ask_panel(ANN_ALONE, judge, a_question("criteria"), lambda _: Rating(value=value), NO_MARK)


def test_a_ballot_tells_what_became_of_it() -> None:
    ann, bob, cho = ballots(True, "n/a", None)
    assert [each.as_details() for each in (ann, bob, cho)] == [
        {"judge": "ann", "value": 1.0, "reason": "so it is"},
        {"judge": "bob", "value": None, "not_applicable": True, "reason": "no such case"},
        {"judge": "cho", "error": "unreadable"},
    ]
    assert vote_details((ann, cho)) == [
        {"vote": 1, "value": 1.0, "reason": "so it is"},
        {"vote": 2, "error": "unreadable"},
    ]
