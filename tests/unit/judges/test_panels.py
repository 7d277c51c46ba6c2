"""A panel as graders meet it: every member asked, every reply read, one score with all of it in its details; and the
same again from its recording."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from howsure.config import PanelRule, PanelSettings, load
from howsure.errors import BudgetReached, ConfigInvalid, DatasetInvalid, JudgeFailed
from howsure.graders.base import GraderContext
from howsure.graders.criteria import CriteriaGrader, WeightedCriteriaGrader
from howsure.graders.judged_answers import ReferenceAnswerGrader
from howsure.graders.judged_evals import ExplainEval
from howsure.judges.base import Judge, JudgeReply, Question, VotingProcedure
from howsure.judges.live_judges import LiveJudge
from howsure.judges.panels import PanelJudge, PanelMember, total_cost
from howsure.judges.recordings import RecordedJudge, RecordingJudge
from howsure.model.case import World
from howsure.model.expectation import Criteria, Criterion, Qualities, ReferenceAnswer, WeightedCriteria
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.testing import ScriptedModel, a_case, a_transcript
from judge_questions import a_question

MAJORITY, MEAN, UNANIMOUS, ROUND_ROBIN = PanelRule
CASE = a_case(Criteria(criteria=(Criterion(id="c1", text="Greets"),)), world=World.TEST_SET)
TRANSCRIPT = a_transcript("Hello there")
YES, NO = {"passed": True, "reason": "it does"}, {"passed": False, "reason": "it does not"}
NOT_HERE = {"passed": "n/a", "reason": "no greeting is due"}
NAMES = ("ann", "bob", "cho", "dee")


class Voice:
    """Says its replies: one for every vote, or a list of them for every attempt of a vote."""

    def __init__(self, *replies: Any, cost: float | None = 0.25) -> None:
        self.name = "voice"
        self.asked: list[Question] = []
        self._replies = replies
        self._cost = cost

    async def ask(self, question: Question) -> JudgeReply:
        self.asked.append(question)
        reply = self._replies[max(question.vote, 1) - 1]
        if isinstance(reply, list):
            reply = reply[question.attempt - 1]
        if isinstance(reply, Exception):
            raise reply
        return JudgeReply(content=reply, judge="voice", cost_usd=self._cost)


def a_panel(*voices: Any, rule: PanelRule = MAJORITY, votes: int = 1, near: float | None = None) -> PanelJudge:
    """Each voice is a `Voice`, or the only thing that one says."""
    judges = [each if isinstance(each, Voice) else Voice(each) for each in voices]
    members = [PanelMember(name, judge) for name, judge in zip(NAMES, judges, strict=False)]
    return PanelJudge(members, VotingProcedure(rule=rule, members=NAMES[: len(judges)], votes=votes, near=near))


class ConditionalCriteria(CriteriaGrader):
    """Criteria that may not apply, as rules may not."""

    may_not_apply = True


async def graded(judge: Judge) -> Grade:
    """What the panel makes of the case's only criterion."""
    grades: Sequence[Grade] = await ConditionalCriteria().bind(GraderContext(judge=judge)).grade(CASE, TRANSCRIPT)
    return grades[0]


async def rated(judge: Judge, mark: float | None = 4.0) -> Grade:
    """On 1 to 5, held to the mark of a profile."""
    case = a_case(Qualities(names=("FluencyExplain",)), world=World.EXPLAIN)
    setting = GraderContext(judge=judge, marks=lambda case, name: mark)
    (grade,) = await ExplainEval("FluencyExplain").bind(setting).grade(case, TRANSCRIPT)
    return grade


async def test_every_member_is_asked_and_shown() -> None:
    score = await graded(a_panel(YES, NO, YES))
    assert isinstance(score, Score)
    assert (score.value, score.passed, score.judge, score.cost_usd) == (1.0, True, "panel", 0.75)
    assert score.reason == "2 of 3 say yes: it does"
    assert score.details == {
        "panel": [
            {"judge": "ann", "value": 1.0, "reason": "it does"},
            {"judge": "bob", "value": 0.0, "reason": "it does not"},
            {"judge": "cho", "value": 1.0, "reason": "it does"},
        ],
        "panel_rule": "majority",
        "panel_ruled": 3,
        "panel_members": 3,
    }


