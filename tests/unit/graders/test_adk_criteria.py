"""The criteria of ADK, each a grader of its own name."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from howsure.graders.adk.criteria import adk_graders
from howsure.graders.base import GraderContext
from howsure.judges.base import Question
from howsure.judges.judge_prompts import judge_messages
from howsure.model.adk_criteria import NAMES
from howsure.model.case import Case, PlanStep, Scenario, Script, World
from howsure.model.expectation import ExpectedCall, ToolCalls
from howsure.model.score import LIKERT, Grade, Score, Unscored, UnscoredReason
from howsure.model.transcript import Message, Role, ToolCall, Transcript
from howsure.model.verdict import Profile, Verdict
from howsure.policies.verdicts import builtin_policies
from howsure.testing import ScriptedJudge

GRADERS: dict[str, Any] = {grader.name: grader for grader in adk_graders()}
A, B, C = (ExpectedCall(name=name, arguments={"x": name}) for name in "abc")
MADE = {name: ToolCall(name=name, arguments={"x": name}) for name in "abc"}


def by_part(grader: str, replies: dict[str, Any]) -> ScriptedJudge:
    """A judge with a reply for each part that this grader asks about."""
    return ScriptedJudge({(grader, part): reply for part, reply in replies.items()})


def questions(judge: ScriptedJudge) -> dict[str, Question]:
    """What was asked, by the id of the part."""
    return {question.part.id if question.part else "": question for question in judge.asked}


def golden(criteria: dict[str, Any], *expected: ExpectedCall, turns: tuple[str, ...] = ("one",), **more: Any) -> Case:
    return Case(
        id="c",
        world=World.GOLDEN,
        input=Script(turns=turns),
        expectations=(ToolCalls(expected=expected),),
        metadata={"reference_data": {"adk_criteria": criteria, **more}},
    )


def talk(*turns: tuple[str, str, str]) -> Transcript:
    """Turns of the user's words, the names of calls, and the answer."""
    messages: list[Message] = []
    for said, called, answer in turns:
        messages.append(Message(role=Role.USER, content=said))
        if called:
            messages.append(Message(role=Role.ASSISTANT, tool_calls=tuple(MADE[name] for name in called)))
        messages.append(Message(role=Role.ASSISTANT, content=answer))
    return Transcript(answer=turns[-1][2], messages=tuple(messages))


async def grades(name: str, case: Case, transcript: Transcript, judge: Any = None, named: bool = False) -> list[Grade]:
    grader = GRADERS[name]
    if hasattr(grader, "bind"):
        grader = grader.bind(GraderContext(judge=judge, named=frozenset([name] if named else [])))
    assert grader.wants(case)
    return list(await grader.grade(case, transcript))


async def whole(name: str, case: Case, transcript: Transcript, judge: Any = None) -> Grade:
    return (await grades(name, case, transcript, judge))[-1]


@pytest.mark.parametrize(
    ("expected", "made", "exact", "in_order", "any_order"),
    [
        ((A, B), "ab", 1, 1, 1),
        ((A, B), "ba", 0, 0, 1),
        ((A, B), "acb", 0, 1, 1),
        ((A, B), "cab", 0, 1, 1),
        ((A, B), "a", 0, 0, 0),
        ((A, A), "a", 0, 0, 0),
        ((A, A), "aba", 0, 1, 1),
        ((A, B, A), "aab", 0, 0, 1),
        ((), "", 1, 1, 1),
        ((), "a", 0, 1, 1),
        ((A,), "", 0, 0, 0),
    ],
)
async def test_calls_match_as_adk_says(
    expected: tuple[ExpectedCall, ...], made: str, exact: int, in_order: int, any_order: int
) -> None:
    for match, value in (("EXACT", exact), ("IN_ORDER", in_order), ("ANY_ORDER", any_order)):
        case = golden({"tool_trajectory_avg_score": {"threshold": 1.0, "match_type": match}}, *expected)
        score = await whole("tool_trajectory_avg_score", case, talk(("one", made, "Done.")))
        assert isinstance(score, Score)
        assert (match, score.value, score.passed) == (match, float(value), value == 1)


