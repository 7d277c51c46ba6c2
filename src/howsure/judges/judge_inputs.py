"""What a judge can be shown, each input under the name that prompts call it by. The head of a prompt says which inputs
its judge sees: the raw output of tools reaches only prompts that ask for `trace`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from howsure.config import AnswerRendering
from howsure.judges.base import Question
from howsure.judges.conversations import (
    number_turns,
    one_line,
    quote_name,
    readable_text,
    show_conversation,
    show_tool_calls,
    show_trace,
)
from howsure.judges.documents import Documents
from howsure.judges.quotations import prefix_lines
from howsure.model.adk_criteria import CRITERIA, RUBRICS
from howsure.model.agent import Agent
from howsure.model.case import Case, Scenario, SingleTurn, user_turns
from howsure.model.expectation import (
    Criteria,
    Criterion,
    FinalState,
    Goal,
    Qualities,
    ReferenceAnswer,
    ToolCalls,
    Trajectory,
    WeightedCriteria,
)
from howsure.model.rubric import Rule
from howsure.model.transcript import AgentStep, Role, ToolCall, Transcript
from howsure.traces.declared import declared_instructions, declared_tools

NO_TOOLS = "(the agent has no tools)"
NOTHING_USED = "(no tool and no knowledge base was used)"

# The keys under which search tools return their list of results.
_RESULT_KEYS = ("documents", "results", "chunks", "sources", "passages", "articles", "hits", "matches", "snippets")
# `rag` is also part of storage and average.
_SEARCHING = re.compile(r"retriev|knowledge|search|faq|(?<![a-z])rag(?![a-z])")


def agent_notes(agent: Agent | None) -> str:
    """What a judge of standing rules knows about the agent."""
    return "\n".join(_notes(agent)) if agent else ""


def available_tools(case: Case, agent: Agent | None, transcript: Transcript | None = None) -> str:
    """The available tools: the case's, else the agent's, else those declared to its models; never just the ones that
    were called."""
    declared = declared_tools(transcript.spans) if transcript and agent is None else None
    tools = declared if case.tools is None else case.tools
    if tools is not None:
        described = [_tool(tool.name, tool.description, tool.parameters) for tool in tools]
    elif agent is not None:
        described = [_tool(tool.tool_name, tool.description, None) for tool in agent.tools]
    else:
        return ""
    return "\n".join(described) or NO_TOOLS


def source_notes(transcript: Transcript, agent: Agent | None) -> str:
    """Which tools were used and how much they found: enough to ask whether a claim has a source, and no more."""
    kinds = {tool.tool_name: tool.type for tool in agent.tools} if agent else {}
    grouped: dict[str, list[ToolCall]] = {}
    for call in transcript.tool_calls:
        grouped.setdefault(call.name, []).append(call)
    notes = [_source(name, kinds.get(name, ""), calls) for name, calls in grouped.items()]
    return "\n".join(notes) or NOTHING_USED


def _notes(agent: Agent) -> Iterator[str]:
    yield f"name: {quote_name(agent.name)}"
    if agent.system_prompt:
        yield f"its instructions:\n{prefix_lines(agent.system_prompt)}"
    for tool in agent.tools:
        yield f"tool {_tool(tool.tool_name, tool.description, None)}"
        if tool.output_instructions:
            yield f"what it should do with the output:\n{prefix_lines(tool.output_instructions)}"
    for base in agent.knowledge_bases:
        count = "" if base.document_count is None else f", {base.document_count} documents"
        yield f"knowledge base {quote_name(base.name)}{count}"
    if agent.harness:
        yield "how it is run:"
        yield from (f"{quote_name(key)}:\n{prefix_lines(one_line(value))}" for key, value in agent.harness.items())


def _tool(name: str, description: str, parameters: Mapping[str, Any] | None) -> str:
    takes = "" if parameters is None else f"parameters: {one_line(parameters)}"
    return "\n".join((quote_name(name), *(prefix_lines(line) for line in (description, takes) if line)))


def _source(name: str, kind: str, calls: list[ToolCall]) -> str:
    searched = _SEARCHING.search(f"{kind} {name}".lower())
    what = "knowledge base searched with" if searched else "tool called:"
    times = "once" if len(calls) == 1 else f"{len(calls)} times"
    notes = [f"{what} {quote_name(name)}, {times}"]
    counts = [count for call in calls if call.result and (count := _documents(call.result.content)) is not None]
    if counts:
        notes.append(f"{sum(counts)} {'document' if sum(counts) == 1 else 'documents'} found")
    failed = sum(bool(call.result and call.result.failed) for call in calls)
    silent = sum(call.result is None for call in calls)
    notes += [f"{failed} failed"] * bool(failed) + [f"{silent} without a result"] * bool(silent)
    return ", ".join(notes)


def _documents(content: Any) -> int | None:
    """How many documents a result holds, where it looks like a list of them."""
    if isinstance(content, str) and content[:1] in ("[", "{"):
        try:
            content = json.loads(content)
        except (ValueError, RecursionError):
            return None
    if isinstance(content, list):
        return len(content)
    if isinstance(content, dict):
        return next((len(content[key]) for key in _RESULT_KEYS if isinstance(content.get(key), list)), None)
    return None


ShowInput = Callable[[Question], str]
DOCUMENTS = "documents"
ANSWER_TEXT = "answer_text"
"""The answer as `answer_rendering` says; `answer` is always the answer as it is."""


def _question(question: Question) -> str:
    messages = user_turns(question.case.input)
    return messages[0] if len(messages) == 1 else _numbered(messages)


def _context(question: Question) -> str:
    case_input = question.case.input
    return case_input.context if isinstance(case_input, SingleTurn) else ""


def _history(question: Question) -> str:
    case_input = question.case.input
    history = case_input.history if isinstance(case_input, SingleTurn) else ()
    speakers = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System"}
    return "\n".join(f"{speakers[message.role]}:\n{prefix_lines(message.content)}" for message in history)


def _user(question: Question) -> str:
    case_input = question.case.input
    return case_input.persona if isinstance(case_input, Scenario) else ""


def _user_brief(question: Question) -> str:
    """The role that a simulated user plays."""
    scenario = question.case.input
    if not isinstance(scenario, Scenario):
        return ""
    plan = [f"{f'when {step.when}: ' if step.when else ''}{step.say}" for step in scenario.plan]
    brief = {
        "persona": scenario.persona,
        "opening message": scenario.initial_message,
        "goal": scenario.goal,
        "facts they hold": "\n".join(f"{fact.name}: {fact.value}" for fact in scenario.facts),
        "plan": _numbered(plan),
        "messages they may send at most": str(scenario.max_turns),
    }
    return "\n".join(f"{title}:\n{prefix_lines(text)}" for title, text in brief.items() if text)


def _steps(question: Question) -> str:
    steps = question.transcript.trajectory
    return _numbered(f"{'agent' if isinstance(step, AgentStep) else 'tool'} {quote_name(step.name)}" for step in steps)


def _references(question: Question) -> str:
    answers = [answer for each in _expected(question, ReferenceAnswer) for answer in each.answers]
    answers += [answer for each in _expected(question, WeightedCriteria) for answer in each.references]
    return answers[0] if len(answers) == 1 else _numbered(answers)


def _reference_notes(question: Question) -> str:
    """What the author of a golden question wrote in addition to the fields that programs check."""
    custom = question.case.metadata.get("reference_data")
    if not isinstance(custom, dict):
        return ""
    return "\n".join(
        f"{quote_name(key)}:\n{prefix_lines(one_line(value))}"
        for key, value in custom.items()
        if key not in (CRITERIA, RUBRICS)
    )


def _expected_calls(question: Question) -> str:
    lists = _expected(question, ToolCalls)
    calls = [call for each in lists for call in each.expected]
    if lists and not calls:
        return "(no tool may be called)"
    return _numbered(f"{quote_name(call.name)} with {one_line(call.arguments)}" for call in calls)


def _statement(question: Question) -> str:
    return question.part.text if question.part else ""


def _explanation(question: Question) -> str:
    """What the file adds to a criterion's own sentence."""
    part = question.part
    criteria: Iterable[Criterion] = (
        criterion
        for kind in (Criteria, WeightedCriteria)
        for each in _expected(question, kind)
        for criterion in each.criteria
    )
    return next((each.description for each in criteria if part and each.id == part.id), "")