async def test_a_member_that_cannot_be_read_is_left_out_and_named() -> None:
    score = await graded(a_panel(YES, "%% no idea %%", YES))
    assert isinstance(score, Score)
    assert (score.value, score.details["panel_ruled"], score.details["panel_members"]) == (1.0, 2, 3)
    assert score.details["panel"][1]["judge"] == "bob"
    assert "no idea" in score.details["panel"][1]["error"]
    assert score.cost_usd == 1.0, "both attempts of the unreadable member were paid for"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ((YES, NO), "the panel is split 1:1"),
        ((YES, "?", "?"), "the panel has no quorum: 1 of 3 ruled; bob: attempt 1: no value in the reply: “?”"),
        ((YES, JudgeFailed("down")), "the panel has no quorum: 1 of 2 ruled; bob: down"),
        ((YES, NO, {"score": float("nan")}), "the panel is split 1:1"),
        ((YES, NO, ConnectionError("refused")), "the panel is split 1:1"),
        ((YES, NOT_HERE), "the panel is split 1:1 on whether the question applies"),
        ((YES, YES, NO, NO), "the panel is split 2:2"),
    ],
    ids=["1:1", "two unreadable of three", "one down of two", "NaN is no vote", "broken", "n/a or yes", "even"],
)
async def test_a_panel_that_cannot_rule_is_an_error(said: tuple[Any, ...], told: str) -> None:
    grade = await graded(a_panel(*said))
    assert isinstance(grade, Unscored)
    assert grade.why is UnscoredReason.ERROR
    assert told in grade.reason


async def test_most_members_can_say_that_it_does_not_apply() -> None:
    grade = await graded(a_panel(NOT_HERE, NOT_HERE, YES))
    assert isinstance(grade, Unscored)
    assert (grade.why, grade.reason) == (UnscoredReason.NOT_APPLICABLE, "no greeting is due")
    assert [each["value"] for each in grade.details["panel"]] == [None, None, 1.0]


async def test_what_a_question_does_not_offer_is_no_vote() -> None:
    panel = a_panel(NOT_HERE, NOT_HERE, YES)
    part, _ = await CriteriaGrader().bind(GraderContext(judge=panel)).grade(CASE, TRANSCRIPT)
    assert isinstance(part, Unscored)
    assert part.why is UnscoredReason.ERROR
    assert "the panel has no quorum: 1 of 3 ruled" in part.reason


@pytest.mark.parametrize(
    ("rule", "said", "value", "passed"),
    [
        (MAJORITY, [(0.6, True), (0.6, True), (0.9, False)], 0.6, True),
        (MAJORITY, [(0.9, False), (0.8, None), (0.9, False)], 0.9, False),
        (MEAN, [(0.6, True), (0.8, True)], 0.7, True),
        (UNANIMOUS, [(0.9, True), (0.9, True), (0.9, False)], 0.9, False),
        (MAJORITY, [(0.6, True), (0.9, False)], None, None),
        (MAJORITY, [(0.6, None), (0.8, None), (0.9, None)], 0.8, True),
    ],
    ids=["most say pass", "one by the mark", "on both sides of the mark", "unanimous", "split", "nobody says"],
)
async def test_where_a_judges_own_pass_wins_what_most_members_say_decides(
    rule: PanelRule, said: list[tuple[float, bool | None]], value: float | None, passed: bool | None
) -> None:
    replies = [{"score": score} | ({} if own is None else {"pass": own}) for score, own in said]
    case = a_case(ReferenceAnswer(answers=("A bar.",)), world=World.LEGAL)
    grader = ReferenceAnswerGrader().bind(GraderContext(judge=a_panel(*replies, rule=rule)))
    (grade,) = await grader.grade(case, TRANSCRIPT)
    assert getattr(grade, "value", None) == pytest.approx(value)
    assert getattr(grade, "passed", None) is passed