async def test_code_that_the_provider_ran_is_no_call_to_adk() -> None:
    code = Message(role=Role.ASSISTANT, tool_calls=(ToolCall(name="code_execution", arguments={"code": "1"}),))
    spoken = talk(("one", "a", "Done."))
    score = await whole(
        "tool_trajectory_avg_score",
        golden({"tool_trajectory_avg_score": 1.0}, A),
        Transcript(answer="Done.", messages=(*spoken.messages[:2], code, *spoken.messages[2:])),
    )
    assert isinstance(score, Score)
    assert score.value == 1.0


@pytest.mark.parametrize(("settings", "value"), [({}, 0.0), ({"ignore_args": True}, 1.0)])
async def test_arguments_count_unless_they_are_ignored(settings: dict[str, Any], value: float) -> None:
    other = ExpectedCall(name="a", arguments={"x": "other"})
    case = golden({"tool_trajectory_avg_score": {"threshold": 1.0, **settings}}, other)
    score = await whole("tool_trajectory_avg_score", case, talk(("one", "a", "Done.")))
    assert isinstance(score, Score)
    assert score.value == value


async def test_each_turn_is_0_or_1_and_the_mean_is_held_against_the_threshold() -> None:
    calls = (ExpectedCall(name="a", arguments={"x": "a"}, turn=1), ExpectedCall(name="b", arguments={"x": "b"}, turn=3))
    case = golden({"tool_trajectory_avg_score": 0.6}, *calls, turns=("one", "two", "three"))
    score = await whole(
        "tool_trajectory_avg_score", case, talk(("one", "a", "1"), ("two", "", "2"), ("three", "c", "3"))
    )
    assert isinstance(score, Score)
    assert (score.value, score.pass_mark, score.passed) == (2 / 3, 0.6, True)
    assert score.details == {"turns": [1.0, 1.0, 0.0]}
    assert score.reason == "turn 3 of 3 has other calls than expected"


@pytest.mark.parametrize(
    ("calls", "said", "reason"),
    [
        ((A,), ("one", "two"), "the expected call of `a` has no `turn`"),
        ((ExpectedCall(name="a", turn=3),), ("one", "two"), "`a` is expected in turn 3 of 2"),
        ((), ("one",), "the conversation has 1 of 2 turns"),
    ],
)
async def test_what_cannot_be_compared_is_an_error_and_no_zero(
    calls: tuple[ExpectedCall, ...], said: tuple[str, ...], reason: str
) -> None:
    case = golden({"tool_trajectory_avg_score": 1.0}, *calls, turns=("one", "two"))
    grade = await whole("tool_trajectory_avg_score", case, talk(*((text, "", "ok") for text in said)))
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.ERROR, reason)


async def test_a_criterion_that_no_case_declares_is_graded_by_name_and_has_no_mark() -> None:
    case = golden({}, A)
    assert [name for name, grader in GRADERS.items() if grader.wants(case)] == []
    (score,) = await grades("tool_trajectory_avg_score", case, talk(("one", "a", "ok")), named=True)
    assert isinstance(score, Score)
    assert (score.value, score.pass_mark) == (1.0, None)


@pytest.mark.skipif(
    find_spec("rouge_score") is not None, reason="rouge-score is here; tests/frameworks compare with ADK"
)
async def test_without_its_package_the_answer_is_not_matched_and_the_reason_says_what_to_install() -> None:
    case = golden({"response_match_score": 0.5}, expected_response="Done.")
    grade = await whole("response_match_score", case, talk(("one", "", "Done.")))
    assert isinstance(grade, Unscored)
    assert "install howsure with the extra `adk-eval`" in grade.reason


def test_every_criterion_has_a_grader() -> None:
    assert set(NAMES) | {"adk_score"} == set(GRADERS)


TWO = talk(("one", "a", "First answer."), ("two", "b", "Second answer."))


