"""Who is answerable for a case that did not pass."""

from __future__ import annotations

import pytest

from howsure.model.result import Failure
from howsure.model.score import FREE, ZERO_TO_FIVE, Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.simulation import Ending, Fault, MistakeKind, Party, Simulation, UserMistake
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from howsure.model.verdict import Verdict
from howsure.users.attribution import find_fault

FAILED, ERRORED = Verdict.FAILED, Verdict.ERRORED
LOW = Score(name="criteria", value=0, pass_mark=1, reason="the fee was not named")


def talk(*calls: ToolCall, slips: tuple[UserMistake, ...] = ()) -> Transcript:
    messages = tuple(Message(role=Role.ASSISTANT, tool_calls=(call,)) for call in calls)
    played = Simulation(user="offline", ending=Ending.GOAL_REACHED, slips=slips)
    return Transcript(answer="", messages=messages, simulation=played)


def call(name: str, content: object, *, failed: bool = True) -> ToolCall:
    return ToolCall(name=name, result=ToolResult(content=content, failed=failed))


def slip(*, spoils: bool = True) -> UserMistake:
    return UserMistake(kind=MistakeKind.INVENTED_FACT, turn=2, reason="states '17'", evidence="It's 17.", spoils=spoils)


def party(found: Fault | None) -> Party | None:
    return found.party if found else None


@pytest.mark.parametrize("verdict", [Verdict.PASSED, Verdict.SKIPPED])
def test_nobody_is_at_fault_for_what_passed_or_was_left_out(verdict: Verdict) -> None:
    assert find_fault(verdict, talk(slips=(slip(),)), [LOW]) is None


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("SimulatorFailed", "user 'x': no usable reply", Party.SIMULATOR),
        ("TargetFailed", "target 'http': cannot reach http://127.0.0.1:9", Party.ENVIRONMENT),
        ("TargetFailed", "target 'http': ConnectionError: refused", Party.ENVIRONMENT),
        ("TargetFailed", "target 'http': HTTP 503 Service Unavailable", Party.ENVIRONMENT),
        ("TargetFailed", "target 'http': HTTP 500: division by zero", Party.AGENT),
        ("TargetFailed", "target 'function': ValueError: nothing", Party.AGENT),
        ("TargetFailed", "target 'http': SSLError: handshake", Party.ENVIRONMENT),
        ("TargetFailed", "target 'function': ClientConnectorDNSError: shop.example", Party.ENVIRONMENT),
        ("TargetFailed", "cannot reach https://x: its certificate is not trusted", Party.ENVIRONMENT),
        ("TargetFailed", "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", Party.ENVIRONMENT),
        ("TargetFailed", "target 'function': ProxyError: 10.0.0.1", Party.ENVIRONMENT),
        ("TargetFailed", "target 'http': HTTP 429 Too Many Requests", Party.ENVIRONMENT),
        ("TargetFailed", "target 'command': no such file: bot.py", Party.ENVIRONMENT),
        ("TargetFailed", "target 'adk': 429 RESOURCE_EXHAUSTED. Quota exceeded", Party.ENVIRONMENT),
        ("TargetFailed", "target 'adk': ClientError: RESOURCE_EXHAUSTED", Party.ENVIRONMENT),
        ("TargetFailed", "target 'function': RateLimitError: try later", Party.ENVIRONMENT),
        ("TargetFailed", "target 'function': ModuleNotFoundError: No module named 'passlib'", Party.AGENT),
        ("TargetFailed", "target 'function': KeyError: 'lossless'", Party.AGENT),
        ("TargetFailed", "target 'function': ValueError: gift certificate GC-1 is unknown", Party.AGENT),
        ("ModelRefused", "openai: refused", Party.ENVIRONMENT),
        ("ModelTimedOut", "openai: 60 s", Party.ENVIRONMENT),
        ("TargetTimedOut", "target 'http': no answer in 30 s", Party.AGENT),
        ("ModelFailed", "openai: no answer", Party.ENVIRONMENT),
        ("JudgeFailed", "judge 'x': unreadable", Party.JUDGE),
        ("GraderFailed", "grader 'x': KeyError: 'a'", Party.EVALUATION),
        ("ToolFailed", "API error: 401 Unauthorized", Party.ENVIRONMENT),
        ("RecordUnreadable", "record 3: no id", Party.EVALUATION),
        ("SomethingElse", "odd", Party.EVALUATION),
    ],
)
def test_what_broke_says_whose_fault_an_errored_case_is(kind: str, message: str, expected: Party) -> None:
    found = find_fault(ERRORED, None, (), [Failure(kind=kind, message=message)])
    assert found is not None
    assert (found.party, found.evidence) == (expected, message)


