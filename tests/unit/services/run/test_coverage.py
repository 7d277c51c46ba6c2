"""What is missing is counted over all cases and lanes before anything is spent."""

from __future__ import annotations

import pytest

from howsure.errors import PlanRefused
from howsure.model.case import Case, Scenario
from howsure.model.expectation import ExpectedCall, ForbiddenTools, ToolCalls
from howsure.model.transcript import BrokenRecording, Message, Role, Transcript
from howsure.services.run.preflight import CandidateKey, CoverageCheck, Sides, named_tools
from howsure.targets.recordings import RecordedTarget
from howsure.testing import ScriptedTarget, ScriptedUser, a_case
from howsure.users.offline_users import OfflineUsers
from howsure.users.scripts import ReplayedUsers
from recorded_answers import plain_recordings

TALK = Transcript(answer="Hello", messages=(Message(role=Role.USER, content="Hi"),))
ANSWER = Transcript(answer="Hello")
SCENARIO = a_case(id="s", input=Scenario(persona="P", initial_message="Hi"))


def watched(sides: dict[CandidateKey, Sides], *cases: Case, left_out: bool = False) -> CoverageCheck:
    watch = CoverageCheck(sides, None, left_out=left_out)
    for case in cases:
        watch(case)
    return watch


def test_missing_answers_are_counted_and_ten_are_named() -> None:
    recorded = RecordedTarget(plain_recordings({"c0": "x"}))
    watch = watched({("juno", 2): (recorded, OfflineUsers())}, *(a_case(id=f"c{number}") for number in range(13)))
    with pytest.raises(PlanRefused) as caught:
        watch.refuse()
    assert str(caught.value) == (
        "12 answers are missing: c1 by juno (repeat 2), c2 by juno (repeat 2), c3 by juno (repeat 2),"
        " c4 by juno (repeat 2), c5 by juno (repeat 2), c6 by juno (repeat 2), c7 by juno (repeat 2),"
        " c8 by juno (repeat 2), c9 by juno (repeat 2), c10 by juno (repeat 2) and 2 more."
        " Name a file with --responses, or a live --target. With --partial, what was recorded is graded."
    )


def test_a_recording_of_a_part_is_graded_and_one_of_nothing_is_refused() -> None:
    sides: dict[CandidateKey, Sides] = {("", 1): (RecordedTarget(plain_recordings({"c0": "x"})), OfflineUsers())}
    watch = watched(sides, a_case(id="c0"), a_case(id="c1"), left_out=True)
    watch.refuse()
    assert watch.warnings(None) == ["1 without a recorded answer: skipped (--partial)"]
    with pytest.raises(PlanRefused) as caught:
        watched(sides, a_case(id="c1"), a_case(id="c2"), left_out=True).refuse()
    assert str(caught.value) == (
        "nothing is left to grade with --partial: no case has a recorded answer (c1, c2). Answers are found by the ids"
        " of their cases, or by what the user said; name a file with some of these with --responses."
    )


def test_what_cannot_be_replayed_is_refused_before_the_agent_is_asked() -> None:
    users = ReplayedUsers({"a": TALK, "b": ANSWER})
    cases = [
        a_case(id="a"),
        a_case(id="b"),
        a_case(id="c"),
        a_case(id="d", recorded=TALK),
        a_case(id="e", recorded=BrokenRecording(reason="broke")),
    ]
    with pytest.raises(PlanRefused) as caught:
        watched({("", 1): (ScriptedTarget("x"), users)}, *cases).refuse()
    assert str(caught.value) == (
        "3 earlier conversations to replay are missing: b, c, e. Name a file of whole conversations, or run:RUN, with"
        " --responses."
    )


def test_a_live_target_needs_no_answers() -> None:
    watched({("", 1): (ScriptedTarget("x"), OfflineUsers())}, a_case(), SCENARIO).refuse()
    watched({("", 1): (ScriptedTarget("x"), ReplayedUsers({"s": TALK}))}, SCENARIO).refuse()


def test_scenarios_count_as_simulated_where_the_agent_is_live() -> None:
    users = ScriptedUser()
    assert watched({("", 1): (ScriptedTarget("x"), users)}, a_case(), SCENARIO, SCENARIO).simulated == 2
    recorded = RecordedTarget(plain_recordings({"s": "x"}))
    assert watched({("", 1): (recorded, users)}, SCENARIO).simulated == 0
    assert users.opened == []


def test_the_tools_a_case_names_are_those_it_expects_and_those_it_forbids() -> None:
    case = a_case(ToolCalls(expected=(ExpectedCall(name="look"),)), ForbiddenTools(names=("pay", "send")))
    assert named_tools(case) == ["look", "pay", "send"]


def test_recorded_answers_that_no_case_has_are_named() -> None:
    sides: dict[CandidateKey, Sides] = {("", 1): (RecordedTarget(plain_recordings({"c0": "x"})), OfflineUsers())}
    for ids, said in (
        ({"c0", "C1"}, "No case has the id 'C1': recorded answers that are not used."),
        ({"c0", "d", "e"}, "No case has the ids 'd', 'e': recorded answers that are not used."),
    ):
        watch = CoverageCheck(sides, None, answered=ids)
        watch(a_case(id="c0"))
        watch.refuse()
        assert watch.warnings(None) == [said]
        watch(a_case(id="c1"))
        with pytest.raises(PlanRefused) as caught:
            watch.refuse()
        assert str(caught.value).endswith(said)