async def test_every_member_has_its_own_attempts() -> None:
    ann, bob = Voice(["hm", YES]), Voice(YES)
    assert isinstance(await graded(a_panel(ann, bob)), Score)
    assert [question.attempt for question in ann.asked] == [1, 2]
    assert [question.attempt for question in bob.asked] == [1]
    assert {question.member for question in ann.asked} == {""}, "a member needs not know that it is one"


async def test_a_budget_that_is_reached_ends_the_case_and_is_no_vote() -> None:
    with pytest.raises(BudgetReached):
        await graded(a_panel(YES, YES, Voice(BudgetReached("2,000 tokens"))))


async def test_meeting_a_criterion_that_costs_points_must_be_denied_by_all() -> None:
    criterion = Criterion(id="w", text="Invents a fee", weight=-5)
    case = a_case(WeightedCriteria(criteria=(criterion,)), world=World.LEGAL)
    judge = a_panel({"score": 0}, {"score": 1}, rule=UNANIMOUS)
    part, _ = await WeightedCriteriaGrader().bind(GraderContext(judge=judge)).grade(case, TRANSCRIPT)
    assert isinstance(part, Score)
    assert (part.value, part.passed) == (1.0, False)


async def test_in_a_round_robin_each_criterion_has_one_member() -> None:
    criteria = tuple(Criterion(id=f"c{number}", text=f"Thing {number}") for number in range(1, 6))
    voices = [Voice(YES), Voice(NO), Voice("?")]
    grader = CriteriaGrader().bind(GraderContext(judge=a_panel(*voices, rule=ROUND_ROBIN)))
    *parts, whole = await grader.grade(a_case(Criteria(criteria=criteria)), TRANSCRIPT)
    asked = [sorted({question.part.id for question in voice.asked if question.part}) for voice in voices]
    assert asked == [["c1", "c4"], ["c2", "c5"], ["c3"]]
    assert [part.value if isinstance(part, Score) else None for part in parts] == [1.0, 0.0, None, 1.0, 0.0]
    assert parts[0].details["panel"] == [{"judge": "ann", "value": 1.0, "reason": "it does"}]
    assert isinstance(whole, Unscored), "nobody steps in for a member that cannot be read"


async def test_what_has_no_criteria_goes_to_the_first_of_a_round_robin() -> None:
    score = await rated(a_panel({"score": 5}, {"score": 1}, rule=ROUND_ROBIN))
    assert isinstance(score, Score)
    assert score.value == 5.0


@pytest.mark.parametrize(
    ("near", "replies", "asked", "value"),
    [
        (1.0, (4, 3, 3), 3, 3.0),
        (1.0, (3, 4, 4), 3, 4.0),
        (1.0, (4, 5, 3), 3, 4.0),
        (1.0, (2, 5, 5), 1, 2.0),
        (0.5, (3, 5, 5), 1, 3.0),
        (None, (1, 5, 5), 3, 5.0),
    ],
    ids=["down", "up", "the middle one", "far from the mark", "a step is too far", "always"],
)
async def test_near_the_mark_the_same_judge_votes(
    near: float | None, replies: tuple[int, ...], asked: int, value: float
) -> None:
    voice = Voice(*({"score": reply} for reply in replies))
    score = await rated(a_panel(voice, votes=3, near=near))
    assert isinstance(score, Score)
    assert (score.value, len(voice.asked), score.judge) == (value, asked, "ann")
    assert score.cost_usd == 0.25 * asked
    assert [question.vote for question in voice.asked] == list(range(1, asked + 1))
    votes = [each["value"] for each in score.details.get("votes", ())]
    assert votes == (list(map(float, replies)) if asked == 3 else [])


async def test_without_a_mark_there_is_no_near() -> None:
    voice = Voice({"score": 4}, {"score": 1}, {"score": 1})
    assert isinstance(await rated(a_panel(voice, votes=3, near=5.0), mark=None), Score)
    assert len(voice.asked) == 1


