"""One question of every built-in judged grader, with every input filled: what the tests of prompts and judges ask."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from howsure.graders.judged_evals import LIBRARY_EVALS
from howsure.judges.base import Question
from howsure.model.adk_criteria import EACH_TURN, RUBRIC_TYPES, SIMULATOR, WHOLE_CONVERSATION
from howsure.model.agent import Agent, AgentTool, KnowledgeBase
from howsure.model.case import Attachment, Case, Fact, PlanStep, Scenario, Script, SingleTurn, World
from howsure.model.expectation import (
    Criteria,
    Criterion,
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
from howsure.model.simulation import Ending, Simulation
from howsure.model.transcript import AgentStep, Message, Role, Tool, ToolCall, ToolResult, ToolStep, Transcript
from howsure.policies.verdicts import EXPLAIN_EVALS, JUDGED_SHARES, JUDGED_TO_FIVE

RAW_OUTPUT = "RAW-ROW-7731 ships Friday"
ANSWER = "Your parcel ships on Friday."
AGENT = Agent(
    id="moss",
    name="Moss",
    system_prompt="You are Moss. Never promise a date without looking it up.",
    tools=(
        AgentTool(
            tool_name="find_order", description="Looks up one order.", output_instructions="Do not read ids aloud."
        ),
        AgentTool(tool_name="search_help", type="faqs-retriever", description="Searches the help centre."),
        AgentTool(tool_name="send_letter", description="Sends a letter on paper."),
    ),
    knowledge_bases=(KnowledgeBase(id="kb", name="Help centre", document_count=12),),
    harness={"execution_flow": "concierge, then specialist"},
)
RULE = Rule(
    id="NO_GUESSING",
    name="No guessed dates",
    severity=Severity.HIGH,
    description="Dates are looked up.",
    prompt_reference="Never promise a date",
    pass_conditions=("A date was looked up",),
    fail_conditions=("A date is stated without a source",),
    violation="It comes tomorrow, I guess.",
    correct="Let me look: Friday.",
    component_names=("find_order",),
)
RUBRIC = Rubric(name="Moss", rules=(RULE,), severity_definitions={"high": "harms the customer"})
CALL = ToolCall(name="find_order", arguments={"order": "A-1"}, result=ToolResult(content={"status": RAW_OUTPUT}))
SEARCH = ToolCall(name="search_help", arguments={"q": "dates"}, result=ToolResult(content={"documents": ["d1", "d2"]}))
TRANSCRIPT = Transcript(
    answer=ANSWER,
    messages=(
        Message(role=Role.USER, content="Where is my order A-1?"),
        Message(role=Role.ASSISTANT, content="THINKING-ALOUD about A-1", agent="concierge", tool_calls=(CALL, SEARCH)),
        Message(role=Role.ASSISTANT, content="May I ask for your post code?"),
        Message(role=Role.USER, content="It is 1234."),
        Message(role=Role.ASSISTANT, content=ANSWER),
    ),
    steps=(AgentStep(name="concierge"), ToolStep(name="find_order"), ToolStep(name="search_help")),
    state={"order": "A-1"},
)
EXPLAIN_CASE = Case(
    id="explain-1",
    world=World.EXPLAIN,
    input=SingleTurn(message="Plan two weeks for AZ-900.", context="CONTEXT: beginner, four hours a week."),
    expectations=(
        Qualities(names=EXPLAIN_EVALS, relevant_context="INTENT: wants evenings free."),
        Goal(text="GOAL: return a plan of two weeks."),
        ReferenceAnswer(answers=("REFERENCE: week one concepts, week two costs.",)),
    ),
    tools=(Tool(name="catalog", description="Lists courses.", parameters={"type": "object"}), Tool(name="unused_tool")),
)
EXPLAIN_TRANSCRIPT = Transcript(
    answer='{"rationale": "Concepts come first.", "durationWeeks": 2, "url": "https://learn.example/az"}',
    messages=(
        Message(role=Role.USER, content="Plan two weeks for AZ-900."),
        Message(
            role=Role.ASSISTANT,
            tool_calls=(ToolCall(name="catalog", arguments={"q": "AZ-900"}, result=ToolResult(content=RAW_OUTPUT)),),
        ),
    ),
)
TEST_SET_CASE = Case(
    id="refund-1",
    world=World.TEST_SET,
    input=Scenario(persona="PERSONA: in a hurry", initial_message="Where is my order A-1?"),
    expectations=(
        Criteria(criteria=(Criterion(id="c1", text="STATEMENT: looks up the order", description="WHY: no guessing"),)),
        Goal(text="GOAL: the customer knows the day."),
    ),
)
GOLDEN_CASE = Case(
    id="golden-1",
    world=World.GOLDEN,
    input=Script(turns=("Where is my order A-1?", "It is 1234.")),
    expectations=(
        ToolCalls(expected=(ExpectedCall(name="find_order", arguments={"order": "A-1"}),)),
        Trajectory(steps=("concierge", "find_order")),
        FinalState(variables={"order": "A-1", "day": "Friday"}),
        ReferenceAnswer(answers=("REFERENCE: on Friday.",)),
    ),
    metadata={"reference_data": {"expected_behavior": "NOTES: asks for the post code"}},
)
LEGAL_INPUT = SingleTurn(
    message="May they withdraw?",
    context="CONTEXT: the tent was bought ten days ago.",
    history=(
        Message(role=Role.USER, content="HISTORY: I sell tents."),
        Message(role=Role.ASSISTANT, content="HISTORY: How can I help?"),
    ),
    attachments=(Attachment(path="terms.txt", title="Our terms"),),
)
CRITERIA_CASE = Case(
    id="legal-1",
    world=World.LEGAL,
    input=LEGAL_INPUT,
    expectations=(
        WeightedCriteria(
            criteria=(
                Criterion(id="w1", text="STATEMENT: grants the right", description="WHY: fourteen days", weight=8),
                Criterion(id="w2", text="STATEMENT: invents a fee", weight=-5),
            ),
            references=("REFERENCE: yes, within fourteen days.",),
        ),
    ),
)
REFERENCE_CASE = replace(
    CRITERIA_CASE, expectations=(ReferenceAnswer(answers=("REFERENCE: yes.", "REFERENCE: they may.")),)
)
LEGAL_TRANSCRIPT = Transcript(answer="Yes, they may withdraw.")
SIMULATED_CASE = Case(
    id="parcel-1",
    world=World.TEST_SET,
    input=Scenario(
        persona="PERSONA: in a hurry",
        initial_message="Where is my order A-1?",
        goal="AIM: to know the day",
        facts=(Fact(name="post code", value="1234"), Fact(name="colour", value="UNASKED: green")),
        plan=(PlanStep(say="PLAN: ask for a refund"), PlanStep(say="PLAN: say thanks", when="a day is named")),
        max_turns=5,
    ),
    expectations=(Criteria(criteria=(Criterion(id="c1", text="STATEMENT: looks up the order"),)),),
)
SIMULATED_TRANSCRIPT = replace(TRANSCRIPT, simulation=Simulation(user="offline", ending=Ending.GOAL_REACHED))


def with_policy(case: Case, policy: str) -> Case:
    return replace(case, metadata={"policy_id": policy})


def a_question(grader: str, **changes: Any) -> Question:
    """The question that this grader asks here; any field of it by name."""
    return replace(_BY_GRADER[grader](grader), **changes)


def _explain(grader: str) -> Question:
    return Question(grader=grader, case=EXPLAIN_CASE, transcript=EXPLAIN_TRANSCRIPT, agent=AGENT)


def _golden(grader: str) -> Question:
    return Question(grader=grader, case=GOLDEN_CASE, transcript=TRANSCRIPT, agent=AGENT)


def _test_set(grader: str) -> Question:
    asked = Question(grader=grader, case=TEST_SET_CASE, transcript=TRANSCRIPT, agent=AGENT, rubric=RUBRIC)
    if grader == "criteria":
        return replace(asked, part=Part(id="c1", text="STATEMENT: looks up the order", position=1))
    return (
        replace(asked, part=Part(id=RULE.id, text=RULE.name, severity=RULE.severity)) if grader == "rubric" else asked
    )


def _simulated(grader: str) -> Question:
    return Question(grader=grader, case=SIMULATED_CASE, transcript=SIMULATED_TRANSCRIPT, agent=AGENT)


def _adk(grader: str) -> Question:
    part = Part(id="turn 1, r1", text="STATEMENT: names a day", position=1)
    return replace(_golden(grader), part=None if grader in WHOLE_CONVERSATION else part)


def _adk_simulated(grader: str) -> Question:
    return replace(_simulated(grader), part=Part(id="turn 2", text="STATEMENT: It is 1234.", position=2))


def _legal(grader: str) -> Question:
    if grader == "reference_answer":
        return Question(grader=grader, case=REFERENCE_CASE, transcript=LEGAL_TRANSCRIPT)
    part = Part(id="w1", text="STATEMENT: grants the right", weight=8, position=1)
    return Question(grader=grader, case=CRITERIA_CASE, transcript=LEGAL_TRANSCRIPT, part=part)


_BY_GRADER = {
    **dict.fromkeys((*EXPLAIN_EVALS, *LIBRARY_EVALS), _explain),
    **dict.fromkeys((*JUDGED_TO_FIVE, *JUDGED_SHARES), _golden),
    **dict.fromkeys(("criteria", "rubric", "expected_outcome"), _test_set),
    **dict.fromkeys(("weighted_criteria", "reference_answer"), _legal),
    "simulator_fidelity_judged": _simulated,
    **dict.fromkeys((*EACH_TURN, *RUBRIC_TYPES, *WHOLE_CONVERSATION), _adk),
    SIMULATOR: _adk_simulated,
}
GRADERS = tuple(_BY_GRADER)
EVERY_PROMPT: dict[str, Question] = {
    **{
        {"rubric": "rubric_rule"}.get(grader, grader): a_question(grader)
        for grader in GRADERS
        if grader != "weighted_criteria"
    },
    "weighted_criterion_graded": a_question("weighted_criteria"),
    "weighted_criterion_binary": a_question("weighted_criteria", case=with_policy(CRITERIA_CASE, "prbench_v1")),
    "reference_answer_lexam": a_question("reference_answer", case=with_policy(REFERENCE_CASE, "lexam_oq_v1")),
}
"""A question for every prompt, by the prompt's name."""
