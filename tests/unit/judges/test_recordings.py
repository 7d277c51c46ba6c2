"""What is written down while judging, and that it can be judged from again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.errors import DatasetInvalid, JudgeFailed, Level, Problem
from howsure.judges.base import JudgeReply, Question, SelectiveJudge
from howsure.judges.recordings import RecordedJudge, RecordingJudge
from howsure.judges.replies import ask_until_readable, read_check
from howsure.model.expectation import Criteria, Criterion, text_id
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


GREETS = Part(id="c-1", text="Greets the user", position=1)


def recording(tmp_path: Path, *lines: dict[str, Any] | str) -> RecordedJudge:
    return RecordedJudge.load(written(tmp_path, *lines))


def written(tmp_path: Path, *lines: dict[str, Any] | str) -> Path:
    path = tmp_path / "judge.jsonl"
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def a_line(reply: Any = "yes", **fields: Any) -> dict[str, Any]:
    return {"case_id": "case-1", "grader": "criteria", "reply": reply, **fields}


def asking(part: Part | None = None, attempt: int = 1, **case: Any) -> Question:
    return Question(grader="criteria", case=a_case(**case), transcript=a_transcript("Hi"), part=part, attempt=attempt)


@pytest.mark.parametrize(
    "criterion_id",
    ["c-1", "Greets the user", "1", 1, text_id("Greets the user")],
    ids=["id", "text", "position as text", "position", "hash of the text"],
)
async def test_a_criterion_goes_by_its_id_hash_text_or_position(tmp_path: Path, criterion_id: str | int) -> None:
    judge = recording(tmp_path, a_line("no", criterion_id=criterion_id)).at("", 1)
    assert (await judge.ask(asking(GREETS))).content == "no"
    assert judge.covers("case-1", "criteria", GREETS)


def test_the_hash_of_a_text_is_the_start_of_its_sha256() -> None:
    assert text_id("Greets the user") == "dabb1df0bbc8"


async def test_the_id_is_looked_for_before_the_position(tmp_path: Path) -> None:
    second = Part(id="1", text="Says goodbye", position=2)
    judge = recording(tmp_path, a_line("first", criterion_id="2"), a_line("second", criterion_id="1")).at("", 1)
    assert (await judge.ask(asking(second))).content == "second"


async def test_a_position_that_is_another_criterions_id_is_not_taken_for_it(tmp_path: Path) -> None:
    criteria = Criteria(criteria=(Criterion(id="2", text="Greets"), Criterion(id="1", text="Says goodbye")))
    case = a_case(criteria)
    judge = recording(tmp_path, a_line("for the one named 2", criterion_id="2")).at("", 1)
    question = Question(
        grader="criteria",
        case=case,
        transcript=a_transcript(),
        part=Part(id="1", text="Says goodbye", position=2),
    )
    with pytest.raises(JudgeFailed):
        await judge.ask(question)


@pytest.mark.parametrize(
    "question",
    [
        asking(Part(id="c-2", text="Other", position=2)),
        asking(None),
        asking(GREETS, attempt=2),
        asking(GREETS, id="case-2"),
    ],
    ids=["another criterion", "no criterion", "a second attempt", "another case"],
)
async def test_a_line_answers_nothing_but_its_own_question(tmp_path: Path, question: Question) -> None:
    judge = recording(tmp_path, a_line(criterion_id="c-1")).at("", 1)
    with pytest.raises(JudgeFailed, match="the recording has no reply for"):
        await judge.ask(question)


async def test_attempts_are_told_apart(tmp_path: Path) -> None:
    judge = recording(tmp_path, a_line("hm"), a_line("yes", attempt=2)).at("", 1)
    assert (await judge.ask(asking())).content == "hm"
    assert (await judge.ask(asking(attempt=2))).content == "yes"


@pytest.mark.parametrize(
    ("candidate", "repeat", "reply"),
    [("a", 1, "a in 1"), ("a", 2, "a"), ("b", 2, "any in 2"), ("b", 1, "any"), ("c", 1, "any")],
)
async def test_a_more_specific_line_wins(tmp_path: Path, candidate: str, repeat: int, reply: str) -> None:
    judge = recording(
        tmp_path,
        a_line("any"),
        a_line("any in 2", repeat=2),
        a_line("a", candidate="a"),
        a_line("a in 1", candidate="a", repeat=1),
    )
    assert (await judge.at(candidate, repeat).ask(asking())).content == reply


async def test_a_line_for_one_candidate_or_repeat_answers_for_no_other(tmp_path: Path) -> None:
    judge = recording(tmp_path, a_line(candidate="a", repeat=1))
    for candidate, repeat in (("b", 1), ("a", 2), ("", 1)):
        assert not judge.covers("case-1", "criteria", None, candidate, repeat)
        with pytest.raises(JudgeFailed):
            await judge.at(candidate, repeat).ask(asking())
    assert judge.covers("case-1", "criteria", None, "a", 1)


async def test_a_failure_says_what_was_asked(tmp_path: Path) -> None:
    judge = recording(tmp_path, a_line()).at("gpt", 3)
    with pytest.raises(JudgeFailed) as failure:
        await judge.ask(asking(GREETS, attempt=2))
    assert str(failure.value) == (
        "the recording has no reply for case 'case-1', grader 'criteria', criterion 'c-1', candidate 'gpt',"
        " repeat 3, attempt 2"
    )


async def test_replies_of_several_judges_are_not_chosen_from(tmp_path: Path) -> None:
    judge = recording(tmp_path, a_line("yes", judge="a"), a_line("no", judge="b")).at("", 1)
    with pytest.raises(JudgeFailed, match="the recording has 2 replies for case 'case-1'"):
        await judge.ask(asking())


async def test_a_reply_names_the_judge_that_gave_it(tmp_path: Path) -> None:
    judge = recording(tmp_path, a_line(judge="openai:x"), a_line(attempt=2)).at("", 1)
    assert (await judge.ask(asking())).judge == "openai:x"
    assert (await judge.ask(asking(attempt=2))).judge == "recorded"
    assert judge.name == "recorded"


@pytest.mark.parametrize(
    "line",
    [
        {"reply": "yes"},
        {"reply": {"score": 4}},
        {"reply": [{"text": "a", "verdict": True}]},
        {"reply": ""},
        {"sample": 1},
        {"sample": "x", "order": "ab"},
        {"order": [1, 0]},
        {"candidate": None, "repeat": None, "attempt": None, "criterion_id": None, "judge": None},
    ],
)
def test_every_shape_of_a_line_is_read(tmp_path: Path, line: dict[str, Any]) -> None:
    judge = recording(tmp_path, a_line() | line)
    assert judge.covers("case-1", "criteria", None, "anyone", 7)
    assert judge.warnings == ()


def test_marks_of_the_byte_order_line_ends_and_blank_lines_are_nothing(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(a_line()).encode() + b"\r\n\r\n  \n")
    assert RecordedJudge.load(path).covers("case-1", "criteria")


def test_a_field_nobody_reads_is_a_warning(tmp_path: Path) -> None:
    judge = recording(tmp_path, a_line(criterionid="c-1"))
    (warning,) = judge.warnings
    assert (warning.code, warning.level, warning.line, warning.field) == (
        "unknown-field",
        Level.WARNING,
        1,
        "criterionid",
    )
    assert warning.hint == "did you mean `criterion_id`?"


def problems(tmp_path: Path, *lines: dict[str, Any] | str) -> tuple[Problem, ...]:
    with pytest.raises(DatasetInvalid) as failure:
        recording(tmp_path, *lines)
    return failure.value.problems


@pytest.mark.parametrize(
    ("line", "code", "field"),
    [
        ({"grader": "g", "reply": "x"}, "missing-field", "case_id"),
        ({"case_id": "", "grader": "g", "reply": "x"}, "missing-field", "case_id"),
        ({"case_id": "a", "reply": "x"}, "missing-field", "grader"),
        ({"case_id": "a", "grader": "g"}, "missing-field", "reply"),
        ({"case_id": "a", "grader": "g", "reply": None}, "missing-field", "reply"),
        (a_line(case_id=7), "wrong-type", "case_id"),
        (a_line(grader=["g"]), "wrong-type", "grader"),
        (a_line(4), "wrong-type", "reply"),
        (a_line(True), "wrong-type", "reply"),
        (a_line(candidate=1), "wrong-type", "candidate"),
        (a_line(repeat="1"), "wrong-type", "repeat"),
        (a_line(repeat=0), "wrong-type", "repeat"),
        (a_line(repeat=1.5), "wrong-type", "repeat"),
        (a_line(attempt=-1), "wrong-type", "attempt"),
        (a_line(attempt=True), "wrong-type", "attempt"),
        (a_line(criterion_id=0), "wrong-type", "criterion_id"),
        (a_line(criterion_id={"id": "a"}), "wrong-type", "criterion_id"),
        (a_line(judge={}), "wrong-type", "judge"),
        ("[1]", "wrong-type", ""),
        ('"text"', "wrong-type", ""),
        ("{not json}", "json-syntax", ""),
        ('{"case_id": "a", "case_id": "b", "grader": "g", "reply": "x"}', "duplicate-key", "case_id"),
        ('{"case_id": "a", "grader": "g", "reply": {"score": 1, "score": 5}}', "duplicate-key", "score"),
        ('{"case_id": "a", "grader": "g", "reply": {"score": 1, "score" : 5}}', "duplicate-key", "score"),
    ],
)
def test_every_fault_of_a_line_is_a_problem_with_its_place(
    tmp_path: Path, line: dict[str, Any] | str, code: str, field: str
) -> None:
    found = problems(tmp_path, a_line("fine", case_id="other"), line)
    assert (found[0].code, found[0].field, found[0].line) == (code, field, 2)
    assert found[0].file.endswith("judge.jsonl")


def test_all_problems_come_in_one_report(tmp_path: Path) -> None:
    found = problems(tmp_path, {"repeat": 0}, "{", a_line(), a_line("no"), a_line(case_id=1, grader=2))
    assert [(problem.line, problem.code) for problem in found] == [
        (1, "missing-field"),
        (1, "missing-field"),
        (1, "missing-field"),
        (1, "wrong-type"),
        (2, "json-syntax"),
        (4, "duplicate-reply"),
        (5, "wrong-type"),
        (5, "wrong-type"),
    ]


def test_a_second_reply_to_the_same_question_names_the_first(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, a_line(criterion_id="a"), a_line(criterion_id="b"), a_line("no", criterion_id="a"))
    assert (
        problem.message == "a second reply for case 'case-1', grader 'criteria', criterion 'a'; the first is on line 1"
    )


def test_an_empty_file_is_a_problem(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "")
    assert problem.code == "empty-file"


def test_bytes_that_are_no_utf_8_are_a_problem_with_a_column(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    path.write_bytes(b'{"case_id": "\xff"}\n')
    with pytest.raises(DatasetInvalid) as failure:
        RecordedJudge.load(path)
    (problem,) = failure.value.problems
    assert (problem.code, problem.line, problem.column) == ("encoding", 1, 14)


def test_nesting_without_end_is_a_problem(tmp_path: Path) -> None:
    line = '{"case_id": "a", "grader": "g", "reply": ' + "[" * 100_000
    assert problems(tmp_path, line)[0].code in ("json-depth", "json-syntax")
