"""The heart: what comes of one case, whatever breaks."""

from __future__ import annotations

from collections.abc import Sequence

from assay.engine.attempt import attempt
from assay.engine.plan import Lane, Rules
from assay.errors import JudgeFailed, TargetTimedOut
from assay.graders.base import Grader
from assay.model.case import Case
from assay.model.profile import Profile
from assay.model.score import Grade, Score, Unscored, Why
from assay.model.transcript import Transcript
from assay.model.verdict import Decision, Verdict
from assay.targets.base import Target
from assay.testing import ScriptedTarget, a_case, a_transcript


class Marks:
    """A grader that gives what it was told to."""

    def __init__(self, name: str, *grades: Grade | Exception, wanted: bool = True) -> None:
        self.name = name
        self._grades = grades
        self._wanted = wanted

    def wants(self, case: Case) -> bool:
        return self._wanted

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        given: list[Grade] = []
        for grade in self._grades:
            if isinstance(grade, Exception):
                raise grade
            given.append(grade)
        return given


def all_must_pass(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """A policy for these tests: errors first, then marks."""
    if any(isinstance(grade, Unscored) for grade in grades):
        return Decision(verdict=Verdict.ERRORED, reasons=("broken",), grades=tuple(grades))
    passed = all(isinstance(grade, Score) and grade.passed for grade in grades)
    return Decision(verdict=Verdict.PASSED if passed else Verdict.FAILED, reasons=("marks",), grades=tuple(grades))


RULES = Rules(policies={}, fallback=all_must_pass, profiles={})


def lane(target: Target, *graders: Grader) -> Lane:
    return Lane(target=target, graders=graders, candidate="juno", repeat=2)


GOOD = Score(name="good", value=1, pass_mark=1)
BAD = Score(name="bad", value=0, pass_mark=1)


async def test_a_case_that_reaches_every_mark_passes() -> None:
    result = await attempt(a_case(), lane(ScriptedTarget("hello"), Marks("good", GOOD)), RULES)
    assert result.verdict is Verdict.PASSED
    assert result.transcript is not None
    assert result.transcript.answer == "hello"
    assert (result.candidate, result.repeat) == ("juno", 2)


async def test_one_mark_missed_fails_the_case() -> None:
    result = await attempt(a_case(), lane(ScriptedTarget("hello"), Marks("good", GOOD), Marks("bad", BAD)), RULES)
    assert result.verdict is Verdict.FAILED


async def test_a_target_that_breaks_is_an_error_not_a_fail() -> None:
    result = await attempt(a_case(), lane(ScriptedTarget(ConnectionError("refused")), Marks("good", GOOD)), RULES)
    assert result.verdict is Verdict.ERRORED
    assert result.failures[0].kind == "TargetFailed"
    assert result.failures[0].message == "target 'scripted': ConnectionError: refused"
    assert result.transcript is None
    assert result.grades == ()


async def test_a_failure_that_is_attributed_already_keeps_its_kind() -> None:
    result = await attempt(a_case(), lane(ScriptedTarget(TargetTimedOut("no answer in 30 s"))), RULES)
    assert result.failures[0].kind == "TargetTimedOut"
    assert result.reasons == ("no answer in 30 s",)


async def test_a_grader_that_breaks_leaves_the_other_grades_standing() -> None:
    broken = Marks("broken", ZeroDivisionError("division by zero"))
    result = await attempt(a_case(), lane(ScriptedTarget("hello"), broken, Marks("good", GOOD)), RULES)
    assert result.verdict is Verdict.ERRORED
    assert result.failures[0].message == "grader 'broken': ZeroDivisionError: division by zero"
    first, second = result.grades
    assert isinstance(first, Unscored)
    assert first.why is Why.ERROR
    assert second == GOOD


async def test_a_judge_that_fails_is_named_as_such() -> None:
    result = await attempt(a_case(), lane(ScriptedTarget("x"), Marks("judged", JudgeFailed("unreadable"))), RULES)
    assert result.failures[0].kind == "JudgeFailed"


async def test_a_grader_that_wants_nothing_of_the_case_is_not_asked() -> None:
    result = await attempt(a_case(), lane(ScriptedTarget("x"), Marks("idle", BAD, wanted=False)), RULES)
    assert result.grades == ()


async def test_a_finished_conversation_is_taken_as_it_is() -> None:
    said = a_transcript("done", calls=[("refund", {"order": "1"})])
    result = await attempt(a_case(), lane(ScriptedTarget(said)), RULES)
    assert result.transcript is said
