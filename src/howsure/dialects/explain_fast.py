"""The quick way through an Explain line that has nothing to report: decoded and checked in one step. A line that does
not fit is not wrong for that; it is read again slowly, and every problem named (explain.py)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import astuple

from howsure.dialects.explain_cases import FAILED
from howsure.dialects.explain_schema import AGENTS, PHASE_AGENTS, TOPIC_FAMILIES
from howsure.dialects.strict_json import count_keys, duplicate_free
from howsure.model.case import Case, SingleTurn, World
from howsure.model.expectation import Contract, Expectation, ExpectedCall, Goal, Qualities, ReferenceAnswer, ToolCalls
from howsure.model.transcript import Message, Role, Tool, ToolCall, ToolResult, Transcript

Text = str | UnsetType

EvalName = Literal[
    "RelevanceExplain",
    "CoherenceExplain",
    "PerceivedIntelligenceExplain",
    "FluencyExplain",
    "EmpathyExplain",
    "HelpfulnessExplain",
    "IntentResolutionExplain",
    "ToolCallAccuracyExplain",
    "TaskAdherenceExplain",
]


class Call(Struct, forbid_unknown_fields=True, gc=False):
    tool: str
    arguments: dict[str, Any] | UnsetType = UNSET
    reason: Text = UNSET
    outcome: Text = UNSET


class Said(Struct, forbid_unknown_fields=True, gc=False):
    input: str
    question: str


class WithContext(Said, forbid_unknown_fields=True, gc=False):
    context: str


class WithMode(WithContext, forbid_unknown_fields=True, gc=False):
    rag_mode: Literal["non-rag"]


class WithIntent(Said, forbid_unknown_fields=True, gc=False):
    relevantContext: str


class WithTools(Said, forbid_unknown_fields=True, gc=False):
    availableTools: list[str]
    invokedTools: list[Call]


class WithGoal(Said, forbid_unknown_fields=True, gc=False):
    goal: str


class Bundle(Struct, forbid_unknown_fields=True, gc=False):
    RelevanceExplain: WithContext | UnsetType = UNSET
    CoherenceExplain: Said | UnsetType = UNSET
    PerceivedIntelligenceExplain: WithMode | UnsetType = UNSET
    FluencyExplain: Said | UnsetType = UNSET
    EmpathyExplain: Said | UnsetType = UNSET
    HelpfulnessExplain: Said | UnsetType = UNSET
    IntentResolutionExplain: WithIntent | UnsetType = UNSET
    ToolCallAccuracyExplain: WithTools | UnsetType = UNSET
    TaskAdherenceExplain: WithGoal | UnsetType = UNSET


class Line(Struct, forbid_unknown_fields=True, gc=False):
    """A line as most are: every known field, no unknown one, tools as lists and arguments as objects."""

    case_id: str
    scenario_id: str
    agent_name: str
    difficulty: Literal["easy", "medium", "hard"]
    quality_band: Literal["excellent", "good", "mixed", "poor"]
    topic_family: str
    learner_level: Literal["beginner", "intermediate", "advanced"]
    question: str
    model_answer: str
    required_evals: list[EvalName]
    explain_inputs: Bundle
    context: Text = UNSET
    phase: Literal["preparation", "assessment"] | UnsetType = UNSET
    reference_answer: Text = UNSET
    task_goal: Text = UNSET
    relevant_context: Text = UNSET
    available_tools: list[str] | UnsetType = UNSET
    expected_tool_calls: list[Call] | UnsetType = UNSET
    invoked_tool_calls: list[Call] | UnsetType = UNSET
    threshold_profile: Text = UNSET
    expected_contract: Text = UNSET


_DECODER = msgspec.json.Decoder(Line)
_FIELDS = Line.__struct_fields__
_EVALS = Bundle.__struct_fields__


def decoded(text: bytes) -> Line | None:
    """The line, when it has the usual shape."""
    try:
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def is_sound(line: Line, text: bytes, profiles: Collection[str] | None) -> bool:
    """Whether it is certain that there is nothing to say about this line."""
    return (
        b"\\ud" not in text
        and b'"$' not in text
        and _names_fit(line, profiles)
        and _texts_are_there(line)
        and is_usual(line)
        and duplicate_free(text, _keys(line))
    )


def _names_fit(line: Line, profiles: Collection[str] | None) -> bool:
    number = line.case_id.removeprefix(f"{line.agent_name}-")
    profile = line.threshold_profile
    return (
        line.agent_name in AGENTS
        and line.topic_family in TOPIC_FAMILIES
        and number is not line.case_id
        and len(number) >= 3
        and number.isascii()
        and number.isdigit()
        and (line.phase is not UNSET or line.agent_name not in PHASE_AGENTS)
        and (profile is UNSET or profiles is None or profile in profiles)
    )


def _texts_are_there(line: Line) -> bool:
    texts = [line.scenario_id, line.question]
    texts += [text for text in (line.threshold_profile, line.expected_contract) if text is not UNSET]
    texts += line.available_tools or ()
    texts += [call.tool for call in line.expected_tool_calls or ()]
    texts += [call.tool for call in line.invoked_tool_calls or ()]
    return "" not in texts and True not in map(str.isspace, texts) and _calls_fit(line)


def _calls_fit(line: Line) -> bool:
    """A reason is for an expected call, an outcome for one that was made."""
    return all(call.outcome is UNSET for call in line.expected_tool_calls or ()) and all(
        call.reason is UNSET for call in line.invoked_tool_calls or ()
    )


def is_usual(line: Line) -> bool:
    """Each eval that is asked for has its payload, no other has, and all repeat the fields word for word."""
    evals, answer, question = line.required_evals, line.model_answer, line.question
    present = 0
    for name, payload in zip(_EVALS, astuple(line.explain_inputs), strict=True):
        if payload is UNSET:
            continue
        present += 1
        if name not in evals or payload.input != answer or payload.question != question:
            return False
        if type(payload) is not Said and not _rest_agrees(payload, line):
            return False
    if not evals or present != len(evals):
        return False
    needs_goal = "TaskAdherenceExplain" in evals and not line.task_goal
    needs_tools = "ToolCallAccuracyExplain" in evals and line.available_tools is UNSET
    return not needs_goal and not needs_tools


def _rest_agrees(payload: Said, line: Line) -> bool:
    match payload:
        case WithContext(context=context):
            return context == line.context
        case WithIntent(relevantContext=intent):
            return intent == line.relevant_context
        case WithGoal(goal=goal):
            return goal == line.task_goal
        case WithTools(availableTools=tools, invokedTools=calls):
            return tools == line.available_tools and calls == line.invoked_tool_calls
        case _:
            return True


def _keys(line: Line) -> int:
    """How many keys the text of the line has, when none is repeated."""
    count = len(_FIELDS) - astuple(line).count(UNSET)
    for payload in astuple(line.explain_inputs):
        if payload is not UNSET:
            count += 1 + len(payload.__struct_fields__)
            if type(payload) is WithTools:
                count += _call_keys(payload.invokedTools)
    return count + _call_keys(line.expected_tool_calls or ()) + _call_keys(line.invoked_tool_calls or ())


def _call_keys(calls: Sequence[Call]) -> int:
    count = 0
    for call in calls:
        given = call.arguments
        count += 1 + (call.reason is not UNSET) + (call.outcome is not UNSET)
        if given is not UNSET:
            count += 1 + count_keys(given)
    return count


def case_of_line(line: Line) -> Case:
    """The Case of a usual line; explain_cases.py makes the same of any other."""
    labels = {"scenario_id": line.scenario_id, "agent_name": line.agent_name}
    if line.phase is not UNSET:
        labels["phase"] = line.phase
    labels |= {
        "difficulty": line.difficulty,
        "quality_band": line.quality_band,
        "topic_family": line.topic_family,
        "learner_level": line.learner_level,
    }
    return Case(
        id=line.case_id,
        input=SingleTurn(message=line.question, context=line.context or ""),
        expectations=tuple(_expectations(line)),
        world=World.EXPLAIN,
        profile=line.threshold_profile or "",
        labels=labels,
        tools=None if line.available_tools is UNSET else tuple([Tool(name=name) for name in line.available_tools]),
        recorded=_recorded(line),
    )


def _expectations(line: Line) -> Iterator[Expectation]:
    yield Qualities(names=tuple(line.required_evals), relevant_context=line.relevant_context or "")
    if line.task_goal and not line.task_goal.isspace():
        yield Goal(text=line.task_goal)
    if line.reference_answer and not line.reference_answer.isspace():
        yield ReferenceAnswer(answers=(line.reference_answer,))
    if line.expected_tool_calls is not UNSET:
        yield ToolCalls(expected=tuple([_expected(call) for call in line.expected_tool_calls]))
    if line.expected_contract is not UNSET:
        yield Contract(name=line.expected_contract)


def _expected(call: Call) -> ExpectedCall:
    return ExpectedCall(name=call.tool, arguments=call.arguments or {}, reason=call.reason or "")


def _recorded(line: Line) -> Transcript:
    messages = [_invoked(call) for call in line.invoked_tool_calls or ()]
    messages.append(Message(role=Role.ASSISTANT, content=line.model_answer))
    return Transcript(answer=line.model_answer, messages=tuple(messages))


def _invoked(call: Call) -> Message:
    outcome = call.outcome
    result = None if outcome is UNSET else ToolResult(content=outcome, failed=outcome == FAILED)
    made = ToolCall(name=call.tool, arguments=call.arguments or {}, result=result)
    return Message(role=Role.ASSISTANT, tool_calls=(made,))
