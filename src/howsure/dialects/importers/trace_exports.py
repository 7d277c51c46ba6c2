"""Exported traces (docs/importers.md). `langfuse`: one JSON file for each run of an agent, with its observations.
`otlp`: OpenTelemetry spans as JSON, as `resourceSpans` (one document, or one on each line) or one plain span on each
line; each trace is one case.

A case is made of spans by joining what every model call was given and said, by whichever attributes its library writes,
to one conversation, with tool calls and their results, tokens and times. howsure.traces tells what each span is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from howsure.dialects.base import Watch, WatchedDialect
from howsure.dialects.documents import JsonDocument, load_json
from howsure.dialects.golden import labels
from howsure.dialects.importers.base import text_hash, wrong_kind
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
from howsure.dialects.lines import Row, open_file, read_objects
from howsure.dialects.problems import SchemaChecker, Spot, load_schema, shown
from howsure.dialects.simulation_messages import arguments_of, first_present, objects_in
from howsure.dialects.simulation_rows import last_answer
from howsure.dialects.simulation_traces import nanoseconds
from howsure.dialects.strict_json import Json, head_keys
from howsure.errors import Level, Problem
from howsure.model.case import Case, Script, World
from howsure.model.transcript import Span, Tool, Transcript, Usage
from howsure.traces.read import read_trace
from howsure.traces.spans import SpanKind, SpanTree, agent_name
from howsure.traces.trace import ToolOutcome, ToolUse
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


def input_messages(span: Span) -> list[LoggedMessage]:
    """The messages that were given to the model."""
    for name in GIVEN:
        value = span.attributes.get(name)
        if isinstance(value, str) and _SPOKEN.match(value):
            continue
        if messages := read_messages(value, USER):
            return messages
    numbered = _numbered(span, "llm.input_messages", USER) or _numbered(span, "gen_ai.prompt", USER)
    return numbered or _printed(span.attributes.get("langfuse.observation.input"))


def output_messages(span: Span) -> list[LoggedMessage]:
    """The messages that the model wrote."""
    for name in SAID:
        value = span.attributes.get(name)  # a library prints `None` for an empty answer
        messages = read_messages(None if value == "None" else value, ASSISTANT)
        if spoken := [message for message in messages if message.role == ASSISTANT]:
            return spoken
    numbered = _numbered(span, "llm.output_messages", ASSISTANT) or _numbered(span, "gen_ai.completion", ASSISTANT)
    return [message for message in numbered if message.role == ASSISTANT]


def _printed(value: Any) -> list[LoggedMessage]:
    """The messages of one text with `system: …` and `user: …` lines."""
    if not isinstance(value, str) or not _SPOKEN.match(value):
        return []
    pieces = _SPOKEN.split(value)[1:]
    messages = [
        message
        for role, text in zip(pieces[::2], pieces[1::2], strict=True)
        for message in read_messages({"role": role, "content": text.strip()})
    ]
    return [message for message in messages if message.text != "None"]


def _numbered(span: Span, family: str, role: str) -> list[LoggedMessage]:
    """Messages that are spread over numbered attributes; none where the first ones were cut off."""
    numbered: dict[int, dict[str, Any]] = {}
    for name, value in span.attributes.items():
        match = _NUMBERED.fullmatch(name)
        if match and match["family"] == family:
            numbered.setdefault(int(match["place"]), {})[match["rest"].removeprefix("message.")] = value
    if not numbered or min(numbered) > 0:
        return []
    messages = [message for place in sorted(numbered) for message in _spread(numbered[place], role)]
    return [message for message in messages if not message.empty]


def _spread(fields: Mapping[str, Any], role: str) -> list[LoggedMessage]:
    texts = [value for name, value in fields.items() if _PART.fullmatch(name) and isinstance(value, str)]
    content = fields.get("content") or "\n".join(texts)
    message = {"role": fields.get("role") or role, "content": content, "tool_call_id": fields.get("tool_call_id")}
    numbered: dict[int, dict[str, Any]] = {}
    for name, value in fields.items():
        if match := _CALL.fullmatch(name):
            numbered.setdefault(int(match["call"]), {})[match["field"]] = value
    if not numbered:
        return read_messages(message, role)
    calls = tuple(
        LoggedToolCall(str(call.get("id") or ""), str(call.get("name") or ""), arguments_of(call.get("arguments")))
        for _, call in sorted(numbered.items())
    )
    return [LoggedMessage(ASSISTANT, content.strip() if isinstance(content, str) else "", calls)]


def unwrapped(value: Any) -> Any:
    """The plain value: `{"stringValue": "x"}` is "x", at any depth; whole numbers are written as text."""
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


def attributes_of(attributes: Any) -> Json:
    """The attributes in a list of `{"key", "value"}`, or in an object."""
    if isinstance(attributes, dict):
        return attributes
    pairs = [one for one in attributes if isinstance(one, dict)] if isinstance(attributes, list) else []
    return {str(one.get("key")): unwrapped(one.get("value")) for one in pairs}


_TOOL_LISTS = re.compile(r"llm\.tools\.(?P<place>\d+)\.tool\.json_schema|gen_ai\.tool\.definitions")
_REQUESTS = ("langfuse.observation.input", "input.value", "gcp.vertex.agent.llm_request")
_INSIDE = frozenset({SpanKind.TOOL, SpanKind.AGENT, SpanKind.INVOCATION})


class SpanConversation(Struct, frozen=True, kw_only=True):
    """One conversation, put together from spans. `turns` are the user's texts."""

    turns: tuple[str, ...]
    transcript: Transcript
    tools: tuple[Tool, ...] | None
    agent: str


