"""A case as an Explain row: a question, an answer with its tool calls, and the evals to run. A row must name its
difficulty, topic and so on: what the case does not say comes from --metadata, or the case is left out."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from howsure.dialects.explain_rows import DEFAULT_EVALS, FAILED, LABELS, MUTATIONS, PAYLOAD_NAMES, PAYLOADS
from howsure.dialects.extras import KEY as UNKNOWN
from howsure.dialects.importers.base import text_hash
from howsure.model.case import Case, SingleTurn, World, user_turns
from howsure.model.expectation import Contract, Expectation, Goal, Matching, Qualities, ReferenceAnswer, ToolCalls
from howsure.model.transcript import BrokenRecording, Message, Role, Tool, ToolCall, ToolResult, Transcript
from howsure.services.convert.loss_report import CaseLosses, FittedCase, kind_name, lose_keys
from howsure.services.convert.neutral_cases import as_question, make_neutral

RELEVANT = "relevant"


def to_explain(case: Case, given_labels: Mapping[str, str]) -> FittedCase:
    """`given_labels` are the labels that --metadata and --agent set for all cases."""
    losses, neutral = CaseLosses(), make_neutral(case)
    plain = neutral.case
    labels, missing = _labels(plain, given_labels, losses)
    if missing:
        given_by = " ".join(f"--metadata {name}:…" for name in missing)
        return FittedCase(None, (), f"an explain row needs {', '.join(missing)} (give them with {given_by})")
    lose_keys("metadata", neutral.flat, losses, LABELS)
    lose_keys("reference_data", neutral.reference, losses)
    kept = (UNKNOWN, PAYLOAD_NAMES, MUTATIONS) if case.world == World.EXPLAIN else ()
    lose_keys("metadata", neutral.rest, losses, kept)
    for name in ("name", "tags", "state"):
        if getattr(plain, name):
            losses.lost(name)
    if any(tool != Tool(name=tool.name) for tool in plain.tools or ()):
        losses.lost("tools.description", "explain rows name tools, and do not describe them")
    tools = None if plain.tools is None else tuple(Tool(name=tool.name) for tool in plain.tools)
    return losses.fitted(
        structs.replace(
            plain,
            id=_id(plain, labels["agent_name"], losses),
            input=_question(plain, losses),
            expectations=_expectations(plain.expectations, losses),
            world=World.EXPLAIN,
            name="",
            tags=(),
            state={},
            tools=tools,
            recorded=_recorded(plain.recorded, losses),
            labels=labels,
            metadata={key: neutral.rest[key] for key in kept if key in neutral.rest},
        )
    )


def _labels(case: Case, given: Mapping[str, str], losses: CaseLosses) -> tuple[dict[str, str], list[str]]:
    labels = {**case.labels, **given}
    if "agent" in labels:
        labels.setdefault("agent_name", labels.pop("agent"))
    for name in case.labels.keys() - set(LABELS) - {"agent"}:
        losses.lost(f"labels.{name}")
    missing = [name for name in LABELS if name != "phase" and not labels.get(name, "").strip()]
    return {name: labels[name] for name in LABELS if labels.get(name)}, missing


def _id(case: Case, agent: str, losses: CaseLosses) -> str:
    number = case.id.removeprefix(f"{agent}-")
    if number != case.id and len(number) >= 3 and number.isascii() and number.isdigit():
        return case.id
    losses.changed("id", "explain ids are the agent's name and digits; these are a hash of what the user says")
    return f"{agent}-{int(text_hash((case.id, *user_turns(case.input))), 16):015}"


def _question(case: Case, losses: CaseLosses) -> SingleTurn:
    question = as_question(case.input, losses)
    if question.attachments:
        losses.lost("input.attachments", "explain rows have no attachments")
    context = question.context
    if question.history:
        losses.changed("input.history", "the earlier conversation was put before the context")
        history = "\n".join(f"{one.role.value}: {one.content}" for one in question.history)
        context = f"{history}\n\n{context}".strip()
    return SingleTurn(message=question.message, context=context)


def _expectations(expectations: tuple[Expectation, ...], losses: CaseLosses) -> tuple[Expectation, ...]:
    by_kind: dict[type, Expectation] = {}
    for expectation in expectations:
        fitting = _expectation(expectation, losses)
        if fitting is None or type(fitting) in by_kind:
            losses.lost(f"expectations.{kind_name(expectation)}")
        else:
            by_kind[type(fitting)] = fitting
    if Qualities not in by_kind:
        names = tuple(name for name in DEFAULT_EVALS if Goal in by_kind or name != "TaskAdherenceExplain")
        losses.changed("expectations.qualities", f"the case names no evals: {', '.join(names)} are asked")
        by_kind[Qualities] = Qualities(names=names)
    return tuple(by_kind[kind] for kind in (Qualities, Goal, ReferenceAnswer, ToolCalls, Contract) if kind in by_kind)


def _expectation(expectation: Expectation, losses: CaseLosses) -> Expectation | None:
    match expectation:
        case ReferenceAnswer(answers=answers) if len(answers) > 1:
            losses.lost("expectations.reference_answer", "explain rows hold one reference answer")
            return ReferenceAnswer(answers=answers[:1])
        case ToolCalls(expected=calls, match=match) if match != Matching() or any(one.message for one in calls):
            losses.lost("expectations.tool_calls.match", "explain rows cannot say how calls are matched")
            return ToolCalls(expected=tuple(structs.replace(one, message=None) for one in calls))
        case Qualities(names=names) if not set(names) <= PAYLOADS.keys():
            return None
        case Qualities() | Goal() | ReferenceAnswer() | ToolCalls() | Contract():
            return expectation
        case _:
            return None


def _recorded(recorded: Transcript | BrokenRecording | None, losses: CaseLosses) -> Transcript | None:
    if isinstance(recorded, BrokenRecording):
        losses.lost("recorded", "explain rows hold answers, not broken recordings")
    if not isinstance(recorded, Transcript):
        return None
    for name in ("steps", "state", "spans", "usage", "duration_ms", "simulation", "metadata"):
        if getattr(recorded, name) not in (None, (), {}):
            losses.lost(f"recorded.{name}")
    calls = [Message(role=Role.ASSISTANT, tool_calls=(_call(one, losses),)) for one in recorded.tool_calls]
    answer = Message(role=Role.ASSISTANT, content=recorded.answer)
    if sum(1 for one in recorded.messages if one.role is Role.ASSISTANT and one.content) > 1:
        losses.lost("recorded.messages", "of what was said, the answer is kept")
    return Transcript(answer=recorded.answer, messages=(*calls, answer))


def _call(call: ToolCall, losses: CaseLosses) -> ToolCall:
    if call.id:
        losses.lost("recorded.tool_calls.id")
    result = call.result
    if result is not None and not (isinstance(result.content, str) and result.failed == (result.content == FAILED)):
        losses.changed("recorded.tool_calls.result", f"results became outcomes: {RELEVANT!r} or {FAILED!r}")
        result = ToolResult(content=FAILED if result.failed else RELEVANT, failed=result.failed)
    return ToolCall(name=call.name, arguments=call.arguments, result=result)
