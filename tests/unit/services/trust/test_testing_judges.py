"""Trying a judge: what changes is counted, what cannot be compared is counted apart, and nothing is hidden."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialect_rows import mcq, reference_qa
from howsure.config import Settings
from howsure.errors import PlanRefused
from howsure.judges.base import Question, Reply
from howsure.kit.builtins import builtin_kit
from howsure.llm.base import Request
from howsure.model.trust import JudgePin, JudgeTest
from howsure.policies.profiles import builtin_profiles
from howsure.services.judging import Judging, Live
from howsure.services.options import RunOptions
from howsure.services.planning import Given
from howsure.services.trust.bench import asked, bench, word
from howsure.services.trust.testing_judges import LIMIT, tried, try_judge
from howsure.services.workspace import Workspace
from howsure.testing import ScriptedModel
from unit.services.trust.making import a_result, checked, lines, rated
from unit.services.trust.obedient import inside, on_the_bench, valued

PIN = JudgePin(spec="scripted:model")


async def trying(answer: object, dialect: str = "test-set", **changed: object) -> JudgeTest:
    assert callable(answer)
    on = on_the_bench(ScriptedModel(answer), dialect, **{"limit": 3, **changed})
    return await tried(on, PIN)


def steady(request: Request) -> str:
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
    def long(request: Request) -> str:
        return json.dumps(valued(request.schema, top="Thank you for reading this far." in inside(request)))

    by_name = {each.name: each for each in (await trying(long)).stability}
    assert by_name["verbosity"].unchanged.value == 0.0
    assert by_name["verbosity"].shift.value == 1.0
    assert {(flip.before, flip.after) for flip in by_name["verbosity"].flips} == {("fail", "pass")}
    assert by_name["markdown"].unchanged.value == 1.0


async def test_a_judge_that_tosses_a_coin_is_found_out_by_asking_again() -> None:
    model = ScriptedModel(lambda request: json.dumps(valued(request.schema, top=request.namespace == "repeat 2")))
    found = await tried(on_the_bench(model, "test-set", limit=2), PIN)
    by_name = {each.name: each for each in found.stability}
    assert by_name["repeat"].unchanged.value == 0.0
    assert by_name["repeat"].unchanged.interval is not None
    assert by_name["whitespace"].unchanged.value == 1.0


async def test_what_cannot_be_read_is_not_compared_and_counted() -> None:
    def fails_on_lists(request: Request) -> str:
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


def a_dataset(folder: Path, task: str = "mcq") -> RunOptions:
    known = {
        "mcq": mcq("q1", prompt="Who wrote it?"),
        "reference_qa": reference_qa("q1", prompt="Who wrote it?", reference_answers=["Ada Lovelace"]),
    }
    data = lines(folder / "data.jsonl", known[task])
    said = lines(folder / "said.jsonl", {"case_id": "q1", "response_text": "Ada Lovelace wrote it."})
    return RunOptions(datasets=(str(data),), responses=(str(said),), judge="offline", limit=LIMIT)


async def test_a_dataset_that_asks_no_judge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanRefused, match="no grader asks a judge"):
        await try_judge(workplace(tmp_path), a_dataset(tmp_path), lambda _: None)


async def test_a_recording_cannot_be_tested(tmp_path: Path) -> None:
    recording = lines(tmp_path / "r.jsonl", {"case_id": "q1", "grader": "reference_answer", "reply": {"score": 1}})
    options = a_dataset(tmp_path)
    for judge, why in ((f"recorded:{recording}", "a recording repeats"), ("none", "a judge is needed")):
        given = RunOptions(datasets=options.datasets, responses=options.responses, judge=judge)
        with pytest.raises(PlanRefused, match=why):
            await try_judge(workplace(tmp_path), given, lambda _: None)


def test_sums_over_criteria_and_grades_by_program_are_not_counted() -> None:
    grades = (checked(True, "k"), checked(False, "m"), checked(False), rated(4))
    assert set(asked(a_result("c", *grades))) == {("criteria", "k"), ("criteria", "m"), ("RelevanceExplain", "")}


def test_a_verdict_in_a_word() -> None:
    assert [word(each) for each in (checked(True), checked(False), checked(None), rated(4), None)] == [
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
        options = RunOptions(datasets=("src/howsure/demo/explain/support-onboarding.explain.jsonl",))
        bench(options, builtin_kit(builtin_profiles()), Given(judging=Judging()))


class Stubborn:
    """A judge of its own, not a model: whatever gives judges can be tried."""

    name = "stubborn"
    warnings = ()

    def at(self, candidate: str, repeat: int) -> Stubborn:
        return self

    async def ask(self, question: Question) -> Reply:
        return Reply(content={"score": 1, "passed": False}, judge=self.name)


async def test_any_source_of_judges_can_be_tried() -> None:
    on = on_the_bench(ScriptedModel(steady), "explain", limit=1)
    assert isinstance(on.source, Live)
    other = type(on)(
        source=Stubborn(),
        graders=on.graders,
        rules=on.rules,
        answers=on.answers,
        room=on.room,
        contracts=on.contracts,
    )
    found = await tried(other, PIN)
    assert found.failing == found.grades
    assert found.turned.value == 0.0
