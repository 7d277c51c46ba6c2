"""`agent-session`: a recorded session of an agent whose messages have typed contents (text, function calls, function
results). Each session becomes explain cases: the answer as it was, and worse ones, one for each quality band, to test
whether a judge can tell them apart. Each change to an answer has a name, and the same answer always gives the same
worse ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from howsure.dialects.documents import load_json
from howsure.dialects.explain_rows import AGENTS, FAILED, LABELS, MUTATIONS, PAYLOADS, TOPIC_FAMILIES
from howsure.dialects.importers.base import OptionImporter, skipped_case, text_hash, wrong_kind
from howsure.dialects.problems import Spot
from howsure.dialects.simulation_messages import arguments_of, first_present, objects_in
from howsure.dialects.strict_json import Json
from howsure.errors import Problem
from howsure.model.case import Case, SingleTurn, World
from howsure.model.expectation import Contract, Expectation, Goal, Qualities, ReferenceAnswer
from howsure.model.transcript import Message, Role, Tool, ToolCall, ToolResult, Transcript

BANDS = ("excellent", "good", "mixed", "poor")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FIXED = frozenset({"questions", "options"})
"""Lists whose length is part of the output's contract."""
_WORDS_OF_A_THIN_TEXT = 4


class WorseAnswer(Struct, frozen=True):
    """An answer of one quality band, and the names of the changes made to it."""

    text: str
    mutations: tuple[str, ...]


def worsen_answer(answer: str, band: str) -> WorseAnswer | None:
    """The answer made as bad as this band; None where it is too short for that."""
    if band == BANDS[0]:
        return WorseAnswer(answer, ())
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        value = None
    worse = _worse_json(value, band) if isinstance(value, dict) else _worse_prose(answer, band)
    return worse if worse is not None and worse.mutations else None


