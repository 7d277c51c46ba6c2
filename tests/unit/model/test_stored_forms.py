"""How stores, reports and recordings hold the words of the model: forms that must not change, what is left out because
it says nothing, and what newer or older versions wrote."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from pkgutil import iter_modules
from random import Random
from types import ModuleType
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec import inspect as shape

from howsure import errors, model
from howsure.model import (
    access_scope,
    adk_criteria,
    agent,
    calibration,
    case,
    comparison,
    dataset_policy,
    document,
    expectation,
    flag,
    job,
    label,
    leaderboard,
    llm_settings,
    plain_values,
    result,
    rubric,
    run,
    run_history,
    run_request,
    score,
    simulation,
    summary,
    tool_runs,
    transcript,
    triage,
    verdict,
    webhook,
)
from howsure.model.agent import Agent, AgentModel, AgentTool, KnowledgeBase
from howsure.model.calibration import Figure, LabelCoverage
from howsure.model.case import Case, Fact, PlanStep, Scenario, SingleTurn
from howsure.model.result import Failure, Result
from howsure.model.rubric import OUTCOME_CHECK, Rubric, Rule, Scope, Severity
from howsure.model.run import Counts, DatasetPin, ModelSpending, Pins, Run, RunState
from howsure.model.run_request import RunRequest
from howsure.model.score import LIKERT, Direction, Part, Score, Unscored, UnscoredReason
from howsure.model.simulation import Ending, Fault, MistakeKind, Party, Simulation, UserMistake
from howsure.model.summary import GateOutcome, GateRuling
from howsure.model.transcript import (
    AgentStep,
    Message,
    Role,
    Span,
    Tool,
    ToolCall,
    ToolResult,
    ToolStep,
    Transcript,
    Usage,
)
from howsure.model.verdict import Decision, Normalization, Profile, Verdict

NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
CALL = ToolCall(name="find", arguments={"q": "é"}, id="1", result=ToolResult(content=[1], failed=True))

STORED: list[tuple[Struct, bytes]] = [
    (Message(role=Role.USER, content="Hi"), b'{"role":"user","content":"Hi"}'),
    (Message(role=Role.ASSISTANT), b'{"role":"assistant"}'),
    (
        Message(role=Role.ASSISTANT, agent="A", tool_calls=(CALL, ToolCall(name="t"))),
        b'{"role":"assistant","agent":"A","tool_calls":[{"name":"find","arguments":{"q":"\xc3\xa9"},"id":"1",'
        b'"result":{"content":[1],"failed":true}},{"name":"t"}]}',
    ),
    (ToolResult(), b"{}"),
    (Tool(name="t", parameters={}), b'{"name":"t","parameters":{}}'),
    (Usage(prompt_tokens=0, cost_usd=0.5), b'{"prompt_tokens":0,"cost_usd":0.5}'),
    (Span(name="s", start_ns=1, end_ns=2), b'{"name":"s","start_ns":1,"end_ns":2}'),
    (Transcript(answer=""), b'{"kind":"transcript","answer":""}'),
    (
        Transcript(
            answer="a", steps=(AgentStep(name="A"), ToolStep(name="t")), state={}, spans=(), invented_times=True
        ),
        b'{"kind":"transcript","answer":"a","steps":[{"kind":"agent","name":"A"},{"kind":"tool","name":"t"}],'
        b'"state":{},"spans":[],"invented_times":true}',
    ),
    (
        Simulation(
            user="offline",
            ending=Ending.GAVE_UP,
            reason="r",
            slips=(UserMistake(kind=MistakeKind.OFF_PLAN, turn=2, reason="s", spoils=False),),
            discarded=((),),
        ),
        b'{"user":"offline","ending":"gave_up","reason":"r",'
        b'"slips":[{"kind":"off_plan","turn":2,"reason":"s","spoils":false}],"discarded":[[]]}',
    ),
    (
        Scenario(
            persona="p",
            initial_message="m",
            goal="g",
            facts=(Fact(name="n", value="v", asked_by=("w",)),),
            plan=(PlanStep(say="s"), PlanStep(say="t", when="u")),
        ),
        b'{"kind":"scenario","persona":"p","initial_message":"m","goal":"g",'
        b'"facts":[{"name":"n","value":"v","asked_by":["w"]}],"plan":[{"say":"s"},{"say":"t","when":"u"}]}',
    ),
    (
        Unscored(
            name="x",
            why=UnscoredReason.NO_JUDGE,
            reason="r",
            scale=LIKERT,
            part=Part(id="c", text="t", weight=-1.0),
        ),
        b'{"kind":"unscored","name":"x","why":"no_judge","reason":"r","scale":{"low":1,"high":5},'
        b'"part":{"id":"c","text":"t","weight":-1.0}}',
    ),
    (
        Result(
            case=Case(id="q1", input=SingleTurn(message="Hi")),
            verdict=Verdict.ERRORED,
            reasons=("r",),
            grades=(Score(name="s", value=1.0),),
            failures=(Failure(kind="TargetFailed", message="m"),),
            fault=Fault(party=Party.AGENT, reason="f"),
            repeat=2,
        ),
        b'{"case":{"id":"q1","input":{"kind":"single_turn","message":"Hi"}},"verdict":"errored","reasons":["r"],'
        b'"grades":[{"kind":"score","name":"s","value":1.0}],"failures":[{"kind":"TargetFailed","message":"m"}],'
        b'"fault":{"party":"agent","reason":"f"},"repeat":2}',
    ),
    (
        Rubric(
            name="house",
            rules=(Rule(id="r", name="n", severity=Severity.HIGH, scope=Scope.KNOWLEDGE_BASE, component_ids=("k",)),),
            version=2,
        ),
        b'{"name":"house","rules":[{"id":"r","name":"n","severity":"high","scope":"knowledge_base",'
        b'"component_ids":["k"]}],"version":2}',
    ),
    (
        Agent(
            id="a",
            name="n",
            model=AgentModel(provider="openai"),
            tools=(AgentTool(tool_name="t", type="rest_api"),),
            knowledge_bases=(KnowledgeBase(id="k", name="b", document_count=0),),
        ),
        b'{"id":"a","name":"n","model":{"provider":"openai"},"tools":[{"tool_name":"t","type":"rest_api"}],'
        b'"knowledge_bases":[{"id":"k","name":"b","document_count":0}]}',
    ),
    (
        Pins(request=RunRequest(target="recorded"), datasets=(DatasetPin(path="a.jsonl", sha256="0", cases=4),)),
        b'{"request":{"target":"recorded"},"datasets":[{"path":"a.jsonl","sha256":"0","cases":4}]}',
    ),
    (
        Pins(request=RunRequest(target="t", normalization=Normalization.MIN_MAX, graders=(), limit=1)),
        b'{"request":{"target":"t","graders":[],"normalization":"min_max","limit":1}}',
    ),
    (ModelSpending(), b"{}"),
    (ModelSpending(usd=0.5, unpriced=1), b'{"usd":0.5,"unpriced":1}'),
    (
        Run(
            id="r",
            name="n",
            state=RunState.OUT_OF_BUDGET,
            pins=Pins(request=RunRequest(target="t")),
            counts=Counts(total=2, passed=1),
            created_at=NOW,
        ),
        b'{"id":"r","name":"n","state":"out_of_budget","pins":{"request":{"target":"t"}},'
        b'"counts":{"total":2,"passed":1,"failed":0,"errored":0,"skipped":0,"damaged":0},"created_at":"2026-11-15T12:30:00Z"}',
    ),
    (
        GateRuling(expression="e", outcome=GateOutcome.INCONCLUSIVE, reason="r", interval=(0.1, 0.9), n=3),
        b'{"expression":"e","outcome":"inconclusive","reason":"r","value":null,"interval":[0.1,0.9],"n":3,'
        b'"unjudged":0,"needed_cases":null,"candidate":"","looks":null}',
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "body"), STORED, ids=[f"{type(word).__name__} {n}" for n, (word, _) in enumerate(STORED)]
)
def test_a_stored_form_is_written_and_read_back_as_it_was(word: Struct, body: bytes) -> None:
    assert msgspec.json.encode(word) == body
    assert msgspec.json.decode(body, type=type(word)) == word


NEWER: dict[str, Any] = {"of a newer version": {"deep": [1]}}


@pytest.mark.parametrize(
    "word", [word for word, _ in STORED], ids=[f"{type(w).__name__} {n}" for n, (w, _) in enumerate(STORED)]
)
def test_a_field_of_a_newer_version_keeps_nobody_from_reading(word: Struct) -> None:
    body = msgspec.to_builtins(word) | NEWER
    assert msgspec.convert(body, type=type(word)) == word


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (Run, b'{"id":"r","name":"n","state":"asleep","pins":{"datasets":[],"target":"t"},"counts":{}}'),
        (Pins, b'{"datasets":[{"path":"a.jsonl"}]}'),
        (Result, b'{"verdict":"passed"}'),
        (Result, b'{"case":{"id":"q","input":{"kind":"single_turn","message":"m"}},"verdict":"maybe"}'),
        (Transcript, b'{"kind":"transcript"}'),
        (Simulation, b'{"user":"offline","ending":"bored"}'),
        (UserMistake, b'{"kind":"off_plan","turn":"2","reason":"r"}'),
        (Counts, b'{"total":"4"}'),
        (Counts, b'{"total":1.5}'),
        (Rubric, b'{"name":"house"}'),
        (Usage, b'{"prompt_tokens":-0.5}'),
    ],
)
def test_what_is_not_of_the_form_is_refused_and_never_half_read(kind: type[Struct], body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=kind)


@pytest.mark.parametrize(
    ("pins", "key"),
    [
        (Pins(request=RunRequest(target="t"), datasets=()), ""),
        (Pins(request=RunRequest(target="t"), datasets=(), agent_id="a"), "a"),
        (Pins(request=RunRequest(target="t"), datasets=(), agent=Agent(id="b", name="n")), "b"),
        (Pins(request=RunRequest(target="t"), datasets=(), agent=Agent(id="b", name="n"), agent_id="a"), "b"),
    ],
    ids=["nobody", "an id alone", "described", "the description wins"],
)
def test_the_agent_of_a_run_has_one_id(pins: Pins, key: str) -> None:
    assert pins.agent_key == key


@pytest.mark.parametrize("moment", ["2026-11-15T12:30:00Z", "2026-11-15T13:30:00+01:00", "2026-11-15T12:30:00.000000Z"])
def test_a_moment_is_the_same_in_any_zone(moment: str) -> None:
    body = {"id": "r", "name": "n", "state": "running", "pins": {"datasets": [], "target": "t"}, "counts": {}}
    assert msgspec.convert({**body, "created_at": moment}, type=Run).created_at == NOW


MODULES: tuple[ModuleType, ...] = (
    access_scope, adk_criteria, agent, calibration, case, comparison, dataset_policy, document, errors, expectation,
    flag, job, label, leaderboard, llm_settings, plain_values, result, rubric, run, run_history, run_request,
    score, simulation, summary, tool_runs, transcript, triage, verdict, webhook,
)  # fmt: skip
WORDS: list[type[Struct]] = [
    word
    for module in MODULES
    for word in vars(module).values()
    if isinstance(word, type) and issubclass(word, Struct) and word.__module__ == module.__name__
]
UNIONS: dict[str, Any] = {
    "Input": case.Input,
    "Expectation": expectation.Expectation,
    "Grade": score.Grade,
    "Step": transcript.Step,
    "Recording": transcript.Transcript | transcript.BrokenRecording,
}

TEXTS = ("", "a", "é\n", "\u2028\x00", "\U0001f600", "null", "2024-01-01", '"\\', "\x1f")
NUMBERS = (0.0, -0.0, 1.0, -2.5, 5e-324, 1.7976931348623157e308, 1 / 3, 1e16)
WHOLE = (0, 1, -1, 2**31, 2**53 + 1, -(2**62))
SCALES = (score.UNIT, score.LIKERT, score.OPEN, score.Scale(-3.5, 0))
PLAIN: dict[type[shape.Type], Sequence[Any]] = {
    shape.AnyType: (None, True, 0, 2**70, 0.5, "x", [], {}, [{"a": [None, 1]}], {"$any": True}, {"": ""}),
    shape.StrType: TEXTS,
    shape.IntType: WHOLE,
    shape.FloatType: NUMBERS,
    shape.BoolType: (True, False),
    shape.NoneType: (None,),
    shape.BytesType: (b"", b"\x00\xff", b"{}"),
    shape.DateTimeType: (datetime(2024, 2, 29, 23, 59, 59, 999999, UTC), datetime(1, 1, 1, tzinfo=UTC)),
}


def made(kind: shape.Type, random: Random) -> Any:
    """Something that a field of this type may hold. (Hypothesis needs minutes to build these by its own means.)"""
    match kind:
        case shape.EnumType(cls=cls):
            return random.choice(list(cls))
        case shape.UnionType(types=types):
            return made(random.choice(types), random)
        case shape.VarTupleType(item_type=inner):
            return tuple(made(inner, random) for _ in range(random.randrange(3)))
        case shape.TupleType(item_types=inners):
            return tuple(made(each, random) for each in inners)
        case shape.DictType(key_type=key, value_type=value):
            return {made(key, random): made(value, random) for _ in range(random.randrange(3))}
        case shape.StructType(cls=cls):
            return a_word(cls, random)
        case _:
            return random.choice(PLAIN[type(kind)])


described = cache(shape.type_info)


def a_word(cls: type[Struct], random: Random) -> Any:
    """Something of this class that may be built at all."""
    kind = described(cls)
    assert isinstance(kind, shape.StructType)
    fields = {field.name: made(field.type, random) for field in kind.fields}
    if cls is case.Script:
        fields["turns"] = (*fields["turns"], "at least one")
    if cls is score.Score:
        scale = random.choice(SCALES)
        fields |= {"scale": scale, "value": random.choice((scale.low, scale.high or scale.low + 1))}
    if cls is llm_settings.RateLimits:
        fields = {name: abs(rate) or 1.0 if rate is not None else None for name, rate in fields.items()}
    return cls(**fields)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
def test_what_is_stored_is_what_is_read(word: type[Struct]) -> None:
    for seed in range(25):
        thing = a_word(word, Random(seed))
        stored = msgspec.json.encode(thing)
        back = msgspec.json.decode(stored, type=word)
        assert back == thing, seed


@pytest.mark.parametrize("name", UNIONS)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), pick=st.integers(0, 11))
def test_a_union_is_read_back_as_the_kind_it_was(name: str, seed: int, pick: int) -> None:
    kinds = get_args(UNIONS[name])
    thing = a_word(kinds[pick % len(kinds)], Random(seed))
    back = msgspec.json.decode(msgspec.json.encode(thing), type=UNIONS[name])
    assert type(back) is type(thing)
    assert back == thing


@pytest.mark.parametrize("name", UNIONS)
def test_a_kind_nobody_knows_is_refused_and_so_is_none_at_all(name: str) -> None:
    kind: Any = UNIONS[name]
    strangers: tuple[Any, ...] = ({"kind": "unheard-of", "name": "x"}, {"name": "x"}, {"kind": 1}, [], None)
    for strange in strangers:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(strange, type=kind)


@pytest.mark.parametrize("name", UNIONS)
def test_the_kind_is_written_in_a_field_called_kind(name: str) -> None:
    tags = [kind.__struct_config__.tag for kind in get_args(UNIONS[name])]
    assert len(set(tags)) == len(tags)
    assert {kind.__struct_config__.tag_field for kind in get_args(UNIONS[name])} == {"kind"}


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
def test_nothing_in_the_model_can_be_changed(word: type[Struct]) -> None:
    assert word.__struct_config__.frozen
    thing = a_word(word, Random(1))
    with pytest.raises(AttributeError, match="immutable type"):
        setattr(thing, word.__struct_fields__[0], "changed")


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
def test_a_field_nobody_knows_is_refused_when_it_is_built(word: type[Struct]) -> None:
    with pytest.raises(TypeError):
        word(no_such_field=1)


def test_the_walk_found_the_whole_vocabulary() -> None:
    names = {word.__name__ for word in WORDS}
    assert names >= {"Agent", "Case", "Problem", "Profile", "Result", "Rubric", "Run", "Score", "Summary"}
    assert names >= {"Transcript", "Calibration", "JudgeTest", "Decision", "Unscored", "BrokenRecording", "RunRequest"}
    assert names >= {"CallSettings", "Comparison", "Document", "GateRuling", "History", "HumanLabel", "Job"}
    assert names >= {"AccessScope", "SampleSizePlan", "Simulation", "Triage", "VarianceComponents"}
    assert len(WORDS) >= 100


def test_no_word_of_the_model_is_left_out() -> None:
    there = {module.name for module in iter_modules(model.__path__)}
    assert {module.__name__.rpartition(".")[2] for module in MODULES} - {"errors"} == there


@pytest.mark.parametrize(
    "metadata",
    [
        {"big": 2**70, "negative": -(2**70)},
        {"text": "line\u2028break \x00 \U0001f600 \u202e"},
        {"": {"": [[], {}, None, False, 0, 0.0, ""]}},
        {"deep": [[[[[[[[[[1]]]]]]]]]]},
        {"$any": True},
        {"tiny": 5e-324, "large": 1.7976931348623157e308, "third": 1 / 3},
    ],
    ids=["beyond 64 bits", "odd characters", "empty things", "deep", "dollar keys", "every bit of a float"],
)
def test_metadata_is_kept_as_it_was(metadata: dict[str, Any]) -> None:
    kept = case.Case(id="1", input=case.SingleTurn(message="Hi"), metadata=metadata)
    back = msgspec.json.decode(msgspec.json.encode(kept), type=case.Case).metadata
    assert back == metadata
    assert repr(back) == repr(metadata)


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (Severity, ["high", "medium", "low"]),
        (Scope, ["prompt", "knowledge_base", "function", "general"]),
        (Verdict, ["passed", "failed", "errored", "skipped", "damaged"]),
        (Normalization, ["points", "min_max"]),
        (Direction, ["higher", "lower", "neither"]),
    ],
)
def test_the_values_that_files_and_stores_hold_are_fixed(kind: type[Enum], stored: list[str]) -> None:
    assert [each.value for each in kind] == stored


@pytest.mark.parametrize("severity", ["critical", "HIGH", "", None, 1])
def test_a_severity_nobody_knows_is_refused(severity: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"id": "r", "name": "r", "severity": severity}, type=Rule)


def test_a_rule_cannot_be_without_severity() -> None:
    with pytest.raises(TypeError, match="severity"):
        Rule(id="r", name="r")  # type: ignore[call-arg]


def test_a_rule_without_scope_is_not_one_about_everything() -> None:
    assert Rule(id="r", name="r", severity=Severity.LOW).scope is None
    assert OUTCOME_CHECK == "outcome_check"


def test_a_rubric_is_in_its_first_version_until_it_says_otherwise() -> None:
    assert Rubric(name="house", rules=()).version == 1


def test_a_profile_gates_nothing_until_it_says_so() -> None:
    profile = Profile(name="quiet")
    assert (profile.marks, profile.weights, profile.hard_fails, profile.composite_mark) == ({}, {}, {}, None)
    assert profile.normalization is Normalization.POINTS


def test_two_profiles_share_no_marks() -> None:
    one, other = Profile(name="a"), Profile(name="b")
    one.marks["choice"] = 0.5
    assert other.marks == {}


def test_an_agent_without_a_model_or_harness_says_so() -> None:
    agent = Agent(id="1", name="Juno", tools=(AgentTool(tool_name="search"),))
    assert msgspec.json.encode(agent) == b'{"id":"1","name":"Juno","tools":[{"tool_name":"search"}]}'
    assert agent.model is None
    assert agent.harness is None
    assert msgspec.json.decode(b'{"id":"1","name":"J","harness":{}}', type=Agent).harness == {}


def test_a_knowledge_base_of_no_documents_is_not_one_nobody_counted() -> None:
    assert KnowledgeBase(id="1", name="k").document_count is None
    stored = msgspec.json.encode(KnowledgeBase(id="1", name="k", document_count=0))
    assert stored == b'{"id":"1","name":"k","document_count":0}'


def test_a_figure_that_is_not_defined_is_null_and_not_zero() -> None:
    assert msgspec.json.encode(Figure()) == b'{"value":null,"interval":null,"n":0}'
    assert Figure(value=0.0) != Figure()


def test_an_interval_has_two_ends() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"value": 0.5, "interval": [0.1]}, type=Figure)


def test_nothing_is_covered_at_first() -> None:
    coverage = LabelCoverage()
    assert [getattr(coverage, name) for name in coverage.__struct_fields__ if getattr(coverage, name)] == []


def test_a_decision_keeps_the_grades_it_rests_on() -> None:
    grade = Score(name="choice", value=1.0, pass_mark=1.0)
    decision = Decision(verdict=Verdict.PASSED, reasons=("all held",), grades=(grade,))
    assert msgspec.json.decode(msgspec.json.encode(decision), type=Decision) == decision
