"""What can be put before a judge, each under the name that prompts call it by. A prompt's head says which of these its
judge sees: the raw output of tools reaches those that ask for `trace`, and nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.judges.agent_notes import agent_notes, available_tools, source_notes
from howsure.judges.answer_text import judged_text
from howsure.judges.base import Question
from howsure.judges.documents import Documents
from howsure.judges.quoting import prefixed
from howsure.judges.turns import called, compact, name_of, spoken, traced, turns
from howsure.model.case import Scenario, SingleTurn, user_turns
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
from howsure.model.transcript import AgentStep, Message, Role


class Asked(Struct, frozen=True):
    """A question, and where its documents are."""

    question: Question
    documents: Documents


Shown = Callable[[Asked], str]


def _question(asked: Asked) -> str:
    said = user_turns(asked.question.case.input)
    return said[0] if len(said) == 1 else _numbered(said)


def _context(asked: Asked) -> str:
    given = asked.question.case.input
    return given.context if isinstance(given, SingleTurn) else ""


def _history(asked: Asked) -> str:
    given = asked.question.case.input
    history = given.history if isinstance(given, SingleTurn) else ()
    return "\n".join(_line(message) for message in history)


def _answer(asked: Asked) -> str:
    return asked.question.transcript.answer


def _answer_text(asked: Asked) -> str:
    return judged_text(asked.question.transcript.answer)


def _answer_json(asked: Asked) -> str:
    """The answer as it was given, where that is more than its texts."""
    answer = asked.question.transcript.answer
    return answer if judged_text(answer) != answer else ""


def _conversation(asked: Asked) -> str:
    return spoken(turns(asked.question.case, asked.question.transcript))


def _trace(asked: Asked) -> str:
    return traced(turns(asked.question.case, asked.question.transcript))


def _user(asked: Asked) -> str:
    given = asked.question.case.input
    return given.persona if isinstance(given, Scenario) else ""


def _user_brief(asked: Asked) -> str:
    """The part that a simulated user plays."""
    given = asked.question.case.input
    if not isinstance(given, Scenario):
        return ""
    plan = [f"{f'when {step.when}: ' if step.when else ''}{step.say}" for step in given.plan]
    told = {
        "persona": given.persona,
        "opening message": given.initial_message,
        "goal": given.goal,
        "facts they hold": "\n".join(f"{fact.name}: {fact.value}" for fact in given.facts),
        "plan": _numbered(plan),
        "messages they may send at most": str(given.max_turns),
    }
    return "\n".join(f"{title}:\n{prefixed(text)}" for title, text in told.items() if text)


def _tool_calls(asked: Asked) -> str:
    return called(asked.question.transcript.tool_calls) or "(no tool was called)"


def _steps(asked: Asked) -> str:
    taken = asked.question.transcript.trajectory
    return _numbered(f"{'agent' if isinstance(step, AgentStep) else 'tool'} {name_of(step.name)}" for step in taken)


def _final_state(asked: Asked) -> str:
    state = asked.question.transcript.state
    return "" if state is None else compact(state)


def _goal(asked: Asked) -> str:
    return "\n\n".join(goal.text for goal in _expected(asked, Goal))


def _relevant_context(asked: Asked) -> str:
    return "\n\n".join(each.relevant_context for each in _expected(asked, Qualities) if each.relevant_context)


def _references(asked: Asked) -> str:
    answers = [answer for each in _expected(asked, ReferenceAnswer) for answer in each.answers]
    answers += [answer for each in _expected(asked, WeightedCriteria) for answer in each.references]
    return answers[0] if len(answers) == 1 else _numbered(answers)


def _reference_notes(asked: Asked) -> str:
    """What the author of a golden question wrote beside the fields that programs check."""
    custom = asked.question.case.metadata.get("reference_data")
    if not isinstance(custom, dict):
        return ""
    return "\n".join(f"{name_of(key)}:\n{prefixed(compact(value))}" for key, value in custom.items())


def _expected_calls(asked: Asked) -> str:
    lists = _expected(asked, ToolCalls)
    calls = [call for each in lists for call in each.expected]
    if lists and not calls:
        return "(no tool may be called)"
    return _numbered(f"{name_of(call.name)} with {compact(call.arguments)}" for call in calls)


def _expected_steps(asked: Asked) -> str:
    return _numbered(step for each in _expected(asked, Trajectory) for step in each.steps)


def _expected_state(asked: Asked) -> str:
    states = _expected(asked, FinalState)
    return "\n".join(compact(each.variables) for each in states)


def _statement(asked: Asked) -> str:
    return asked.question.part.text if asked.question.part else ""


def _explanation(asked: Asked) -> str:
    """What the file says beside a criterion's own sentence."""
    wanted = asked.question.part
    criteria: Iterable[Criterion] = (
        criterion
        for kind in (Criteria, WeightedCriteria)
        for each in _expected(asked, kind)
        for criterion in each.criteria
    )
    return next((each.description for each in criteria if wanted and each.id == wanted.id), "")


