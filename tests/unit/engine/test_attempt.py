"""The heart: what comes of one case, whatever breaks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from howsure.engine.attempt import attempt
from howsure.engine.candidates import CandidateRepeat, Rules
from howsure.errors import JudgeFailed, TargetTimedOut
from howsure.graders.base import Grader
from howsure.graders.measures import measures
from howsure.model.case import Case, Script, World
from howsure.model.flag import NO_ANSWER, Flag
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.model.simulation import Ending, MistakeKind, Simulation, UserMistake
from howsure.model.transcript import BrokenRecording, Span, Transcript
from howsure.model.verdict import Decision, Profile, Verdict
from howsure.targets.base import Closing, Reply, Target
from howsure.targets.recordings import RecordedTarget
from howsure.testing import ScriptedTarget, a_case, a_transcript


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


def lane(target: Target, *graders: Grader) -> CandidateRepeat:
    return CandidateRepeat(target=target, graders=graders, candidate="juno", repeat=2)


GOOD = Score(name="good", value=1, pass_mark=1)
BAD = Score(name="bad", value=0, pass_mark=1)


async def test_a_case_that_reaches_every_mark_passes() -> None:
    result = await attempt(a_case(), lane(ScriptedTarget("hello"), Marks("good", GOOD)), RULES)
    assert result.verdict is Verdict.PASSED
    assert result.transcript is not None
    assert result.transcript.answer == "hello"
    assert (result.candidate, result.repeat) == ("juno", 2)


SLIP = UserMistake(kind=MistakeKind.STOPPED_EARLY, turn=1, reason="leaves after the greeting")


@pytest.mark.parametrize("grade", [GOOD, BAD], ids=["would pass", "would fail"])
async def test_a_conversation_that_the_simulator_spoiled_is_errored_whatever_its_grades(grade: Score) -> None:
    simulation = Simulation(user="offline", ending=Ending.GOAL_REACHED, slips=(SLIP,))
    target = ScriptedTarget(a_transcript("Hello!", simulation=simulation))
    result = await attempt(a_case(), lane(target, Marks("x", grade)), RULES)
    assert result.verdict is Verdict.ERRORED
    assert result.reasons == ("the simulated user spoiled the conversation in turn 1: leaves after the greeting",)
    assert result.grades == (grade,)


async def test_a_mistake_that_spoils_nothing_leaves_the_verdict() -> None:
    small = UserMistake(kind=MistakeKind.UNASKED_FACT, turn=1, reason="tells a fact", spoils=False)
    simulation = Simulation(user="offline", ending=Ending.GOAL_REACHED, slips=(small,))
    target = ScriptedTarget(a_transcript("Hello!", simulation=simulation))
    assert (await attempt(a_case(), lane(target, Marks("x", GOOD)), RULES)).verdict is Verdict.PASSED


async def test_a_conversation_that_broke_is_measured_and_not_graded() -> None:
    spans = (Span(name="execute_tool a"),)
    broken = BrokenRecording(reason="503", transcript=a_transcript("", spans=spans))
    case = a_case(world=World.GOLDEN, recorded=broken)
    used = next(measure for measure in measures() if measure.name == "tool_utilization")
    result = await attempt(case, lane(RecordedTarget(), used, Marks("good", GOOD)), RULES)
    assert (result.verdict, result.reasons) == (Verdict.ERRORED, ("the recorded conversation broke: 503",))
    assert [(grade.name, grade.value) for grade in result.grades if isinstance(grade, Score)] == [
        ("tool_utilization", 1.0)
    ]
    assert result.recording == BrokenRecording(
        reason="the recorded conversation broke: 503", transcript=broken.transcript, failure_kind="TargetFailed"
    )


@pytest.mark.parametrize(("spans", "measured"), [((Span(name="execute_tool a"),), [1.0]), (None, [])])
async def test_a_test_set_is_measured_where_its_conversation_has_spans(
    spans: tuple[Span, ...] | None, measured: list[float]
) -> None:
    used = next(measure for measure in measures() if measure.name == "tool_utilization")
    target = ScriptedTarget(a_transcript("Hi", spans=spans))
    result = await attempt(a_case(world=World.TEST_SET), lane(target, used, Marks("good", GOOD)), RULES)
    assert [grade.value for grade in result.grades if isinstance(grade, Score) and grade.name == used.name] == measured


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
    assert first.why is UnscoredReason.ERROR
    assert second == GOOD


async def test_a_judge_that_fails_is_named_as_such() -> None:
    result = await attempt(a_case(), lane(ScriptedTarget("x"), Marks("judged", JudgeFailed("unreadable"))), RULES)
    assert result.failures[0].kind == "JudgeFailed"


async def test_a_grader_that_wants_nothing_of_the_case_is_not_asked() -> None:
    result = await attempt(a_case(), lane(ScriptedTarget("x"), Marks("idle", BAD, wanted=False)), RULES)
    assert result.grades == ()


class Tempo:
    """Answers so many milliseconds after it was asked, by the clock that it keeps itself."""

    name = "tempo"

    def __init__(self, *turns: float | Exception | Reply, closing: float = 0.0) -> None:
        self._turns = turns
        self._closing = closing
        self.now = 100.0

    def stopwatch(self) -> float:
        return self.now

    async def open(self, case: Case) -> Tempo:
        self._left = iter(self._turns)
        self.now += 5
        return self

    async def send(self, text: str) -> Reply:
        match next(self._left):
            case Exception() as error:
                raise error
            case Reply() as reply:
                self.now += 1
                return reply
            case took:
                self.now += took / 1000
                return Reply.saying("done")

    async def close(self) -> Closing:
        self.now += self._closing
        return Closing()


def told(duration_ms: float | None) -> Reply:
    return Reply(messages=(), duration_ms=duration_ms)


@pytest.mark.parametrize(
    ("turns", "took"),
    [
        ((250.0,), 250.0),
        ((250.0, 500.0), 750.0),
        ((250.0, told(30.0)), 280.0),
        ((told(30.0), told(12.5)), 42.5),
        ((250.0, told(None)), None),
        ((told(None), 250.0), None),
        ((250.0, ConnectionError("refused")), None),
    ],
    ids=["one turn", "the sum of two", "by its own clock", "by its own alone", "cached", "cached first", "broken"],
)
async def test_how_long_the_agent_took_is_kept(
    turns: tuple[float | Exception | Reply, ...], took: float | None
) -> None:
    """Opening and closing the session, playing the user and grading are no part of it."""
    target = Tempo(*turns, closing=7.0)
    case = Case(id="1", input=Script(turns=("again",) * len(turns)))
    lane_ = CandidateRepeat(target=target, graders=(Marks("good", GOOD),), stopwatch=target.stopwatch)
    result = await attempt(case, lane_, RULES)
    assert result.transcript is not None
    assert result.transcript.duration_ms == pytest.approx(took)


async def test_graders_see_no_time_that_only_our_clock_tells() -> None:
    seen: list[float | None] = []

    class Looks(Marks):
        async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
            seen.append(transcript.duration_ms)
            return [GOOD]

    result = await attempt(a_case(), lane(Tempo(250.0), Looks("looks")), RULES)
    assert seen == [None]
    assert result.transcript is not None and result.transcript.duration_ms is not None


async def test_a_finished_conversation_is_taken_as_it_is() -> None:
    said = a_transcript("done", calls=[("refund", {"order": "1"})])
    result = await attempt(a_case(), lane(ScriptedTarget(said)), RULES)
    assert result.transcript is said


@pytest.mark.parametrize("grades", [(GOOD,), (), (Unscored(name="x", why=UnscoredReason.ERROR, reason="?"),)])
async def test_an_agent_that_ends_its_turn_without_a_word_fails_whatever_the_grades_are(
    grades: Sequence[Grade],
) -> None:
    silent = a_transcript(flags=(Flag(NO_ANSWER, "the agent 'desk' said nothing"),))
    result = await attempt(a_case(recorded=silent), lane(RecordedTarget(), Marks("marks", *grades)), RULES)
    assert result.verdict is Verdict.FAILED
    assert result.reasons[0] == "the agent 'desk' said nothing"


async def test_a_case_without_a_recording_is_skipped() -> None:
    result = await attempt(a_case(), lane(RecordedTarget(), Marks("marks", GOOD)), RULES)
    assert (result.verdict, result.reasons) == (Verdict.SKIPPED, ("nothing was recorded for 'case-1'",))
