"""What is written down while judging, and that it can be judged from again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.errors import JudgeFailed
from howsure.judges.base import JudgeReply, Question, SelectiveJudge
from howsure.judges.recordings import RecordedJudge, RecordingJudge
from howsure.judges.replies import ask_until_readable, read_check
from howsure.model.score import Part
from howsure.testing import ScriptedJudge, a_case, a_transcript

PART = Part(id="c-1", text="Greets", position=1)
QUESTION = Question(grader="criteria", case=a_case(), transcript=a_transcript("Hi"), part=PART)


async def test_a_line_holds_everything_that_tells_replies_apart() -> None:
    lines: list[bytes] = []
    judge = RecordingJudge(ScriptedJudge({"criteria": {"passed": True}}), lines.append, candidate="gpt", repeat=2)
    await judge.ask(QUESTION)
    assert [json.loads(line) for line in lines] == [
        {
            "case_id": "case-1",
            "candidate": "gpt",
            "repeat": 2,
            "grader": "criteria",
            "criterion_id": "c-1",
            "judge": "scripted",
            "attempt": 1,
            "reply": {"passed": True},
        }
    ]
    assert lines[0].endswith(b"\n")


@pytest.mark.parametrize(
    "replies",
    [
        ["yes"],
        [{"passed": False, "reason": "näin 😀"}],
        ["hm", "no"],
        ["text\nwith \u2028 lines and \ud83d", {"met": True}],
        [{"score": float("nan")}, {"score": 1}],
    ],
    ids=["text", "object", "second attempt", "odd characters", "NaN"],
)
async def test_a_replay_gives_the_same_ruling(tmp_path: Path, replies: list[Any]) -> None:
    path = tmp_path / "judge.jsonl"
    with path.open("wb") as file:
        first, _ = await ask_until_readable(
            RecordingJudge(ScriptedJudge({"criteria": replies}), file.write), QUESTION, read_check
        )
    replayed, reply = await ask_until_readable(RecordedJudge.load(path).at("", 1), QUESTION, read_check)
    assert replayed == first
    assert reply.judge == "scripted"


async def test_a_replay_fails_in_the_same_words(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    live = ScriptedJudge({"criteria": ["hm", {"score": 7}]})
    with path.open("wb") as file, pytest.raises(JudgeFailed) as first:
        await ask_until_readable(RecordingJudge(live, file.write), QUESTION, read_check)
    with pytest.raises(JudgeFailed) as again:
        await ask_until_readable(RecordedJudge.load(path).at("", 1), QUESTION, read_check)
    assert str(again.value) == str(first.value)


async def test_a_judge_that_fails_fails_again_in_the_same_words(tmp_path: Path) -> None:
    lines: list[bytes] = []
    with pytest.raises(JudgeFailed) as failed:
        await RecordingJudge(ScriptedJudge({}), lines.append).ask(QUESTION)
    path = tmp_path / "judge.jsonl"
    path.write_bytes(b"".join(lines))
    with pytest.raises(JudgeFailed) as again:
        await RecordedJudge.load(path).at("", 1).ask(QUESTION)
    assert str(again.value) == str(failed.value)


async def test_what_the_judge_covers_is_what_its_recorder_covers(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    path.write_text(json.dumps({"case_id": "case-1", "grader": "safety", "reply": "1"}))
    judge = RecordingJudge(RecordedJudge.load(path).at("", 1), lambda line: None)
    assert isinstance(judge, SelectiveJudge)
    assert judge.covers("case-1", "safety")
    assert not judge.covers("case-2", "safety")
    assert RecordingJudge(ScriptedJudge({}), lambda line: None).covers("case-2", "safety")


class Knowing:
    """A judge that knows more about its reply than it says."""

    name = "knowing"

    async def ask(self, question: Question) -> JudgeReply:
        return JudgeReply(content="yes", judge=self.name, details={"prob_score": 4.5})


async def test_what_is_known_beside_the_reply_is_replayed_too(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    with path.open("wb") as file:
        await RecordingJudge(Knowing(), file.write).ask(QUESTION)
    recording = RecordedJudge.load(path)
    assert recording.warnings == ()
    assert (await recording.at("", 1).ask(QUESTION)).details == {"prob_score": 4.5}
