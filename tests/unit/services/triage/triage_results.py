"""Results that did not pass, as short as triage needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from howsure.model.case import Case, Input, SingleTurn
from howsure.model.expectation import Expectation, text_id
from howsure.model.result import Failure, Result
from howsure.model.rubric import Severity
from howsure.model.score import Grade, Part, Score, Unscored, UnscoredReason
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from howsure.model.triage import RootCauseReport, Triage
from howsure.model.verdict import Verdict
from howsure.services.triage.facts import read_facts
from howsure.services.triage.groups import RunTotals, cause_groups, divergences, group_results
from howsure.services.triage.rules import RunFacts, find_cause


def criterion(text: str, passed: bool, reason: str = "", *, id: str = "", weight: float | None = None) -> Score:
    part = Part(id=id or text_id(text), text=text, weight=weight)
    name = "criteria" if weight is None else "weighted_criteria"
    return Score(name=name, value=float(passed), pass_mark=1.0, reason=reason, part=part, judge="j")


def rule(id: str, passed: bool, reason: str = "", scope: str = "", severity: Severity = Severity.HIGH) -> Score:
    part = Part(id=id, text=f"about {id}", severity=severity, scope=scope)
    return Score(name="rubric", value=float(passed), pass_mark=1.0, reason=reason, part=part, judge="j")


def grade(name: str, passed: bool, reason: str = "", judge: str = "", **details: Any) -> Score:
    return Score(name=name, value=float(passed), pass_mark=1.0, reason=reason, judge=judge, details=details)


def unreadable(name: str, reason: str = "no value in the reply", judge: str = "j") -> Unscored:
    return Unscored(name=name, why=UnscoredReason.ERROR, reason=reason, judge=judge)


def called(name: str, content: Any = "found it", *, failed: bool = False, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments, result=ToolResult(content=content, failed=failed))


def talk(*calls: ToolCall, answer: str = "Here you are.", **fields: Any) -> Transcript:
    return Transcript(answer=answer, messages=(Message(role=Role.ASSISTANT, tool_calls=calls),), **fields)


def result(
    *grades: Grade,
    id: str = "c1",
    said: Transcript | None = None,
    broke: Sequence[Failure] = (),
    asked: Input | None = None,
    expects: Sequence[Expectation] = (),
    **fields: Any,
) -> Result:
    """Failed, unless something broke or could not be graded; everything that fails gates."""
    case_fields = {key: fields.pop(key) for key in ("name", "tags", "labels", "tools") if key in fields}
    case = Case(id=id, input=asked or SingleTurn(message="Hello?"), expectations=tuple(expects), **case_fields)
    failing = [each for each in grades if isinstance(each, Score) and each.passed is False]
    verdict = Verdict.FAILED if failing else Verdict.ERRORED
    reasons = tuple(f"{each.name} 0.00 < 1.00: {each.reason}" for each in failing if each.part is None)
    given = {"verdict": verdict, "reasons": reasons, **fields}
    spoken = None if broke else said or talk()
    return Result(case=case, grades=grades, failures=tuple(broke), transcript=spoken, **given)


def a_triage(
    *results: Result, written: RootCauseReport | None = None, totals: RunTotals | None = None, **counts: int
) -> Triage:
    """The triage of these results, as if they were all that did not pass."""
    facts = [read_facts(each) for each in results if each.verdict in (Verdict.FAILED, Verdict.ERRORED)]
    findings = [find_cause(each, RunFacts()) for each in facts]
    failed = sum(each.verdict is Verdict.FAILED for each in facts)
    numbers = {"total": len(facts), "passed": 0, "failed": failed, "errored": len(facts) - failed, "skipped": 0}
    return Triage(
        run_id="r1",
        run_name="a run",
        judge="offline",
        **{**numbers, **counts},
        causes=cause_groups(findings),
        divergences=divergences(facts, findings),
        groups=group_results(facts, findings, totals or RunTotals()),
        findings=tuple(findings),
        written=written or RootCauseReport(),
    )
