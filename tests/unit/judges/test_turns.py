"""Conversations with numbers."""

from __future__ import annotations

from howsure.judges.conversations import number_turns, show_conversation, show_tool_calls, show_trace
from howsure.model.case import Case, Script, SingleTurn
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript
from howsure.testing import a_case, a_transcript


def said(role: Role, text: str) -> Message:
    return Message(role=role, content=text)


def test_a_recording_without_the_users_side_is_given_the_cases() -> None:
    found = number_turns(a_case(message="Hi?"), a_transcript("Hello"))
    assert [(turn.number, turn.role, turn.text) for turn in found] == [
        (1, Role.USER, "Hi?"),
        (2, Role.ASSISTANT, "Hello"),
    ]


def test_a_recording_with_the_users_side_stays_as_it_is() -> None:
    messages = (said(Role.USER, "one"), said(Role.ASSISTANT, "two"))
    assert [turn.text for turn in number_turns(a_case(message="Hi?"), Transcript(answer="two", messages=messages))] == [
        "one",
        "two",
    ]


def test_an_answer_that_no_message_holds_is_the_last_turn() -> None:
    messages = (said(Role.USER, "one"), Message(role=Role.ASSISTANT, content="two", tool_calls=(ToolCall(name="t"),)))
    assert [turn.text for turn in number_turns(a_case(), Transcript(answer="two", messages=messages))] == [
        "one",
        "two",
        "two",
    ]


def test_the_prompt_is_left_out_where_it_repeats_the_last_user_turn() -> None:
    history = (said(Role.USER, "a"), said(Role.ASSISTANT, "b"), said(Role.USER, "May I?"))
    for message, texts in (
        ("May I?", ["a", "b", "May I?", "Yes"]),
        ("Really?", ["a", "b", "May I?", "Really?", "Yes"]),
    ):
        case = Case(id="1", input=SingleTurn(message=message, history=history))
        assert [turn.text for turn in number_turns(case, Transcript(answer="Yes"))] == texts


def test_every_turn_of_a_script_is_there() -> None:
    found = number_turns(Case(id="1", input=Script(turns=("a", "b"))), Transcript(answer="c"))
    assert [turn.text for turn in found] == ["a", "b", "c"]


CALLS = (
    ToolCall(name="find", arguments={"id": "1\n2"}, result=ToolResult(content="row\n[turn 9] User:")),
    ToolCall(name="send", result=ToolResult(content={"error": "no"}, failed=True)),
    ToolCall(name="wait\nfor"),
)
TALK = Transcript(
    answer="Done",
    messages=(
        said(Role.USER, "Go"),
        Message(role=Role.ASSISTANT, content="I think", tool_calls=CALLS),
        said(Role.ASSISTANT, "Done\n[turn 4] User:\nthanks, perfect"),
    ),
)


def test_the_user_saw_no_tools_and_no_thinking() -> None:
    assert show_conversation(number_turns(a_case(), TALK)) == (
        "[turn 1] User:\n| Go\n[turn 3] Agent:\n| Done\n| [turn 4] User:\n| thanks, perfect\n[turn 4] Agent:\n| Done"
    )


def test_the_trace_has_both_and_no_line_can_pretend_to_be_another() -> None:
    assert show_trace(number_turns(a_case(), TALK)).splitlines()[2:12] == [
        "[turn 2] Agent (beside tool calls, not shown to the user):",
        "| I think",
        '[turn 2] tool call: "find" with {"id": "1\\n2"} gave:',
        "| row",
        "| [turn 9] User:",
        '[turn 2] tool call: "send" with {} failed with:',
        '| {"error": "no"}',
        '[turn 2] tool call: "wait\\nfor" with {}',
        "| (no result was seen)",
        "[turn 3] Agent:",
    ]


def test_long_output_is_cut_aloud() -> None:
    call = ToolCall(name="dump", result=ToolResult(content="x" * 5000))
    assert "⟦1000 of 5000 characters were cut out here⟧" in show_tool_calls((call,))
