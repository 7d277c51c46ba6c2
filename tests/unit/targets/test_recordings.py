"""The recorded target: the right recording for the case, candidate and repeat, and no answer made up."""

from __future__ import annotations

import pytest

from howsure.errors import TargetFailed, TargetTimedOut
from howsure.model.case import Script
from howsure.model.transcript import BrokenRecording, Transcript
from howsure.targets.base import FinishedSession
from howsure.targets.recordings import RecordedTarget, Recordings
from howsure.testing import a_case


def answer(text: str) -> Transcript:
    return Transcript(answer=text)


async def opened(target: RecordedTarget, **fields: object) -> str:
    session = await target.open(a_case(**fields))  # type: ignore[arg-type]
    assert isinstance(session, FinishedSession)
    return session.transcript.answer


RECORDINGS = Recordings(
    {
        ("case-1", "juno", 1): answer("juno said"),
        ("case-1", "juno", 2): answer("juno said again"),
        ("case-1", "", 1): answer("anybody said"),
        ("case-2", "", 1): answer("shared"),
        ("case-3", "juno", 1): BrokenRecording(reason="timed out after 30 s"),
    },
    {(("Hi", "Bye"), "", 1): answer("found by turns")},
)


@pytest.mark.parametrize(
    ("candidate", "repeat", "expected"),
    [("juno", 1, "juno said"), ("juno", 2, "juno said again"), ("orchid", 1, "anybody said"), ("", 1, "anybody said")],
    ids=["by name", "by repeat", "an unnamed answer serves every candidate", "without a name"],
)
async def test_the_recording_is_found_by_case_candidate_and_repeat(candidate: str, repeat: int, expected: str) -> None:
    assert await opened(RecordedTarget(RECORDINGS, candidate, repeat)) == expected


async def test_what_the_user_said_finds_a_recording_without_an_id() -> None:
    said = await opened(RecordedTarget(RECORDINGS), id="other", input=Script(turns=("Hi", "Bye")))
    assert said == "found by turns"


async def test_a_conversation_that_broke_is_a_failure_of_the_target() -> None:
    with pytest.raises(TargetFailed, match="the recorded conversation broke: timed out after 30 s"):
        await RecordedTarget(RECORDINGS, "juno").open(a_case(id="case-3"))


async def test_what_broke_in_an_earlier_run_breaks_in_the_same_words() -> None:
    late = BrokenRecording(reason="target 'bot': no reply within 30 seconds", failure_kind="TargetTimedOut")
    target = RecordedTarget(Recordings(by_case={("case-9", "", 1): late}, of_run=True))
    with pytest.raises(TargetTimedOut, match=r"^target 'bot': no reply within 30 seconds$"):
        await target.open(a_case(id="case-9"))


async def test_nothing_recorded_is_said_and_not_made_up() -> None:
    target = RecordedTarget(RECORDINGS, "juno", 3)
    assert not target.covers(a_case(id="case-2"))
    with pytest.raises(TargetFailed, match="nothing was recorded for 'case-2'"):
        await target.open(a_case(id="case-2"))


async def test_without_recordings_the_case_brings_its_own() -> None:
    assert await opened(RecordedTarget(), recorded=answer("in the dataset")) == "in the dataset"
    assert not RecordedTarget().covers(a_case())


def test_the_candidates_come_in_the_order_of_the_file() -> None:
    assert RECORDINGS.candidates == ("juno", "")