async def test_the_members_of_a_panel_vote_each_for_itself() -> None:
    panel = a_panel(Voice(YES, NO, NO), Voice(NO, NO, YES), Voice(YES, YES, YES), votes=3, near=0.5)
    score = await graded(panel)
    assert isinstance(score, Score)
    assert (score.value, score.reason) == (0.0, "2 of 3 say no: 2 of 3 say no: it does not")
    assert [vote["value"] for vote in score.details["panel"][0]["votes"]] == [1.0, 0.0, 0.0]
    assert score.cost_usd == 2.25


async def test_a_split_vote_of_one_member_leaves_the_others() -> None:
    score = await graded(a_panel(Voice(YES, NO, "?"), Voice(YES, YES, YES), Voice(YES, YES, YES), votes=3, near=0.5))
    assert isinstance(score, Score)
    assert (score.value, score.details["panel_ruled"]) == (1.0, 2)
    assert score.details["panel"][0]["error"] == "the vote is split 1:1 between 1 and 0"


async def test_a_second_vote_is_not_taken_from_the_cache_of_the_first() -> None:
    model = ScriptedModel('{"passed": true}')
    judge = LiveJudge(model, namespace="repeat 1")
    for vote in (0, 1, 2, 3):
        await judge.ask(a_question("criteria", vote=vote))
    assert [request.namespace for request in model.asked] == [
        "repeat 1",
        "repeat 1",
        "repeat 1 vote 2",
        "repeat 1 vote 3",
    ]


async def test_members_that_ask_no_model_cost_nothing_and_unknown_prices_stay_unknown() -> None:
    bench = VotingProcedure(rule=MAJORITY, members=("ann", "bob"))
    for free, cost in ((True, 0.25), (False, None)):
        panel = PanelJudge([PanelMember("ann", Voice(YES)), PanelMember("bob", Voice(YES, cost=None), free)], bench)
        score = await graded(panel)
        assert isinstance(score, Score)
        assert score.cost_usd == cost
    assert total_cost([]) == 0.0


async def test_a_panel_is_asked_member_by_member() -> None:
    with pytest.raises(JudgeFailed, match="'' is none of ann, bob"):
        await a_panel(YES, YES).ask(a_question("criteria"))


class Knowing(Voice):
    """A voice that knows what it can speak about."""

    def covers(self, case: object, grader: str, part: object = None) -> bool:
        return grader in self._replies


@pytest.mark.parametrize(
    ("rule", "covered", "panel_covers"),
    [(MAJORITY, 3, True), (MAJORITY, 2, True), (MAJORITY, 1, False), (ROUND_ROBIN, 2, False), (ROUND_ROBIN, 3, True)],
)
def test_a_panel_covers_what_enough_members_do(rule: PanelRule, covered: int, panel_covers: bool) -> None:
    voices = [Knowing("safety")] * covered + [Knowing("other")] * (3 - covered)
    assert a_panel(*voices, rule=rule).covers(CASE, "safety") is panel_covers


def shown(grade: Grade) -> dict[str, Any]:
    """What a canonical export keeps of a grade."""
    said = {"reason": grade.reason, "details": grade.details, "evidence": getattr(grade, "evidence", ())}
    return said | {"value": getattr(grade, "value", None), "why": getattr(grade, "why", None)}


