"""What every report says of one result: the conversation, what was expected, how a simulated user behaved, what broke,
and its row in a table. Grades are in grades.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import json

from howsure.model import expectation
from howsure.model.case import Case, Scenario, SingleTurn, case_messages, user_turns
from howsure.model.result import Result
from howsure.model.score import Grade
from howsure.model.simulation import Fault
from howsure.model.transcript import Message, Role, SentRequest, Usage
from howsure.model.verdict import Verdict
from howsure.reports.headlines import grader_name, note_words

NO_USAGE = Usage()
DOCUMENT = "document"
DECIDED = {Verdict.PASSED: True, Verdict.FAILED: False}


def conversation(result: Result) -> tuple[Message, ...]:
    """Every message, in order, tool calls with the message that made them. Where the transcript lacks the user's side,
    it is taken from the case; where no message is the answer, the answer is added."""
    messages = result.transcript.messages if result.transcript else ()
    answer = result.transcript.answer if result.transcript else ""
    if answer and not any(message.content == answer for message in messages):
        messages = (*messages, Message(role=Role.ASSISTANT, content=answer))
    if any(message.role is Role.USER for message in messages):
        return messages
    asked = (message for message in case_messages(result.case) if message.content or message.tool_calls)
    return (*asked, *messages)


def given_facts(result: Result) -> list[tuple[str, str]]:
    """Title and text: what the user's side and the agent were given besides what the conversation shows."""
    case, given = result.case, result.case.input
    facts: list[tuple[str, str]] = []
    if isinstance(given, Scenario):
        facts = [(f"persona, up to {given.max_turns} turns", given.persona), ("goal", given.goal)]
        facts.append(("knows", "\n".join(f"{fact.name}: {fact.value}" for fact in given.facts)))
        facts.append(
            ("plan", "\n".join(step.say + (f" (when {step.when})" if step.when else "") for step in given.plan))
        )
    if isinstance(given, SingleTurn):
        facts = [("context", given.context)]
        facts += [(DOCUMENT, " ".join(filter(None, (each.title, each.path, each.kind)))) for each in given.attachments]
    facts.append(("state at the start", _json_text(case.state) if case.state else ""))
    facts.append(("tools of the agent", ", ".join(tool.name for tool in case.tools or ())))
    if result.transcript and result.transcript.sent:
        facts.append(("sent", sent_text(result.transcript.sent)))
    return [(title, text) for title, text in facts if text]


def sent_text(sent: SentRequest) -> str:
    """The request as it was sent: model and settings, then every message; or the body."""
    settings = ", ".join(f"{name} {_json_text(value)}" for name, value in sent.settings.items())
    head = [": ".join(filter(None, (sent.model, settings)))]
    said = [sent.body] if sent.body else [f"{each.role.value}: {each.content}" for each in sent.messages]
    return "\n".join(filter(None, [*head, *said]))


def simulation_facts(result: Result) -> list[tuple[str, str]]:
    """Title and text: how a simulated conversation ended, what the simulator did wrong, who is answerable."""
    facts: list[tuple[str, str]] = []
    simulation = result.transcript.simulation if result.transcript else None
    if simulation is not None:
        reason = f": {simulation.reason}" if simulation.reason else ""
        tries = len(simulation.discarded)
        earlier = "1 earlier try" if tries == 1 else f"{tries} earlier tries"
        discarded = f"; {earlier} spoiled by it and discarded" if tries else ""
        ending = simulation.ending.value.replace("_", " ")
        facts.append(("ended", f"{ending}{reason} (user played by {simulation.user}{discarded})"))
        facts += [
            ("simulator", f"turn {slip.turn}: {slip.reason}{_quoted(slip.evidence)}") for slip in simulation.slips
        ]
    if result.fault is not None:
        facts.append(("answerable", fault_text(result.fault)))
    return facts


def fault_text(fault: Fault) -> str:
    return f"{fault.party.value}: {note_words(fault.reason)}{_quoted(fault.evidence)}"


def _quoted(evidence: str) -> str:
    return f" (“{evidence}”)" if evidence else ""


def result_error(result: Result) -> str | None:
    """What broke, in one line; None when nothing did."""
    if result.failures:
        return "; ".join(failure.message for failure in result.failures)
    return "; ".join(result.reasons) or "errored" if result.verdict is Verdict.ERRORED else None


