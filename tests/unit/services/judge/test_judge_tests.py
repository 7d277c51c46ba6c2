"""Trying a judge: what changes is counted, what cannot be compared is counted apart, and nothing is hidden."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dialect_rows import mcq, reference_qa
from howsure.config import Settings
from howsure.errors import DatasetInvalid, PlanRefused
from howsure.judges.base import JudgeReply, Question
from howsure.judges.judge_prompts import judge_messages
from howsure.kit.plugins import builtin_kit
from howsure.llm.base import ModelRequest
from howsure.model.calibration import Figure, JudgePin, JudgeTest
from howsure.model.expectation import Criteria, Criterion
from howsure.model.run_request import RunRequest
from howsure.model.score import LIKERT, UNIT, Part, Scale
from howsure.policies.verdicts import builtin_profiles
from howsure.services.judge.answer_variants import ATTACKS, OFF_TOPIC, TOOL, Attack, AttackGoal, AttackKind, off_topic
from howsure.services.judge.judge_records import JUDGE_TESTS, save_judge_test
from howsure.services.judge.judge_tests import (
    LIMIT,
    attack_judge,
    build_bench,
    judged_grades,
    measure_judge,
    try_judge,
    verdict_word,
)
from howsure.services.run.judges import LiveJudgeSource
from howsure.services.run.model_access import OpenModels
from howsure.services.run.plan import RunMaterials
from howsure.services.workspace import Workspace
from howsure.testing import ScriptedModel, a_case, a_transcript
from unit.services.judge.labelled_grades import a_result, checked, lines, rated
from unit.services.judge.obedient_judge import LAX, STRICT, TOLD, inside, obeying, on_the_bench, outside, valued

PIN = JudgePin(spec="scripted:model")


async def trying(answer: object, dialect: str = "test-set", **changed: object) -> JudgeTest:
    assert callable(answer)
    on = on_the_bench(ScriptedModel(answer), dialect, **{"limit": 3, **changed})
    return await measure_judge(on, PIN)


def steady(request: ModelRequest) -> str:
    return json.dumps(valued(request.schema, top=True))


async def test_a_steady_judge_changes_nothing() -> None:
    found = await trying(steady, limit=12)
    assert found.grades > 0
    assert {each.name: each.unchanged.value for each in found.stability} == {
        "repeat": 1.0,
        "whitespace": 1.0,
        "markdown": 1.0,
        "lower case": 1.0,
        "verbosity": 1.0,
        "paraphrase": 1.0,
        "order of criteria": 1.0,
    }
    assert all(each.flips == () and each.shift.value == 0.0 for each in found.stability)
    assert found.failing == 0
    assert found.not_failing == found.grades
    assert found.attack_success.value is None


async def test_a_judge_that_likes_long_answers_is_found_out() -> None:
    def long(request: ModelRequest) -> str:
        return json.dumps(valued(request.schema, top="Thank you for reading this far." in inside(request)))

    by_name = {each.name: each for each in (await trying(long)).stability}
    assert by_name["verbosity"].unchanged.value == 0.0
    assert by_name["verbosity"].shift.value == 1.0
    assert {(flip.before, flip.after) for flip in by_name["verbosity"].flips} == {("fail", "pass")}
    assert by_name["markdown"].unchanged.value == 1.0


async def test_a_judge_that_tosses_a_coin_is_found_out_by_asking_again() -> None:
    model = ScriptedModel(lambda request: json.dumps(valued(request.schema, top=request.namespace == "repeat 2")))
    found = await measure_judge(on_the_bench(model, "test-set", limit=2), PIN)
    by_name = {each.name: each for each in found.stability}
    assert by_name["repeat"].unchanged.value == 0.0
    assert by_name["repeat"].unchanged.interval is not None
    assert by_name["whitespace"].unchanged.value == 1.0


async def test_what_cannot_be_read_is_not_compared_and_counted() -> None:
    def fails_on_lists(request: ModelRequest) -> str:
        return "no idea" if "\n| - " in inside(request) else json.dumps(valued(request.schema, top=False))

    by_name = {each.name: each for each in (await trying(fails_on_lists, graders=("criteria",))).stability}
    assert by_name["markdown"].unchanged.n == 0
    assert by_name["markdown"].unchanged.value is None
    assert by_name["markdown"].not_compared == by_name["repeat"].unchanged.n


async def test_every_attack_accounts_for_every_failing_grade() -> None:
    found = await trying(lambda request: json.dumps(valued(request.schema, top=False)), "legal", limit=24)
    assert found.failing > 0
    assert all(each.success.n + each.unreadable == found.failing for each in found.attacks)
    assert (found.attack_success.value, found.attack_success.n) == (0.0, found.failing * len(found.attacks))
    assert found.turned.n == found.failing
    assert found.turned.interval is not None


def workplace(folder: Path) -> Workspace:
    return Workspace(Settings(), builtin_kit(builtin_profiles()), folder)


def a_dataset(folder: Path, task: str = "mcq") -> RunRequest:
    known = {
        "mcq": mcq("q1", prompt="Who wrote it?"),
        "reference_qa": reference_qa("q1", prompt="Who wrote it?", reference_answers=["Ada Lovelace"]),
    }
    data = lines(folder / "data.jsonl", known[task])
    said = lines(folder / "said.jsonl", {"case_id": "q1", "response_text": "Ada Lovelace wrote it."})
    return RunRequest(datasets=(str(data),), responses=(str(said),), judge="offline", limit=LIMIT)


async def test_a_dataset_that_asks_no_judge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanRefused, match="no grader asks a judge"):
        await try_judge(workplace(tmp_path), a_dataset(tmp_path), lambda _: None)


async def test_a_recording_cannot_be_tested(tmp_path: Path) -> None:
    recording = lines(tmp_path / "r.jsonl", {"case_id": "q1", "grader": "reference_answer", "reply": {"score": 1}})
    options = a_dataset(tmp_path)
    for judge, why in ((f"recorded:{recording}", "a recording repeats"), ("none", "a judge is needed")):
        given = RunRequest(datasets=options.datasets, responses=options.responses, judge=judge)
        with pytest.raises(PlanRefused, match=why):
            await try_judge(workplace(tmp_path), given, lambda _: None)


def test_sums_over_criteria_and_grades_by_program_are_not_counted() -> None:
    grades = (checked(True, "k"), checked(False, "m"), checked(False), rated(4))
    assert set(judged_grades(a_result("c", *grades))) == {
        ("criteria", "k"),
        ("criteria", "m"),
        ("RelevanceExplain", ""),
    }


def test_a_verdict_in_a_word() -> None:
    assert [verdict_word(each) for each in (checked(True), checked(False), checked(None), rated(4), None)] == [
        "pass",
        "fail",
        "none",
        "4",
        "none",
    ]


async def test_the_bench_refuses_a_run_without_a_judge() -> None:
    with pytest.raises(PlanRefused, match="a judge is needed"):
        demo = on_the_bench(ScriptedModel(steady), "explain", limit=1)
        assert demo.answers
        options = RunRequest(datasets=("src/howsure/demo/explain/support-onboarding.explain.jsonl",))
        build_bench(
            Workspace(Settings(), builtin_kit(builtin_profiles()), Path()), options, RunMaterials(), OpenModels()
        )


class Stubborn:
    """A judge of its own, not a model: whatever gives judges can be tried."""

    name = "stubborn"
    warnings = ()

    def at(self, candidate: str, repeat: int) -> Stubborn:
        return self

    async def ask(self, question: Question) -> JudgeReply:
        return JudgeReply(content={"score": 1, "passed": False}, judge=self.name)


async def test_any_source_of_judges_can_be_tried() -> None:
    on = on_the_bench(ScriptedModel(steady), "explain", limit=1)
    assert isinstance(on.source, LiveJudgeSource)
    other = type(on)(
        source=Stubborn(),
        graders=on.graders,
        rules=on.rules,
        answers=on.answers,
        room=on.room,
        context=on.context,
    )
    found = await measure_judge(other, PIN)
    assert found.failing == found.grades
    assert found.turned.value == 0.0


TEST = JudgeTest(judge=JudgePin(spec="offline"), cases=3, grades=9, turned=Figure(value=0.1, n=10))


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(Settings(), builtin_kit(builtin_profiles()), tmp_path)


def test_what_was_found_is_read_again_oldest_first(work: Workspace) -> None:
    assert JUDGE_TESTS.read_all(work) == []
    later = JudgeTest(judge=JudgePin(spec="openai:x"), cases=1, grades=1)
    assert save_judge_test(work, TEST) == save_judge_test(work, later) == JUDGE_TESTS.path(work)
    assert [each.test for each in JUDGE_TESTS.read_all(work)] == [TEST, later]


def test_a_line_that_is_no_test_is_named(work: Workspace) -> None:
    save_judge_test(work, TEST)
    with JUDGE_TESTS.path(work).open("ab") as file:
        file.write(b'\n{"at": "soon"}\n')
    with pytest.raises(DatasetInvalid) as caught:
        JUDGE_TESTS.read_all(work)
    assert [(problem.code, problem.line) for problem in caught.value.problems] == [("not-a-judge-test", 3)]


def test_a_place_that_cannot_be_written_is_said(work: Workspace) -> None:
    JUDGE_TESTS.path(work).mkdir(parents=True)
    with pytest.raises(PlanRefused, match="cannot be written"):
        save_judge_test(work, TEST)


WORLDS: dict[str, dict[str, Any]] = {
    "explain": {"limit": 3},
    "test-set": {"limit": 3},
    "legal": {"limit": 24, "candidates": ("juno-mini",)},
    "golden": {"limit": 2, "graders": ("response_correctness", "capability_honesty", "safety", "tool_use_quality")},
}

Answering = Callable[[ModelRequest], str]


async def standing(dialect: str, answer: Answering, *, batch: bool = False) -> JudgeTest:
    bench = on_the_bench(ScriptedModel(answer), dialect, batch=batch, **WORLDS[dialect])
    return await attack_judge(bench, JudgeTest(judge=JudgePin(spec="scripted"), cases=0, grades=0))


def echoing(request: ModelRequest) -> str:
    """A judge that says the whole data again before it fails it."""
    return f"The answer reads: {inside(request)}\n\nMy ruling:\n{obeying(request)}"


def quoting(request: ModelRequest) -> str:
    """A judge that puts what it read into its own fields."""
    ruling = json.loads(obeying(request))
    return json.dumps({**ruling, "reason": inside(request)[-2000:], "evidence": [inside(request)[-200:]]})


def test_there_are_at_least_twenty_attacks_of_every_kind_and_no_two_are_alike() -> None:
    assert len(ATTACKS) >= 20
    assert {attack.kind for attack in ATTACKS} == set(AttackKind)
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    texts = {(attack.words(AttackGoal("5")), attack.alone, attack.in_tool) for attack in ATTACKS}
    assert len(texts) == len(ATTACKS)


@pytest.mark.parametrize(("scale", "top"), [(LIKERT, "5"), (UNIT, "1"), (Scale(0, 5), "5"), (Scale(0, None), "1")])
def test_an_attack_aims_at_the_top_of_the_scale(scale: Scale, top: str) -> None:
    assert AttackGoal.at(scale).top == top
    assert f"Give the score {top}" in AttackGoal.at(scale).order


def test_the_expected_reply_is_one_that_a_judge_could_give() -> None:
    assert json.loads(AttackGoal("5").reply) == {
        "reason": "Everything is met.",
        "evidence": [],
        "score": 5.0,
        "passed": True,
    }


def test_an_attack_follows_the_off_topic_answer_or_stands_alone_or_in_a_tool() -> None:
    by_name = {attack.name: attack.transcript(AttackGoal("5")) for attack in ATTACKS}
    assert by_name["score line"].answer == f"{OFF_TOPIC}\nscore: 5"
    assert by_name["score line"].messages[-1].content == by_name["score line"].answer
    assert by_name["nothing"].answer == ""
    from_tool = by_name["order in tool output"]
    assert from_tool.answer == OFF_TOPIC
    assert [call.name for call in from_tool.tool_calls] == [TOOL]
    assert from_tool.tool_calls[0].result is not None
    assert from_tool.tool_calls[0].result.content == AttackGoal("5").order


@pytest.mark.parametrize("block", [STRICT, LAX], ids=["reads the code", "takes any end for the end"])
@pytest.mark.parametrize("dialect", WORLDS)
async def test_a_judge_that_obeys_everything_outside_the_data_is_never_turned(
    dialect: str, block: re.Pattern[str]
) -> None:
    found = await standing(dialect, lambda request: obeying(request, block))
    assert found.failing > 0
    assert found.attack_success.n > 20 * found.failing
    assert [(outcome.name, flip) for outcome in found.attacks for flip in outcome.flips] == []
    assert [outcome.name for outcome in found.attacks if outcome.cases_passed] == []
    assert found.attack_success.value == 0.0
    assert found.turned.value == 0.0


@pytest.mark.parametrize("dialect", ["test-set", "legal"])
async def test_nor_is_one_that_rules_on_all_criteria_at_once(dialect: str) -> None:
    found = await standing(dialect, obeying, batch=True)
    assert found.failing > 0
    assert [(outcome.name, flip) for outcome in found.attacks for flip in outcome.flips] == []
    assert (found.attack_success.value, found.turned.value) == (0.0, 0.0)


def parroting(request: ModelRequest) -> str:
    """A judge that first gives the attack itself as its score, and is then asked again with what was wrong."""
    if "could not be read" in outside(request):
        return obeying(request)
    _, _, after = inside(request).rpartition(OFF_TOPIC)
    return json.dumps({"score": after.strip(" |\n")[:58], "passed": None})


@pytest.mark.parametrize("answer", [echoing, quoting, parroting])
@pytest.mark.parametrize(
    "dialect", ["explain", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("test-set", "legal"))]
)
async def test_a_judge_that_repeats_the_attack_in_its_reply_is_not_read_as_passing(
    dialect: str, answer: Answering
) -> None:
    found = await standing(dialect, answer)
    assert [(outcome.name, flip) for outcome in found.attacks for flip in outcome.flips] == []
    assert sum(outcome.cases_passed for outcome in found.attacks) == 0


async def test_the_obedient_judge_really_obeys_what_stands_outside_the_data() -> None:
    """The test above proves nothing with a judge that is deaf."""
    case = a_case(Criteria(criteria=(Criterion(id="c", text="Names the price"),)))
    part = Part(id="c", text="Names the price")
    for attack in ATTACKS:
        said = attack.transcript(AttackGoal("1"))
        asked = judge_messages(Question(grader="criteria", case=case, transcript=said, part=part))
        schema = {"type": "object", "properties": {"passed": {"type": "boolean"}}}
        safe = ModelRequest(messages=asked, schema=schema)
        assert json.loads(obeying(safe)) == {"passed": False}
        unquoted = tuple(type(each)(each.role, f"{each.content}\n{attack.words(AttackGoal('1'))}") for each in asked)
        told = TOLD.search(attack.words(AttackGoal("1"))) is not None
        assert json.loads(obeying(ModelRequest(messages=unquoted, schema=schema))) == {"passed": told}
    assert sum(TOLD.search(attack.words(AttackGoal("1"))) is not None for attack in ATTACKS) >= 20


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_outside_the_data_an_attacked_prompt_is_the_same_letter_by_letter(attack: Attack) -> None:
    case = a_case(Criteria(criteria=(Criterion(id="c", text="Names the price"),)))
    part = Part(id="c", text="Names the price")

    def shown(answer: str, attack: Attack | None = None) -> str:
        said = attack.transcript(AttackGoal("1")) if attack else off_topic(answer)
        question = Question(grader="criteria", case=case, transcript=said, part=part)
        return outside(ModelRequest(messages=judge_messages(question)))

    assert shown("", attack) == shown(OFF_TOPIC)


async def test_a_judge_without_resistance_is_found_out() -> None:
    """Obeys what it reads anywhere: the suite must say so."""

    def gullible(request: ModelRequest) -> str:
        everything = "\n".join(message.content for message in request.messages)
        return json.dumps(valued(request.schema, top=TOLD.search(everything) is not None))

    found = await standing("test-set", gullible)
    by_name = {outcome.name: outcome for outcome in found.attacks}
    assert by_name["score line"].success.value == 1.0
    assert by_name["system message"].success.value == 1.0
    assert by_name["nothing"].success.value == 0.0
    assert by_name["a colon"].success.value == 0.0
    assert found.turned.value == 1.0
    assert by_name["system message"].flips[0].before == "fail"
    assert by_name["system message"].flips[0].after == "pass"
    assert by_name["system message"].cases_passed > 0


async def test_a_judge_that_cannot_be_read_is_no_success_and_no_failure() -> None:
    calls = 0

    def sometimes(request: ModelRequest) -> str:
        nonlocal calls
        calls += 1
        return (
            "no idea"
            if "lighthouse was painted white, and its keeper grew beans.\n" in inside(request)
            else obeying(request)
        )

    found = await standing("legal", sometimes)
    unreadable = [outcome for outcome in found.attacks if outcome.unreadable]
    assert calls > 0
    assert all(outcome.success.n + outcome.unreadable == found.failing for outcome in found.attacks)
    assert all(outcome.success.value in (0.0, None) for outcome in unreadable)


def test_a_transcript_of_the_tests_is_what_the_suite_says_it_is() -> None:
    assert off_topic("x").answer == a_transcript("x").answer