def _worse_prose(answer: str, band: str) -> WorseAnswer | None:
    sentences = _SENTENCE.split(answer.strip())
    if len(sentences) < len(BANDS):
        return None
    if band == "good":
        return WorseAnswer(" ".join(sentences[:-1]), ("drop-last-sentence",))
    if band == "mixed":
        return WorseAnswer(" ".join(sentences[: len(sentences) // 2]), ("keep-half-of-sentences",))
    return WorseAnswer(_thin(sentences[0]), ("keep-first-sentence", "thin-texts"))


def _worse_json(value: dict[str, Any], band: str) -> WorseAnswer | None:
    lists = sorted(_lists(value), key=lambda pair: (-len(pair[1]), pair[0]))
    names: list[str] = []
    if lists and len(lists[0][1]) >= len(BANDS) - 1:
        path, longest = lists[0]
        shortened = {"good": len(longest) - 1, "mixed": len(longest) // 2, "poor": 1}[band]
        del longest[shortened:]
        names.append(f"keep-{shortened}-of:{path}")
    texts = sorted(_texts(value), key=lambda place: (-len(place[2][place[1]]), place[0]))
    thinned = texts[: {"good": 0 if names else 1, "mixed": 1, "poor": len(texts)}[band]]
    for path, key, holder in thinned:
        holder[key] = _thin(holder[key])
        names.append(f"thin-text:{path}")
    return WorseAnswer(json.dumps(value, ensure_ascii=False), tuple(names))


def _lists(value: Any, path: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Every list that may be shortened, with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            at = f"{path}.{key}" if path else key
            if isinstance(inner, list) and key not in _FIXED:
                yield at, inner
            else:
                yield from _lists(inner, at)
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _lists(inner, f"{path}[{index}]")


def _texts(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every text that can be shortened: its path, its key and the object that holds it."""
    places = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in places:
        at = f"{path}[{key}]" if isinstance(value, list) else f"{path}.{key}" if path else str(key)
        if isinstance(inner, str) and _thin(inner) != inner and " " in inner:
            yield at, key, value
        else:
            yield from _texts(inner, at)


def _thin(text: str) -> str:
    return " ".join(text.split()[:_WORDS_OF_A_THIN_TEXT])


KNOWN = {
    "learning-path-curator": ("preparation", "LearningPathCurationOutput", "prep_default"),
    "study-plan-generator": ("preparation", "StudyPlanOutput", "prep_default"),
    "engagement-agent": ("preparation", "EngagementPlanOutput", "prep_default"),
    "readiness-assessment-agent": ("assessment", "AssessmentQuestionSetOutput", "assessment_strict"),
}
_SESSION_FORM = "a session: messages with a `role` and typed `contents`"
_LEVELS = ("beginner", "intermediate", "advanced")


class AgentSession(Struct, frozen=True, kw_only=True):
    """The question, the answer and the calls of a session."""

    question: str
    answer: str
    calls: tuple[ToolCall, ...]
    tools: tuple[Tool, ...] | None


class AgentSessionImporter(OptionImporter):
    """JSON of one recorded session."""

    name = "agent-session"

    def detect(self, path: Path, head: bytes) -> bool:
        if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return False
        return b'"contents"' in head and b'"role"' in head and b'"messages"' in head

    def read(self, path: Path) -> Iterator[Case | Problem]:
        document = load_json(path)
        yield from document.problems
        if document.problems:
            return
        messages, spot = _messages(document.value), document.spot
        if messages is None:
            yield wrong_kind(spot, _SESSION_FORM, document.value)
            return
        session = _session(messages, document.value)
        if not session.question:
            yield spot.problem("no-user-inputs", "the user says nothing in this session", expected="a user's text")
        elif not session.answer:
            yield spot.problem("no-answer", "the agent says nothing in this session", expected="an assistant's text")
        else:
            yield from self._cases(session, path, spot)

    def _cases(self, session: AgentSession, path: Path, spot: Spot) -> Iterator[Case | Problem]:
        labels = self._labels(session, path)
        missing = [name for name in LABELS if name not in ("phase", "quality_band") and not labels.get(name)]
        for name in missing:
            message = f"nothing tells the `{name}` of this session"
            hint = f"give it with --metadata {name}:…" if name != "agent_name" else "give it with --agent NAME"
            yield spot.problem("missing-label", message, expected=name, hint=hint)
        if missing:
            return
        for band in BANDS:
            answer = worsen_answer(session.answer, band)
            if answer is None:
                yield skipped_case(spot, f"the answer is too short to be made {band}")
            else:
                yield self._case(session, answer, {**labels, "quality_band": band})

    def _labels(self, session: AgentSession, path: Path) -> dict[str, str]:
        """The labels: from the user's options, else from the session itself."""
        chosen = self._options.metadata
        agent = self._options.agent or next((part for part in reversed(path.parts[:-1]) if part in AGENTS), "")
        shown = {
            "agent_name": agent,
            "phase": KNOWN[agent][0] if agent in KNOWN else "",
            "topic_family": _mentioned(session.question, TOPIC_FAMILIES),
            "learner_level": _mentioned(session.question, _LEVELS),
        }
        known = {**shown, **{name: chosen[name] for name in LABELS if name in chosen}}
        return {name: known[name] for name in LABELS if known.get(name)}

    def _case(self, session: AgentSession, answer: WorseAnswer, labels: dict[str, str]) -> Case:
        agent, band = labels["agent_name"], labels["quality_band"]
        _, contract, profile = KNOWN.get(agent, ("", "", ""))
        goal = self._options.metadata.get("task_goal", "")
        calls = [Message(role=Role.ASSISTANT, tool_calls=(call,)) for call in session.calls]
        return Case(
            id=f"{agent}-{int(text_hash((session.question, session.answer, band)), 16):015}",
            input=SingleTurn(message=session.question, context=self._options.metadata.get("context", "")),
            expectations=tuple(_expectations(session, goal, self._options.metadata.get("contract", contract))),
            world=World.EXPLAIN,
            profile=self._options.metadata.get("threshold_profile", profile),
            labels={name: labels[name] for name in LABELS if name in labels},
            metadata={MUTATIONS: list(answer.mutations)},
            tools=session.tools,
            recorded=Transcript(
                answer=answer.text, messages=(*calls, Message(role=Role.ASSISTANT, content=answer.text))
            ),
        )


def _expectations(session: AgentSession, goal: str, contract: str) -> Iterator[Expectation]:
    without = {"ToolCallAccuracyExplain": session.tools is None, "TaskAdherenceExplain": not goal}
    yield Qualities(names=tuple(name for name in PAYLOADS if not without.get(name)))
    if goal:
        yield Goal(text=goal)
    yield ReferenceAnswer(answers=(session.answer,))
    if contract:
        yield Contract(name=contract)


def _messages(value: Any, depth: int = 0) -> list[Json] | None:
    """The first list of messages with contents, at any depth."""
    if depth > 8:
        return None
    if isinstance(value, list) and value and all(isinstance(one, dict) and "contents" in one for one in value):
        return value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((messages for one in inner if (messages := _messages(one, depth + 1)) is not None), None)


def _session(messages: list[Json], whole: Any) -> AgentSession:
    results = {
        str(first_present(part, "callId", "call_id")): part.get("result")
        for message in messages
        for part in _parts(message, "functionResult")
    }
    calls = [part for message in messages for part in _parts(message, "functionCall")]
    texts = [
        (str(message.get("role")), "".join(str(part.get("text") or "") for part in _parts(message, "text")).strip())
        for message in messages
    ]
    tools = whole.get("tools") if isinstance(whole, dict) else None
    listed = tools if isinstance(tools, list) else []
    names = [tool.get("name") if isinstance(tool, dict) else tool for tool in listed]
    return AgentSession(
        question=next((text for role, text in texts if role == "user" and text), ""),
        answer=next((text for role, text in reversed(texts) if role == "assistant" and text), ""),
        calls=tuple(_call(part, results) for part in calls),
        tools=tuple(Tool(name=name) for name in names if isinstance(name, str) and name.strip())
        if isinstance(tools, list)
        else None,
    )


def _parts(message: Json, kind: str) -> list[Json]:
    return [part for part in objects_in(message.get("contents")) if first_present(part, "$type", "type") == kind]


def _call(part: Json, results: Json) -> ToolCall:
    """A call in the terms of explain rows: its result becomes an outcome; no result, no outcome."""
    id = str(first_present(part, "callId", "call_id"))
    outcome = None
    if id in results:
        broke = any(word in str(results[id]) for word in ("Error", "failed"))
        outcome = ToolResult(content=FAILED if broke else "relevant", failed=broke)
    return ToolCall(name=str(part.get("name") or ""), arguments=arguments_of(part.get("arguments")), result=outcome)


def _mentioned(text: str, known: tuple[str, ...]) -> str:
    """The one name that the text mentions; "" where it mentions none or several."""
    mentioned = [name for name in known if name.lower() in text.lower()]
    return mentioned[0] if len(mentioned) == 1 else ""
