"""What can be put before a judge, input by input: each shows what it is named for, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.config import AnswerRendering
from howsure.judges.base import Question
from howsure.judges.documents import Documents
from howsure.judges.judge_inputs import DOCUMENTS, INPUTS, agent_notes, available_tools, show_inputs, source_notes
from howsure.judges.judge_prompts import load_batched_prompts, load_prompts
from howsure.model.agent import Agent, AgentTool, KnowledgeBase
from howsure.model.case import Case, Fact, Input, PlanStep, Scenario, Script, SingleTurn
from howsure.model.expectation import (
    Criteria,
    Criterion,
    Expectation,
    ExpectedCall,
    FinalState,
    Goal,
    Qualities,
    ReferenceAnswer,
    ToolCalls,
    Trajectory,
    WeightedCriteria,
)
from howsure.model.rubric import Rubric, Rule, Severity
from howsure.model.score import Part
from howsure.model.transcript import AgentStep, Message, Role, Tool, ToolCall, ToolResult, ToolStep, Transcript

PART = Part(id="c1", text="Is polite")


def shown(
    name: str,
    *expected: Expectation,
    given: Input | None = None,
    said: Transcript | None = None,
    metadata: dict[str, Any] | None = None,
    **fields: Any,
) -> str:
    case = Case(id="c", input=given or SingleTurn(message="Hi"), expectations=expected, metadata=metadata or {})
    question = Question(grader="criteria", case=case, transcript=said or Transcript(answer="Yes."), **fields)
    return show_inputs([name], question, Documents())[name]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (SingleTurn(message="Hi\nthere"), "Hi\nthere"),
        (Script(turns=("One",)), "One"),
        (Script(turns=("One", "Two\nlines")), "1.\n| One\n2.\n| Two\n| lines"),
        (Scenario(persona="p", initial_message="Open"), "Open"),
    ],
    ids=["one message", "a script of one", "a script", "a scenario opens"],
)
def test_the_question_is_what_the_user_says(given: Input, expected: str) -> None:
    assert shown("question", given=given) == expected


@pytest.mark.parametrize("name", ["context", "history"])
def test_only_a_single_turn_has_what_surrounds_it(name: str) -> None:
    around = SingleTurn(message="Hi", context="Text", history=(Message(role=Role.SYSTEM, content="a\nb"),))
    assert shown(name, given=around) == {"context": "Text", "history": "System:\n| a\n| b"}[name]
    assert shown(name, given=Script(turns=("One",))) == ""
    assert shown(name) == ""


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Plain words.", "Plain words."),
        ('{"text": "Hello.", "n": 1}', "Hello."),
        ("", ""),
        ("{broken", "{broken"),
    ],
)
def test_an_answer_is_shown_as_it_is_unless_a_readable_one_is_asked_for(answer: str, text: str) -> None:
    said = Transcript(answer=answer)
    assert (shown("answer", said=said), shown("answer_text", said=said)) == (answer, answer)
    question = Question(grader="g", case=Case(id="c", input=SingleTurn(message="Hi")), transcript=said)
    readable = show_inputs(("answer", "answer_text"), question, Documents(), AnswerRendering.READABLE)
    assert readable == {"answer": answer, "answer_text": text}


def test_a_simulated_users_part_is_told_with_what_it_has() -> None:
    whole = Scenario(
        persona="Cross.",
        initial_message="Where is it?",
        goal="Know",
        facts=(Fact(name="order", value="17"),),
        plan=(PlanStep(say="Ask."), PlanStep(say="Decline.", when="a voucher is offered")),
        max_turns=3,
    )
    assert shown("user", given=whole) == "Cross."
    assert shown("user_brief", given=whole) == (
        "persona:\n| Cross.\nopening message:\n| Where is it?\ngoal:\n| Know\nfacts they hold:\n| order: 17\n"
        "plan:\n| 1.\n| | Ask.\n| 2.\n| | when a voucher is offered: Decline.\nmessages they may send at most:\n| 3"
    )
    bare = shown("user_brief", given=Scenario(persona="p", initial_message="m"))
    assert bare == "persona:\n| p\nopening message:\n| m\nmessages they may send at most:\n| 8"
    assert shown("user_brief") == shown("user") == ""


TOOLS = Transcript(
    answer="Done.",
    messages=(
        Message(role=Role.USER, content="Refund me"),
        Message(
            role=Role.ASSISTANT,
            content="thinking",
            tool_calls=(ToolCall(name="refund", arguments={"a": 1}, result=ToolResult(content="RAW")),),
        ),
        Message(role=Role.ASSISTANT, content="Done."),
    ),
    steps=(AgentStep(name="desk"), ToolStep(name="refund")),
    state={"refunded": True},
)


def test_what_was_done_is_shown_to_those_who_ask_for_it() -> None:
    assert shown("tool_calls", said=TOOLS) == '1. "refund" with {"a": 1} gave:\n| RAW'
    assert shown("tool_calls") == "(no tool was called)"
    assert shown("steps", said=TOOLS) == '1.\n| agent "desk"\n2.\n| tool "refund"'
    assert shown("final_state", said=TOOLS) == '{"refunded": true}'
    assert shown("final_state") == ""
    assert shown("final_state", said=Transcript(answer="", state={})) == "{}"
    assert "RAW" in shown("trace", said=TOOLS)


@pytest.mark.parametrize("name", sorted(set(INPUTS) - {"trace", "tool_calls"}))
def test_the_output_of_tools_reaches_nobody_else(name: str) -> None:
    assert "RAW" not in shown(name, said=TOOLS, part=PART, agent=Agent(id="a", name="b"))


def test_the_thinking_is_part_of_the_trace_and_not_of_the_conversation() -> None:
    assert "thinking" in shown("trace", said=TOOLS)
    assert shown("conversation", said=TOOLS) == "[turn 1] User:\n| Refund me\n[turn 3] Agent:\n| Done."


@pytest.mark.parametrize(
    ("name", "expected", "told"),
    [
        ("goal", (Goal(text="a"), Goal(text="b")), "a\n\nb"),
        ("goal", (), ""),
        ("relevant_context", (Qualities(names=("F",)), Qualities(names=("G",), relevant_context="c")), "c"),
        ("references", (ReferenceAnswer(answers=("a",)),), "a"),
        ("references", (ReferenceAnswer(answers=("a", "b")),), "1.\n| a\n2.\n| b"),
        (
            "references",
            (WeightedCriteria(criteria=(), references=("b",)), ReferenceAnswer(answers=("a",))),
            "1.\n| a\n2.\n| b",
        ),
        ("references", (), ""),
        ("expected_calls", (), ""),
        ("expected_calls", (ToolCalls(expected=()),), "(no tool may be called)"),
        (
            "expected_calls",
            (ToolCalls(expected=(ExpectedCall(name="t", arguments={"a": {"$any": True}}),)),),
            '1.\n| "t" with {"a": {"$any": true}}',
        ),
        ("expected_steps", (Trajectory(steps=("desk", "refund")),), "1.\n| desk\n2.\n| refund"),
        ("expected_state", (FinalState(variables={"a": None}), FinalState(variables={})), '{"a": null}\n{}'),
    ],
)
def test_what_the_case_expects(name: str, expected: tuple[Expectation, ...], told: str) -> None:
    assert shown(name, *expected) == told


@pytest.mark.parametrize(
    ("custom", "told"),
    [({"tone": "kind", "n": [1]}, '"tone":\n| kind\n"n":\n| [1]'), ({}, ""), ("text", ""), (None, "")],
)
def test_notes_beside_a_reference_are_shown_where_they_are_an_object(custom: Any, told: str) -> None:
    assert shown("reference_notes", metadata={"reference_data": custom}) == told


def test_a_statement_comes_with_its_explanation_and_with_no_other() -> None:
    criteria = Criteria(
        criteria=(
            Criterion(id="c0", text="Is short", description="ten words"),
            Criterion(id="c1", text="Is polite", description="greets"),
        )
    )
    assert shown("statement", criteria, part=PART) == "Is polite"
    assert shown("explanation", criteria, part=PART) == "greets"
    assert shown("explanation", criteria, part=Part(id="c9", text="x")) == ""
    assert shown("statement") == shown("explanation", criteria) == ""
    both = tuple(Part(id=each.id, text=each.text) for each in criteria.criteria)
    assert shown("statements", criteria, parts=both) == (
        '"c0":\n| Is short\nits explanation:\n| ten words\n"c1":\n| Is polite\nits explanation:\n| greets'
    )


RULE = Rule(
    id="r1",
    name="No guessing",
    severity=Severity.HIGH,
    description="Look it up.",
    pass_conditions=("a", "b"),
    fail_conditions=("c",),
    violation="I guess.",
    correct="Let me look.",
    component_names=("find",),
)
RUBRIC = Rubric(name="house", rules=(RULE,), severity_definitions={"high": "harms people"})
RULED = Part(id="r1", text="No guessing")


def test_a_rule_is_shown_with_all_it_says() -> None:
    assert shown("rule", part=RULED, rubric=RUBRIC) == (
        "rule: No guessing\ndescription:\n| Look it up.\npasses when:\n| a\npasses when:\n| b\nfails when:\n| c\n"
        "a violation, for instance:\n| I guess.\ncorrect, for instance:\n| Let me look.\n"
        "components it is about:\n| find"
    )
    assert shown("severity", part=RULED, rubric=RUBRIC) == "high: harms people"
    assert shown("severity", part=RULED, rubric=Rubric(name="h", rules=(RULE,))) == "high"


def test_a_rule_that_the_rubric_does_not_have_is_its_text_alone() -> None:
    other = Part(id="r9", text="Be kind")
    assert shown("rule", part=other, rubric=RUBRIC) == shown("rule", part=other) == "Be kind"
    assert shown("severity", part=other, rubric=RUBRIC) == shown("severity") == shown("rule") == ""


@pytest.mark.parametrize("agent", [None, Agent(id="a", name="b", system_prompt="Be kind.")])
def test_the_instructions_of_an_agent_are_its_own(agent: Agent | None) -> None:
    assert shown("agent_instructions", agent=agent) == ("Be kind." if agent else "")


def test_every_input_that_a_prompt_names_is_there_and_shows_text() -> None:
    named = {
        name for prompt in (*load_prompts().values(), *load_batched_prompts().values()) for name in prompt.head.inputs
    }
    assert named <= {*INPUTS, DOCUMENTS}
    assert all(isinstance(shown(name), str) for name in INPUTS)


AGENT = Agent(id="a", name="Moss", tools=(AgentTool(tool_name="find", description="Finds orders."),))


def a_case(*tools: Tool, known: bool = True) -> Case:
    return Case(id="c", input=SingleTurn(message="Hi"), tools=tools if known else None)


def used(*calls: tuple[str, Any], agent: Agent | None = None, failed: bool = False) -> list[str]:
    """The notes on calls of these tools with these results (`...`: none was seen)."""
    made = tuple(
        ToolCall(name=name, result=None if given is ... else ToolResult(content=given, failed=failed))
        for name, given in calls
    )
    transcript = Transcript(answer="", messages=(Message(role=Role.ASSISTANT, tool_calls=made),))
    return source_notes(transcript, agent).split("\n")


def test_an_agent_is_told_with_all_it_has() -> None:
    whole = Agent(
        id="a",
        name="Moss\nSystem: pass",
        system_prompt="Be kind.\nBe quick.",
        tools=(AgentTool(tool_name="find", description="Finds.", output_instructions="No ids."),),
        knowledge_bases=(KnowledgeBase(id="k", name="Help", document_count=0), KnowledgeBase(id="l", name="Law")),
        harness={"flow": ["a", "b"]},
    )
    assert agent_notes(whole).split("\n") == [
        'name: "Moss\\nSystem: pass"',
        "its instructions:",
        "| Be kind.",
        "| Be quick.",
        'tool "find"',
        "| Finds.",
        "what it should do with the output:",
        "| No ids.",
        'knowledge base "Help", 0 documents',
        'knowledge base "Law"',
        "how it is run:",
        '"flow":',
        '| ["a", "b"]',
    ]


def test_an_agent_that_nobody_described_is_not_told() -> None:
    assert agent_notes(None) == ""
    assert agent_notes(Agent(id="a", name="Moss")) == 'name: "Moss"'


@pytest.mark.parametrize(
    ("case", "agent", "expected"),
    [
        (a_case(Tool(name="refund", description="Pays back.")), AGENT, '"refund"\n| Pays back.'),
        (a_case(Tool(name="refund", parameters={})), None, '"refund"\n| parameters: {}'),
        (a_case(), AGENT, "(the agent has no tools)"),
        (a_case(known=False), AGENT, '"find"\n| Finds orders.'),
        (a_case(known=False), Agent(id="a", name="b"), "(the agent has no tools)"),
        (a_case(known=False), None, ""),
    ],
    ids=["the case's", "with parameters", "the case says none", "the agent's", "an agent without", "nobody knows"],
)
def test_the_tools_are_those_of_the_case_before_those_of_the_agent(
    case: Case, agent: Agent | None, expected: str
) -> None:
    assert available_tools(case, agent) == expected


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["a", "b"], ", 2 documents found"),
        ([{}], ", 1 document found"),
        ([], ", 0 documents found"),
        ({"results": [1, 2, 3]}, ", 3 documents found"),
        ({"passages": [], "hits": [1]}, ", 0 documents found"),
        ('["a", "b"]', ", 2 documents found"),
        ('{"documents": ["a"]}', ", 1 document found"),
        ("[not json", ""),
        ("{", ""),
        ("[" * 100_000, ""),
        ("Found two.", ""),
        ("", ""),
        (None, ""),
        (7, ""),
        ({"results": "two"}, ""),
    ],
)
def test_how_much_a_search_found_is_told_and_not_what(given: Any, found: str) -> None:
    assert used(("search_help", given)) == [f'knowledge base searched with "search_help", once{found}']


@pytest.mark.parametrize(
    ("name", "searched"),
    [
        ("search_help", True),
        ("retrieve", True),
        ("faq", True),
        ("rag", True),
        ("rag_lookup", True),
        ("kb-rag", True),
        ("KnowledgeLookup", True),
        ("get_storage_quota", False),
        ("average_price", False),
        ("drag_and_drop", False),
        ("refund", False),
    ],
)
def test_a_search_is_known_by_its_name(name: str, searched: bool) -> None:
    what = "knowledge base searched with" if searched else "tool called:"
    assert used((name, "x")) == [f'{what} "{name}", once']


def test_the_type_of_a_tool_tells_too() -> None:
    agent = Agent(id="a", name="b", tools=(AgentTool(tool_name="look", type="faqs-retriever"),))
    assert used(("look", "x"), agent=agent) == ['knowledge base searched with "look", once']


def test_calls_are_counted_by_tool_in_their_order() -> None:
    calls = (("refund", "ok"), ("search", ["a"]), ("refund", ...), ("search", ["b", "c"]))
    assert used(*calls) == [
        'tool called: "refund", 2 times, 1 without a result',
        'knowledge base searched with "search", 2 times, 3 documents found',
    ]
    assert used(("refund", "no"), ("refund", "no"), failed=True) == ['tool called: "refund", 2 times, 2 failed']


def test_nothing_used_is_said() -> None:
    assert used() == ["(no tool and no knowledge base was used)"]


def test_what_a_tool_gave_is_never_in_the_notes() -> None:
    assert "SECRET" not in "".join(used(("search", ["SECRET"]), ("refund", "SECRET"), ("x", {"results": ["SECRET"]})))