def conversation_of_spans(spans: Sequence[Span], run_input: Any = None, run_output: Any = None) -> SpanConversation:
    """The conversation of a run. `run_input` and `run_output` are those of the whole run, where they were recorded."""
    trace, tree = read_trace(spans), SpanTree(spans, TraceProblems())
    calls = _model_spans(tree)
    logged = _join_calls([(input_messages(span), output_messages(span), agent) for span, agent in calls])
    texts = [[one.text for one in many if one.role == USER and one.text] for many in (read_messages(run_input), logged)]
    turns = tuple(texts[0] or texts[1])
    logged = _with_final_answer(_with_tools(_by_user(logged, turns), trace.tool_uses), run_output)
    messages = transcript_messages(logged)
    tokens: dict[str, int | None] = {}
    for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "thinking_tokens", "tool_prompt_tokens"):
        counts = [getattr(call.usage, name) for call in trace.llm_calls if call.usage is not None]
        known = [count for count in counts if count is not None]
        tokens[name] = sum(known) if known else None
    start, end = trace.start_ns, trace.end_ns
    transcript = Transcript(
        answer=last_answer(messages),
        messages=messages,
        spans=tuple(spans),
        usage=Usage(**tokens) if any(count is not None for count in tokens.values()) else None,
        duration_ms=None if start is None or end is None else (end - start) / 1e6,
    )
    agent = next((name for name in (*(name for _, name in calls), *(run.name for run in trace.agent_runs)) if name), "")
    return SpanConversation(turns=turns, transcript=transcript, tools=_tools([span for span, _ in calls]), agent=agent)


def _model_spans(tree: SpanTree) -> list[tuple[Span, str]]:
    """The outermost span of each model call, with the agent that made it."""
    model_spans: list[tuple[Span, str]] = []
    for place in tree.of_kind(SpanKind.LLM):
        around = next((above for above in tree.above(place) if tree.kinds[above] in _INSIDE | {SpanKind.LLM}), None)
        if around is None or tree.kinds[around] is not SpanKind.LLM:
            agent = tree.nearest(place, SpanKind.AGENT)
            model_spans.append((tree.spans[place], "" if agent is None else agent_name(tree.spans[agent])))
    return model_spans


def _join_calls(calls: Iterable[tuple[list[LoggedMessage], list[LoggedMessage], str]]) -> list[LoggedMessage]:
    """Joins the messages of all calls. A call that was given everything said before continues it. A call with other
    input belongs to another agent: its input is not the user's, but what it said and what its tools answered is kept.
    """
    joined: list[LoggedMessage] = []
    for inputs, outputs, agent in calls:
        attributed = [structs.replace(one, agent=agent) if one.role == ASSISTANT else one for one in outputs]
        before = [_plain(one) for one in joined]
        plain = [_plain(one) for one in inputs]
        if plain[: len(before)] == before:
            joined += inputs[len(before) :]
        elif before:
            joined += [one for one in inputs if one.role in (ASSISTANT, TOOL) and not _known(one, joined)]
        joined += [one for one in attributed if not _known(one, joined[-1:])]
    return match_results(joined)


def _plain(message: LoggedMessage) -> tuple[str, str, tuple[str, ...]]:
    """What two records of one message agree on; ids and results may be missing."""
    return (message.role, message.text, tuple(call.name for call in message.calls))


def _known(message: LoggedMessage, messages: Sequence[LoggedMessage]) -> bool:
    if message.role == TOOL:
        ids = {answer.id for one in messages for answer in one.answers if answer.id}
        return bool(message.answers) and all(answer.id in ids for answer in message.answers)
    return any(_plain(message) == _plain(one) for one in messages)


