"""What good looks like, in words."""

from __future__ import annotations

import pytest

from howsure.model.expectation import (
    AgentsInvolved,
    Choice,
    Contract,
    CorrectChoice,
    Criteria,
    Criterion,
    Expectation,
    ExpectedCall,
    FinalState,
    ForbiddenTools,
    Goal,
    Matching,
    MatchMode,
    Qualities,
    ReferenceAnswer,
    ToolCalls,
    Trajectory,
    WeightedCriteria,
)
from howsure.reports.case_facts import expectation_texts
from howsure.testing import a_case

CHOICES = (Choice(id="A", text="yes"), Choice(id="B", text="no"))
CRITERION = Criterion(id="c1", text="polite")


@pytest.mark.parametrize(
    ("expectation", "said"),
    [
        (ReferenceAnswer(answers=("Paris", "paris")), [("reference answer", "Paris\n\nor: paris")]),
        (CorrectChoice(choices=CHOICES, correct=("B",)), [("choices", "A. yes\nB. no\ncorrect: B")]),
        (
            ToolCalls(expected=(ExpectedCall(name="refund", arguments={"order": 1, "note": {"$any": True}}),)),
            [("tool calls (superset)", 'refund(order: 1, note: {"$any":true})')],
        ),
        (
            ToolCalls(expected=(), match=Matching(mode=MatchMode.EXACT)),
            [("tool calls (exact)", "none may be made")],
        ),
        (ForbiddenTools(names=("live_handoff",)), [("forbidden tools", "live_handoff")]),
        (Trajectory(steps=("router", "refund")), [("trajectory (in_order)", "router → refund")]),
        (FinalState(variables={"open": False}), [("final state", '{"open":false}')]),
        (AgentsInvolved(names=("a", "b")), [("agents involved", "a, b")]),
        (Goal(text="A refund"), [("goal", "A refund")]),
        (Contract(name="answer_v1"), [("output contract", "answer_v1")]),
        (Qualities(names=("Relevance",)), [("judged on", "Relevance")]),
        (Criteria(criteria=(CRITERION,)), []),
        (WeightedCriteria(criteria=(CRITERION,)), []),
    ],
)
def test_every_expectation_is_said_but_criteria_which_the_grades_show(
    expectation: Expectation, said: list[tuple[str, str]]
) -> None:
    assert expectation_texts(a_case(expectation)) == said
