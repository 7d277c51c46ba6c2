"""A case out of the spans of one run, as importers of traces make it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from howsure.dialects.golden import labels
from howsure.dialects.importers.base import text_hash
from howsure.dialects.importers.chat_messages import (
    ASSISTANT,
    SYSTEM,
    TOOL,
    USER,
    LoggedMessage,
    LoggedToolCall,
    LoggedToolResult,
    declared_tools,
    match_results,
    read_messages,
    tools_in,
    transcript_messages,
)
from howsure.dialects.problems import Spot
from howsure.dialects.simulation_messages import arguments_of
from howsure.dialects.simulation_rows import last_answer
from howsure.dialects.strict_json import Json
from howsure.errors import Problem
from howsure.model.case import Case, Script, World
from howsure.model.transcript import Span, Tool, Transcript, Usage
from howsure.traces.read import read_trace
from howsure.traces.spans import SpanKind, SpanTree, agent_name
from howsure.traces.trace import LlmCall, ToolOutcome, ToolUse, Trace
from howsure.traces.values import TraceProblems, decode_value

GIVEN = ("gen_ai.input.messages", "langfuse.observation.input", "gcp.vertex.agent.llm_request", "input.value")
SAID = ("gen_ai.output.messages", "langfuse.observation.output", "gcp.vertex.agent.llm_response", "output.value")
_NUMBERED = re.compile(
    r"(?P<family>llm\.(?:input|output)_messages|gen_ai\.(?:prompt|completion))\.(?P<place>\d+)\.(?P<rest>.+)"
)
_CALL = re.compile(
    r"tool_calls\.(?P<call>\d+)\.(?:tool_call\.function\.|tool_call\.|function\.)?(?P<field>id|name|arguments)"
)
_PART = re.compile(r"contents\.\d+\.message_content\.text")
_SPOKEN = re.compile(r"^(system|developer|user|assistant|tool): ", re.MULTILINE)


def given_messages(span: Span) -> list[LoggedMessage]:
    """The conversation that was put to the model."""
    for name in GIVEN:
        value = span.attributes.get(name)
        if isinstance(value, str) and _SPOKEN.match(value):
            continue
        if talk := read_messages(value, USER):
            return talk
    numbered = _numbered(span, "llm.input_messages", USER) or _numbered(span, "gen_ai.prompt", USER)
    return numbered or _printed(span.attributes.get("langfuse.observation.input"))


def said_messages(span: Span) -> list[LoggedMessage]:
    """What the model said."""
    for name in SAID:
        talk = [said for said in read_messages(_spoken(span.attributes.get(name)), ASSISTANT) if said.role == ASSISTANT]
        if talk:
            return talk
    numbered = _numbered(span, "llm.output_messages", ASSISTANT) or _numbered(span, "gen_ai.completion", ASSISTANT)
    return [said for said in numbered if said.role == ASSISTANT]


def _spoken(value: Any) -> Any:
    """Some libraries print `None` where the model said nothing in words."""
    return None if value == "None" else value


def _printed(value: Any) -> list[LoggedMessage]:
    """`system: …`, `user: …` in one text, a message from each such line to the next."""
    if not isinstance(value, str) or not _SPOKEN.match(value):
        return []
    pieces = _SPOKEN.split(value)[1:]
    talk = [
        said
        for role, text in zip(pieces[::2], pieces[1::2], strict=True)
        for said in read_messages({"role": role, "content": text.strip()})
    ]
    return [said for said in talk if said.text != "None"]


def _numbered(span: Span, family: str, role: str) -> list[LoggedMessage]:
    """Messages that are spread over attributes by number. Where the first ones were cut off, none is told."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in span.attributes.items():
        match = _NUMBERED.fullmatch(name)
        if match and match["family"] == family:
            found.setdefault(int(match["place"]), {})[match["rest"].removeprefix("message.")] = value
    if not found or min(found) > 0:
        return []
    talk = [said for place in sorted(found) for said in _spread(found[place], role)]
    return [said for said in talk if not said.empty]


