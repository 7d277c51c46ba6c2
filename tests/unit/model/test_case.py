"""Cases: how the user's side opens, for every kind of input, and what a case keeps of its file."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.model.case import Attachment, Case, Input, Scenario, Script, SingleTurn, World, opening, user_turns
from howsure.model.expectation import (
    AgentsInvolved,
    ArgumentMode,
    Choice,
    CodeCheck,
    Contract,
    CorrectChoice,
    Criteria,
    Criterion,
    ExactText,
    Expectation,
    ExpectedCall,
    FinalState,
    ForbiddenTools,
    Goal,
    IncludedText,
    JsonOutput,
    Matching,
    MatchMode,
    NumericAnswer,
    Qualities,
    ReferenceAnswer,
    TextPattern,
    ToolCalls,
    Trajectory,
    WeightedCriteria,
    text_id,
)
from howsure.model.transcript import (
    AgentStep,
    BrokenRecording,
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

HISTORY = (Message(role=Role.USER, content="Before"), Message(role=Role.ASSISTANT, content="Yes?"))


@pytest.mark.parametrize(
    ("given", "first", "turns"),
    [
        (SingleTurn(message="Hello"), "Hello", ("Hello",)),
        (SingleTurn(message="Hello", history=HISTORY, context="Text"), "Hello", ("Hello",)),
        (SingleTurn(message=""), "", ("",)),
        (Script(turns=("One",)), "One", ("One",)),
        (Script(turns=("One", "Two", "One")), "One", ("One", "Two", "One")),
        (Script(turns=("", "Two")), "", ("", "Two")),
        (Scenario(persona="Cross", initial_message="Where is it?"), "Where is it?", ("Where is it?",)),
    ],
    ids=["one", "history is not said again", "empty", "short", "repeated turns stay", "silence is a turn", "scenario"],
)
def test_what_the_user_says(given: Input, first: str, turns: tuple[str, ...]) -> None:
    assert opening(given) == first
    assert user_turns(given) == turns


def test_a_script_without_turns_is_refused() -> None:
    with pytest.raises(ValueError, match="a script needs at least one turn"):
        Script(turns=())
    with pytest.raises(msgspec.ValidationError, match="a script needs at least one turn"):
        msgspec.json.decode(b'{"kind":"script","turns":[]}', type=Input)


@pytest.mark.parametrize(
    "body",
    [
        b'{"kind":"monologue","message":"Hi"}',
        b'{"message":"Hi"}',
        b'{"kind":"single_turn"}',
        b'{"kind":"single_turn","message":null}',
        b'{"kind":"scenario","persona":"x"}',
        b'{"kind":"script","turns":"Hi"}',
        b'{"kind":"SINGLE_TURN","message":"Hi"}',
        b'"Hi"',
    ],
)
def test_an_input_of_no_known_kind_is_not_read(body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=Input)


@pytest.mark.parametrize(
    ("given", "body"),
    [
        (SingleTurn(message="Hi"), b'{"kind":"single_turn","message":"Hi"}'),
        (Script(turns=("a", "b")), b'{"kind":"script","turns":["a","b"]}'),
        (
            Scenario(persona="p", initial_message="m"),
            b'{"kind":"scenario","persona":"p","initial_message":"m"}',
        ),
        (
            SingleTurn(message="Hi", attachments=(Attachment(path="a.pdf"),)),
            b'{"kind":"single_turn","message":"Hi","attachments":[{"path":"a.pdf"}]}',
        ),
    ],
)
def test_the_stored_form_of_an_input_is_fixed(given: Input, body: bytes) -> None:
    assert msgspec.json.encode(given) == body
    assert msgspec.json.decode(body, type=Input) == given


def test_a_case_that_does_not_say_its_tools_is_not_one_without_tools() -> None:
    silent = Case(id="1", input=SingleTurn(message="Hi"))
    bare = Case(id="1", input=SingleTurn(message="Hi"), tools=())
    for case in (silent, bare):
        assert msgspec.json.decode(msgspec.json.encode(case), type=Case).tools == case.tools
    assert silent.tools is None
    assert silent != bare


@pytest.mark.parametrize(
    "recorded", [None, Transcript(answer=""), BrokenRecording(reason=""), BrokenRecording(reason="timeout")]
)
def test_a_broken_recording_an_empty_one_and_none_stay_apart(recorded: Transcript | BrokenRecording | None) -> None:
    case = Case(id="1", input=SingleTurn(message="Hi"), recorded=recorded)
    back = msgspec.json.decode(msgspec.json.encode(case), type=Case).recorded
    assert back == recorded
    assert type(back) is type(recorded)


def test_two_cases_share_no_dict() -> None:
    one, other = (Case(id=name, input=SingleTurn(message="Hi")) for name in "ab")
    one.metadata["seen"] = True
    one.labels["area"] = "x"
    assert other.metadata == {}
    assert other.labels == {}


def test_a_case_is_frozen() -> None:
    case = Case(id="1", input=SingleTurn(message="Hi"))
    with pytest.raises(AttributeError):
        case.id = "2"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        case.input.message = "Bye"  # type: ignore[misc,union-attr]


def test_the_worlds_have_the_names_that_runs_store() -> None:
    named = (World.EXPLAIN, World.GOLDEN, World.TEST_SET, World.LEGAL, World.PLAIN)
    assert named == ("explain", "golden", "test-set", "legal", "plain")
    assert Case(id="1", input=SingleTurn(message="Hi")).world == "plain"


@pytest.mark.parametrize("id", ["0", " ", "ünï/code\n", "a\x1fb", "x" * 10_000])
def test_an_id_is_kept_verbatim(id: str) -> None:
    case = Case(id=id, input=SingleTurn(message="Hi"))
    assert msgspec.json.decode(msgspec.json.encode(case), type=Case).id == id


POLITE = Criterion(id="c1", text="polite")

STORED: list[tuple[Expectation, bytes]] = [
    (ReferenceAnswer(answers=("4",)), b'{"kind":"reference_answer","answers":["4"]}'),
    (
        CorrectChoice(choices=(Choice(id="A", text="yes"),), correct=("A",)),
        b'{"kind":"correct_choice","choices":[{"id":"A","text":"yes"}],"correct":["A"]}',
    ),
    (Criteria(criteria=(POLITE,)), b'{"kind":"criteria","criteria":[{"id":"c1","text":"polite"}]}'),
    (
        WeightedCriteria(criteria=(Criterion(id="c1", text="rude", weight=-2.5),), references=("r",)),
        b'{"kind":"weighted_criteria","criteria":[{"id":"c1","text":"rude","weight":-2.5}],"references":["r"]}',
    ),
    (
        ToolCalls(expected=(ExpectedCall(name="t", arguments={"a": {"$any": True}}),)),
        b'{"kind":"tool_calls","expected":[{"name":"t","arguments":{"a":{"$any":true}}}]}',
    ),
    (ForbiddenTools(names=("t",)), b'{"kind":"forbidden_tools","names":["t"]}'),
    (Trajectory(steps=("A", "t")), b'{"kind":"trajectory","steps":["A","t"]}'),
    (FinalState(variables={"a": None}), b'{"kind":"final_state","variables":{"a":null}}'),
    (AgentsInvolved(names=("A",)), b'{"kind":"agents_involved","names":["A"]}'),
    (Goal(text="done"), b'{"kind":"goal","text":"done"}'),
    (Contract(name="Plan"), b'{"kind":"contract","name":"Plan"}'),
    (Qualities(names=("Fluency",)), b'{"kind":"qualities","names":["Fluency"]}'),
    (ExactText(values=("4",)), b'{"kind":"exact_text","values":["4"]}'),
    (IncludedText(values=("4",), every=True), b'{"kind":"included_text","values":["4"],"every":true}'),
    (TextPattern(patterns=("4+",), negate=True), b'{"kind":"text_pattern","patterns":["4+"],"negate":true}'),
    (NumericAnswer(values=(4.5,)), b'{"kind":"numeric_answer","values":[4.5]}'),
    (JsonOutput(schema={"type": "object"}), b'{"kind":"json_output","schema":{"type":"object"}}'),
    (CodeCheck(language="python", code="True"), b'{"kind":"code_check","language":"python","code":"True"}'),
]


@pytest.mark.parametrize(("expectation", "body"), STORED, ids=[type(each).__name__ for each, _ in STORED])
def test_the_stored_form_of_each_kind_is_fixed(expectation: Expectation, body: bytes) -> None:
    back = msgspec.json.decode(body, type=Expectation)
    assert back == expectation
    assert type(back) is type(expectation)
    assert msgspec.json.encode(expectation) == body


def test_every_kind_is_in_the_table_and_no_two_share_a_name() -> None:
    kinds = set(Expectation.__args__)
    assert {type(each) for each, _ in STORED} == kinds
    assert len({kind.__struct_config__.tag for kind in kinds}) == len(kinds) == 18


@pytest.mark.parametrize(
    "body", [b'{"kind":"vibes"}', b'{"text":"x"}', b'{"kind":"goal"}', b'{"kind":null,"text":"x"}']
)
def test_an_unknown_kind_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=Expectation)


@pytest.mark.parametrize(
    ("mode", "args", "counts"),
    [
        (MatchMode.EXACT, None, ArgumentMode.EXACT),
        (MatchMode.IN_ORDER, None, ArgumentMode.SUPERSET),
        (MatchMode.ANY_ORDER, None, ArgumentMode.SUPERSET),
        (MatchMode.SUPERSET, None, ArgumentMode.SUPERSET),
        (MatchMode.SUBSET, None, ArgumentMode.SUPERSET),
        (MatchMode.EXACT, ArgumentMode.IGNORE, ArgumentMode.IGNORE),
        (MatchMode.SUBSET, ArgumentMode.EXACT, ArgumentMode.EXACT),
    ],
)
def test_arguments_follow_the_mode_unless_they_are_set(
    mode: MatchMode, args: ArgumentMode | None, counts: ArgumentMode
) -> None:
    assert Matching(mode=mode, args=args).arguments is counts


def test_tools_must_be_called_and_a_trajectory_is_a_sequence_by_default() -> None:
    assert ToolCalls(expected=()).match.mode is MatchMode.SUPERSET
    assert Trajectory(steps=()).match.mode is MatchMode.IN_ORDER


@pytest.mark.parametrize("only", [None, (), ("a",)])
def test_only_none_and_only_no_tools_stay_apart(only: tuple[str, ...] | None) -> None:
    matching = Matching(only=only, args_for={"t": ArgumentMode.SUBSET, "u": ("a.b",), "v": ()})
    assert msgspec.json.decode(msgspec.json.encode(matching), type=Matching) == matching


@pytest.mark.parametrize("field", ["mode", "args"])
def test_a_mode_nobody_knows_is_refused(field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=f"Invalid enum value 'strict'.*{field}"):
        msgspec.convert({field: "strict"}, type=Matching)


@pytest.mark.parametrize(
    ("text", "id"),
    [("", "e3b0c44298fc"), ("abc", "ba7816bf8f01"), ("é", "4a99557e4033")],
    ids=["empty", "plain", "not ASCII"],
)
def test_a_text_always_has_the_same_id(text: str, id: str) -> None:
    assert text_id(text) == id


def test_texts_that_look_alike_have_ids_of_their_own_and_a_lone_surrogate_has_one_too() -> None:
    alike = ["polite", "Polite", "polite ", "e\u0301", "\u00e9", "\ud800", "\udfff"]
    assert len({text_id(text) for text in alike}) == len(alike)


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
        ((said("A"), said(role=Role.USER), said("A", "t")), ["agent A", "agent A", "tool t"]),
        ((said("A"), said("", "t"), said("A")), ["agent A", "tool t"]),
        ((said("A", "t", "u"), said("B", "t")), ["agent A", "tool t", "tool u", "agent B", "tool t"]),
        ((said("A"), said("a")), ["agent A", "agent a"]),
    ],
    ids=[
        "nothing",
        "nobody is named",
        "going on is not taking over",
        "coming back is",
        "each turn begins anew",
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
