"""The spans of an ADK conversation: built from events, or recorded and completed by them."""

from __future__ import annotations

import json
from typing import Any

from howsure.model.case import Case, SingleTurn
from howsure.model.flag import Flag
from howsure.model.transcript import Span
from howsure.targets.adk.conversation import AdkDialogue
from howsure.targets.adk.events import Event
from howsure.targets.adk.spans import AdkTurn, join_spans, with_declared
from howsure.traces.declared import declared_instructions, declared_tools
from howsure.traces.read import read_trace

Json = dict[str, Any]
CITED = {"groundingChunks": [{"web": {"uri": "https://example.com"}}]}


def event(author: str, at: float, *parts: Json, **fields: Any) -> Json:
    return {"id": f"e{at}", "author": author, "timestamp": at, "content": {"parts": list(parts)}, **fields}


def called(name: str, id: str, **arguments: Any) -> Json:
    return {"functionCall": {"id": id, "name": name, "args": arguments}}


def gave(name: str, id: str, response: Any) -> Json:
    return {"functionResponse": {"id": id, "name": name, "response": response}}


SPENT = {"modelVersion": "m-1", "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2}}
TURN = AdkTurn(
    [
        event("writer", 100.5, called("look", "c1", q="x"), nodeInfo={"path": "pipeline@1/writer@1"}, **SPENT),
        event("writer", 102.0, gave("look", "c1", {"found": 1}), nodeInfo={"path": "pipeline@1/writer@1"}),
        event("writer", 102.0, {"text": "A callback speaks."}, nodeInfo={"path": "pipeline@1/writer@1"}),
        event(
            "editor",
            103.0,
            {"text": "Done."},
            groundingMetadata=CITED,
            nodeInfo={"path": "pipeline@1/editor@1"},
            **SPENT,
        ),
    ],
    seconds=5.0,
    began=100.0,
)


def test_events_alone_give_turns_agents_calls_tools_and_times() -> None:
    spans = join_spans(None, [TURN], "s1")
    assert spans is not None and {span.attributes["howsure.source"] for span in spans} == {"events"}
    trace = read_trace(spans)
    assert trace.problems == ()
    assert [((one.start_ns or 0) / 1e9, (one.end_ns or 0) / 1e9) for one in trace.invocations] == [(100.0, 105.0)]
    assert [(run.name, run.within) for run in trace.agent_runs] == [
        ("pipeline", ""),
        ("writer", "pipeline"),
        ("editor", "pipeline"),
    ]
    calls = [(call.model, call.agent, (call.end_ns or 0) - (call.start_ns or 0)) for call in trace.llm_calls]
    assert calls == [("m-1", "writer", 1_500_000_000), ("m-1", "editor", 2_000_000_000)]
    assert [call.grounding_chunks for call in trace.llm_calls] == [0, 1]
    (use,) = trace.tool_uses
    assert (use.name, use.arguments, use.response, use.start_ns) == ("look", {"q": "x"}, {"found": 1}, None)


def test_an_agent_that_handed_over_in_an_earlier_turn_does_not_run_again() -> None:
    first = AdkTurn([event("desk", 1.0, {"text": "Hi"}, nodeInfo={"path": "desk@1"})], 1.0)
    second = AdkTurn([event("billing", 5.0, {"text": "Paid"}, nodeInfo={"path": "desk@1/billing@1"})], 1.0)
    trace = read_trace(join_spans(None, [first, second], "s1") or ())
    assert [run.name for run in trace.agent_runs] == ["desk", "billing"]
    assert len(trace.invocations) == 2


def prompt(*parts: Json) -> str:
    return json.dumps({"role": "user", "parts": list(parts)})


def test_what_tools_of_an_agent_behind_a_tool_gave_is_in_its_events_or_its_next_prompt() -> None:
    asked = [{"type": "tool_call", "id": f"look_{n}", "name": "look", "arguments": {"n": n}} for n in (0, 1)]
    given = [{"type": "tool_call_response", "id": f"look_{n}", "response": {"found": n}} for n in (1, 0)]
    spans = [
        Span(name="invoke_agent inner", span_id="a"),
        Span(name="generate_content m", span_id="b", parent_id="a", start_ns=1, end_ns=2),
        *(
            Span(
                name="execute_tool look",
                span_id=f"t{n}",
                parent_id="a",
                start_ns=3 + n,
                end_ns=9,
                attributes={"gen_ai.tool.call.id": f"c{n}", "gen_ai.tool.name": "look"},
            )
            for n in (0, 1)
        ),
        Span(
            name="generate_content m",
            span_id="c",
            parent_id="a",
            start_ns=10,
            end_ns=11,
            attributes={"gen_ai.input.messages": [prompt(*asked), prompt(*given)]},
        ),
    ]
    inner = [event("inner", 1.0, called("look", "c1", n=7)), event("inner", 2.0, gave("look", "c1", {"found": 7}))]
    for events, found in (([], [{"found": 0}, {"found": 1}]), (inner, [{"found": 0}, {"found": 7}])):
        joined = join_spans(spans, [], "s", events)
        assert [use.response for use in read_trace(joined or ()).tool_uses] == found


def test_a_server_tells_the_tools_of_its_agents_and_their_instructions() -> None:
    look = {"name": "look", "description": "Looks.", "parametersJsonSchema": {"type": "object"}}
    info = {"agents": {"desk": {"instruction": "Help.", "tools": [{"functionDeclarations": [look]}]}, "odd": None}}
    built = with_declared(join_spans(None, [TURN], "s1"), info)
    (tool,) = declared_tools(built) or ()
    assert (tool.name, tool.description, tool.parameters) == ("look", "Looks.", {"type": "object"})
    assert declared_instructions(built) == "Help."
    told = Span(name="call_llm", attributes={"gen_ai.system_instructions": [{"content": "Help Ann."}]})
    assert declared_instructions(with_declared((told,), info)) == "Help Ann."
    assert with_declared((told,), {}) == (told,)
    assert with_declared(None, info) is None


def test_without_times_there_are_no_spans() -> None:
    assert join_spans(None, [AdkTurn([{"author": "desk", "content": {"parts": [{"text": "Hi"}]}}], 1.0)], "s") is None


def test_recorded_spans_get_what_they_lack_from_the_events_and_keep_what_they_have() -> None:
    recorded = [
        Span(name="invoke_workflow pipeline", span_id="1", start_ns=0, end_ns=9),
        Span(
            name="generate_content x",
            span_id="2",
            parent_id="1",
            start_ns=0,
            end_ns=4,
            attributes={"gcp.vertex.agent.event_id": "e103.0", "gen_ai.request.model": "x"},
        ),
        Span(
            name="execute_tool look",
            span_id="3",
            parent_id="1",
            start_ns=1,
            end_ns=2,
            attributes={"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": '{"q": "own"}'},
        ),
    ]
    trace = read_trace(join_spans(recorded, [TURN], "s1") or ())
    (call,), (use,), (turn,) = trace.llm_calls, trace.tool_uses, trace.invocations
    assert (call.model, call.usage and call.usage.prompt_tokens, call.grounding_chunks) == ("m-1", 10, 1)
    # The tool ran while the span of the model lasted: that second is the tool's.
    assert call.busy_ns == 3
    assert (use.arguments, use.response) == ({"q": "own"}, {"found": 1})
    assert (turn.start_ns, turn.end_ns) == (0, 9)


async def test_what_tools_ask_a_person_is_answered_from_the_case_until_nothing_waits() -> None:
    sent: list[Any] = []

    async def run(parts: list[Json]) -> list[Event]:
        sent.append(parts)
        if len(sent) == 1:
            asks = {"originalFunctionCall": {"name": "refund"}, "toolConfirmation": {"confirmed": False}}
            return [event("desk", 1.0, called("adk_request_confirmation", "a1", **asks), longRunningToolIds=["a1"])]
        return [event("desk", 2.0, called("export", "b1"), longRunningToolIds=["b1"])]

    case = Case(id="1", input=SingleTurn(message="x"), metadata={"tool_answers": {"refund": False}})
    reply = await AdkDialogue(case, run, "s").send("Refund")
    answer = {"id": "a1", "name": "adk_request_confirmation", "response": {"confirmed": False}}
    assert sent == [[{"text": "Refund"}], [{"function_response": answer}]]
    waits = "export waits for an answer that the case does not have"
    assert reply.flags == (Flag("waits_for_a_person", waits),)


def test_the_tools_and_instructions_that_a_model_was_told_of_are_known() -> None:
    told = Span(
        name="generate_content x",
        attributes={
            "gen_ai.tool.definitions": '[{"name": "look", "description": "Look.", "parameters": null}]',
            "gen_ai.system_instructions": [{"type": "text", "content": "Help."}],
        },
    )
    tools = declared_tools([told, told])
    assert tools is not None and [(tool.name, tool.description, tool.parameters) for tool in tools] == [
        ("look", "Look.", None)
    ]
    assert declared_instructions([told, told]) == "Help."
    whole, other = (
        Span(name="y", attributes={"gen_ai.tool.definitions": [{"name": "look", "parameters": {"enum": [one]}}]})
        for one in "ab"
    )
    tools = declared_tools([told, whole, other, told, whole])
    assert tools is not None and [tool.parameters for tool in tools] == [{"enum": ["a"]}, {"enum": ["b"]}]
    assert declared_tools([Span(name="x")]) is None