def _spread(fields: Mapping[str, Any], role: str) -> list[LoggedMessage]:
    texts = [value for name, value in fields.items() if _PART.fullmatch(name) and isinstance(value, str)]
    content = fields.get("content") or "\n".join(texts)
    message = {"role": fields.get("role") or role, "content": content, "tool_call_id": fields.get("tool_call_id")}
    calls = _spread_calls(fields)
    if calls:
        text = content if isinstance(content, str) else ""
        return [LoggedMessage(ASSISTANT, text.strip(), calls)]
    return read_messages(message, role)


def _spread_calls(fields: Mapping[str, Any]) -> tuple[LoggedToolCall, ...]:
    found: dict[int, dict[str, Any]] = {}
    for name, value in fields.items():
        if match := _CALL.fullmatch(name):
            found.setdefault(int(match["call"]), {})[match["field"]] = value
    return tuple(
        LoggedToolCall(str(call.get("id") or ""), str(call.get("name") or ""), arguments_of(call.get("arguments")))
        for _, call in sorted(found.items())
    )


def unwrapped(value: Any) -> Any:
    """`{"stringValue": "x"}` is "x", at any depth; whole numbers are written as text."""
    if not isinstance(value, dict):
        return value
    if "arrayValue" in value:
        return [unwrapped(one) for one in (value["arrayValue"] or {}).get("values") or ()]
    if "kvlistValue" in value:
        return attributes_of((value["kvlistValue"] or {}).get("values"))
    if "intValue" in value:
        return int(value["intValue"])
    return next(
        (value[name] for name in ("stringValue", "boolValue", "doubleValue", "bytesValue") if name in value), None
    )


def attributes_of(listed: Any) -> Json:
    """A list of `{"key", "value"}`, or an object already."""
    if isinstance(listed, dict):
        return listed
    pairs = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return {str(one.get("key")): unwrapped(one.get("value")) for one in pairs}


_TOOL_LISTS = re.compile(r"llm\.tools\.(?P<place>\d+)\.tool\.json_schema|gen_ai\.tool\.definitions")
_REQUESTS = ("langfuse.observation.input", "input.value", "gcp.vertex.agent.llm_request")
_INSIDE = frozenset({SpanKind.TOOL, SpanKind.AGENT, SpanKind.INVOCATION})


class SpanConversation(Struct, frozen=True, kw_only=True):
    """One conversation as its spans tell it. `turns` are what the user said."""

    turns: tuple[str, ...]
    transcript: Transcript
    tools: tuple[Tool, ...] | None
    agent: str


def conversation_of_spans(spans: Sequence[Span], asked: Any = None, answered: Any = None) -> SpanConversation:
    """`asked` and `answered` are what went into the whole run and came out of it, where somebody wrote that down."""
    trace, tree = read_trace(spans), SpanTree(spans, TraceProblems())
    calls = _model_spans(tree)
    talk = _joined([(given_messages(span), said_messages(span), agent) for span, agent in calls])
    turns = _turns(asked, talk)
    talk = _closed(_with_tools(_by_user(talk, turns), trace.tool_uses), answered)
    messages = transcript_messages(talk)
    transcript = Transcript(
        answer=last_answer(messages),
        messages=messages,
        spans=tuple(spans),
        usage=_usage(trace.llm_calls),
        duration_ms=_duration(trace),
    )
    agent = next((name for name in (*(name for _, name in calls), *(run.name for run in trace.agent_runs)) if name), "")
    return SpanConversation(turns=turns, transcript=transcript, tools=_tools([span for span, _ in calls]), agent=agent)


def _model_spans(tree: SpanTree) -> list[tuple[Span, str]]:
    """The outermost spans of each call of a model, with the agent that made it."""
    found: list[tuple[Span, str]] = []
    for place in tree.of_kind(SpanKind.LLM):
        around = next((above for above in tree.above(place) if tree.kinds[above] in _INSIDE | {SpanKind.LLM}), None)
        if around is None or tree.kinds[around] is not SpanKind.LLM:
            agent = tree.nearest(place, SpanKind.AGENT)
            found.append((tree.spans[place], "" if agent is None else agent_name(tree.spans[agent])))
    return found