@pytest.mark.parametrize(
    "panel",
    [
        a_panel(YES, NO, YES),
        a_panel(YES, "?", YES),
        a_panel(YES, JudgeFailed("cannot tell"), YES),
        a_panel(YES, NO),
        a_panel(YES, "?", JudgeFailed("down")),
        a_panel(NOT_HERE, NOT_HERE, YES),
        a_panel(YES, NO, NO, rule=UNANIMOUS),
        a_panel(YES, NO, NO, rule=ROUND_ROBIN),
        a_panel(Voice(["hm", YES]), Voice(YES), Voice([NO, NO])),
        a_panel(Voice(YES, NO, NO), votes=3, near=0.5),
        a_panel(Voice(YES, "?", YES), Voice(YES, YES, NO), Voice(NO, NO, NO), votes=3),
        a_panel(Voice(YES), votes=3, near=0.1),
    ],
    ids=[
        "majority",
        "one unreadable",
        "one cannot tell",
        "split",
        "no quorum",
        "not applicable",
        "unanimous",
        "round robin",
        "second attempts",
        "votes",
        "votes of members",
        "not near",
    ],
)
async def test_a_recording_of_a_panel_needs_no_configuration(tmp_path: Path, panel: PanelJudge) -> None:
    path = tmp_path / "replies.jsonl"
    with path.open("wb") as file:
        live = await graded(RecordingJudge(panel, file.write, candidate="gpt", repeat=1))
    replayed = await graded(RecordedJudge.load(path).at("gpt", 1))
    assert shown(replayed) == shown(live)
    again = tmp_path / "again.jsonl"
    with again.open("wb") as file:
        await graded(RecordingJudge(RecordedJudge.load(path).at("gpt", 1), file.write, candidate="gpt", repeat=1))
    assert sorted(again.read_bytes().splitlines()) == sorted(path.read_bytes().splitlines())


async def test_a_recorded_line_names_member_vote_and_panel() -> None:
    lines: list[bytes] = []
    panel = a_panel(Voice(YES, YES, NO), Voice(JudgeFailed("down")), Voice(NO), votes=3, near=0.1)
    await graded(RecordingJudge(panel, lines.append))
    read = [json.loads(line) for line in lines]
    seat = {"rule": "majority", "of": 3, "votes": 3, "near": 0.1}
    assert [(line["judge"], line["sample"], line["panel"]) for line in read] == [
        ("ann", 1, {**seat, "member": 1}),
        ("bob", 1, {**seat, "member": 2}),
        ("cho", 1, {**seat, "member": 3}),
    ]
    assert (read[1]["reply"], read[1]["failed"]) == ("", "down")


def recording(path: Path, *lines: dict[str, Any]) -> Path:
    common = {"case_id": "case-1", "grader": "criteria", "criterion_id": "c1"}
    path.write_text("\n".join(json.dumps(common | line) for line in lines), encoding="utf-8")
    return path


async def test_replies_of_several_judges_need_a_rule(tmp_path: Path) -> None:
    lines = [{"judge": name, "reply": reply} for name, reply in (("x", YES), ("y", YES), ("z", NO))]
    path = recording(tmp_path / "r.jsonl", *lines)
    without = await graded(RecordedJudge.load(path).at("", 1))
    assert isinstance(without, Unscored)
    assert "3 replies" in without.reason
    assert "`panel:` in howsure.yaml" in without.reason
    settings = PanelSettings(members=("offline",), rule=UNANIMOUS)
    score = await graded(RecordedJudge.load(path, settings).at("", 1))
    assert isinstance(score, Score)
    assert (score.value, [each["judge"] for each in score.details["panel"]]) == (0.0, ["x", "y", "z"])


async def test_several_replies_of_one_judge_are_votes_where_there_is_a_panel(tmp_path: Path) -> None:
    path = recording(
        tmp_path / "r.jsonl", *({"sample": number, "reply": reply} for number, reply in ((1, YES), (2, NO), (3, NO)))
    )
    score = await graded(RecordedJudge.load(path, PanelSettings(members=("offline",))).at("", 1))
    assert isinstance(score, Score)
    assert (score.value, len(score.details["votes"])) == (0.0, 3)


async def test_one_judge_alone_is_no_panel(tmp_path: Path) -> None:
    path = recording(tmp_path / "r.jsonl", {"judge": "x", "reply": YES})
    score = await graded(RecordedJudge.load(path, PanelSettings(members=("offline",))).at("", 1))
    assert isinstance(score, Score)
    assert (score.judge, score.details) == ("x", {})


async def test_a_recorded_member_speaks_under_any_name(tmp_path: Path) -> None:
    path = recording(tmp_path / "r.jsonl", {"judge": "gpt-4", "reply": YES})
    lane = RecordedJudge.load(path).at("", 1)
    members = [PanelMember("recorded:r.jsonl", lane), PanelMember("bob", Voice(YES))]
    score = await graded(PanelJudge(members, VotingProcedure(rule=MAJORITY, members=("recorded:r.jsonl", "bob"))))
    assert isinstance(score, Score)
    assert score.details["panel"][0] == {"judge": "recorded:r.jsonl", "value": 1.0, "reason": "it does"}


