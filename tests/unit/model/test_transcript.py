"""Transcripts: what follows from the messages, and what a better source overrules."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.model.transcript import (
    AgentStep,
    Message,
    Role,
    Step,
    ToolCall,
    ToolResult,
    ToolStep,
    Transcript,
    Usage,
    steps_of,
)


def said(agent: str = "", *calls: str, role: Role = Role.ASSISTANT) -> Message:
    return Message(role=role, agent=agent, tool_calls=tuple(ToolCall(name=name) for name in calls))


def named(steps: tuple[Step, ...]) -> list[str]:
    return [f"{'agent' if isinstance(step, AgentStep) else 'tool'} {step.name}" for step in steps]


def test_calls_come_in_the_order_of_the_messages_and_inside_each() -> None:
    transcript = Transcript(answer="", messages=(said("", "b", "a"), said(), said("", "b"), said("", "c")))
    assert [call.name for call in transcript.tool_calls] == ["b", "a", "b", "c"]


def test_equal_calls_are_each_counted() -> None:
    call = ToolCall(name="refund", arguments={"order": 1})
    transcript = Transcript(answer="", messages=(Message(role=Role.ASSISTANT, tool_calls=(call, call)),))
    assert transcript.tool_calls == (call, call)


@pytest.mark.parametrize(
    ("messages", "steps"),
    [
        ((), []),
        ((said(), said("", "t")), ["tool t"]),
        ((said("A", "t"), said("A", "u")), ["agent A", "tool t", "tool u"]),
        ((said("A"), said("B"), said("A")), ["agent A", "agent B", "agent A"]),
        ((said("A"), said(role=Role.USER), said("A", "t")), ["agent A", "tool t"]),
        ((said("A"), said("", "t"), said("A")), ["agent A", "tool t"]),
        ((said("A", "t", "u"), said("B", "t")), ["agent A", "tool t", "tool u", "agent B", "tool t"]),
        ((said("A"), said("a")), ["agent A", "agent a"]),
    ],
    ids=[
        "nothing",
        "nobody is named",
        "going on is not taking over",
        "coming back is",
        "the user between does not end a turn",
        "an unnamed message neither",
        "the agent comes before its calls",
        "names are case sensitive",
    ],
)
def test_steps_are_read_from_the_messages(messages: tuple[Message, ...], steps: list[str]) -> None:
    assert named(steps_of(messages)) == steps
    assert named(Transcript(answer="", messages=messages).trajectory) == steps


def test_steps_that_the_source_tells_are_taken_as_they_are() -> None:
    steps = (AgentStep(name="Root"), AgentStep(name="Root"), ToolStep(name="t"))
    transcript = Transcript(answer="", messages=(said("Other", "u"),), steps=steps)
    assert transcript.trajectory == steps
    assert [call.name for call in transcript.tool_calls] == ["u"]


@pytest.mark.parametrize(
    ("messages", "steps", "agents"),
    [
        ((), (), ()),
        ((said("B"), said("A"), said("B")), (), ("B", "A")),
        ((said(), said("", "t")), (), ()),
        ((said("A"),), (AgentStep(name="Root"), ToolStep(name="t"), AgentStep(name="Root")), ("Root", "A")),
        ((said("Root"), said("A")), (AgentStep(name="A"),), ("A", "Root")),
        ((), (ToolStep(name="Root"),), ()),
    ],
    ids=["nobody", "each once, in order", "unnamed", "steps, then speakers", "steps first", "a tool is no agent"],
)
def test_agents_are_named_once(messages: tuple[Message, ...], steps: tuple[Step, ...], agents: tuple[str, ...]) -> None:
    assert Transcript(answer="", messages=messages, steps=steps).agents == agents


@given(st.lists(st.tuples(st.sampled_from(["", "A", "B"]), st.lists(st.sampled_from("tu"), max_size=3)), max_size=8))
def test_every_call_is_a_step_and_no_agent_takes_over_from_itself(talk: list[tuple[str, list[str]]]) -> None:
    transcript = Transcript(answer="", messages=tuple(said(agent, *calls) for agent, calls in talk))
    tools = [step.name for step in transcript.trajectory if isinstance(step, ToolStep)]
    agents = [step.name for step in transcript.trajectory if isinstance(step, AgentStep)]
    assert tools == [call.name for call in transcript.tool_calls] == [name for _, calls in talk for name in calls]
    assert all(one != other for one, other in pairwise(agents))
    assert set(transcript.agents) == {agent for agent, _ in talk if agent}
    assert len(transcript.agents) == len(set(transcript.agents))


def test_the_answer_is_never_taken_from_the_messages() -> None:
    thinking = Message(role=Role.ASSISTANT, content="Let me look", tool_calls=(ToolCall(name="t"),))
    assert Transcript(answer="", messages=(thinking,)).answer == ""


@pytest.mark.parametrize("field", ["state", "spans", "usage", "duration_ms"])
def test_what_nobody_recorded_is_not_known_and_not_empty(field: str) -> None:
    assert getattr(Transcript(answer=""), field) is None


@pytest.mark.parametrize("state", [None, {}, {"a": None}])
def test_no_state_and_an_empty_one_stay_apart_in_storage(state: dict[str, object] | None) -> None:
    transcript = Transcript(answer="", state=state, spans=None if state is None else ())
    assert msgspec.json.decode(msgspec.json.encode(transcript), type=Transcript) == transcript


def test_a_call_without_a_response_is_not_one_that_gave_nothing() -> None:
    silent, empty = ToolCall(name="t"), ToolCall(name="t", result=ToolResult())
    assert silent != empty
    for call in (silent, empty):
        assert msgspec.json.decode(msgspec.json.encode(call), type=ToolCall) == call


def test_tokens_are_unknown_until_somebody_counted_them() -> None:
    assert Usage().prompt_tokens is None
    assert Usage(prompt_tokens=0) != Usage()
    assert msgspec.json.decode(msgspec.json.encode(Usage(prompt_tokens=0)), type=Usage).prompt_tokens == 0


@pytest.mark.parametrize("body", [b'{"kind":"human","name":"x"}', b'{"name":"x"}', b'{"kind":"agent"}'])
def test_a_step_of_no_known_kind_is_not_read(body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=Step)


@pytest.mark.parametrize("role", ["tool", "User", "", "developer"])
def test_a_role_nobody_has_is_not_read(role: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"role": role}, type=Message)
