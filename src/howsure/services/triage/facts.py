"""What triage looks at in one result that did not pass: a few short texts, so that tens of thousands fit in memory.
Nothing is decided here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from howsure.judges.guard import is_blank
from howsure.model.case import Case, SingleTurn, user_turns
from howsure.model.expectation import ToolCalls, text_id
from howsure.model.result import Result
from howsure.model.rubric import Severity
from howsure.model.score import Grade, Part, Score, Unscored, Why
from howsure.model.simulation import Ending, Fault
from howsure.model.transcript import ToolCall, Transcript
from howsure.model.verdict import Verdict
from howsure.services.triage.searching import found_nothing, searches
from howsure.users.attribution import fault

CRITERIA, RUBRIC, WEIGHTED, OUTCOME = "criteria", "rubric", "weighted_criteria", "expected_outcome"
COMPOSITE = "composite"
TOOL_CHECKS = ("tool_calls", "tool_usage_accuracy", "tools_used")
LONGEST = 400
"""Characters of a text that are kept."""

_MISSING = re.compile(r"`([^`]+)` was not called")
_WRONG = re.compile(r"`([^`]+)` was called with other arguments")
_UNWANTED = re.compile(r"`([^`]+)` was called, but (?:is forbidden|not expected|no call was expected)")
_PLACEHOLDER = re.compile(
    r"\[[a-z][a-z _-]{2,40}\](?!\()|\{\{[^{}]{1,40}\}\}|<(?:insert|your|placeholder)[^<>]{0,40}>", re.I
)


class FailedPart(Struct, frozen=True):
    """A criterion or rule that was not met. `key` is the same wherever the same thing is asked: rules are the same for
    every case, and so are criteria whose id is made from their text; another id is known in its own case only."""

    grader: str
    key: str
    id: str
    text: str
    scope: str
    reason: str
    severe: bool
    penalty: bool


class Failed(Struct, frozen=True):
    """A grader's grade of the whole that is below its mark. `gates`: it is among the reasons of the verdict."""

    name: str
    reason: str
    judged: bool
    gates: bool
    partly: bool = False


class Tools(Struct, frozen=True, kw_only=True):
    """What was wrong about tools: by name."""

    missing: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    searched: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        """Every tool that something is wrong with, once."""
        return tuple(dict.fromkeys((*self.missing, *self.wrong, *self.unwanted, *self.failed, *self.empty)))


class Facts(Struct, frozen=True, kw_only=True):
    """One result. `passed_rules` and `passed_criteria` count; `outcome` is what became of the expected outcome."""

    case_id: str
    case_name: str
    candidate: str
    repeat: int
    position: int
    verdict: Verdict
    labels: tuple[str, ...]
    reasons: tuple[str, ...]
    failures: tuple[str, ...]
    fault: Fault | None
    failed: tuple[Failed, ...]
    parts: tuple[FailedPart, ...]
    errors: tuple[tuple[str, str], ...]
    passed_rules: int
    passed_criteria: int
    outcome: bool | None
    tools: Tools
    empty_answer: bool
    single_turn: bool
    placeholder: str
    cut_off: bool

    def of(self, grader: str) -> tuple[FailedPart, ...]:
        return tuple(part for part in self.parts if part.grader == grader)

    def fails(self, *names: str) -> Failed | None:
        """The first of these graders that fails the case."""
        return next((each for name in names for each in self.failed if each.name == name and each.gates), None)

    @property
    def texts(self) -> Iterator[str]:
        """The reasons of everything that failed or broke, as somebody wrote them."""
        # A sum has no reason of its own.
        whole = {COMPOSITE, *(part.grader for part in self.parts)}
        yield from (part.reason for part in self.parts if part.reason)
        yield from (each.reason for each in self.failed if each.reason and each.name not in whole)
        yield from (reason for name, reason in self.errors if name not in whole)
        yield from self.failures