def _by_id(question: Question, show: ShowInput, title: str, show_note: ShowInput) -> str:
    """Everything that one reply rules on, each under its id, with its note."""
    lines: list[str] = []
    for part in question.parts:
        single = replace(question, part=part)
        lines.append(f"{quote_name(part.id)}:\n{prefix_lines(show(single))}")
        if note := show_note(single):
            lines.append(f"{title}:\n{prefix_lines(note)}")
    return "\n".join(lines)


def _rule(question: Question) -> str:
    part, rule = question.part, _find_rule(question)
    if rule is None:
        return part.text if part else ""
    return "\n".join(_rule_lines(rule))


def _severity(question: Question) -> str:
    rule, rubric = _find_rule(question), question.rubric
    if rule is None or rubric is None:
        return ""
    meaning = rubric.severity_definitions.get(rule.severity.value, "")
    return f"{rule.severity.value}: {meaning}" if meaning else rule.severity.value


def _find_rule(question: Question) -> Rule | None:
    part, rubric = question.part, question.rubric
    rules = rubric.rules if rubric else ()
    return next((rule for rule in rules if part and rule.id == part.id), None)


def _rule_lines(rule: Rule) -> Iterator[str]:
    yield f"rule: {rule.name}"
    for title, texts in (
        ("description", (rule.description,)),
        ("passes when", rule.pass_conditions),
        ("fails when", rule.fail_conditions),
        ("a violation, for instance", (rule.violation,)),
        ("correct, for instance", (rule.correct,)),
        ("part of the agent's prompt that it rests on", (rule.prompt_reference,)),
        ("components it is about", rule.component_names),
    ):
        for text in filter(None, texts):
            yield f"{title}:\n{prefix_lines(text)}"


