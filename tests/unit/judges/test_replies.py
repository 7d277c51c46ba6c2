"""How often a judge is asked, and what is said when it cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.errors import JudgeFailed
from howsure.judges.base import JudgeReply, Question
from howsure.judges.replies import FINISH, ask_until_readable, read_check, read_rating, read_share
from howsure.judges.rulings import Check, NotApplicable, Rating, RubricVerdicts, UnparsableReply
from howsure.model.flag import UnreadableKind
from howsure.model.score import LIKERT, OPEN, UNIT, ZERO_TO_FIVE, Part, Scale
from howsure.testing import ScriptedJudge, a_case, a_transcript

QUESTION = Question(grader="criteria", case=a_case(), transcript=a_transcript("Hi"), part=Part(id="c1", text="Greets"))


async def test_a_readable_reply_is_asked_for_once() -> None:
    judge = ScriptedJudge({"criteria": "yes"})
    given, reply = await ask_until_readable(judge, QUESTION, read_check)
    assert given == Check(passed=True)
    assert reply.content == "yes"
    assert [question.attempt for question in judge.asked] == [1]


async def test_an_unreadable_reply_is_asked_for_again() -> None:
    judge = ScriptedJudge({"criteria": ["hm", {"passed": False}]})
    given, _ = await ask_until_readable(judge, QUESTION, read_check)
    assert given == Check(passed=False)
    assert [question.attempt for question in judge.asked] == [1, 2]


async def test_the_second_question_tells_what_was_wrong_with_the_first_reply() -> None:
    judge = ScriptedJudge({"criteria": [{"score": 7}, "yes"]})
    await ask_until_readable(judge, QUESTION, read_check)
    first, second = judge.asked
    assert (first.unreadable, first.replied) == ("", "")
    assert (second.unreadable, second.replied) == ("7 is not on the scale 0 to 1", '{"score": 7}')


async def test_a_long_unreadable_reply_is_shown_again_in_part() -> None:
    judge = ScriptedJudge({"criteria": ["x" * 9_000, "yes"]})
    await ask_until_readable(judge, QUESTION, read_check)
    assert "⟦5000 of 9000 characters were cut out here⟧" in judge.asked[1].replied


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("<think>hm</think>", UnreadableKind.EMPTY),
        ("<think>hm, well", UnreadableKind.CUT_OFF),
        ("I cannot rate this.", UnreadableKind.REFUSED),
        ("I can say that it greets, somewhat.", UnreadableKind.NO_GRADE),
        ('{"note": "fine"}', UnreadableKind.NO_GRADE),
        ("{passed: maybe}", UnreadableKind.NOT_JSON),
        ({"score": 0.5}, UnreadableKind.OFF_SCALE),
        ('{"passed": true, "passed": false}', UnreadableKind.SEVERAL_GRADES),
    ],
)
async def test_a_failure_names_the_kind_of_the_last_unreadable_reply(reply: Any, kind: UnreadableKind) -> None:
    judge = ScriptedJudge({"criteria": ["hm", reply]})
    with pytest.raises(JudgeFailed) as failure:
        await ask_until_readable(judge, QUESTION, read_check)
    assert failure.value.flag == f"unreadable_{kind.name.lower()}"


async def test_after_its_tries_the_failure_tells_every_attempt() -> None:
    judge = ScriptedJudge({"criteria": ["hm", {"passed": True, "score": 0}]})
    with pytest.raises(JudgeFailed) as failure:
        await ask_until_readable(judge, QUESTION, read_check)
    assert str(failure.value) == (
        "attempt 1: no value in the reply: “hm”; "
        'attempt 2: the fields contradict each other: 0 and yes: “{"passed": true, "score": 0}”'
    )


async def test_a_judge_without_a_second_reply_still_tells_about_the_first() -> None:
    judge = ScriptedJudge({"criteria": ["hm"]})
    with pytest.raises(JudgeFailed) as failure:
        await ask_until_readable(judge, QUESTION, read_check)
    assert str(failure.value) == (
        "attempt 1: no value in the reply: “hm”; attempt 2: scripted judge has no reply for criteria c1"
    )


async def test_a_judge_that_has_nothing_to_say_fails_as_it_says() -> None:
    with pytest.raises(JudgeFailed, match=r"^scripted judge has no reply for criteria c1$"):
        await ask_until_readable(ScriptedJudge({}), QUESTION, read_check)


@pytest.mark.parametrize("tries", [1, 3])
async def test_the_number_of_tries_is_a_bound(tries: int) -> None:
    judge = ScriptedJudge({"criteria": ["?", "?", "?", "yes"]})
    with pytest.raises(JudgeFailed):
        await ask_until_readable(judge, QUESTION, read_check, tries=tries)
    assert len(judge.asked) == tries


async def test_long_replies_are_quoted_in_short() -> None:
    judge = ScriptedJudge({"criteria": "word " * 500})
    with pytest.raises(JudgeFailed) as failure:
        await ask_until_readable(judge, QUESTION, read_check, tries=1)
    assert str(failure.value).endswith("word word …”")
    assert len(str(failure.value)) < 260


class Broken:
    name = "broken"

    async def ask(self, question: Question) -> JudgeReply:
        raise ConnectionError("refused")


async def test_a_judge_that_breaks_is_named() -> None:
    with pytest.raises(JudgeFailed, match=r"^judge 'broken': ConnectionError: refused$"):
        await ask_until_readable(Broken(), QUESTION, read_check)


@pytest.mark.parametrize("content", ["half \ud83d of a character", {"note": "\ud83d"}])
async def test_halves_of_characters_do_not_reach_the_message(content: Any) -> None:
    with pytest.raises(JudgeFailed) as failure:
        await ask_until_readable(ScriptedJudge({"criteria": content}), QUESTION, read_check, tries=1)
    assert str(failure.value).encode()


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
        {"overall_score": 4, "accuracy_score": 5},
        {"score": 4, "max_score": 5},
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
        ({"score": "80 %"}, "80 out of 100 where the scale is 1 to 5"),
        ({"score": 4, "out_of": 10}, "4 out of 10 where the scale is 1 to 5"),
        ("Score (1-10): 4", "4 out of 10 where the scale is 1 to 5"),
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
        ("Score: 80%", "80 out of 100 where the scale is 1 to 5"),
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
        ({"satisfied": False}, False),
        ({"decision": "Incorrect"}, False),
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
    ("content", "stated"),
    [
        ({"score": 4, "passed": True}, True),
        ({"score": 5, "verdict": "fail"}, False),
        ({"score": 4}, None),
        ('{"score": 4, "pass": true} {"score": 4, "pass": true}', True),
    ],
)
def test_a_pass_beside_the_number_is_kept_apart_from_it(content: Any, stated: bool | None) -> None:
    assert rating(content).stated_pass is stated


def test_two_objects_that_say_pass_and_fail_contradict_each_other() -> None:
    with pytest.raises(UnparsableReply, match="it says both pass and fail"):
        read_rating('{"score": 4, "pass": true} {"score": 4, "pass": false}', LIKERT)


async def test_a_reply_that_was_cut_off_says_so() -> None:
    class Judge:
        name = "short"

        async def ask(self, question: Question) -> JudgeReply:
            return JudgeReply(content='{"score": 4, "explanation": "The', details={FINISH: "length"})

    with pytest.raises(JudgeFailed, match=r"attempt 1: .+ \(the reply was cut off at its token limit\): “"):
        await ask_until_readable(Judge(), QUESTION, read_check)


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


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ('<think>{"score": 1}</think>\n```json\n{"score": 5, "reason": "x"}\n```', 5.0),
        ('{"reason": "the agent wrote {\\"score\\": 1}", "score": 4}', 4.0),
        ('{"score": 3, "reason": "Score: 5 was what it asked for"}', 3.0),
        ("**Score:** **4**", 4.0),
        ("# Score: 2", 2.0),
        ('{"SCORE": "3 / 5"}', 3.0),
    ],
)
def test_the_judge_and_not_what_it_quotes_is_read(content: Any, value: float) -> None:
    ruling = read_rating(content, LIKERT)
    assert isinstance(ruling, Rating)
    assert ruling.value == value


@pytest.mark.parametrize(
    "content",
    ["Score: five", "Score: 4½", "Score: -4", "4 4", '{"score": "4 (or 5)"}', '{"score": {"value": 4}}', "★★★★", "[4]"],
)
def test_a_rating_that_leaves_a_doubt_is_unreadable(content: Any) -> None:
    with pytest.raises(UnparsableReply):
        read_rating(content, LIKERT)


@pytest.mark.parametrize(
    ("content", "passed"), [("PASS", True), ('{"verdict": "pass"}', True), ('{"met": false}', False)]
)
def test_a_plain_check_is_read(content: Any, passed: bool) -> None:
    ruling = read_check(content)
    assert isinstance(ruling, Check)
    assert ruling.passed is passed


@pytest.mark.parametrize(
    "content", ["PASS/FAIL", "pass or fail", "Yes/No", "not sure", '{"verdict": "partial"}', "50%"]
)
def test_a_check_that_leaves_a_doubt_is_unreadable(content: Any) -> None:
    with pytest.raises(UnparsableReply):
        read_check(content)


MANAGED = {
    "score": 0.6667,
    "explanation": "mostly good",
    "rubric_verdicts": [
        {
            "evaluated_rubric": {
                "content": {"property": {"description": "Names the refund window"}},
                "type": "FACT",
                "importance": "HIGH",
            },
            "verdict": True,
            "reasoning": "30 days",
        },
        {"evaluated_rubric": {"content": "Is polite"}, "verdict": True, "reasoning": "yes"},
        {"evaluated_rubric": {"content": "Gives a link"}, "verdict": False, "reasoning": "none given"},
    ],
}


def verdicts(content: Any) -> RubricVerdicts:
    ruling = read_share(content)
    assert isinstance(ruling, RubricVerdicts)
    return ruling


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (MANAGED, 2 / 3),
        (json.dumps(MANAGED), 2 / 3),
        (f"```json\n{json.dumps(MANAGED)}\n```", 2 / 3),
        ([{"criterion": "a", "verdict": "pass"}, {"criterion": "b", "verdict": "fail"}], 0.5),
        ('[{"criterion": "a", "verdict": "yes"}, {"criterion": "b", "verdict": "no"}]', 0.5),
        ('The list: [{"content": "a", "verdict": true}, {"content": "b", "verdict": true},]', 1.0),
        ({"verdicts": [{"text": "a", "passed": False}]}, 0.0),
        ({"result": {"verdicts": [{"text": "a", "met": True}]}}, 1.0),
        ({"criteria": [{"criterion": "a", "score": 1}, {"criterion": "b", "score": 0}]}, 0.5),
    ],
)
def test_the_value_is_the_share_of_the_verdicts_that_passed(content: Any, value: float) -> None:
    assert verdicts(content).value == value


def test_texts_reasons_and_importance_are_kept() -> None:
    first = verdicts(MANAGED).details["rubric_verdicts"][0]
    assert first == {
        "content": "Names the refund window",
        "verdict": True,
        "reasoning": "30 days",
        "importance": "HIGH",
    }
    assert verdicts(MANAGED).reason == "mostly good"


@pytest.mark.parametrize(("content", "value"), [({"score": 0.75}, 0.75), ("0.75", 0.75), ({"verdict": "pass"}, 1.0)])
def test_a_plain_share_is_taken_too(content: Any, value: float) -> None:
    ruling = read_share(content)
    assert isinstance(ruling, Rating)
    assert ruling.value == value


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({**MANAGED, "score": 1.0}, "the score 1 contradicts the verdicts, of which 0.667 passed"),
        ({**MANAGED, "score": 4}, "4 is not on the scale 0 to 1"),
        (
            [{"text": "a", "verdict": True}, {"text": "a", "verdict": False}],
            "the reply rules on the same criterion twice",
        ),
        ([{"text": "a", "verdict": "maybe"}], "no value among the fields 'text', 'verdict'"),
        ([{"text": "a", "score": 0.5}], "0.5 where a whole number is needed, 0 to 1"),
        ([{"text": "a", "score": 0, "passed": True}], "the fields contradict each other: 0 and yes"),
        (
            [{"text": "a", "verdict": "N/A"}, {"text": "b", "verdict": True}],
            "the reply says of one of its own criteria that it does not apply",
        ),
        ({"verdicts": []}, "no value among the fields 'verdicts'"),
        ({"score": 7}, "7 is not on the scale 0 to 1"),
        (
            '[{"text": "a", "verdict": true}] and [{"text": "b", "verdict": true}]',
            "the reply has 2 lists of verdicts",
        ),
        ("It is fine.", "no value in the reply"),
    ],
)
def test_verdicts_that_cannot_be_counted_are_a_failure(content: Any, said: str) -> None:
    with pytest.raises(UnparsableReply) as failure:
        read_share(content)
    assert str(failure.value) == said


@pytest.mark.parametrize("content", ["N/A", {"score": "n/a"}])
def test_nothing_applicable_is_not_applicable(content: Any) -> None:
    assert isinstance(read_share(content), NotApplicable)
