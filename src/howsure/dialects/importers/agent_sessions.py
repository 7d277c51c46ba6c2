"""`agent-session`: a recorded session of an agent whose messages have typed contents (text, function calls, function
results). Each becomes explain cases: the answer as it was, and worse ones by declared mutations, one for each band."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from howsure.dialects.documents import Json
from howsure.dialects.explain_cases import FAILED, LABELS, MUTATIONS
from howsure.dialects.explain_schema import AGENTS, PAYLOADS, TOPIC_FAMILIES
from howsure.dialects.importers.base import WithOptions, skipped, text_hash
from howsure.dialects.importers.loading import load, not_this
from howsure.dialects.importers.mutations import BANDS, Worse, worsened
from howsure.dialects.json_places import Spot
from howsure.dialects.simulation_talk import arguments_of, either, objects_in
from howsure.errors import Problem
from howsure.model.case import Case, SingleTurn, World
from howsure.model.expectation import Contract, Expectation, Goal, Qualities, ReferenceAnswer
from howsure.model.transcript import Message, Role, Tool, ToolCall, ToolResult, Transcript

KNOWN = {
    "learning-path-curator": ("preparation", "LearningPathCurationOutput", "prep_default"),
    "study-plan-generator": ("preparation", "StudyPlanOutput", "prep_default"),
    "engagement-agent": ("preparation", "EngagementPlanOutput", "prep_default"),
    "readiness-assessment-agent": ("assessment", "AssessmentQuestionSetOutput", "assessment_strict"),
}
_WANTED = "a session: messages with a `role` and typed `contents`"
_LEVELS = ("beginner", "intermediate", "advanced")


class Session(Struct, frozen=True, kw_only=True):
    """What a session tells."""

    question: str
    answer: str
    calls: tuple[ToolCall, ...]
    tools: tuple[Tool, ...] | None


class AgentSessions(WithOptions):
    """JSON of one recorded session."""

    name = "agent-session"

    def detect(self, path: Path, head: bytes) -> bool:
        if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return False
        return b'"contents"' in head and b'"role"' in head and b'"messages"' in head

    def read(self, path: Path) -> Iterator[Case | Problem]:
        loaded = load(path)
        yield from loaded.problems
        if loaded.problems:
            return
        messages = _messages(loaded.value)
        if messages is None:
            yield not_this(loaded.spot, _WANTED, loaded.value)
            return
        session = _session(messages, loaded.value)
        missing = _lacking(session, loaded.spot)
        if missing is not None:
            yield missing
            return
        yield from self._cases(session, path, loaded.spot)

    def _cases(self, session: Session, path: Path, spot: Spot) -> Iterator[Case | Problem]:
        labels = self._labels(session, path)
        missing = [name for name in LABELS if name not in ("phase", "quality_band") and not labels.get(name)]
        for name in missing:
            message = f"nothing tells the `{name}` of this session"
            hint = f"give it with --metadata {name}:…" if name != "agent_name" else "give it with --agent NAME"
            yield spot.problem("missing-label", message, expected=name, hint=hint)
        if missing:
            return
        for band in BANDS:
            made = worsened(session.answer, band)
            if made is None:
                yield skipped(spot, f"the answer is too short to be made {band}")
            else:
                yield self._case(session, made, {**labels, "quality_band": band})

    def _labels(self, session: Session, path: Path) -> dict[str, str]:
        """By what the user says, else by what the session itself shows."""
        given = self._options.metadata
        agent = self._options.agent or next((part for part in reversed(path.parts[:-1]) if part in AGENTS), "")
        shown = {
            "agent_name": agent,
            "phase": KNOWN[agent][0] if agent in KNOWN else "",
            "topic_family": _mentioned(session.question, TOPIC_FAMILIES),
            "learner_level": _mentioned(session.question, _LEVELS),
        }
        told = {**shown, **{name: given[name] for name in LABELS if name in given}}
        return {name: told[name] for name in LABELS if told.get(name)}

    def _case(self, session: Session, made: Worse, labels: dict[str, str]) -> Case:
        agent, band = labels["agent_name"], labels["quality_band"]
        _, contract, profile = KNOWN.get(agent, ("", "", ""))
        goal = self._options.metadata.get("task_goal", "")
        calls = [Message(role=Role.ASSISTANT, tool_calls=(call,)) for call in session.calls]
        names = {name: value for name, value in self._options.metadata.items() if name in LABELS}
        return Case(
            id=f"{agent}-{int(text_hash((session.question, session.answer, band)), 16):015}",
            input=SingleTurn(message=session.question, context=self._options.metadata.get("context", "")),
            expectations=tuple(_expectations(session, goal, self._options.metadata.get("contract", contract))),
            world=World.EXPLAIN,
            profile=self._options.metadata.get("threshold_profile", profile),
            labels={name: (labels | names | {"quality_band": band})[name] for name in LABELS if name in labels},
            metadata={MUTATIONS: list(made.mutations)},
            tools=session.tools,
            recorded=Transcript(answer=made.text, messages=(*calls, Message(role=Role.ASSISTANT, content=made.text))),
        )


def _expectations(session: Session, goal: str, contract: str) -> Iterator[Expectation]:
    without = {"ToolCallAccuracyExplain": session.tools is None, "TaskAdherenceExplain": not goal}
    yield Qualities(names=tuple(name for name in PAYLOADS if not without.get(name)))
    if goal:
        yield Goal(text=goal)
    yield ReferenceAnswer(answers=(session.answer,))
    if contract:
        yield Contract(name=contract)


def _messages(value: Any, depth: int = 0) -> list[Json] | None:
    """The first list of messages with contents, wherever the framework hides it."""
    if depth > 8:
        return None
    if isinstance(value, list) and value and all(isinstance(one, dict) and "contents" in one for one in value):
        return value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for one in inner if (found := _messages(one, depth + 1)) is not None), None)


def _session(messages: list[Json], whole: Any) -> Session:
    results = {
        str(either(part, "callId", "call_id")): part.get("result")
        for message in messages
        for part in _parts(message, "functionResult")
    }
    calls = [part for message in messages for part in _parts(message, "functionCall")]
    said = [(str(message.get("role")), _text(message)) for message in messages]
    tools = whole.get("tools") if isinstance(whole, dict) else None
    return Session(
        question=next((text for role, text in said if role == "user" and text), ""),
        answer=next((text for role, text in reversed(said) if role == "assistant" and text), ""),
        calls=tuple(_call(part, results) for part in calls),
        tools=tuple(Tool(name=name) for name in _tool_names(tools)) if isinstance(tools, list) else None,
    )


def _tool_names(tools: list[Any]) -> Iterator[str]:
    for tool in tools:
        name = tool if isinstance(tool, str) else tool.get("name") if isinstance(tool, dict) else None
        if isinstance(name, str) and name.strip():
            yield name


def _parts(message: Json, kind: str) -> list[Json]:
    return [part for part in objects_in(message.get("contents")) if either(part, "$type", "type") == kind]


def _text(message: Json) -> str:
    return "".join(str(part.get("text") or "") for part in _parts(message, "text")).strip()


def _call(part: Json, results: Json) -> ToolCall:
    """As explain rows tell it: a result is an outcome, and nothing is said where there was none."""
    id = str(either(part, "callId", "call_id"))
    outcome = None
    if id in results:
        broke = any(word in str(results[id]) for word in ("Error", "failed"))
        outcome = ToolResult(content=FAILED if broke else "relevant", failed=broke)
    return ToolCall(name=str(part.get("name") or ""), arguments=arguments_of(part.get("arguments")), result=outcome)


def _lacking(session: Session, spot: Spot) -> Problem | None:
    if not session.question:
        return spot.problem("no-user-inputs", "the user says nothing in this session", expected="a user's text")
    if not session.answer:
        return spot.problem("no-answer", "the agent says nothing in this session", expected="an assistant's text")
    return None


def _mentioned(text: str, known: tuple[str, ...]) -> str:
    """The one of these that the text names; "" where it names none or several."""
    found = [name for name in known if name.lower() in text.lower()]
    return found[0] if len(found) == 1 else ""