async def test_an_answer_is_judged_beside_the_one_expected_in_its_turn_and_nothing_of_other_turns() -> None:
    judge = by_part(
        "final_response_match_v2",
        {"turn 1": {"passed": True, "reason": "same"}, "turn 2": {"passed": False, "reason": "other"}},
    )
    expected = ["EXPECTED-1", "EXPECTED-2"]
    case = golden({"final_response_match_v2": 0.8}, turns=("one", "two"), expected_responses=expected)
    score = await whole("final_response_match_v2", case, TWO, judge)
    assert isinstance(score, Score)
    assert (score.value, score.pass_mark, score.passed, score.reason) == (0.5, 0.8, False, "turn 2: other")
    shown = judge_messages(questions(judge)["turn 2"])[1].content
    assert [word for word in ("EXPECTED-2", "Second answer.", "two") if word not in shown] == []
    assert [word for word in ("EXPECTED-1", "First answer.", "one\n") if word in shown] == []


async def test_rubrics_of_criterion_case_and_turn_are_asked_where_they_belong() -> None:
    rubrics = [
        {"rubric_id": "polite", "text": "Is polite.", "type": "FINAL_RESPONSE_QUALITY"},
        {"rubric_id": "brief", "text": "Is brief.", "type": "FINAL_RESPONSE_QUALITY", "turn": 2},
        {"rubric_id": "tools", "text": "Uses tools.", "type": "TOOL_USE_QUALITY"},
        {"rubric_id": "untyped", "text": "Nobody asks."},
    ]
    own = {"threshold": 0.5, "rubrics": [{"rubric_id": "true", "text": "Is true."}]}
    criteria = {"rubric_based_final_response_quality_v1": own, "rubric_based_tool_use_quality_v1": 1.0}
    case = golden(criteria, turns=("one", "two"), adk_rubrics=rubrics)
    yes, no = {"passed": True, "reason": "yes"}, {"passed": False, "reason": "no"}
    replies = {
        "turn 1, true": yes,
        "turn 1, polite": no,
        "turn 2, true": yes,
        "turn 2, polite": no,
        "turn 2, brief": no,
    }
    judge = by_part("rubric_based_final_response_quality_v1", replies)
    score = await whole("rubric_based_final_response_quality_v1", case, TWO, judge)
    assert isinstance(score, Score)
    assert (score.value, score.passed, set(questions(judge))) == (0.4, False, set(replies))
    other = by_part("rubric_based_tool_use_quality_v1", {"turn 1, tools": yes, "turn 2, tools": yes})
    score = await whole("rubric_based_tool_use_quality_v1", case, TWO, other)
    assert isinstance(score, Score)
    assert (score.value, score.passed) == (1.0, True)
    nothing = golden({"rubric_based_multi_turn_trajectory_quality_v1": 0.5})
    grade = await whole("rubric_based_multi_turn_trajectory_quality_v1", nothing, TWO, judge)
    assert isinstance(grade, Unscored)
    assert grade.reason == "the case has no rubric for this criterion"


async def test_sentences_that_nothing_bears_out_and_coherence_are_means_over_the_turns() -> None:
    half = {"verdicts": [{"criterion": "s1", "passed": True}, {"criterion": "s2", "passed": False}]}
    full = {"verdicts": [{"criterion": "s1", "passed": True}]}
    case = golden({"hallucinations_v1": 0.8, "response_evaluation_score": 3.5}, turns=("one", "two"))
    score = await whole("hallucinations_v1", case, TWO, by_part("hallucinations_v1", {"turn 1": half, "turn 2": full}))
    assert isinstance(score, Score)
    assert (score.value, score.passed) == (0.75, False)
    rated = by_part("response_evaluation_score", {"turn 1": {"score": 3}, "turn 2": {"score": 5}})
    score = await whole("response_evaluation_score", case, TWO, rated)
    assert isinstance(score, Score)
    assert (score.value, score.scale, score.passed) == (4.0, LIKERT, True)


async def test_a_conversation_is_judged_once_and_whole() -> None:
    judge = by_part("multi_turn_task_success_v1", {"": {"verdicts": [{"criterion": "g", "passed": True}]}})
    case = golden({"multi_turn_task_success_v1": 0.5}, turns=("one", "two"))
    (score,) = await grades("multi_turn_task_success_v1", case, TWO, judge)
    assert isinstance(score, Score)
    assert (score.value, score.pass_mark) == (1.0, 0.5)
    assert "First answer." in judge_messages(questions(judge)[""])[1].content