def _numbered(texts: Iterable[str]) -> str:
    return "\n".join(f"{number}.\n{prefix_lines(text)}" for number, text in enumerate(texts, start=1))


def _expected(question: Question, kind: type[Any]) -> list[Any]:
    return [each for each in question.case.expectations if isinstance(each, kind)]


def show_inputs(
    names: Iterable[str], question: Question, documents: Documents, rendering: AnswerRendering = AnswerRendering.AS_IS
) -> dict[str, str]:
    """The inputs of a prompt, each under its name."""
    shown = {name: documents.of(question.case) if name == DOCUMENTS else INPUTS[name](question) for name in names}
    if rendering is AnswerRendering.READABLE and ANSWER_TEXT in shown:
        shown[ANSWER_TEXT] = readable_text(shown[ANSWER_TEXT])
    return shown


INPUTS: Mapping[str, ShowInput] = {
    "question": _question,
    "context": _context,
    "history": _history,
    "answer": lambda question: question.transcript.answer,
    ANSWER_TEXT: lambda question: question.transcript.answer,
    "conversation": lambda question: show_conversation(number_turns(question.case, question.transcript)),
    "trace": lambda question: show_trace(number_turns(question.case, question.transcript)),
    "user": _user,
    "user_brief": _user_brief,
    "tool_calls": lambda question: show_tool_calls(question.transcript.tool_calls) or "(no tool was called)",
    "steps": _steps,
    "final_state": lambda question: "" if (state := question.transcript.state) is None else one_line(state),
    "goal": lambda question: "\n\n".join(goal.text for goal in _expected(question, Goal)),
    "relevant_context": lambda question: "\n\n".join(
        each.relevant_context for each in _expected(question, Qualities) if each.relevant_context
    ),
    "references": _references,
    "reference_notes": _reference_notes,
    "expected_calls": _expected_calls,
    "expected_steps": lambda question: _numbered(
        step for each in _expected(question, Trajectory) for step in each.steps
    ),
    "expected_state": lambda question: "\n".join(one_line(each.variables) for each in _expected(question, FinalState)),
    "statement": _statement,
    "explanation": _explanation,
    "statements": lambda question: _by_id(question, _statement, "its explanation", _explanation),
    "rule": _rule,
    "rules": lambda question: _by_id(question, _rule, "its severity", _severity),
    "severity": _severity,
    "agent": lambda question: agent_notes(question.agent),
    "agent_instructions": lambda question: (
        question.agent.system_prompt if question.agent else declared_instructions(question.transcript.spans)
    ),
    "available_tools": lambda question: available_tools(question.case, question.agent, question.transcript),
    "source_notes": lambda question: source_notes(question.transcript, question.agent),
}
"""Every input by its name, except `documents`, which must be read from files."""