def result_row(result: Result) -> dict[str, Any]:
    """What a table says of one result besides its grades. What was not measured is None, never 0."""
    transcript = result.transcript
    usage = transcript.usage if transcript and transcript.usage else NO_USAGE
    return {
        "case_id": result.case.id,
        "candidate": result.candidate,
        "repeat": result.repeat,
        "verdict": result.verdict.value,
        "passed": DECIDED.get(result.verdict),
        "reasons": list(result.reasons),
        "error": result_error(result),
        "question": "\n".join(user_turns(result.case.input)),
        "answer": transcript.answer if transcript else None,
        "tags": list(result.case.tags),
        "flags": [flag.kind for flag in result.flags],
        "duration_ms": result.duration_ms,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": usage.cost_usd,
    }


def expectation_texts(case: Case, grades: Sequence[Grade] | None = None) -> list[tuple[str, str]]:
    """Title and text of each expectation, in the order of the file. Criteria are left to the grades, which say of each
    whether it holds, unless there are grades and none is about a criterion."""
    listed = grades is not None and not any(grade.part for grade in grades)
    every = (_expectation_text(each, listed) for each in case.expectations)
    return [(title, text) for title, text in every if text]


def _expectation_text(expected: expectation.Expectation, listed: bool) -> tuple[str, str]:
    match expected:
        case expectation.ReferenceAnswer(answers=answers):
            return "reference answer", "\n\nor: ".join(answers)
        case expectation.CorrectChoice(choices=choices, correct=correct):
            lines = [f"{choice.id}. {choice.text}" for choice in choices]
            return "choices", "\n".join([*lines, f"correct: {', '.join(correct)}"])
        case expectation.Criteria(criteria=criteria) | expectation.WeightedCriteria(criteria=criteria):
            lines = [each.text if each.weight is None else f"{each.weight:g}: {each.text}" for each in criteria]
            references = expected.references if isinstance(expected, expectation.WeightedCriteria) else ()
            return "criteria", "\n".join([*(lines if listed else ()), *(f"reference: {text}" for text in references)])
        case expectation.ToolCalls(expected=calls):
            return f"tool calls ({grader_name(expected.match.mode.value)})", "\n".join(
                map(_call_text, calls)
            ) or "none may be made"
        case expectation.ForbiddenTools(names=names):
            return "forbidden tools", ", ".join(names)
        case expectation.Trajectory(steps=steps):
            return f"trajectory ({grader_name(expected.match.mode.value)})", " → ".join(steps)
        case expectation.FinalState(variables=variables):
            return "final state", _json_text(variables)
        case expectation.AgentsInvolved(names=names):
            return "agents involved", ", ".join(names)
        case expectation.Goal(text=text):
            return "goal", text
        case expectation.Contract(name=name):
            return "output contract", name
        case expectation.Qualities(names=names, relevant_context=context):
            return "judged on", ", ".join(map(grader_name, names)) + (
                f"\nrelevant context: {context}" if context else ""
            )
        case _:
            return _match_text(expected)


def _match_text(expected: expectation.MatchExpectation) -> tuple[str, str]:
    """The text that a program looks for in the answer."""
    no = "not: " if expected.negate else ""
    match expected:
        case expectation.ExactText(values=values):
            return f"{no}exact answer", " or ".join(values)
        case expectation.IncludedText(values=values, every=every, at_start=at_start):
            place = "the answer begins with" if at_start else "the answer includes"
            return f"{no}{place}", (" and " if every else " or ").join(values)
        case expectation.TextPattern(patterns=patterns):
            return f"{no}pattern", " or ".join(patterns)
        case expectation.NumericAnswer(values=numbers, tolerance=tolerance):
            within = f" ± {tolerance:g}" if tolerance else ""
            return f"{no}number", " or ".join(f"{each:.15g}" for each in numbers) + within
        case expectation.JsonOutput(schema=schema):
            return f"{no}JSON", "any" if schema is None else _json_text(schema)
        case expectation.CodeCheck(language=language, code=code, file=file):
            return f"{no}checked by {language}", file or code


def _call_text(call: expectation.ExpectedCall) -> str:
    return f"{call.name}({', '.join(f'{name}: {_json_text(value)}' for name, value in call.arguments.items())})"


def _json_text(value: Any) -> str:
    return json.encode(value).decode()
