"""What judges say, and what it means: a value, or a failure; never a guess."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.judges.replies import read_check, read_rating
from howsure.judges.rulings import Check, NotApplicable, Rating, UnparsableReply
from howsure.model.score import LIKERT, OPEN, UNIT, ZERO_TO_FIVE, Scale


def rating(content: Any, scale: Scale = LIKERT, *, whole: bool = False) -> Rating:
    ruling = read_rating(content, scale, whole=whole)
    assert isinstance(ruling, Rating)
    return ruling


def check(content: Any) -> Check:
    ruling = read_check(content)
    assert isinstance(ruling, Check)
    return ruling


@pytest.mark.parametrize(
    "content",
    [
        {"score": 4},
        {"Score": 4},
        {"score": 4.0},
        {"score": "4"},
        {"score": "4/5"},
        {"score": "4 / 5"},
        {"score": "4 out of 5"},
        {"score": " 4. "},
        {"rating": 4},
        {"grade": 4},
        {"grade": "4"},
        {"result": 4},
        {"score": 4, "rating": "4/5"},
        {"score": 4, "result": "pass"},
        {"score": 4, "result": "The answer covers both questions."},
        {"score": 4, "passed": False},
        {"evaluation": {"score": 4}},
        [{"score": 4}],
        '{"score": 4}',
        '{"score":4}',
        '  {"score": 4}\n',
        "4",
        "4.0",
        '"4"',
        "4/5",
        "4 out of 5",
        "**4**",
        "4\nThe answer is mostly right.",
        "The answer is mostly right.\n\n4",
        "Score: 4",
        "**Score:** 4/5",
        "Score (1-5): 4",
        "Rating = 4. The rest is fine.",
        "The tone is kind. Final score: 4",
        "Yes, it is coherent. Score: 4",
        "I rate this 4 out of 5 because one fact is missing.",
        "I would give it a 4/5.",
        '```json\n{"score": 4}\n```',
        '```\n{"score": 4}\n```',
        'Here is my ruling:\n```json\n{"score": 4, "reason": "ok"}\n```\nI hope that helps.',
        'The agent did well. {"score": 4} That is all.',
        '{"score": 4,}',
        '{"reasons": ["a", "b",], "score": 4,\n}',
        '{"explanation": "first line\nsecond line", "score": 4}',
        '{"score": 4} {"score": 4}',
        '{"thought": "hm"}\n{"score": 4}',
        'Format: {"score": <1-5>}\n{"score": 4}',
        'Format: {"score": "1-5"}\n{"score": 4}',
        'The set {a, b} and [1] are fine.\n{"score": 4}',
        'He wrote :-[ and {name}. {"score": 4}',
        '<think>maybe {"score": 2}? No.</think>{"score": 4}',
        "<thinking>Score: 2</thinking>\nScore: 4",
        'On a scale where a score of 1 is worst:\n{"score": 4}',
        '{"score": 4, "score": 4}',
    ],
)
def test_a_four_is_read_in_every_shape_that_judges_write(content: Any) -> None:
    assert rating(content).value == 4.0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"score": 7}, "7 is not on the scale 1 to 5"),
        ({"score": 0}, "0 is not on the scale 1 to 5"),
        ({"score": -1}, "-1 is not on the scale 1 to 5"),
        ({"score": 5.0001}, "5.0001 is not on the scale 1 to 5"),
        ({"score": float("nan")}, "nan is not on the scale 1 to 5"),
        ('{"score": NaN}', "nan is not on the scale 1 to 5"),
        ('{"score": Infinity}', "inf is not on the scale 1 to 5"),
        ('{"score": 1e999}', "inf is not on the scale 1 to 5"),
        ({"score": 10**400}, "inf is not on the scale 1 to 5"),
        ("NaN", "nan is not on the scale 1 to 5"),
        ({"score": "8/10"}, "8 out of 10 where the scale is 1 to 5"),
        ("Score: 8/10", "8 out of 10 where the scale is 1 to 5"),
        ({"score": True}, "a 'yes' where a number is needed, 1 to 5"),
        ({"score": "pass"}, "a 'yes' where a number is needed, 1 to 5"),
        ({"passed": True}, "a 'yes' where a number is needed, 1 to 5"),
        ({"verdict": "fail"}, "a 'no' where a number is needed, 1 to 5"),
        ({"score": 5, "passed": False}, "the fields contradict each other: 5 and no"),
        ({"score": 1, "passed": True}, "the fields contradict each other: 1 and yes"),
        ({"score": 4, "rating": 3}, "the fields contradict each other: 3 and 4"),
        ({"score": 4, "verdict": "pass", "passed": False}, "the fields contradict each other: 4 and no and yes"),
        ({"score": "N/A", "rating": 4}, "the reply says both that it does not apply and that it does"),
        ({"score": 4, "Score": 2}, "the reply says two things under the key 'Score'"),
        ('{"score": 4, "score": 2}', "the reply says two things under the key 'score'"),
        ('{"score": 4} {"score": 2}', "the reply contradicts itself: 4 and 2"),
        ('{"score": 2}\nScore: 5', "the reply contradicts itself: 5 and 2"),
        ("Score: 5 … on reflection, Score: 2", "the reply contradicts itself: 5 and 2"),
        ('{"score": 9} {"score": 4}', "9 is not on the scale 1 to 5"),
        ({"score": None}, "no value among the fields 'score'"),
        ({"score": "high"}, "`score` is 'high'"),
        ({"score": [4]}, "`score` is [4]"),
        ({"score": "4-5"}, "`score` is '4-5'"),
        ({"score": "80 %"}, "`score` is '80 %'"),
        ({"score": "4,5"}, "`score` is '4,5'"),
        ({}, "no value among the fields (none)"),
        ({"explanation": "good"}, "no value among the fields 'explanation'"),
        ({"id": 1, "evaluation": {"score": 4}}, "no value among the fields 'id', 'evaluation'"),
        ([], "no value in the reply"),
        ([4], "no value in the reply"),
        ([{"score": 4}, {"score": 5}], "no value in the reply"),
        (None, "no value in the reply"),
        ("", "no value in the reply"),
        ("   ", "no value in the reply"),
        ("I cannot judge this.", "no value in the reply"),
        ("The answer meets 3 of 5 requirements and 4 more.", "no value in the reply"),
        ("It names 4 out of 5 cities.", "no value in the reply"),
        ("Score: 4-5", "no value in the reply"),
        ("Score: 4 or 5", "no value in the reply"),
        ("Score: 80%", "no value in the reply"),
        ("Score: 4,5", "no value in the reply"),
        ("Yes", "no value in the reply"),
        ('{"score": 4, "explanation": "The answer is', "the reply breaks off inside its JSON"),
        ('{"note": {"score": 5}, "explanation": "The', "the reply breaks off inside its JSON"),
        ("{score: 4, 'inner': {\"score\": 2}}", "no value in the reply"),
        ('{"score": 4, "explanation": "odd }', "no value in the reply"),
        ("<think>Score: 5, I believe", "the reply ends while the judge is still thinking"),
        ("[" * 100_000, "the reply is nested too deeply"),
        ('{"a":' * 100_000, "the reply is nested too deeply"),
        ("{ " * 1_000, "the reply has more brackets than can be made sense of"),
        ("{x} " * 1_000, "the reply has more brackets than can be made sense of"),
    ],
)
def test_what_is_no_rating_is_a_failure_that_says_why(content: Any, said: str) -> None:
    with pytest.raises(UnparsableReply) as failure:
        read_rating(content, LIKERT)
    assert str(failure.value) == said


@pytest.mark.parametrize("content", [{"score": 3.5}, "3.5", "Score: 3.5/5", {"score": "4.1"}])
def test_an_integer_eval_takes_no_fraction(content: Any) -> None:
    with pytest.raises(UnparsableReply, match="where a whole number is needed, 1 to 5"):
        read_rating(content, LIKERT, whole=True)
    assert rating(content).value in (3.5, 4.1)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ({"score": 0.4}, 0.4),
        ({"score": 0}, 0.0),
        ({"score": 1}, 1.0),
        ({"criteria_met": True}, 1.0),
        ({"criteria_met": "not_met"}, 0.0),
        ({"met": "no"}, 0.0),
        ({"score": 0.6, "passed": True}, 0.6),
        ({"score": "0.25"}, 0.25),
        ("0.75", 0.75),
        ("Yes, it agrees with the reference.", 1.0),
    ],
)
def test_from_0_to_1_yes_and_no_are_the_ends(content: Any, value: float) -> None:
    assert rating(content, UNIT).value == value


@pytest.mark.parametrize("content", [{"score": 8}, {"score": 1.01}, {"score": -0.1}, "70", "70%", {"score": "4/5"}])
def test_a_share_off_0_to_1_is_never_moved_onto_it(content: Any) -> None:
    with pytest.raises(UnparsableReply):
        read_rating(content, UNIT)


@pytest.mark.parametrize(
    ("content", "passed"),
    [
        ({"score": 1}, True),
        ({"score": 0}, False),
        ({"score": 1.0, "passed": True}, True),
        ({"passed": False, "score": 0.0}, False),
        ({"pass": "true"}, True),
        ({"verdict": "PASS"}, True),
        ({"verdict": "Failed"}, False),
        ({"verdict": "not met"}, False),
        ({"criteriaMet": True}, True),
        ({"Criteria met": "Yes"}, True),
        ({"criterion_met": "unmet"}, False),
        ({"met": False}, False),
        ({"result": "no"}, False),
        ({"grade": "pass"}, True),
        ("true", True),
        ("false", False),
        ("Yes", True),
        ("yes.", True),
        ("No, the candidate is not correct.", False),
        ("No. The date is wrong.", False),
        ("**PASS**: both steps are there", True),
        ("Fail – the refund is missing", False),
        ("Not met: no source is named", False),
        ("Verdict: pass", True),
        ("The agent asked for the number.\nVerdict: **not met**", False),
        ("It looked in the handbook.\n\nYes", True),
        ("1", True),
        ("0", False),
        ("Score: 1", True),
        ('{"passed": true, "reasoning": "found {it} on page [3]"}', True),
    ],
)
def test_a_check_is_read_from_words_booleans_and_0_or_1(content: Any, passed: bool) -> None:
    assert check(content).passed is passed


@pytest.mark.parametrize(
    "content",
    [
        {"score": 0, "passed": True},
        {"score": 1, "passed": False},
        {"score": 0.5},
        {"score": 4},
        {"score": 0.7, "passed": True},
        {"passed": True, "met": False},
        {"passed": None},
        {"passed": "maybe"},
        "Yes\nOn second thoughts:\nNo",
        'Yes, here it is: {"passed": false}',
        "No single step was missed, so the criterion holds.",
        "No doubt about it.",
        "Verdict: no issues found in the trace",
        "The candidate is partially correct.",
        "I cannot determine if the candidate is correct.",
        "Passing this would be wrong",
        "yes and no",
    ],
)
def test_a_check_that_is_unclear_or_contradicts_itself_is_a_failure(content: Any) -> None:
    with pytest.raises(UnparsableReply):
        read_check(content)


@pytest.mark.parametrize(
    "content",
    [
        {"score": "N/A"},
        {"verdict": "not applicable"},
        {"passed": "not_applicable", "reason": "no tools"},
        {"score": None, "result": "n/a"},
        "N/A",
        "n/a – the agent has no tools",
        "Not applicable.",
        "Score: N/A",
        '```json\n{"score": "NA"}\n```',
    ],
)
def test_not_applicable_is_a_ruling_of_its_own(content: Any) -> None:
    assert isinstance(read_rating(content, LIKERT, whole=True), NotApplicable)
    assert isinstance(read_check(content), NotApplicable)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"score": 4, "rationale": "a"}, "a"),
        ({"score": 4, "reason": " a "}, "a"),
        ({"score": 4, "reasoning": "a"}, "a"),
        ({"score": 4, "explanation": "a", "thoughtChain": "b"}, "a"),
        ({"score": 4, "thoughtChain": "b"}, "b"),
        ({"score": 4, "explanation": "", "rationale": "c"}, "c"),
        ({"score": 4}, ""),
        ("4", ""),
        ('It is short.\n```json\n{"score": 4}\n```', "It is short."),
        ("It is short. Score: 4", "It is short. Score: 4"),
    ],
)
def test_the_reason_has_several_names_and_may_be_the_prose(content: Any, reason: str) -> None:
    assert rating(content).reason == reason


def test_what_else_the_judge_said_is_kept_by_its_own_keys() -> None:
    content = {"score": 4, "passed": True, "explanation": "good", "thoughtChain": "first …", "confidence": 0.9}
    assert rating(content).details == {"passed": True, "thoughtChain": "first …", "confidence": 0.9}
    assert rating({"score": 4, "result": "a remark"}).details == {"result": "a remark"}


@pytest.mark.parametrize(
    ("said", "evidence"),
    [
        ("turn 2", ("turn 2",)),
        (["a", "b"], ("a", "b")),
        ([], ()),
        (["a", 1], ("a", "turn 1")),
        (["a", None], ()),
        (None, ()),
    ],
)
def test_quoted_evidence_is_kept(said: Any, evidence: tuple[str, ...]) -> None:
    assert check({"passed": True, "evidence": said}).evidence == evidence


def test_a_not_applicable_ruling_keeps_its_reason() -> None:
    assert read_check({"verdict": "N/A", "reasoning": "no tools"}) == NotApplicable(reason="no tools")


@pytest.mark.parametrize(("scale", "value"), [(ZERO_TO_FIVE, 0.0), (ZERO_TO_FIVE, 5.0), (OPEN, 1200.0)])
def test_every_scale_has_its_own_ends(scale: Scale, value: float) -> None:
    assert rating({"score": value}, scale).value == value