SEAT = {"rule": "majority", "member": 1, "of": 2}


async def test_a_member_without_a_line_counts_among_those_who_did_not_rule(tmp_path: Path) -> None:
    path = recording(tmp_path / "r.jsonl", {"judge": "ann", "reply": YES, "panel": SEAT})
    grade = await graded(RecordedJudge.load(path).at("", 1))
    assert isinstance(grade, Unscored)
    assert "no quorum: 1 of 2 ruled; member 2: the recording has no reply for case 'case-1'" in grade.reason


async def test_a_reply_after_a_failure_takes_its_place(tmp_path: Path) -> None:
    bob = {"judge": "bob", "panel": {**SEAT, "member": 2}}
    path = recording(
        tmp_path / "r.jsonl",
        {"judge": "ann", "reply": YES, "panel": SEAT},
        {**bob, "reply": "", "failed": "down"},
        {**bob, "reply": YES},
    )
    score = await graded(RecordedJudge.load(path).at("", 1))
    assert isinstance(score, Score)
    assert score.details["panel_ruled"] == 2


@pytest.mark.parametrize(
    "panel",
    [
        {"rule": "dictator", "member": 1, "of": 2},
        {"rule": "majority", "member": 3, "of": 2},
        {"rule": "majority", "member": 0, "of": 2},
        {"rule": "majority", "of": 2},
        {**SEAT, "colour": "red"},
        "majority",
    ],
)
def test_a_wrong_seat_is_a_problem_with_its_line(tmp_path: Path, panel: Any) -> None:
    path = recording(tmp_path / "r.jsonl", {"reply": YES}, {"reply": YES, "judge": "ann", "panel": panel})
    with pytest.raises(DatasetInvalid) as caught:
        RecordedJudge.load(path)
    (problem,) = caught.value.problems
    assert (problem.line, problem.field, problem.code) == (2, "panel", "wrong-type")


def settings(folder: Path, text: str) -> PanelSettings | None:
    (folder / "howsure.yaml").write_text(text, encoding="utf-8")
    return load(folder, {}).panel


def test_a_panel_is_configured_in_the_settings(tmp_path: Path) -> None:
    text = "panel:\n  members: [openai:a, offline]\n  rule: unanimous\n  votes: 3\n  near: 0.5\n"
    assert settings(tmp_path, text) == PanelSettings(members=("openai:a", "offline"), rule=UNANIMOUS, votes=3, near=0.5)
    assert settings(tmp_path, "panel: {members: [offline]}") == PanelSettings(members=("offline",), rule=MAJORITY)


@pytest.mark.parametrize(
    ("panel", "told"),
    [
        ("{}", "missing required field `members`"),
        ("{members: []}", "expected one judge or more, found none"),
        ("{members: [offline], colour: red}", "unknown field `colour`"),
        ("{members: [offline], rule: dictator}", "Invalid enum value 'dictator'"),
        ("{members: [panel]}", "'panel' cannot be a member"),
        ("{members: ['']}", "'' cannot be a member"),
        ("{members: [none]}", "'none' cannot be a member"),
        ("{members: [openai:a, openai:a]}", "'openai:a' is named 2 times; to ask it several times, set `votes`"),
        ("{members: [offline], votes: 2}", "expected an odd number from 1, found 2"),
        ("{members: [offline], votes: 0}", "expected an odd number from 1, found 0"),
        ("{members: [offline], votes: 3, near: -1}", "expected a distance from 0, found -1.0"),
        ("{members: [offline], votes: 3, near: .nan}", "expected a distance from 0, found nan"),
        ("{members: [offline], near: 1}", "`votes` is 1; set it to 3 or 5"),
    ],
)
def test_a_wrong_panel_is_refused(tmp_path: Path, panel: str, told: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        settings(tmp_path, f"panel: {panel}\n")
    assert told in str(caught.value)
