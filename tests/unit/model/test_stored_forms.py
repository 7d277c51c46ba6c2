"""How stores, reports and recordings hold the words of the model: forms that must not change, what is left out because
it says nothing, and what newer or older versions wrote."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from howsure.model.agent import Agent, AgentModel, AgentTool, KnowledgeBase
from howsure.model.case import Case, Fact, PlanStep, Scenario, SingleTurn
from howsure.model.result import Failure, Result
from howsure.model.rubric import Rubric, Rule, Scope, Severity
from howsure.model.run import Counts, DatasetPin, ModelSpending, Pins, Run, RunState
from howsure.model.run_request import RunRequest
from howsure.model.score import LIKERT, Part, Score, Unscored, UnscoredReason
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
from howsure.model.verdict import Normalization, Verdict

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
        Unscored(name="x", why=UnscoredReason.NO_JUDGE, reason="r", scale=LIKERT, part=Part(id="c", text="t", weight=-1.0)),
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
        b'{"datasets":[{"path":"a.jsonl","sha256":"0","cases":4}],"target":"recorded"}',
    ),
    (
        Pins(request=RunRequest(target="t", normalization=Normalization.MIN_MAX, graders=(), filters={"tag": ("a",)}, limit=1), datasets=()),
        b'{"datasets":[],"target":"t","graders":[],"normalization":"min_max","filters":{"tag":["a"]},"limit":1}',
    ),
    (ModelSpending(), b"{}"),
    (ModelSpending(usd=0.5, unpriced=1), b'{"usd":0.5,"unpriced":1}'),
    (
        Run(
            id="r",
            name="n",
            state=RunState.OUT_OF_BUDGET,
            pins=Pins(request=RunRequest(target="t"), datasets=()),
            counts=Counts(total=2, passed=1),
            created_at=NOW,
        ),
        b'{"id":"r","name":"n","state":"out_of_budget","pins":{"datasets":[],"target":"t"},'
        b'"counts":{"total":2,"passed":1,"failed":0,"errored":0,"skipped":0},"created_at":"2026-11-15T12:30:00Z"}',
    ),
    (
        GateRuling(expression="e", outcome=GateOutcome.INCONCLUSIVE, reason="r", interval=(0.1, 0.9), n=3),
        b'{"expression":"e","outcome":"inconclusive","reason":"r","value":null,"interval":[0.1,0.9],"n":3,'
        b'"unjudged":0,"needed_cases":null,"candidate":""}',
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
        (Pins, b'{"datasets":[]}'),
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
