"""What a case expects and no grader checks, by what graders say of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from howsure.engine.candidates import GraderSelection
from howsure.graders.base import GraderContext
from howsure.graders.judged_answers import ReferenceAnswerGrader
from howsure.graders.judged_evals import golden_judged
from howsure.graders.measures import measures
from howsure.graders.output_contract import OutputContractGrader
from howsure.graders.tool_calls import tool_calls
from howsure.judges.offline.judge import OfflineJudge
from howsure.model.case import Case, World
from howsure.model.expectation import (
    Contract,
    Criteria,
    Criterion,
    Expectation,
    ExpectedCall,
    Goal,
    Qualities,
    ReferenceAnswer,
    ToolCalls,
)
from howsure.model.score import Grade
from howsure.model.transcript import Transcript
from howsure.testing import a_case

CALLS = ToolCalls(expected=(ExpectedCall(name="look"),))
REFERENCE = ReferenceAnswer(answers=("Yes.",))
CRITERIA = Criteria(criteria=(Criterion(id="c", text="Is polite"),))


def unchecked(case: Case, *graders: Any) -> list[tuple[str, str]]:
    flags = [check.flag for check in GraderSelection(graders).choose(case)[1]]
    return [(flag.kind, flag.text) for flag in flags]


class Undeclared:
    """A plug-in's grader that does not say what it checks."""

    name = "undeclared"

    def wants(self, case: Case) -> bool:
        return case.id == "wanted"

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        return []


@pytest.mark.parametrize(
    ("world", "expected", "names"),
    [
        (World.PLAIN, [CALLS, REFERENCE], ["reference_answer", "tool_calls"]),
        (World.EXPLAIN, [Qualities(names=()), Goal(text="g"), REFERENCE, CALLS], ["tool_calls"]),
        (World.LEGAL, [CRITERIA, REFERENCE], ["criteria"]),
        (World.TEST_SET, [Goal(text="g")], ["goal"]),
        (World.PLAIN, [], []),
    ],
    ids=["all", "what helps Explain judges", "a reference beside criteria", "an outcome", "nothing"],
)
def test_what_a_verdict_should_rest_on_is_named(world: str, expected: list[Expectation], names: list[str]) -> None:
    case = a_case(*expected, world=world)
    assert unchecked(case) == [
        ("not_checked", f"expected {name} is checked by no grader of this run") for name in names
    ]


def test_graders_check_what_they_declare() -> None:
    case = a_case(CALLS, REFERENCE, world=World.LEGAL)
    assert unchecked(case, tool_calls(), ReferenceAnswerGrader()) == []
    assert [text.split()[1] for _, text in unchecked(case, tool_calls())] == ["reference_answer"]


def test_measures_check_nothing_and_a_grader_that_does_not_say_may_check_all() -> None:
    case = a_case(CALLS, world=World.GOLDEN)
    assert len(unchecked(case, *measures(None))) == 1
    assert len(unchecked(case, Undeclared())) == 1
    assert unchecked(a_case(CALLS, id="wanted"), Undeclared()) == []


def test_a_golden_question_may_expect_an_answer_among_its_reference_data() -> None:
    case = a_case(world=World.GOLDEN, metadata={"reference_data": {"expected_response": "Yes.", "other": 1}})
    judged = [each.bind(GraderContext(judge=OfflineJudge())) for each in golden_judged()]
    assert unchecked(case) == [("not_checked", "expected_response is checked by no grader of this run")]
    assert unchecked(case, *judged) == []


def test_a_contract_has_a_flag_of_its_own() -> None:
    case = a_case(Contract(name="Nobodys"))
    assert unchecked(case, OutputContractGrader()) == [
        ("contract_not_checked", "expected contract is checked by no grader of this run")
    ]
    assert unchecked(a_case(Contract(name="StudyPlanOutput")), OutputContractGrader()) == []
