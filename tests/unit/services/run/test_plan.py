"""Planning: everything is refused before anything is spent, and what made the run is pinned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from howsure.config import Settings
from howsure.engine.candidates import TimeLimits
from howsure.errors import Conflict, DatasetInvalid, NotFound, PlanRefused, UnknownName
from howsure.kit import Kit
from howsure.kit.plugins import builtin_kit
from howsure.model.agent import Agent, AgentTool, KnowledgeBase
from howsure.model.case import Case
from howsure.model.expectation import Criteria, Criterion
from howsure.model.rubric import Rubric, Rule, Scope, Severity
from howsure.model.run import DatasetPin
from howsure.model.run_request import RunRequest
from howsure.model.verdict import Normalization
from howsure.policies.verdicts import builtin_profiles
from howsure.services.run.execute import check_unchanged, new_run, utc_now
from howsure.services.run.model_access import OpenModels
from howsure.services.run.plan import Plan, RunMaterials, plan_run, read_materials
from howsure.services.run.recorded_answers import PooledCriteria, RecordedAnswers, read_answers
from howsure.services.run.start import pinned_request
from howsure.services.workspace import Workspace
from howsure.testing import ScriptedTarget, ScriptedUser
from recorded_answers import plain_recordings


def kit_with(*targets: ScriptedTarget) -> Any:
    kit = builtin_kit(builtin_profiles())
    for target in targets:
        kit.targets.add(target)
    return kit


def entry(id: str, **fields: Any) -> dict[str, Any]:
    return {
        "item_id": id,
        "type": "single_turn",
        "name": id,
        "inputs": {"message": "Hi"},
        "expected": {"success_criteria": ["Greets"], "should_use_tools": ["search_kb"]},
        **fields,
    }


@pytest.fixture
def test_set(tmp_path: Path) -> str:
    path = tmp_path / "set.json"
    document = {
        "test_set_id": "ts-1",
        "agent_id": "a" * 24,
        "version": 4,
        "name": "Shop",
        "items": [entry("i1"), entry("i2")],
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def answered(*cases: str, candidate: str = "") -> RunMaterials:
    return RunMaterials(answers=RecordedAnswers(plain_recordings(dict.fromkeys(cases, "Hello"), candidate), ()))


def made_with(kit: Kit, request: RunRequest, given: RunMaterials, **settings: Any) -> Plan:
    return plan_run(Workspace(Settings(**settings), kit, Path()), request, given, OpenModels())


def planned(dataset: str, given: Any = None, **options: Any) -> Plan:
    return made_with(kit_with(), RunRequest(datasets=(dataset,), **options), given or answered("i1", "i2"))


def test_a_plan_has_a_lane_for_each_candidate_and_repeat(test_set: str) -> None:
    recordings = plain_recordings({"i1": "x", "i2": "y"})
    made = planned(test_set, RunMaterials(answers=RecordedAnswers(recordings, ())), candidates=("juno", "orchid"))
    assert [(lane.candidate, lane.repeat) for lane in made.candidates] == [("juno", 1), ("orchid", 1)]
    assert made.total == 4


def test_missing_answers_are_counted_and_the_first_are_named(test_set: str) -> None:
    with pytest.raises(PlanRefused, match="1 answer is missing: i2"):
        planned(test_set, answered("i1"))
    with pytest.raises(PlanRefused, match=r"2 answers are missing: i1 \(repeat 2\), i2 \(repeat 2\)"):
        planned(test_set, repeat=2)


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "scenario.json"
    inputs = {"persona": "A customer", "initial_message": "Hi"}
    path.write_text(json.dumps({"items": [entry("i1", type="scenario", inputs=inputs)]}), encoding="utf-8")
    return str(path)


def test_a_scenario_is_played_by_the_one_who_is_named_and_pinned(scenario: str) -> None:
    kit = kit_with(ScriptedTarget("x"))
    kit.users.add(ScriptedUser("Hi"))
    for simulator, name in (("", "offline"), ("offline", "offline"), ("scripted", "scripted")):
        made = made_with(kit, RunRequest(datasets=(scenario,), target="scripted", simulator=simulator), RunMaterials())
        assert made.candidates[0].users.name == name
        assert (made.pins.request.simulator, len(made.pins.simulator_sha256)) == (name, 64)


def test_every_lane_has_the_limits_and_replays_of_the_run(scenario: str) -> None:
    request = RunRequest(datasets=(scenario,), target="scripted", repeat=2, replays=3)
    kit = kit_with(ScriptedTarget("x"))
    made = made_with(kit, request, RunMaterials(), turn_seconds=5.0, case_seconds=60.0)
    assert [lane.limits for lane in made.candidates] == [TimeLimits(turn_seconds=5.0, case_seconds=60.0)] * 2
    assert [lane.replays for lane in made.candidates] == [3, 3]
    assert made.pins.request.replays == 3


def test_pooled_criteria_take_the_place_of_the_cases_own(test_set: str) -> None:
    given = answered("i1", "i2")
    pool = PooledCriteria([Criterion(id="p", text="Pooled")], DatasetPin(path=test_set, sha256=""))
    made = planned(test_set, RunMaterials(answers=given.answers, pool=pool), criteria_from=test_set)
    assert [case.expectations for case in made.cases.read()] == [(Criteria(criteria=pool.criteria),)] * 2
    assert made.pins.criteria_from is not None
    assert made.pins.criteria_from.path == test_set
    assert made.pins.request.criteria_from == test_set


def test_recorded_answers_and_a_live_target_exclude_each_other(test_set: str) -> None:
    options = RunRequest(datasets=(test_set,), target="scripted")
    with pytest.raises(PlanRefused, match="cannot go with --target scripted"):
        made_with(kit_with(ScriptedTarget("x")), options, answered("i1", "i2"))


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"repeat": 0}, PlanRefused, "--repeat must be 1 or more"),
        ({"replays": -1}, PlanRefused, "--replay-spoiled must be 0 or more, not -1"),
        ({"target": "htp:127.0.0.1"}, UnknownName, "unknown target 'htp:127.0.0.1'; known: adk, .*replay"),
        ({"graders": ("charm",)}, UnknownName, "unknown grader 'charm'"),
        ({"profile": "nobody"}, UnknownName, "unknown profile 'nobody'; known: assessment_strict, prep_default"),
    ],
)
def test_what_cannot_be_had_is_refused(
    test_set: str, options: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        planned(test_set, **options)


def test_the_pins_say_what_the_run_was_made_of(test_set: str) -> None:
    pins = planned(test_set, filters={"id": ("i1",)}, normalization=Normalization.MIN_MAX).pins
    (dataset,) = pins.datasets
    assert (dataset.dialect, dataset.cases, dataset.id, dataset.name, dataset.version) == (
        "test-set",
        2,
        "ts-1",
        "Shop",
        4,
    )
    assert len(dataset.sha256) == 64
    assert pins.request.target == "recorded"
    assert pins.request.filters == {"id": ("i1",)}
    assert len(pins.policy_sha256) == 64


def test_a_run_goes_on_only_with_what_it_began_with(test_set: str) -> None:
    made = planned(test_set)
    run = new_run(made, utc_now())
    check_unchanged(run, made.pins)
    Path(test_set).write_text(Path(test_set).read_text(encoding="utf-8").replace("Greets", "Waves"), encoding="utf-8")
    with pytest.raises(Conflict, match=r"set\.json has changed"):
        check_unchanged(run, planned(test_set).pins)
    with pytest.raises(Conflict, match="the profiles have changed"):
        check_unchanged(run, planned(test_set, profile="prep_default").pins)


EVERY_OPTION: dict[str, Any] = {
    "judge": "offline",
    "graders": ("criteria",),
    "partial": True,
    "batch_criteria": True,
    "profile": "prep_default",
    "normalization": Normalization.MIN_MAX,
    "component_scope": "prompt",
    "component_ids": ("k1",),
    "filters": {"id": ("i1", "i2")},
    "limit": 1,
    "state": {"plan": "pro"},
    "replays": 2,
    "repeat": 1,
    "concurrency": 2,
    "engine": "ray",
    "budget": "2USD",
    "gates": ("pass_rate >= 0.9",),
}


def test_the_request_is_pinned_as_it_is_and_gives_the_same_run_again(test_set: str) -> None:
    made = planned(test_set, **{**EVERY_OPTION, "judge": "", "cache": False, "trace": "t.jsonl", "name": "first"})
    pinned = {**EVERY_OPTION, "judge": "", "target": "recorded", "candidates": ("",), "dialect": "test-set"}
    assert made.pins.request == RunRequest(datasets=(test_set,), **pinned)
    run = new_run(made, utc_now())
    assert run.name == "first"
    again = pinned_request(run, budget="5USD")
    assert again == RunRequest(datasets=(test_set,), **{**pinned, "budget": "5USD", "name": "first"})
    assert planned(test_set, **{**pinned, "budget": "2USD"}).pins == made.pins


def test_files_of_several_dialects_are_detected_again(test_set: str, tmp_path: Path) -> None:
    golden = tmp_path / "shop_golden.json"
    question = {"id": "q1", "user_inputs": ["Hi"], "agents_evaluated": [], "reference_data": {}}
    golden.write_text(json.dumps({"golden_questions": [question]}), encoding="utf-8")
    request = RunRequest(datasets=(test_set, str(golden)))
    assert made_with(kit_with(), request, answered("i1", "i2", "q1")).pins.request.dialect == ""


AGENT = Agent(
    id="a",
    name="Shop bot",
    tools=(AgentTool(tool_name="live_handoff", id="t1"),),
    knowledge_bases=(KnowledgeBase(id="k1", name="Handbook"),),
)
RUBRIC = Rubric(
    name="House rules",
    rules=(
        Rule(id="BRIEF", name="Brief", severity=Severity.MEDIUM, scope=Scope.PROMPT),
        Rule(
            id="KB", name="Uses the KB", severity=Severity.HIGH, scope=Scope.KNOWLEDGE_BASE, component_ids=("k1", "k9")
        ),
    ),
)


def test_tools_and_components_the_agent_lacks_are_warned_about(test_set: str) -> None:
    given = answered("i1", "i2")
    made = planned(test_set, RunMaterials(answers=given.answers, agent=AGENT, rubric=RUBRIC))
    assert made.warnings[:2] == (
        "case 'i1' names the tool 'search_kb', which the agent 'Shop bot' does not have",
        "rule 'KB' names the component 'k9', which the agent 'Shop bot' lacks",
    )


def written_rubric(folder: Path) -> str:
    rules = [
        {"id": "BRIEF", "name": "Brief", "severity": "medium", "component_scope": "prompt"},
        {"id": "TOOLS", "name": "Tools", "severity": "high", "component_scope": "function"},
    ]
    path = folder / "rubric.json"
    path.write_text(json.dumps({"rubric_id": "r", "name": "R", "version": 1, "rules": rules}), encoding="utf-8")
    return str(path)


def test_a_scope_keeps_its_rules_and_one_that_leaves_none_leaves_no_rubric(tmp_path: Path, test_set: str) -> None:
    rubric = written_rubric(tmp_path)
    kept = read_materials(RunRequest(datasets=(test_set,), rubric=rubric, component_scope="prompt"), kit_with()).rubric
    assert kept is not None
    assert [rule.id for rule in kept.rules] == ["BRIEF"]
    assert (
        read_materials(RunRequest(datasets=(test_set,), rubric=rubric, component_scope="general"), kit_with()).rubric
        is None
    )
    with pytest.raises(NotFound, match="no such rubric file"):
        read_materials(RunRequest(datasets=(test_set,), rubric="nowhere.json"), kit_with())


def test_two_answers_to_one_case_are_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    row = json.dumps({"case_id": "i1", "response_text": "x"})
    path.write_text(f"{row}\n{row}\n", encoding="utf-8")
    with pytest.raises(DatasetInvalid) as caught:
        read_answers([str(path)], kit_with().dialects["simulation"])
    assert [(problem.code, problem.line) for problem in caught.value.problems] == [("duplicate-response", 2)]
    with pytest.raises(NotFound, match="no such responses file"):
        read_answers(["nowhere.jsonl"], kit_with().dialects["simulation"])


async def test_a_simulation_file_answers_by_id_and_by_what_the_user_said(tmp_path: Path) -> None:
    path = tmp_path / "sim.jsonl"
    rows = [
        {"question_id": "q1", "user_inputs": ["Hi"], "final_response": "Hello", "session_trace": []},
        {"question_id": "elsewhere", "user_inputs": ["Bye", "now"], "final_response": "Ciao", "session_trace": []},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    answers = read_answers([str(path)], kit_with().dialects["simulation"])
    golden = tmp_path / "shop_golden.json"
    questions = [
        {"id": "q1", "user_inputs": ["Something else"], "agents_evaluated": [], "reference_data": {}},
        {"id": "q2", "user_inputs": ["Bye", "now"], "agents_evaluated": [], "reference_data": {}},
    ]
    golden.write_text(json.dumps({"golden_questions": questions}), encoding="utf-8")
    made = made_with(kit_with(), RunRequest(datasets=(str(golden),)), RunMaterials(answers=answers))
    said = []
    for case in made.cases.read():
        session = await made.candidates[0].target.open(case)
        said.append((case.id, session.transcript.answer))  # type: ignore[union-attr]
    assert said == [("q1", "Hello"), ("q2", "Ciao")]
    assert isinstance(case, Case)