def _joined(calls: Iterable[tuple[list[LoggedMessage], list[LoggedMessage], str]]) -> list[LoggedMessage]:
    """A call that was given all that was said before goes on with it. One that was given something else is another
    agent's: what it was told is not the user's word, what it said and what its tools answered is kept."""
    talk: list[LoggedMessage] = []
    for given, said, agent in calls:
        spoken = [structs.replace(one, agent=agent) if one.role == ASSISTANT else one for one in said]
        before = [_plain(one) for one in talk]
        plain = [_plain(one) for one in given]
        if plain[: len(before)] == before:
            talk += given[len(before) :]
        elif before:
            talk += [one for one in given if one.role in (ASSISTANT, TOOL) and not _known(one, talk)]
        talk += [one for one in spoken if not _known(one, talk[-1:])]
    return match_results(talk)


def _plain(said: LoggedMessage) -> tuple[str, str, tuple[str, ...]]:
    """What two accounts of one message agree on; ids and results are written or not."""
    return (said.role, said.text, tuple(call.name for call in said.calls))


def _known(said: LoggedMessage, talk: Sequence[LoggedMessage]) -> bool:
    if said.role == TOOL:
        ids = {answer.id for one in talk for answer in one.answers if answer.id}
        return bool(said.answers) and all(answer.id in ids for answer in said.answers)
    return any(_plain(said) == _plain(one) for one in talk)


def _turns(asked: Any, talk: Sequence[LoggedMessage]) -> tuple[str, ...]:
    outside = tuple(said.text for said in read_messages(asked) if said.role == USER and said.text)
    return outside or tuple(said.text for said in talk if said.role == USER and said.text)


def _by_user(talk: Sequence[LoggedMessage], turns: Sequence[str]) -> list[LoggedMessage]:
    """What stands in the user's name and is no turn is an instruction. Turns that stand nowhere come first."""
    marked = [
        structs.replace(said, role=SYSTEM) if said.role == USER and said.text not in turns else said for said in talk
    ]
    if turns and not any(said.role == USER for said in marked):
        first = next((place for place, said in enumerate(marked) if said.role != SYSTEM), len(marked))
        marked[first:first] = [LoggedMessage(USER, turn) for turn in turns]
    return marked


def _with_tools(talk: list[LoggedMessage], uses: Sequence[ToolUse]) -> list[LoggedMessage]:
    """Every use of a tool at its call. Uses that no message asked for are put before the last words."""
    open_calls = [call for said in talk for call in said.calls]
    answered = {answer.id for said in talk for answer in said.answers if answer.id}
    results: list[tuple[LoggedToolCall, ToolUse]] = []
    lone: list[ToolUse] = []
    for use in uses:
        call = _asked_for(use, open_calls)
        if call is None:
            lone.append(use)
            continue
        open_calls.remove(call)
        if not (call.id and call.id in answered):
            results.append((call, use))
    out = _with_results(talk, results)
    if lone:
        last = bool(out) and out[-1].role == ASSISTANT and not out[-1].calls
        place = len(out) - 1 if last else len(out)
        out[place:place] = [made for use in lone for made in _alone(use)]
    return out


def _asked_for(use: ToolUse, calls: Sequence[LoggedToolCall]) -> LoggedToolCall | None:
    """By id; else by name. Where both have ids and these differ, the arguments must agree: some tracers number anew."""
    named = [call for call in calls if call.name == use.name]
    same = (call for call in calls if use.call_id and call.id == use.call_id)
    unnumbered = (call for call in named if not (call.id and use.call_id))
    equal = (call for call in named if call.arguments == arguments_of(use.arguments))
    return next(same, None) or next(unnumbered, None) or next(equal, None)