SIMULATED = Case(
    id="s",
    world=World.TEST_SET,
    input=Scenario(persona="Curt", initial_message="one", plan=(PlanStep(say="Say two."),)),
    metadata={"reference_data": {"adk_criteria": {"per_turn_user_simulator_quality_v1": 0.9}}},
)


@pytest.mark.parametrize(
    ("said", "second", "end", "value"),
    [("one", True, True, 1.0), ("one", True, False, 0.5), ("one", False, True, 0.5), ("won", True, True, 0.5)],
    ids=["all well", "left too early", "made something up", "another opening"],
)
async def test_each_message_of_the_simulated_user_is_judged(said: str, second: bool, end: bool, value: float) -> None:
    judge = by_part(
        "per_turn_user_simulator_quality_v1",
        {"turn 2": {"passed": second, "reason": "r"}, "end": {"passed": end, "reason": "r"}},
    )
    transcript = talk((said, "", "Hello."), ("two", "", "Bye."))
    score = await whole("per_turn_user_simulator_quality_v1", SIMULATED, transcript, judge)
    assert isinstance(score, Score)
    assert score.value == value
    shown = judge_messages(questions(judge)["turn 2"])[1].content
    assert "Hello." in shown
    assert "Bye." not in shown


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("response_match_score",)])
async def test_a_judge_that_cannot_be_read_gives_an_error_and_no_value(name: str) -> None:
    rubrics = [{"rubric_id": "r", "text": "Holds."}]
    criteria = {name: {"threshold": 0.5, "rubrics": rubrics}}
    simulated = name == "per_turn_user_simulator_quality_v1"
    case = SIMULATED if simulated else golden(criteria, A, expected_response="Done.")
    grade = await whole(
        name, case, talk(("one", "a", "Done.")), ScriptedJudge({name: ["I would rather think about it.", "Hm."]})
    )
    if name == "tool_trajectory_avg_score":
        assert isinstance(grade, Score)
        return
    assert isinstance(grade, Unscored)
    assert grade.why is UnscoredReason.ERROR
    unjudged = await whole(name, case, talk(("one", "a", "Done.")))
    assert isinstance(unjudged, Unscored)
    assert unjudged.why is UnscoredReason.NO_JUDGE


async def test_what_adk_measured_stands_beside_ours_and_decides_nothing() -> None:
    case = golden({"tool_trajectory_avg_score": 0.5}, A)
    scores = {"adk_score.tool_trajectory_avg_score": 0.25, "adk_score.final_eval_status": 0.0, "score.x": 1}
    case = Case(id=case.id, world=case.world, input=case.input, metadata=case.metadata | scores)
    given = await grades("adk_score", case, talk(("one", "a", "Done.")))
    theirs = {each.part.id: each for each in given if isinstance(each, Score) and each.part}
    assert {id: (each.value, each.judge, each.pass_mark) for id, each in theirs.items()} == {
        "tool_trajectory_avg_score": (0.25, "adk", None),
        "final_eval_status": (0.0, "adk", None),
    }
    assert isinstance(given[0], Score)
    assert given[0].details == {"threshold": 0.5, "passed": False}
    assert builtin_policies()[World.GOLDEN](case, given, None).verdict is Verdict.SKIPPED


@pytest.mark.parametrize(
    ("criteria", "profile", "verdict"),
    [
        ({"tool_trajectory_avg_score": 0.2}, None, Verdict.PASSED),
        ({}, None, Verdict.FAILED),
        ({"tool_trajectory_avg_score": 0.2}, Profile(name="p", marks={"tool_usage_accuracy": 1.0}), Verdict.FAILED),
    ],
    ids=["ADK's say", "ours alone", "a profile names ours"],
)
def test_criteria_of_adk_decide_about_calls_where_the_author_set_them(
    criteria: dict[str, Any], profile: Profile | None, verdict: Verdict
) -> None:
    ours = Score(name="tool_usage_accuracy", value=0.5, pass_mark=1.0)
    theirs = [Score(name=name, value=0.5, pass_mark=mark) for name, mark in criteria.items()]
    assert builtin_policies()[World.GOLDEN](golden(criteria), [ours, *theirs], profile).verdict is verdict
