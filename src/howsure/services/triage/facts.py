"""What triage looks at in one result that did not pass: a few short texts, so that tens of thousands of results fit in
memory. Also: which tools search documents, and whether a search found anything. Nothing is decided here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from howsure.judges.empty_answers import is_blank
from howsure.model.agent import Agent
from howsure.model.case import Case, SingleTurn, user_turns
from howsure.model.expectation import ToolCalls, text_id
from howsure.model.flag import NO_ANSWER
from howsure.model.result import Result
from howsure.model.rubric import Severity
from howsure.model.score import Part, Score, Unscored, UnscoredReason
from howsure.model.simulation import Ending, Fault
from howsure.model.transcript import ToolCall, Transcript
from howsure.model.verdict import Verdict
from howsure.policies.verdicts import COMPOSITE
from howsure.users.attribution import find_fault

SEARCHING = frozenset(
    {"search", "searches", "retrieve", "retrieves", "retrieval", "retriever", "rag", "vector", "knowledge", "kb"}
    | {"faq", "faqs", "docs", "documents", "websearch", "grounding"}
)
FOUND_KEYS = frozenset(
    ("documents", "docs", "results", "hits", "matches", "passages", "chunks", "records", "articles", "entries", "items")
)
"""Keys under which searches return what they found. An object in which all of these are empty found nothing."""

_NAME_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NOTHING = re.compile(
    r"\W*(?:no (?:results?|documents?|matches|hits|entries|articles|records)\b.*|nothing (?:was )?found.*|not found|"
    r"none|0 (?:results|documents|hits|matches).*|null|\[\s*\]|\{\s*\}|empty)?\W*",
    re.IGNORECASE | re.DOTALL,
)


def searches(name: str, kind: str = "") -> bool:
    """Whether a tool of this name or kind looks things up in documents."""
    return not SEARCHING.isdisjoint(word.lower() for word in _NAME_WORDS.findall(f"{name} {kind}"))


def search_tools(agent: Agent | None) -> frozenset[str]:
    """The tools that the agent's description calls retrievers, whatever their names are."""
    return frozenset(tool.tool_name for tool in agent.tools if searches("", tool.type)) if agent else frozenset()


def found_nothing(content: Any) -> bool:
    """Whether the result of a search is empty: nothing at all, an empty list, or words that say so."""
    match content:
        case None:
            return True
        case str():
            return _NOTHING.fullmatch(content) is not None
        case Mapping():
            known = [value for key, value in content.items() if str(key).lower() in FOUND_KEYS]
            return all(found_nothing(value) for value in known) if known else not content
        case list() | tuple():
            return not content
        case _:
            return False


CRITERIA, RUBRIC, WEIGHTED, OUTCOME = "criteria", "rubric", "weighted_criteria", "expected_outcome"
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
    """A criterion or rule that was not met. `key` is the same wherever the same thing is checked: rules are the same
    for every case, and so are criteria whose id is made from their text; any other id is only known within its case."""

    grader: str
    key: str
    id: str
    text: str
    scope: str
    reason: str
    severe: bool
    penalty: bool


class FailedGrade(Struct, frozen=True):
    """A whole-case grade below its pass mark. `gates`: it is among the reasons of the verdict. `flag`: as its Score
    says."""

    name: str
    reason: str
    judged: bool
    gates: bool
    partly: bool = False
    flag: str = ""


class ToolFaults(Struct, frozen=True, kw_only=True):
    """What went wrong with tools, by name."""

    missing: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    searched: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        """Every tool with a fault, once."""
        return tuple(dict.fromkeys((*self.missing, *self.wrong, *self.unwanted, *self.failed, *self.empty)))


class ResultFacts(Struct, frozen=True, kw_only=True):
    """The facts of one result. `passed_rules` and `passed_criteria` are counts; `outcome`: whether the expected outcome
    was reached."""

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
    failed: tuple[FailedGrade, ...]
    parts: tuple[FailedPart, ...]
    errors: tuple[tuple[str, str], ...]
    passed_rules: int
    passed_criteria: int
    outcome: bool | None
    tools: ToolFaults
    empty_answer: bool
    silence: str
    single_turn: bool
    placeholder: str
    cut_off: bool

    def failed_parts(self, grader: str) -> tuple[FailedPart, ...]:
        return tuple(part for part in self.parts if part.grader == grader)

    def fails(self, *names: str) -> FailedGrade | None:
        """The first of these graders that fails the case."""
        return next((each for name in names for each in self.failed if each.name == name and each.gates), None)

    @property
    def texts(self) -> Iterator[str]:
        """The reasons of everything that failed or broke, as they were written."""
        # A sum has no reason of its own.
        whole = {COMPOSITE, *(part.grader for part in self.parts)}
        yield from (part.reason for part in self.parts if part.reason)
        yield from (each.reason for each in self.failed if each.reason and each.name not in whole)
        yield from (reason for name, reason in self.errors if name not in whole)
        yield from self.failures


