"""The graders of trajectory, final state and routing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from howsure.graders.base import BindableGrader, Grader, GraderContext
from howsure.graders.choice import ChoiceGrader
from howsure.graders.criteria import WeightedCriteriaGrader
from howsure.graders.output_contract import OutputContractGrader
from howsure.graders.state_and_steps import AgentsInvolvedGrader, FinalStateGrader, TrajectoryGrader
from howsure.graders.tool_calls import (
    ForbiddenToolsGrader,
    ToolCallGrader,
    ToolsUsedGrader,
    tool_calls,
    tool_usage_accuracy,
)
from howsure.model.case import World
from howsure.model.expectation import (
    AgentsInvolved,
    Choice,
    Contract,
    CorrectChoice,
    Criterion,
    Expectation,
    ExpectedCall,
    FinalState,
    ForbiddenTools,
    Goal,
    ToolCalls,
    Trajectory,
    WeightedCriteria,
)
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.model.transcript import AgentStep, Message, Role, ToolCall, ToolStep, Transcript
from howsure.testing import ScriptedJudge, a_case, a_transcript

CONVERSATION = (
    Message(role=Role.USER, content="I want my money back"),
    Message(role=Role.ASSISTANT, agent="GreetingAgent", content="Hello"),
    Message(role=Role.ASSISTANT, agent="BillingSupportAgent", tool_calls=(ToolCall(name="PaymentTool"),)),
    Message(role=Role.ASSISTANT, agent="BillingSupportAgent", content="Done"),
)


@pytest.mark.parametrize(
    ("steps", "value", "reason"),
    [
        (("GreetingAgent", "BillingSupportAgent", "PaymentTool"), 1.0, "the trajectory is as expected"),
        (("GreetingAgent", "PaymentTool"), 1.0, "the trajectory is as expected"),
        (("agent:GreetingAgent", "tool:PaymentTool"), 1.0, "the trajectory is as expected"),
        (("GreetingAgent", "HumanAgent"), 0.5, "`HumanAgent` did not take part"),
        (("PaymentTool", "GreetingAgent"), 0.5, "`GreetingAgent` took part, but not in the expected place"),
    ],
)
async def test_agents_and_tools_are_one_sequence(steps: tuple[str, ...], value: float, reason: str) -> None:
    transcript = Transcript(answer="Done", messages=CONVERSATION)
    (score,) = await TrajectoryGrader().grade(a_case(Trajectory(steps=steps)), transcript)
    assert isinstance(score, Score)
    assert (score.name, score.value, score.reason) == ("trajectory_accuracy", value, reason)
    assert score.details["taken"] == ["GreetingAgent", "BillingSupportAgent", "PaymentTool"]


async def test_recorded_steps_win_over_the_messages() -> None:
    transcript = a_transcript(calls=[("x", {})], steps=(AgentStep(name="Root"), ToolStep(name="y")))
    (score,) = await TrajectoryGrader().grade(a_case(Trajectory(steps=("Root", "y"))), transcript)
    assert isinstance(score, Score)
    assert score.passed


@pytest.mark.parametrize(
    ("state", "value", "reason"),
    [
        ({"customer_intent": "refund", "refund_amount": 50}, 1.0, "the state is as expected"),
        ({"customer_intent": "refund"}, 0.5, "`refund_amount`: not in the state, expected 50.0"),
        (
            {},
            0.0,
            "`customer_intent`: not in the state, expected 'refund'; `refund_amount`: not in the state, expected 50.0",
        ),
    ],
)
async def test_the_final_state_is_checked_where_it_is_listed(state: dict[str, Any], value: float, reason: str) -> None:
    expected = FinalState(variables={"customer_intent": "refund", "refund_amount": 50.00})
    (score,) = await FinalStateGrader().grade(a_case(expected), a_transcript(state=state))
    assert isinstance(score, Score)
    assert (score.name, score.value, score.reason) == ("state_management_fidelity", value, reason)


async def test_a_state_that_nobody_recorded_is_an_error_not_a_zero() -> None:
    (grade,) = await FinalStateGrader().grade(a_case(FinalState(variables={"x": 1})), a_transcript())
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.ERROR, "no final state was recorded")


@pytest.mark.parametrize(
    ("names", "value", "missing"),
    [
        (("GreetingAgent",), 1.0, []),
        (("agent:GreetingAgent", "BillingSupportAgent"), 1.0, []),
        (("GreetingAgent", "HumanAgent"), 0.5, ["HumanAgent"]),
        (("greetingagent",), 0.0, ["greetingagent"]),
    ],
)
async def test_routing_checks_only_the_agents_that_are_named(
    names: tuple[str, ...], value: float, missing: list[str]
) -> None:
    transcript = Transcript(answer="Done", messages=CONVERSATION)
    (score,) = await AgentsInvolvedGrader().grade(a_case(AgentsInvolved(names=names)), transcript)
    assert isinstance(score, Score)
    assert (score.name, score.value, score.details["missing"]) == ("agent_routing", value, missing)
    assert score.details["seen"] == ["GreetingAgent", "BillingSupportAgent"]


async def test_an_agent_that_is_another_ones_tool_took_part_where_that_tool_was_called() -> None:
    call = Message(role=Role.ASSISTANT, agent="desk", tool_calls=(ToolCall(name="weather_expert"),))
    expected = AgentsInvolved(names=("desk", "weather_expert", "billing"))
    (score,) = await AgentsInvolvedGrader().grade(a_case(expected), Transcript(answer="Rain", messages=(call,)))
    assert isinstance(score, Score)
    assert score.details["missing"] == ["billing"]


async def test_a_transcript_that_names_no_agent_cannot_tell_about_routing() -> None:
    (grade,) = await AgentsInvolvedGrader().grade(a_case(AgentsInvolved(names=("X",))), a_transcript("hello"))
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.ERROR, "the transcript names no agent")


def programmatic_graders() -> tuple[Grader | BindableGrader, ...]:
    return (
        ChoiceGrader(),
        tool_calls(),
        tool_usage_accuracy(),
        TrajectoryGrader(),
        FinalStateGrader(),
        AgentsInvolvedGrader(),
        ToolsUsedGrader(),
        ForbiddenToolsGrader(),
        OutputContractGrader(),
    )


CALLS = ToolCalls(expected=(ExpectedCall(name="refund", arguments={"order": "1"}),))
FORBIDDEN = ForbiddenTools(names=("live_handoff",))
QUESTION = CorrectChoice(choices=(Choice(id="A", text="x"), Choice(id="B", text="y")), correct=("B",))
OF_EVERY_KIND: tuple[Expectation, ...] = (
    QUESTION,
    CALLS,
    FORBIDDEN,
    Trajectory(steps=("Billing", "refund")),
    FinalState(variables={"amount": 50}),
    AgentsInvolved(names=("Billing",)),
    Contract(name="Letter"),
    Goal(text="be kind"),
)


def test_names_are_those_of_the_design() -> None:
    assert [grader.name for grader in programmatic_graders()] == [
        "choice",
        "tool_calls",
        "tool_usage_accuracy",
        "trajectory_accuracy",
        "state_management_fidelity",
        "agent_routing",
        "tools_used",
        "forbidden_tools",
        "output_contract",
    ]


ALWAYS = {"choice", "trajectory_accuracy", "state_management_fidelity", "agent_routing", "output_contract"}


@pytest.mark.parametrize(
    ("world", "own"),
    [
        (World.EXPLAIN, {"tool_calls", "forbidden_tools"}),
        (World.LEGAL, {"tool_calls", "forbidden_tools"}),
        (World.PLAIN, {"tool_calls", "forbidden_tools"}),
        (World.GOLDEN, {"tool_usage_accuracy", "forbidden_tools"}),
        (World.TEST_SET, {"tools_used"}),
    ],
)
def test_each_world_checks_calls_under_one_name(world: str, own: set[str]) -> None:
    case = a_case(*OF_EVERY_KIND, world=world)
    bound = [
        grader.bind(GraderContext(contracts={"Letter": {}})) if isinstance(grader, BindableGrader) else grader
        for grader in programmatic_graders()
    ]
    assert {grader.name for grader in bound if grader.wants(case)} == ALWAYS | own


def test_a_case_that_expects_nothing_is_wanted_by_nobody() -> None:
    empty = (FinalState(variables={}), AgentsInvolved(names=()), ForbiddenTools(names=()), Goal(text="x"))
    for world in (World.PLAIN, World.GOLDEN, World.TEST_SET):
        case = a_case(*empty, world=world)
        graders = [
            grader.bind(GraderContext()) if isinstance(grader, BindableGrader) else grader
            for grader in programmatic_graders()
        ]
        assert [grader.name for grader in graders if grader.wants(case)] == []


async def test_the_reference_itself_gets_full_marks() -> None:
    contracts = {"Letter": {"type": "string", "enum": ["B"]}}
    transcript = a_transcript(
        '"B"',
        calls=[("refund", {"order": "1"})],
        steps=(AgentStep(name="Billing"), ToolStep(name="refund")),
        state={"amount": 50.0},
    )
    for world in (World.PLAIN, World.GOLDEN, World.TEST_SET):
        case = a_case(*OF_EVERY_KIND, world=world)
        for grader in programmatic_graders():
            bound = grader.bind(GraderContext(contracts=contracts)) if isinstance(grader, BindableGrader) else grader
            if bound.wants(case):
                (grade,) = await bound.grade(case, transcript)
                assert isinstance(grade, Score), bound.name
                assert (grade.name, grade.value, grade.passed) == (bound.name, 1.0, True)
                assert grade.reason


def value(grade: Grade) -> float | UnscoredReason:
    return grade.value if isinstance(grade, Score) else grade.why


@pytest.mark.parametrize(
    ("expected", "given", "mark"),
    [
        ({"n": 1}, {"n": 1.0}, 1.0),
        ({"n": 1}, {"n": True}, 0.0),
        ({"n": 0}, {"n": False}, 0.0),
        ({"n": 0}, {"n": -0.0}, 1.0),
        ({"n": 0}, {"n": None}, 0.0),
        ({"n": None}, {"n": None}, 1.0),
        ({"n": None}, {}, 0.0),
        ({"n": ""}, {"n": " "}, 0.0),
        ({"n": "a"}, {"n": "A"}, 0.0),
        ({"n": "é"}, {"n": "é"}, 1.0),
        ({"n": []}, {"n": {}}, 0.0),
        ({"n": [1, 2]}, {"n": [2, 1]}, 0.0),
        ({"n": [1, 2]}, {"n": [1, 2, 3]}, 0.0),
        ({"n": {"a": 1}}, {"n": {"a": 1}}, 1.0),
        ({"n": "1"}, {"n": 1}, 0.0),
        ({"n": {"$any": True}}, {"n": None}, 1.0),
        ({"n": {"$any": True}}, {}, 0.0),
        ({"n": {"$optional": 5}}, {}, 1.0),
        ({"n": {"$optional": 5}}, {"n": 6}, 0.0),
        ({"n": {"$one_of": ["a", "b"]}}, {"n": "b"}, 1.0),
        ({"n": {"$one_of": ["a", "b"]}}, {"n": ["a"]}, 0.0),
        ({"n": {"$text": "New York!"}}, {"n": "new  york"}, 1.0),
        ({"n": {"$text": "5 %"}}, {"n": "5"}, 0.0),
        ({"n": {"$text": "10"}}, {"n": 10}, 0.0),
        ({"n": {"$between": [1, 2]}}, {"n": 2}, 1.0),
        ({"n": {"$between": [1, 2]}}, {"n": True}, 0.0),
        ({"n": {"$between": [1, 2]}}, {"n": "1.5"}, 0.0),
        ({"n": {"$approx": 1.0, "within": 0.1}}, {"n": 1.05}, 1.0),
        ({"n": {"$approx": 1.0, "within": 0.1}}, {"n": 1.2}, 0.0),
        ({"n": {"$contains": "b"}}, {"n": "abc"}, 1.0),
        ({"n": {"$contains": "B"}}, {"n": "abc"}, 0.0),
        ({"n": {"$regex": "[0-9]+"}}, {"n": 12}, 0.0),
        ({"n": {"a": {"$one_of": [1, {"$between": [5, 9]}]}}}, {"n": {"a": 7}}, 1.0),
    ],
)
async def test_an_argument_is_what_is_expected_or_it_is_not(
    expected: dict[str, Any], given: dict[str, Any], mark: float
) -> None:
    case = a_case(ToolCalls(expected=(ExpectedCall(name="t", arguments=expected),)))
    (score,) = await ToolCallGrader().grade(case, a_transcript(calls=[("t", given)]))
    assert value(score) == mark


@pytest.mark.parametrize(
    ("called", "mark"),
    [("refund", 1.0), ("Refund", 0.0), ("refund ", 0.0), ("refund_order", 0.0), ("", 0.0), ("refund\u200b", 0.0)],
)
async def test_the_name_of_a_tool_is_compared_letter_by_letter(called: str, mark: float) -> None:
    case = a_case(ToolCalls(expected=(ExpectedCall(name="refund"),)))
    (score,) = await ToolCallGrader().grade(case, a_transcript(calls=[(called, {})]))
    assert value(score) == mark


async def test_one_call_does_not_satisfy_two_expected_ones() -> None:
    twice = ToolCalls(expected=(ExpectedCall(name="t", arguments={"a": 1}), ExpectedCall(name="t", arguments={"a": 1})))
    (once,) = await ToolCallGrader().grade(a_case(twice), a_transcript(calls=[("t", {"a": 1})]))
    (both,) = await ToolCallGrader().grade(a_case(twice), a_transcript(calls=[("t", {"a": 1}), ("t", {"a": 1})]))
    assert isinstance(once, Score)
    assert once.passed is False
    assert value(both) == 1.0


async def test_the_loose_call_is_not_spent_on_the_wrong_expectation() -> None:
    loose, tight = ExpectedCall(name="t", arguments={"a": {"$any": True}}), ExpectedCall(name="t", arguments={"a": 1})
    calls = [("t", {"a": 1}), ("t", {"a": 2})]
    for expected in ((loose, tight), (tight, loose)):
        (score,) = await ToolCallGrader().grade(a_case(ToolCalls(expected=expected)), a_transcript(calls=calls))
        assert value(score) == 1.0


async def test_a_tool_named_in_the_answer_was_not_called() -> None:
    case = a_case(ToolCalls(expected=(ExpectedCall(name="refund"),)))
    (score,) = await ToolCallGrader().grade(case, a_transcript('I called refund({"order": 1}).'))
    assert value(score) == 0.0
    forbidden = a_case(ForbiddenTools(names=("refund",)))
    (free,) = await ForbiddenToolsGrader().grade(forbidden, a_transcript("I called refund()."))
    assert value(free) == 1.0
    (caught,) = await ForbiddenToolsGrader().grade(forbidden, a_transcript("No.", calls=[("refund", {})]))
    assert value(caught) == 0.0


@pytest.mark.parametrize(
    ("expected", "state", "mark"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, 1.0),
        ({"a": 1}, {"a": True}, 0.0),
        ({"a": None}, {"a": None}, 1.0),
        ({"a": None}, {}, 0.0),
        ({"a": ""}, {"a": None}, 0.0),
        ({"a": {"b": 1}}, {"a": {"b": 1}}, 1.0),
        ({"a": {"b": 1}}, {"a": '{"b": 1}'}, 0.0),
        ({"a": [1]}, {"a": [1.0]}, 1.0),
        ({"a": [1]}, {"a": (2,)}, 0.0),
        ({"a": "50"}, {"a": 50}, 0.0),
        ({"a": {"$one_of": ["x", "y"]}}, {"a": "y"}, 1.0),
    ],
)
async def test_the_state_holds_what_is_listed_or_it_does_not(
    expected: dict[str, Any], state: dict[str, Any], mark: float
) -> None:
    (score,) = await FinalStateGrader().grade(a_case(FinalState(variables=expected)), a_transcript(state=state))
    assert value(score) == mark


async def test_a_state_that_was_not_recorded_is_no_wrong_state() -> None:
    (grade,) = await FinalStateGrader().grade(a_case(FinalState(variables={"a": 1})), a_transcript())
    assert isinstance(grade, Unscored)


@pytest.mark.parametrize(
    ("steps", "called", "mark"),
    [
        (("a", "b"), ["a", "b"], 1.0),
        (("a", "b"), ["a", "x", "b"], 1.0),
        (("a", "a"), ["a"], 0.5),
        (("a", "a"), ["a", "a"], 1.0),
        (("a", "b"), ["A", "B"], 0.0),
        (("a", "b"), [], 0.0),
        (("tool:a",), ["a"], 1.0),
    ],
)
async def test_steps_count_once_each_and_in_their_order(steps: tuple[str, ...], called: list[str], mark: float) -> None:
    transcript = a_transcript("x", calls=[(name, {}) for name in called])
    (score,) = await TrajectoryGrader().grade(a_case(Trajectory(steps=steps)), transcript)
    assert value(score) == mark


SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("answer", "mark"),
    [
        ('{"n": 1}', 1.0),
        ('\ufeff{"n": 1}', 1.0),
        ('```json\n{"n": 1}\n```', 1.0),
        ('Here you are:\n```json\n{"n": 1}\n```\nLet me know!', 1.0),
        ('{"n": 1.0}', 1.0),
        ('{"n": "1"}', 0.0),
        ('{"n": true}', 0.0),
        ('{"n": null}', 0.0),
        ('{"n": 1, "m": 2}', 0.0),
        ('[{"n": 1}]', 0.0),
        ("{'n': 1}", 0.0),
        ('{"n": 1,}', 0.0),
        ('{"n": NaN}', 0.0),
        ("", 0.0),
        ("n = 1", 0.0),
        ("null", 0.0),
        ('"{\\"n\\": 1}"', 0.0),
        ('{"n": 1', 0.0),
    ],
)
async def test_an_answer_fulfils_its_contract_or_it_does_not(answer: str, mark: float) -> None:
    grader = OutputContractGrader().bind(GraderContext(contracts={"Own": SCHEMA}))
    (score,) = await grader.grade(a_case(Contract(name="Own")), a_transcript(answer))
    assert value(score) == mark


async def weighed(weights: list[float | None], met: list[float]) -> Grade:
    criteria = tuple(Criterion(id=str(n), text=f"Criterion {n}", weight=weight) for n, weight in enumerate(weights))
    judge = ScriptedJudge({("weighted_criteria", str(n)): {"score": score} for n, score in enumerate(met)})
    grader = WeightedCriteriaGrader().bind(GraderContext(judge=judge))
    *_, whole = await grader.grade(a_case(WeightedCriteria(criteria=criteria)), a_transcript("Hi"))
    return whole


@pytest.mark.parametrize(
    ("weights", "met", "points"),
    [
        ([1e308, 1e308], [1, 1], 1.0),
        ([1e308, 1e308], [1, 0], 0.5),
        ([1e308, -1e308], [1, 1], 0.0),
        ([1.7e308, 1.7e308, -1.7e308], [1, 1, 0], 1.0),
        ([1e308, 1], [0, 1], 0.0),
        ([5e-324, 5e-324], [1, 0], 0.5),
        ([1e-300, 1e-300], [1, 1], 1.0),
        ([-1, -2], [0, 0], 1.0),
        ([-1, -2], [1, 1], 0.0),
        ([-1, -2], [1, 0], 2 / 3),
        ([-1e308, -1e308], [0, 1], 0.5),
        ([0, 0, 1], [1, 1, 0], 0.0),
        ([-0.0, 4], [1, 1], 1.0),
    ],
)
async def test_weights_of_any_size_give_a_share_and_no_infinity(
    weights: list[float | None], met: list[float], points: float
) -> None:
    whole = await weighed(weights, met)
    assert isinstance(whole, Score)
    assert whole.value == pytest.approx(points)
    assert "inf" not in whole.reason
    json.dumps(whole.details, allow_nan=False)


@pytest.mark.parametrize("weights", [[0], [0, 0.0], [-0.0]])
async def test_criteria_that_weigh_nothing_decide_nothing(weights: list[float | None]) -> None:
    whole = await weighed(weights, [1] * len(weights))
    assert isinstance(whole, Unscored)
    assert (whole.why, whole.reason) == (UnscoredReason.NOT_APPLICABLE, "every criterion has the weight 0")


CHOICES = (Choice(id="A", text="Paris"), Choice(id="B", text="Berlin"), Choice(id="C", text="Rome"))


@pytest.mark.parametrize(
    ("answer", "correct", "mark"),
    [
        ("B", ("B",), 1.0),
        ("A and B", ("B",), 0.0),
        ("B", ("A", "B"), 0.0),
        ("B and A", ("A", "B"), 1.0),
        ("A, B, C", ("A", "B", "C"), 1.0),
        ("", ("B",), 0.0),
        ("<think>B</think>", ("B",), 0.0),
        ("B or C", ("B",), 0.0),
        ("B, possibly C", ("B",), 0.0),
        ("I cannot answer.", ("B",), 0.0),
        ('{"answer": []}', ("B",), 0.0),
    ],
)
async def test_a_choice_is_right_or_wrong_also_where_it_cannot_be_read(
    answer: str, correct: tuple[str, ...], mark: float
) -> None:
    case = a_case(CorrectChoice(choices=CHOICES, correct=correct))
    (grade,) = await ChoiceGrader().grade(case, a_transcript(answer))
    assert value(grade) == mark