def _by_user(messages: Sequence[LoggedMessage], turns: Sequence[str]) -> list[LoggedMessage]:
    """Marks messages in the user's name that are no turn as instructions. Turns that no message has come first."""
    marked = [
        structs.replace(message, role=SYSTEM) if message.role == USER and message.text not in turns else message
        for message in messages
    ]
    if turns and not any(message.role == USER for message in marked):
        first = next((place for place, message in enumerate(marked) if message.role != SYSTEM), len(marked))
        marked[first:first] = [LoggedMessage(USER, turn) for turn in turns]
    return marked


def _with_tools(messages: list[LoggedMessage], uses: Sequence[ToolUse]) -> list[LoggedMessage]:
    """Attaches every tool use to its call. Uses without a call are put before the last message."""
    open_calls = [call for message in messages for call in message.calls]
    answered = {answer.id for message in messages for answer in message.answers if answer.id}
    results: list[tuple[LoggedToolCall, ToolUse]] = []
    lone: list[ToolUse] = []
    for use in uses:
        call = _call_of_use(use, open_calls)
        if call is None:
            lone.append(use)
            continue
        open_calls.remove(call)
        if not (call.id and call.id in answered):
            results.append((call, use))
    out = _with_results(messages, results)
    if lone:
        last = bool(out) and out[-1].role == ASSISTANT and not out[-1].calls
        place = len(out) - 1 if last else len(out)
        added: list[LoggedMessage] = []
        for use in lone:
            call = LoggedToolCall(use.call_id, use.name, arguments_of(use.arguments))
            added.append(LoggedMessage(ASSISTANT, calls=(call,), agent=use.agent))
            if use.outcome is not ToolOutcome.NO_RESPONSE:
                added.append(_result_message(call, use))
        out[place:place] = added
    return out


def _result_message(call: LoggedToolCall, use: ToolUse) -> LoggedMessage:
    return LoggedMessage(TOOL, answers=(LoggedToolResult(call.id, call.name, use.response),))


def _call_of_use(use: ToolUse, calls: Sequence[LoggedToolCall]) -> LoggedToolCall | None:
    """The call of a tool use: by id, else by name. Where the ids differ, the arguments must agree, because some tracers
    give new ids."""
    named = [call for call in calls if call.name == use.name]
    same = (call for call in calls if use.call_id and call.id == use.call_id)
    unnumbered = (call for call in named if not (call.id and use.call_id))
    equal = (call for call in named if call.arguments == arguments_of(use.arguments))
    return next(same, None) or next(unnumbered, None) or next(equal, None)


def _with_results(
    messages: Sequence[LoggedMessage], results: Sequence[tuple[LoggedToolCall, ToolUse]]
) -> list[LoggedMessage]:
    out: list[LoggedMessage] = []
    answered = {(answer.id, answer.name) for message in messages for answer in message.answers}
    for message in messages:
        out.append(message)
        for call, use in results:
            is_its_call = any(call is one for one in message.calls)
            if is_its_call and use.outcome is not ToolOutcome.NO_RESPONSE and (call.id, call.name) not in answered:
                out.append(_result_message(call, use))
    return out


def _with_final_answer(messages: list[LoggedMessage], run_output: Any) -> list[LoggedMessage]:
    """Adds the answer of the whole run, where no message has it."""
    answers = [message.text for message in messages if message.role == ASSISTANT and message.text and not message.calls]
    last = next(
        (message.text for message in reversed(read_messages(run_output, ASSISTANT)) if message.role == ASSISTANT), ""
    )
    if not last or any(last in text for text in answers):
        return messages
    return [*messages, LoggedMessage(ASSISTANT, last)]


def _tools(spans: Iterable[Span]) -> tuple[Tool, ...] | None:
    """The tools that the models were given."""
    declarations: list[Any] = []
    for span in spans:
        for name, value in span.attributes.items():
            if match := _TOOL_LISTS.fullmatch(name):
                decoded = [value] if match["place"] else decode_value(value)
                declarations += decoded if isinstance(decoded, list) else []
        declarations += [one for name in _REQUESTS for one in declared_tools(span.attributes.get(name))]
    return tools_in([one for one in map(decode_value, declarations) if isinstance(one, Mapping)])