def read_facts(
    result: Result, agent_tools: frozenset[str] | None = None, retrievers: frozenset[str] = frozenset()
) -> ResultFacts:
    """The facts of one result. `agent_tools` None: the agent's tools are not known. `retrievers` are tools known to
    search."""
    case, transcript = result.case, result.transcript
    scores = [grade for grade in result.grades if isinstance(grade, Score)]
    return ResultFacts(
        case_id=case.id,
        case_name=case.name,
        candidate=result.candidate,
        repeat=result.repeat,
        position=result.position,
        verdict=result.verdict,
        labels=(*case.tags, *(f"{key}:{value}" for key, value in case.labels.items())),
        reasons=tuple(map(_cut, result.reasons)),
        failures=tuple(_cut(failure.message) for failure in result.failures),
        fault=result.fault or find_fault(result.verdict, transcript, result.grades, result.failures),
        failed=tuple(_failed(scores, result.reasons)),
        parts=tuple(_parts(case.id, scores)),
        errors=tuple(
            (grade.name, _cut(grade.reason))
            for grade in result.grades
            if isinstance(grade, Unscored) and grade.why is UnscoredReason.ERROR
        ),
        passed_rules=_passed_parts(scores, RUBRIC),
        passed_criteria=_passed_parts(scores, CRITERIA),
        outcome=next((score.passed for score in scores if score.name == OUTCOME and score.part is None), None),
        tools=_tools(case, scores, transcript, agent_tools, retrievers),
        empty_answer=transcript is not None and is_blank(transcript.answer) and not transcript.tool_calls,
        silence=next((each.text for each in transcript.flags if each.kind == NO_ANSWER), "") if transcript else "",
        single_turn=isinstance(case.input, SingleTurn) and not case.input.history and not case.input.context,
        placeholder=next((found[0] for text in user_turns(case.input) if (found := _PLACEHOLDER.search(text))), ""),
        cut_off=(
            transcript is not None
            and transcript.simulation is not None
            and transcript.simulation.ending is Ending.TURN_LIMIT
        ),
    )


def _failed(scores: Iterable[Score], reasons: Sequence[str]) -> Iterator[FailedGrade]:
    for score in scores:
        if score.part is None and score.passed is False:
            gates = any(reason.removeprefix("hard fail: ").startswith(f"{score.name} ") for reason in reasons)
            chosen, correct = score.details.get("chosen"), score.details.get("correct")
            partly = isinstance(chosen, list) and isinstance(correct, list) and not set(chosen).isdisjoint(correct)
            yield FailedGrade(score.name, _cut(score.reason), bool(score.judge), gates, partly, score.flag)


def part_key(grader: str, case_id: str, part: Part) -> str:
    return part.id if grader == RUBRIC or part.id == text_id(part.text) else case_part_key(case_id, part.id)


def case_part_key(case_id: str, part_id: str) -> str:
    return f"{case_id}\x1f{part_id}"


def _parts(case_id: str, scores: Iterable[Score]) -> Iterator[FailedPart]:
    for score in scores:
        if (part := score.part) is not None and score.passed is False:
            penalty = (part.weight or 0) < 0
            severe = part.severity in (None, Severity.HIGH)
            key = part_key(score.name, case_id, part)
            yield FailedPart(score.name, key, part.id, _cut(part.text), part.scope, _cut(score.reason), severe, penalty)


def _passed_parts(scores: Iterable[Score], grader: str) -> int:
    return sum(score.passed is True for score in scores if score.name == grader and score.part is not None)


def _tools(
    case: Case,
    scores: Iterable[Score],
    transcript: Transcript | None,
    agent_tools: frozenset[str] | None,
    retrievers: frozenset[str],
) -> ToolFaults:
    reasons = "; ".join(score.reason for score in scores if score.name in TOOL_CHECKS and score.passed is False)
    calls = transcript.tool_calls if transcript else ()
    searched = [call for call in calls if searches(call.name) or call.name in retrievers]
    # A later search that found something makes up for one that did not.
    results = [call.result for call in searched if call.result is not None]
    found = any(not result.failed and not found_nothing(result.content) for result in results)
    empty = [] if found else [call.name for call in searched if call.result is not None]
    return ToolFaults(
        missing=_names(_MISSING.findall(reasons)),
        wrong=_names(_WRONG.findall(reasons)),
        unwanted=_names(_UNWANTED.findall(reasons)),
        lacking=_lacking_tools(case, calls, agent_tools),
        failed=_names(call.name for call in calls if call.result is not None and call.result.failed),
        empty=_names(empty),
        searched=bool(searched),
    )


def _lacking_tools(case: Case, calls: Sequence[ToolCall], agent_tools: frozenset[str] | None) -> tuple[str, ...]:
    """Required tools that the agent does not have. A tool that it called all the same is not lacking: the list is
    outdated."""
    known = agent_tools if case.tools is None else frozenset(tool.name for tool in case.tools)
    if known is None:
        return ()
    required = (call.name for each in case.expectations if isinstance(each, ToolCalls) for call in each.expected)
    return _names(name for name in required if name not in known and all(call.name != name for call in calls))


def _names(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