def _with_results(
    talk: Sequence[LoggedMessage], results: Sequence[tuple[LoggedToolCall, ToolUse]]
) -> list[LoggedMessage]:
    out: list[LoggedMessage] = []
    spoken = {(answer.id, answer.name) for said in talk for answer in said.answers}
    for said in talk:
        out.append(said)
        for call, use in results:
            told = any(call is one for one in said.calls)
            if told and use.outcome is not ToolOutcome.NO_RESPONSE and (call.id, call.name) not in spoken:
                out.append(LoggedMessage(TOOL, answers=(LoggedToolResult(call.id, call.name, use.response),)))
    return out


def _alone(use: ToolUse) -> list[LoggedMessage]:
    call = LoggedToolCall(use.call_id, use.name, arguments_of(use.arguments))
    made = [LoggedMessage(ASSISTANT, calls=(call,), agent=use.agent)]
    if use.outcome is not ToolOutcome.NO_RESPONSE:
        made.append(LoggedMessage(TOOL, answers=(LoggedToolResult(use.call_id, use.name, use.response),)))
    return made


def _closed(talk: list[LoggedMessage], answered: Any) -> list[LoggedMessage]:
    """The answer of the whole run is the last word, where no message says it."""
    spoken = [said.text for said in talk if said.role == ASSISTANT and said.text and not said.calls]
    last = next((said.text for said in reversed(read_messages(answered, ASSISTANT)) if said.role == ASSISTANT), "")
    if not last or any(last in text for text in spoken):
        return talk
    return [*talk, LoggedMessage(ASSISTANT, last)]


def _tools(spans: Iterable[Span]) -> tuple[Tool, ...] | None:
    """The tools that the models were told of."""
    listed: list[Any] = []
    for span in spans:
        for name, value in span.attributes.items():
            if match := _TOOL_LISTS.fullmatch(name):
                listed += [value] if match["place"] else _list(value)
        listed += [one for name in _REQUESTS for one in declared_tools(span.attributes.get(name))]
    return tools_in([one for one in map(decode_value, listed) if isinstance(one, Mapping)])


def _list(value: Any) -> list[Any]:
    found = decode_value(value)
    return found if isinstance(found, list) else []


def _usage(calls: Sequence[LlmCall]) -> Usage | None:
    """The tokens of all calls together; None where nobody counted."""
    counted = [call.usage for call in calls if call.usage is not None]
    names = ("prompt_tokens", "completion_tokens", "cached_tokens", "thinking_tokens")
    sums = {name: _sum([getattr(usage, name) for usage in counted]) for name in names}
    return Usage(**sums) if any(value is not None for value in sums.values()) else None


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _duration(trace: Trace) -> float | None:
    if trace.start_ns is None or trace.end_ns is None:
        return None
    return (trace.end_ns - trace.start_ns) / 1e6


def case_of_spans(
    spans: Sequence[Span], id: str, spot: Spot, kept: Json, asked: Any = None, answered: Any = None
) -> Iterator[Case | Problem]:
    """The case; a problem where nothing tells what the user said. `kept` is what the source says beside the spans."""
    account = conversation_of_spans(spans, asked, answered)
    if not account.turns:
        message = "nothing in these spans tells what the user said"
        hint = "were inputs and outputs recorded? many tracing libraries leave them out unless they are asked to"
        found = ", ".join(dict.fromkeys(span.name for span in spans)) or "no spans"
        yield spot.problem("no-user-inputs", message, expected="messages put to a model", found=found[:120], hint=hint)
        return
    if not account.transcript.answer:
        yield spot.warning("no-answer", f"no answer was recorded in the run {id}; it is empty")
    metadata = {**kept, **({"agent_name": account.agent} if account.agent else {})}
    yield Case(
        id=id or f"sim-{text_hash(account.turns)}",
        input=Script(turns=account.turns),
        world=World.GOLDEN,
        labels=labels({}, agent=account.agent, repeat="1"),
        metadata=metadata,
        tools=account.tools,
        recorded=account.transcript,
    )
