"""Which graders are asked about a case: always just those that want it, and not many more are bothered."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from howsure.engine.candidates import GraderSelection, may_want
from howsure.graders.base import BindableGrader, Grader, GraderContext
from howsure.graders.judged_evals import ExplainEval, LibraryEval
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case, SingleTurn, World
from howsure.model.expectation import (
    AgentsInvolved,
    Choice,
    Contract,
    CorrectChoice,
    Criteria,
    Criterion,
    Expectation,
    FinalState,
    ForbiddenTools,
    Goal,
    Qualities,
    ReferenceAnswer,
    ToolCalls,
    Trajectory,
    WeightedCriteria,
)
from howsure.model.score import Grade
from howsure.model.transcript import Span, Transcript
from howsure.policies.verdicts import EXPLAIN_EVALS, builtin_profiles

CRITERION = Criterion(id="c", text="It is right.")
EXPECTATIONS: tuple[Expectation, ...] = (
    ReferenceAnswer(answers=("yes",)),
    CorrectChoice(choices=(Choice(id="A", text="yes"), Choice(id="B", text="no")), correct=("A",)),
    Criteria(criteria=(CRITERION,)),
    WeightedCriteria(criteria=(CRITERION,)),
    ToolCalls(expected=()),
    ForbiddenTools(names=("drop",)),
    Trajectory(steps=("a",)),
    FinalState(variables={"a": 1}),
    AgentsInvolved(names=("a",)),
    Goal(text="a plan"),
    Contract(name="explain"),
    Qualities(names=tuple(EXPLAIN_EVALS)),
)
WORLDS = (World.EXPLAIN, World.GOLDEN, World.TEST_SET, World.LEGAL, World.PLAIN)
RECORDINGS = (None, Transcript(answer="yes"), Transcript(answer="yes", spans=(Span(name="s"),)))


class Listening:
    """A grader that counts how often it is asked whether it wants a case."""

    name = "listening"
    only_with = (Goal,)
    only_in = (World.PLAIN,)

    def __init__(self) -> None:
        self.heard = 0

    def wants(self, case: Case) -> bool:
        self.heard += 1
        return True

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        return ()


class Eager(Listening):
    """What its parent says of itself does not hold for it."""

    def wants(self, case: Case) -> bool:
        return True


class Undeclared(Listening):
    """As its parent, with the parent's `wants`."""


def a_case(*expectations: Expectation, world: str = World.PLAIN, recorded: Transcript | None = None) -> Case:
    given = SingleTurn(message="Is it?")
    return Case(id="one", input=given, expectations=expectations, world=world, recorded=recorded)


def every_grader() -> list[Grader]:
    known = builtin_kit(builtin_profiles()).graders
    return [grader.bind(GraderContext()) if isinstance(grader, BindableGrader) else grader for grader in known]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("recorded", RECORDINGS, ids=["no recording", "an answer", "spans"])
def test_the_selection_is_what_asking_every_grader_would_give(world: str, recorded: Transcript | None) -> None:
    graders = every_grader()
    selection = GraderSelection(graders)
    mixed = [(), *((each,) for each in EXPECTATIONS), EXPECTATIONS]
    for expectations in mixed:
        case = a_case(*expectations, world=world, recorded=recorded)
        assert list(selection.choose(case)[0]) == [grader for grader in graders if grader.wants(case)]
        assert list(selection.choose(case)[0]) == [grader for grader in graders if grader.wants(case)]


def test_a_question_with_options_bothers_few_graders() -> None:
    case = a_case(EXPECTATIONS[1], world=World.LEGAL)
    bothered = [grader.name for grader in every_grader() if may_want(grader, case)]
    assert "choice" in bothered
    assert not {"tool_calls", "criteria", "token_usage", "CoherenceExplain", "grounding"} & set(bothered)


@pytest.mark.parametrize(
    ("case", "heard"),
    [
        (a_case(Goal(text="a plan")), 1),
        (a_case(ToolCalls(expected=()), Goal(text="a plan")), 1),
        (a_case(ToolCalls(expected=())), 0),
        (a_case(), 0),
        (a_case(Goal(text="a plan"), world=World.LEGAL), 0),
    ],
    ids=["its kind", "among others", "another kind", "no expectation", "another world"],
)
def test_a_grader_is_asked_about_cases_of_the_kind_it_names(case: Case, heard: int) -> None:
    grader = Listening()
    assert list(GraderSelection([grader]).choose(case)[0]) == [grader] * heard
    assert grader.heard == heard


def test_a_subclass_with_another_wish_has_to_say_it_anew() -> None:
    case = a_case(world=World.LEGAL)
    assert may_want(Eager(), case)
    assert not may_want(Undeclared(), case)
    assert not may_want(ExplainEval("CoherenceExplain"), case)
    assert may_want(LibraryEval("ToxicityExplain"), case)


def test_a_grader_that_says_nothing_is_always_asked() -> None:
    class Plain:
        name = "plain"

        def wants(self, case: Case) -> bool:
            return bool(case.tags)

        async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
            return ()

    grader = Plain()
    assert list(GraderSelection([grader]).choose(a_case())[0]) == []
    tagged = Case(id="two", input=SingleTurn(message="Is it?"), tags=("x",))
    assert list(GraderSelection([grader]).choose(tagged)[0]) == [grader]