def test_the_conversation_comes_before_the_grading() -> None:
    failures = [Failure(kind="GraderFailed", message="g"), Failure(kind="SimulatorFailed", message="s")]
    assert party(find_fault(ERRORED, None, (), failures)) is Party.SIMULATOR


@pytest.mark.parametrize(
    ("grade", "expected"),
    [
        (Unscored(name="criteria", why=UnscoredReason.ERROR, reason="no verdict", judge="gpt"), Party.JUDGE),
        (Unscored(name="criteria", why=UnscoredReason.ERROR, reason="judge 'gpt': no reply"), Party.JUDGE),
        (Unscored(name="final_state", why=UnscoredReason.ERROR, reason="bad path"), Party.EVALUATION),
    ],
)
def test_a_value_that_could_not_be_had(grade: Grade, expected: Party) -> None:
    found = find_fault(ERRORED, talk(), [grade])
    assert found == Fault(party=expected, reason=f"`{grade.name}` has no value", evidence=grade.reason)


def test_a_grade_that_gates_nothing_is_nobodys_fault() -> None:
    free = Unscored(name="cost", why=UnscoredReason.ERROR, reason="no price", details={FREE: True})
    gating = Unscored(name="criteria", why=UnscoredReason.ERROR, reason="unreadable", judge="gpt")
    found = find_fault(ERRORED, talk(), [free, gating])
    assert found is not None
    assert found.reason == "`criteria` has no value"


def test_a_failed_case_is_the_agents_with_the_failing_reason() -> None:
    found = find_fault(FAILED, talk(), [Score(name="safety", value=1, pass_mark=1), LOW])
    assert found == Fault(party=Party.AGENT, reason="`criteria` is below its mark", evidence="the fee was not named")


def test_a_conversation_that_the_user_spoiled_is_the_simulators() -> None:
    found = find_fault(FAILED, talk(slips=(slip(),)), [LOW])
    assert found == Fault(
        party=Party.SIMULATOR,
        reason="the simulated user spoiled the conversation in turn 2: states '17'",
        evidence="It's 17.",
    )


def test_a_slip_that_spoils_nothing_leaves_it_with_the_agent() -> None:
    assert party(find_fault(FAILED, talk(slips=(slip(spoils=False),)), [LOW])) is Party.AGENT


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ((call("refund", "HTTP 503 service unavailable"),), Party.ENVIRONMENT),
        ((call("refund", {"error": "connection timed out"}),), Party.ENVIRONMENT),
        ((call("refund", "no such order"),), Party.AGENT),
        ((call("refund", "timed out"), call("refund", "ok", failed=False)), Party.AGENT),
        ((call("refund", "ok", failed=False), call("refund", "timed out")), Party.ENVIRONMENT),
        ((call("live_handoff", "service unavailable"),), Party.AGENT),
        ((call("refund", "timed out", failed=False),), Party.AGENT),
    ],
    ids=["down", "an object", "an answer", "worked later", "broke later", "nobody to take over", "did not fail"],
)
def test_tools_that_did_not_work_are_the_environments(calls: tuple[ToolCall, ...], expected: Party) -> None:
    assert party(find_fault(FAILED, talk(*calls), [LOW])) is expected


def test_long_evidence_is_cut() -> None:
    found = find_fault(ERRORED, None, (), [Failure(kind="JudgeFailed", message="x" * 500)])
    assert found is not None
    assert len(found.evidence) == 201


def test_a_failed_case_without_grades_is_still_attributed() -> None:
    assert find_fault(FAILED, None) == Fault(party=Party.AGENT, reason="the case failed")


@pytest.mark.parametrize(("value", "answerable"), [(2.0, Party.SIMULATOR), (3.0, Party.AGENT)])
def test_a_user_whom_the_judge_finds_misleading_is_answerable(value: float, answerable: Party) -> None:
    judged = Score(name="simulator_fidelity_judged", value=value, scale=ZERO_TO_FIVE, reason="it made up a refund")
    assert party(find_fault(FAILED, talk(), [LOW, judged])) is answerable


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("JudgeFailed", "GraderFailed"), Party.JUDGE),
        (("GraderFailed", "TargetTimedOut"), Party.AGENT),
        (("TargetTimedOut", "ModelFailed"), Party.ENVIRONMENT),
        (("Unheard", "JudgeFailed"), Party.JUDGE),
        (("Unheard", "Odd"), Party.EVALUATION),
    ],
)
def test_of_several_failures_the_earliest_in_the_conversation_counts(kinds: tuple[str, ...], expected: Party) -> None:
    failures = [Failure(kind=kind, message=kind) for kind in kinds]
    assert party(find_fault(ERRORED, talk(), (), failures)) is expected
    assert party(find_fault(ERRORED, talk(), (), failures[::-1])) is expected