def _statements(asked: Asked) -> str:
    return _by_id(asked, _statement, "its explanation", _explanation)


def _rules(asked: Asked) -> str:
    return _by_id(asked, _rule, "its severity", _severity)


def _by_id(asked: Asked, shown: Shown, title: str, beside: Shown) -> str:
    """All that one reply is to rule on, each under its id, with what is said beside it."""
    lines: list[str] = []
    for part in asked.question.parts:
        one = Asked(replace(asked.question, part=part), asked.documents)
        lines.append(f"{name_of(part.id)}:\n{prefixed(shown(one))}")
        if told := beside(one):
            lines.append(f"{title}:\n{prefixed(told)}")
    return "\n".join(lines)


def _rule(asked: Asked) -> str:
    part, rule = asked.question.part, _ruled(asked)
    if rule is None:
        return part.text if part else ""
    return "\n".join(_rule_lines(rule))


def _severity(asked: Asked) -> str:
    rule, rubric = _ruled(asked), asked.question.rubric
    if rule is None or rubric is None:
        return ""
    meaning = rubric.severity_definitions.get(rule.severity.value, "")
    return f"{rule.severity.value}: {meaning}" if meaning else rule.severity.value


def _ruled(asked: Asked) -> Rule | None:
    wanted, rubric = asked.question.part, asked.question.rubric
    rules = rubric.rules if rubric else ()
    return next((rule for rule in rules if wanted and rule.id == wanted.id), None)


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
            yield f"{title}:\n{prefixed(text)}"


def _line(message: Message) -> str:
    speaker = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System"}[message.role]
    return f"{speaker}:\n{prefixed(message.content)}"


def _numbered(texts: Iterable[str]) -> str:
    return "\n".join(f"{number}.\n{prefixed(text)}" for number, text in enumerate(texts, start=1))


def _expected(asked: Asked, kind: type[Any]) -> list[Any]:
    return [each for each in asked.question.case.expectations if isinstance(each, kind)]


INPUTS: Mapping[str, Shown] = {
    "question": _question,
    "context": _context,
    "history": _history,
    "documents": lambda asked: asked.documents.of(asked.question.case),
    "answer": _answer,
    "answer_text": _answer_text,
    "answer_json": _answer_json,
    "conversation": _conversation,
    "trace": _trace,
    "user": _user,
    "user_brief": _user_brief,
    "tool_calls": _tool_calls,
    "steps": _steps,
    "final_state": _final_state,
    "goal": _goal,
    "relevant_context": _relevant_context,
    "references": _references,
    "reference_notes": _reference_notes,
    "expected_calls": _expected_calls,
    "expected_steps": _expected_steps,
    "expected_state": _expected_state,
    "statement": _statement,
    "explanation": _explanation,
    "statements": _statements,
    "rule": _rule,
    "rules": _rules,
    "severity": _severity,
    "agent": lambda asked: agent_notes(asked.question.agent),
    "agent_instructions": lambda asked: asked.question.agent.system_prompt if asked.question.agent else "",
    "available_tools": lambda asked: available_tools(asked.question.case, asked.question.agent),
    "source_notes": lambda asked: source_notes(asked.question.transcript, asked.question.agent),
}
"""Every input by its name."""