def case_of_spans(
    spans: Sequence[Span], id: str, spot: Spot, metadata: Json, run_input: Any = None, run_output: Any = None
) -> Iterator[Case | Problem]:
    """The case, or a problem where nothing tells what the user said. `metadata` is what the source says besides the
    spans."""
    conversation = conversation_of_spans(spans, run_input, run_output)
    if not conversation.turns:
        message = "nothing in these spans tells what the user said"
        hint = "were inputs and outputs recorded? many tracing libraries leave them out unless they are asked to"
        found = ", ".join(dict.fromkeys(span.name for span in spans)) or "no spans"
        yield spot.problem("no-user-inputs", message, expected="messages put to a model", found=found[:120], hint=hint)
        return
    if not conversation.transcript.answer:
        yield spot.warning("no-answer", f"no answer was recorded in the run {id}; it is empty")
    yield Case(
        id=id or f"sim-{text_hash(conversation.turns)}",
        input=Script(turns=conversation.turns),
        world=World.GOLDEN,
        labels=labels({}, agent=conversation.agent, repeat="1"),
        metadata=metadata | ({"agent_name": conversation.agent} if conversation.agent else {}),
        tools=conversation.tools,
        recorded=conversation.transcript,
    )


_SHAPE = SchemaChecker(load_schema("langfuse_observation"))
_PREFIX = "langfuse.observation."
_SEEN = {
    "type": "type",
    "model.name": "model",
    "usage_details": "usageDetails",
    "input": "input",
    "output": "output",
    "level": "level",
}
_KEPT = ("name", "timestamp", "environment", "tags", "version", "release", "userId", "sessionId", "scores")


class LangfuseImporter(WatchedDialect):
    """JSON with `trace` and `observations`."""

    name = "langfuse"

    def detect(self, path: Path, head: bytes) -> bool:
        keys = head_keys(head)
        return path.suffix.lower() == ".json" and ("observations" in keys or keys[:1] == ["trace"])

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        document = load_json(path, watch)
        value = document.value
        if document.problems:
            yield from document.problems
        elif not isinstance(value, dict) or not isinstance(value.get("observations"), list):
            yield wrong_kind(document.spot, "an object with a list of `observations`", value)
        else:
            yield from _case(document)


def _case(document: JsonDocument) -> Iterator[Case | Problem]:
    spans: list[Span] = []
    problems: list[Problem] = []
    for spot, observation in document.elements("observations"):
        violations = _SHAPE.problems(observation, spot)
        problems += violations
        if not violations:
            try:
                spans.append(_span(observation))
            except ValueError as error:
                problems.append(spot.problem("bad-span", str(error), expected="an ISO time"))
    yield from problems
    if problems:
        return
    trace: Json = document.value.get("trace") if isinstance(document.value.get("trace"), dict) else {}
    metadata = {key: trace[key] for key in _KEPT if trace.get(key) not in (None, "", [], {})}
    id = str(trace.get("id") or next((span.trace_id for span in spans if span.trace_id), ""))
    yield from case_of_spans(
        spans, id, document.spot, metadata, _decoded_twice(trace.get("input")), _decoded_twice(trace.get("output"))
    )


def _decoded_twice(value: Any) -> Any:
    """The input or output of a trace, which the export writes as JSON text, sometimes encoded twice."""
    inner = decode_value(value)
    return decode_value(inner) if isinstance(inner, str) and inner.startswith('"') and inner.endswith('"') else inner


def _span(observation: Json) -> Span:
    metadata = observation.get("metadata")
    recorded: Any = metadata.get("attributes") if isinstance(metadata, dict) else None
    attributes: Json = dict(recorded) if isinstance(recorded, dict) else {}
    for name, field in _SEEN.items():
        value = observation.get(field)
        if value not in (None, {}, ""):
            attributes[_PREFIX + name] = value.lower() if field == "type" else value
    return Span(
        name=observation.get("name") or "",
        span_id=observation["id"],
        trace_id=observation.get("traceId") or "",
        parent_id=observation.get("parentObservationId") or "",
        start_ns=nanoseconds(observation.get("startTime")),
        end_ns=nanoseconds(observation.get("endTime")),
        attributes=attributes,
    )


_RESOURCES = ("resourceSpans", "resource_spans")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_TRACE, _ID = ("traceId", "trace_id", "trace"), ("spanId", "span_id", "span")
_ERROR = (2, "STATUS_CODE_ERROR", "ERROR")


class _PlacedSpan(Struct, frozen=True):
    span: Span
    service: str
    spot: Spot


_EVENT = re.compile(r"gen_ai\.(?:(system|user|assistant|tool)\.message|choice)")