def test_what_nobody_knows_is_shown_in_its_own_words() -> None:
    found = find_fault(
        ERRORED, None, (), [Failure(kind="Unheard", message="first"), Failure(kind="Odd", message="second")]
    )
    assert found == Fault(party=Party.EVALUATION, reason="the evaluation broke", evidence="first")
    silent = Unscored(name="x", why=UnscoredReason.NO_JUDGE, reason="no judge was asked")
    assert find_fault(ERRORED, None, [LOW, silent]) == Fault(
        party=Party.EVALUATION, reason="the evaluation broke", evidence="no judge was asked"
    )
    assert find_fault(ERRORED, None) == Fault(party=Party.EVALUATION, reason="the evaluation broke")


@pytest.mark.parametrize("why", [UnscoredReason.NOT_APPLICABLE, UnscoredReason.NO_JUDGE])
def test_a_grade_that_is_left_out_for_good_reason_is_no_fault(why: UnscoredReason) -> None:
    left_out = Unscored(name="x", why=why, reason="r")
    broken = Unscored(name="y", why=UnscoredReason.ERROR, reason="bad path")
    found = find_fault(ERRORED, None, [left_out, broken])
    assert found is not None
    assert found.reason == "`y` has no value"


def test_a_spoiled_conversation_that_errored_for_nothing_else_is_the_simulators() -> None:
    assert party(find_fault(ERRORED, talk(slips=(slip(),)))) is Party.SIMULATOR
    failed = [Failure(kind="TargetTimedOut", message="m")]
    assert party(find_fault(ERRORED, talk(slips=(slip(),)), (), failed)) is Party.AGENT


def test_a_spoiled_conversation_comes_before_what_broke_in_its_grading() -> None:
    failed = [Failure(kind="GraderFailed", message="m")]
    unscored = [Unscored(name="criteria", why=UnscoredReason.ERROR, reason="the offline judge cannot tell")]
    assert party(find_fault(ERRORED, talk(slips=(slip(),)), unscored, failed)) is Party.SIMULATOR


def test_the_first_slip_that_spoils_is_the_one_that_is_named() -> None:
    harmless, later = slip(spoils=False), UserMistake(kind=MistakeKind.WENT_ON, turn=5, reason="goes on", evidence="Hi")
    found = find_fault(FAILED, talk(slips=(harmless, later)), [LOW])
    assert found is not None
    assert found.reason == "the simulated user spoiled the conversation in turn 5: goes on"


def test_a_whole_grade_is_named_before_its_parts() -> None:
    part = Score(name="criteria", value=0, pass_mark=1, reason="part", part=Part(id="c", text="t"))
    whole = Score(name="safety", value=0, pass_mark=1, evidence=("seen", "later"))
    assert find_fault(FAILED, talk(), [part, whole]) == Fault(
        party=Party.AGENT, reason="`safety` is below its mark", evidence="seen"
    )
    assert find_fault(FAILED, talk(), [part]) == Fault(
        party=Party.AGENT, reason="`criteria` is below its mark", evidence="part"
    )
    measured = Score(name="cost", value=0)
    assert find_fault(FAILED, talk(), [measured]) == Fault(party=Party.AGENT, reason="the case failed")


def test_a_tool_that_broke_shows_what_it_answered() -> None:
    found = find_fault(FAILED, talk(call("refund", {"error": "Zeitüberschreitung: timeout", "code": 1})), [LOW])
    assert found == Fault(
        party=Party.ENVIRONMENT,
        reason="the tool 'refund' did not work",
        evidence='{"error": "Zeitüberschreitung: timeout", "code": 1}',
    )


def test_a_call_without_a_result_broke_nothing() -> None:
    assert party(find_fault(FAILED, talk(ToolCall(name="refund")), [LOW])) is Party.AGENT


@pytest.mark.parametrize("text", ["x" * 200, "é" * 200])
def test_evidence_of_exactly_the_limit_is_whole(text: str) -> None:
    found = find_fault(ERRORED, None, (), [Failure(kind="JudgeFailed", message=text)])
    assert found is not None
    assert found.evidence == text


def test_an_error_that_another_tool_tells_of_is_no_broken_grader() -> None:
    found = find_fault(ERRORED, None, (), [Failure(kind="ToolFailed", message="API error: 401 Unauthorized")])
    assert found is not None
    assert found.reason == "the target or its provider gave an error, as the tool that ran it tells"