def facts_of(
    result: Result, agent_tools: frozenset[str] | None = None, retrievers: frozenset[str] = frozenset()
) -> Facts:
    """`agent_tools` None: nobody says which tools the agent has. `retrievers` are tools known to search."""
    case, said = result.case, result.transcript
    scores = [grade for grade in result.grades if isinstance(grade, Score)]
    return Facts(
        case_id=case.id,
        case_name=case.name,
        candidate=result.candidate,
        repeat=result.repeat,
        position=result.position,
        verdict=result.verdict,
        labels=(*case.tags, *(f"{key}:{value}" for key, value in case.labels.items())),
        reasons=tuple(map(_cut, result.reasons)),
        failures=tuple(_cut(failure.message) for failure in result.failures),
        fault=result.fault or fault(result.verdict, said, result.grades, result.failures),
        failed=tuple(_failed(scores, result.reasons)),
        parts=tuple(_parts(case.id, scores)),
        errors=tuple(_errors(result.grades)),
        passed_rules=_held(scores, RUBRIC),
        passed_criteria=_held(scores, CRITERIA),
        outcome=next((score.passed for score in scores if score.name == OUTCOME and score.part is None), None),
        tools=_tools(case, scores, said, agent_tools, retrievers),
        empty_answer=said is not None and is_blank(said.answer) and not said.tool_calls,
        single_turn=isinstance(case.input, SingleTurn) and not case.input.history and not case.input.context,
        placeholder=next((found[0] for text in user_turns(case.input) if (found := _PLACEHOLDER.search(text))), ""),
        cut_off=_cut_off(said),
    )


def _cut_off(said: Transcript | None) -> bool:
    return said is not None and said.simulation is not None and said.simulation.ending is Ending.TURN_LIMIT


def _failed(scores: Iterable[Score], reasons: Sequence[str]) -> Iterator[Failed]:
    for score in scores:
        if score.part is None and score.passed is False:
            gates = any(reason.removeprefix("hard fail: ").startswith(f"{score.name} ") for reason in reasons)
            yield Failed(score.name, _cut(score.reason), bool(score.judge), gates, _partly(score))


def _partly(score: Score) -> bool:
    """A choice that has some of the right ones."""
    chosen, correct = (score.details.get(key) for key in ("chosen", "correct"))
    return isinstance(chosen, list) and isinstance(correct, list) and not set(chosen).isdisjoint(correct)


def part_key(grader: str, case_id: str, part: Part) -> str:
    return part.id if grader == RUBRIC or part.id == text_id(part.text) else own_key(case_id, part.id)


def own_key(case_id: str, part_id: str) -> str:
    return f"{case_id}\x1f{part_id}"


def _parts(case_id: str, scores: Iterable[Score]) -> Iterator[FailedPart]:
    for score in scores:
        if (part := score.part) is not None and score.passed is False:
            penalty = (part.weight or 0) < 0
            severe = part.severity in (None, Severity.HIGH)
            key = part_key(score.name, case_id, part)
            yield FailedPart(score.name, key, part.id, _cut(part.text), part.scope, _cut(score.reason), severe, penalty)


def _errors(grades: Iterable[Grade]) -> Iterator[tuple[str, str]]:
    for grade in grades:
        if isinstance(grade, Unscored) and grade.why is Why.ERROR:
            yield grade.name, _cut(grade.reason)


def _held(scores: Iterable[Score], grader: str) -> int:
    return sum(score.passed is True for score in scores if score.name == grader and score.part is not None)


def _tools(
    case: Case,
    scores: Iterable[Score],
    said: Transcript | None,
    agent_tools: frozenset[str] | None,
    retrievers: frozenset[str],
) -> Tools:
    told = "; ".join(score.reason for score in scores if score.name in TOOL_CHECKS and score.passed is False)
    calls = said.tool_calls if said else ()
    searched = [call for call in calls if searches(call.name) or call.name in retrievers]
    # A search that found something later makes up for one that did not.
    empty = [] if any(map(_found, searched)) else [call.name for call in searched if call.result is not None]
    return Tools(
        missing=_names(_MISSING.findall(told)),
        wrong=_names(_WRONG.findall(told)),
        unwanted=_names(_UNWANTED.findall(told)),
        lacking=_lacking(case, calls, agent_tools),
        failed=_names(call.name for call in calls if call.result is not None and call.result.failed),
        empty=_names(empty),
        searched=bool(searched),
    )


def _found(call: ToolCall) -> bool:
    return call.result is not None and not call.result.failed and not found_nothing(call.result.content)


def _lacking(case: Case, calls: Sequence[ToolCall], agent_tools: frozenset[str] | None) -> tuple[str, ...]:
    """Required tools that the agent does not have. One that it called all the same is no lack: the list is old."""
    known = agent_tools if case.tools is None else frozenset(tool.name for tool in case.tools)
    if known is None:
        return ()
    wanted = (call.name for each in case.expectations if isinstance(each, ToolCalls) for call in each.expected)
    return _names(name for name in wanted if name not in known and all(call.name != name for call in calls))


def _names(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