def _told_by_events(events: Any) -> Json:
    """Messages that were recorded as events of a span, as the attributes that newer conventions have for them."""
    told: Json = {}
    for event in objects_in(events):
        attributes, named = attributes_of(event.get("attributes")), _EVENT.fullmatch(str(event.get("name")))
        told |= {name: attributes[name] for name in (GIVEN[0], SAID[0]) if name in attributes}
        body = decode_value(attributes.get("gen_ai.event.content")) if named else None
        if named is None or not (body := body if isinstance(body, dict) else attributes):
            continue
        inner = decode_value(body.get("message"))
        body = {**body, **(inner if isinstance(inner, dict) else {"content": inner} if inner else {})}
        body = {name: decode_value(value) if str(value)[:1] in "[{" else value for name, value in body.items()}
        role, wanted = (named[1], GIVEN[0]) if named[1] else (ASSISTANT, SAID[0])
        told.setdefault(wanted, []).append({"tool_call_id": body.get("id"), **body, "role": role})
    return told


class OtlpImporter(WatchedDialect):
    """JSON or JSONL of spans."""

    name = "otlp"

    def detect(self, path: Path, head: bytes) -> bool:
        keys = set(head_keys(head))
        if keys & set(_RESOURCES):
            return True
        named = keys & set(_TRACE) and keys & set(_ID) and "name" in keys
        return bool(named) and bool(keys & {"attributes", "attrs"})

    def read_watched(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem]:
        traces: dict[str, list[_PlacedSpan]] = {}
        sound = True
        for item in _spans(path, watch):
            if isinstance(item, Problem):
                sound = sound and item.level is not Level.ERROR
                yield item
            else:
                traces.setdefault(item.span.trace_id, []).append(item)
        for trace, placed in traces.items() if sound else ():
            metadata = {"service": placed[0].service} if placed[0].service else {}
            yield from case_of_spans([one.span for one in placed], trace, placed[0].spot, metadata)


def _spans(path: Path, watch: Watch | None) -> Iterator[_PlacedSpan | Problem]:
    if path.suffix.lower() == ".json":
        document = load_json(path, watch)
        yield from document.problems or _document(document.value, document.spot)
        return
    with open_file(path, watch) as stream:
        for line, row in read_objects(stream, str(path)):
            yield from [row] if isinstance(row, Problem) else _document(row, Spot(str(path), line))


def _document(value: object, spot: Spot) -> Iterator[_PlacedSpan | Problem]:
    if not isinstance(value, dict):
        yield spot.problem("wrong-kind", "must be an object", expected="resourceSpans, or a span", found=shown(value))
        return
    name = next((name for name in _RESOURCES if name in value), "")
    if not name:
        yield _placed(value, str(value.get("service") or ""), spot)
        return
    if not isinstance(value[name], list):
        yield spot.below(name).problem("wrong-type", "must be a list", expected="array", found=shown(value[name]))
        return
    for resource, resource_spans in enumerate(objects_in(value[name])):
        about = resource_spans.get("resource")
        service = attributes_of(about.get("attributes")).get("service.name") if isinstance(about, dict) else ""
        at = spot.below(name, resource)
        for number, scope in enumerate(objects_in(first_present(resource_spans, *_SCOPES))):
            for place, span in enumerate(objects_in(scope.get("spans"))):
                yield _placed(span, str(service or ""), at.below("scopeSpans", number, "spans", place))


def _placed(raw: Row, service: str, spot: Spot) -> _PlacedSpan | Problem:
    trace, id, name = first_present(raw, *_TRACE), first_present(raw, *_ID), raw.get("name")
    if not (isinstance(trace, str) and trace and isinstance(id, str) and id and isinstance(name, str)):
        expected = "resourceSpans, or traceId, spanId, name and attributes"
        return spot.problem("bad-span", "is no span", expected=expected, found=shown(raw))
    try:
        attributes, status = attributes_of(first_present(raw, "attributes", "attrs")), raw.get("status")
        attributes = {**_told_by_events(raw.get("events")), **attributes}
        failed = (status.get("code") if isinstance(status, dict) else status) in _ERROR
        span = Span(
            name=name,
            span_id=id,
            trace_id=trace,
            parent_id=str(first_present(raw, "parentSpanId", "parent_span_id", "parent_id", "parent") or ""),
            start_ns=nanoseconds(first_present(raw, "startTimeUnixNano", "start_time_unix_nano", "start_time")),
            end_ns=nanoseconds(first_present(raw, "endTimeUnixNano", "end_time_unix_nano", "end_time")),
            attributes={**attributes, "otel.status_code": "ERROR"} if failed else attributes,
        )
    except (ValueError, TypeError, AttributeError) as error:
        return spot.problem("bad-span", f"cannot be read: {error}", expected="a span", found=shown(raw))
    return _PlacedSpan(span, service, spot)
