"""Whether the simulated user played fair: measured by program, rated by a judge that is a model, gating nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from howsure.graders.base import GraderContext
from howsure.graders.simulator_fidelity import NOT_SIMULATED, JudgedFidelityGrader, SimulatorFidelityGrader
from howsure.judges.recordings import RecordedJudge, RecordingJudge
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case, Scenario, Script
from howsure.model.expectation import Criteria, Criterion
from howsure.model.score import UNIT, ZERO_TO_FIVE, Grade, Score, Unscored, UnscoredReason
from howsure.model.simulation import Ending, MistakeKind, Simulation, UserMistake
from howsure.model.transcript import Transcript
from howsure.model.verdict import Profile, Verdict
from howsure.testing import ScriptedJudge, a_case, a_transcript

SCENARIO = a_case(id="lamp", input=Scenario(persona="In a hurry", initial_message="My lamp is broken."))
MADE_UP = UserMistake(
    kind=MistakeKind.INVENTED_FACT, turn=2, reason="the order number is nowhere given", evidence="B-7"
)
EARLY = UserMistake(kind=MistakeKind.UNASKED_FACT, turn=1, reason="nobody asked for it", spoils=False)


def played(*slips: UserMistake, **fields: Any) -> Transcript:
    given = {"user": "offline", "ending": Ending.GAVE_UP, "reason": "refused twice", **fields}
    return a_transcript("No.", simulation=Simulation(slips=slips, **given))


@pytest.mark.parametrize(
    ("transcript", "value", "reason"),
    [
        (played(), 1.0, "the simulated user kept to persona, facts and plan"),
        (played(EARLY), 1.0, "small slips only: turn 1: nobody asked for it"),
        (played(MADE_UP), 0.0, "turn 2: the order number is nowhere given"),
        (played(EARLY, MADE_UP), 0.0, "turn 1: nobody asked for it; turn 2: the order number is nowhere given"),
    ],
    ids=["true", "a small slip", "spoiled", "both"],
)
async def test_only_a_slip_that_spoils_counts_and_all_are_told(
    transcript: Transcript, value: float, reason: str
) -> None:
    (score,) = await SimulatorFidelityGrader().grade(SCENARIO, transcript)
    assert isinstance(score, Score)
    assert (score.name, score.value, score.scale, score.pass_mark) == ("simulator_fidelity", value, UNIT, 1.0)
    assert score.reason == reason


async def test_who_played_how_it_ended_and_what_was_thrown_away_are_details() -> None:
    (score,) = await SimulatorFidelityGrader().grade(SCENARIO, played(EARLY, discarded=((MADE_UP,),)))
    assert json.loads(json.dumps(score.details)) == {
        "user": "offline",
        "ending": "gave_up",
        "ending_reason": "refused twice",
        "slips": [{"kind": "unasked_fact", "turn": 1, "reason": "nobody asked for it", "spoils": False}],
        "discarded": [
            [{"kind": "invented_fact", "turn": 2, "reason": "the order number is nowhere given", "evidence": "B-7"}]
        ],
    }


@pytest.mark.parametrize("case", [a_case(), a_case(input=Script(turns=("Hi", "Bye")))], ids=["single turn", "script"])
def test_nobody_is_simulated_where_the_turns_are_written(case: Case) -> None:
    assert SimulatorFidelityGrader().wants(case) is False
    assert judged(ScriptedJudge({})).wants(case) is False
    assert SimulatorFidelityGrader().wants(SCENARIO) is True


async def test_a_recorded_scenario_has_no_value_of_either_and_the_judge_is_not_asked() -> None:
    judge = ScriptedJudge({"simulator_fidelity_judged": {"score": 5}})
    (by_program,) = await SimulatorFidelityGrader().grade(SCENARIO, a_transcript("Hello"))
    (by_judge,) = await judged(judge).grade(SCENARIO, a_transcript("Hello"))
    for grade in (by_program, by_judge):
        assert isinstance(grade, Unscored)
        assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, NOT_SIMULATED)
    assert judge.asked == []


def judged(judge: Any) -> JudgedFidelityGrader:
    return JudgedFidelityGrader().bind(GraderContext(judge=judge))


class Named(ScriptedJudge):
    def __init__(self, name: str) -> None:
        super().__init__({})
        self.name = name


@pytest.mark.parametrize(
    ("judge", "wanted"),
    [
        (None, False),
        (Named("offline"), False),
        (RecordingJudge(Named("offline"), lambda line: None), False),
        (Named("openai:gpt-5"), True),
        (RecordedJudge([]).at("", 1), False),
    ],
    ids=["no judge", "rules of thumb", "those, written down", "a model", "a recording without it"],
)
def test_only_a_judge_that_can_tell_is_asked(judge: Any, wanted: bool) -> None:
    assert judged(judge).wants(SCENARIO) is wanted


async def test_the_judges_rating_is_a_measure_from_0_to_5() -> None:
    reply = {"reason": "made up a number", "evidence": ["turn 3"], "score": 2}
    judge = ScriptedJudge({"simulator_fidelity_judged": reply})
    (score,) = await judged(judge).grade(SCENARIO, played(MADE_UP))
    assert isinstance(score, Score)
    assert (score.value, score.scale, score.pass_mark, score.judge) == (2.0, ZERO_TO_FIVE, None, "scripted")
    assert [question.grader for question in judge.asked] == ["simulator_fidelity_judged"]


async def test_a_judge_that_cannot_be_read_gives_no_value() -> None:
    (grade,) = await judged(ScriptedJudge({"simulator_fidelity_judged": {"score": 9}})).grade(SCENARIO, played())
    assert isinstance(grade, Unscored)
    assert grade.why is UnscoredReason.ERROR


POLICIES = builtin_kit([]).policies
SPOILED = Score(name="simulator_fidelity", value=0.0, pass_mark=1.0)
RATED = Score(name="simulator_fidelity_judged", value=0.0, scale=ZERO_TO_FIVE)
BROKEN = Unscored(name="simulator_fidelity_judged", why=UnscoredReason.ERROR, reason="unreadable", scale=ZERO_TO_FIVE)
UNJUDGED = Unscored(
    name="simulator_fidelity_judged", why=UnscoredReason.NO_JUDGE, reason="needs a judge", scale=ZERO_TO_FIVE
)
HOLDS = Score(name="final_state", value=1.0, pass_mark=1.0)


@pytest.mark.parametrize("world", POLICIES)
@pytest.mark.parametrize("grade", [SPOILED, RATED, BROKEN, UNJUDGED], ids=["spoiled", "rated 0", "broken", "unjudged"])
def test_it_decides_nothing_in_any_world(world: str, grade: Grade) -> None:
    case = a_case(Criteria(criteria=(Criterion(id="c", text="t"),)), world=world)
    alone = POLICIES[world](case, [grade], None)
    assert (alone.verdict, alone.reasons) == (Verdict.SKIPPED, ("nothing to decide",))
    without, beside = POLICIES[world](case, [HOLDS], None), POLICIES[world](case, [HOLDS, grade], None)
    assert (beside.verdict, beside.reasons) == (without.verdict, without.reasons)


@pytest.mark.parametrize("world", [world for world in POLICIES if world != "explain"])
def test_a_profile_that_names_it_makes_it_decide(world: str) -> None:
    strict = Profile(name="strict", marks={"simulator_fidelity": 1.0})
    assert POLICIES[world](a_case(world=world), [SPOILED], strict).verdict is Verdict.FAILED
