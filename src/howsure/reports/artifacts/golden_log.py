"""`question_answer_log.md` of the golden world's tools: for each conversation its properties, what was said, where it
went, which tools were called, and what each grader says. Foreign text is escaped or fenced."""

from __future__ import annotations

from collections.abc import Iterator

from howsure.model.result import Result
from howsure.model.score import Grade, Score
from howsure.model.transcript import AgentStep, Step, ToolCall
from howsure.reports.checks import status, wholes
from howsure.reports.conversation import conversation
from howsure.reports.figures import number
from howsure.reports.inert import one_line
from howsure.reports.markdown import escaped, fenced, table

ADK = "adk_score."
ANSWER_LENGTH, EXPLANATION_LENGTH, SHOWN_TOOLS = 500, 300, 10


def log_entry(result: Result) -> str:
    """One conversation."""
    return "\n\n".join(_blocks(result)) + "\n\n"


def _blocks(result: Result) -> Iterator[str]:
    case, said = result.case, result.transcript
    yield f"## {escaped(case.id)}"
    properties = {"candidate": result.candidate, "run": str(result.repeat), "verdict": result.verdict.value}
    scores = {
        name: number(value) for name, value in case.metadata.items() if name.startswith(ADK) and _is_number(value)
    }
    shown = {**properties, **case.labels, **scores, "reasons": "; ".join(result.reasons)}
    yield "\n".join(f"- {escaped(name)}: {escaped(value)}" for name, value in shown.items() if value)
    yield "### Conversation"
    spoken = [each for each in conversation(result) if each.content]
    yield fenced("\n".join(f"{each.agent or each.role.value}: {each.content}" for each in spoken))
    if said is not None:
        yield "### Final response"
        yield fenced(_cut(said.answer, ANSWER_LENGTH))
        yield "### Trajectory"
        yield escaped(" → ".join(map(_step, said.trajectory))) or "nobody is named"
        yield from _tools(said.tool_calls)
    if wholes(result.grades):
        yield "### Metrics"
        yield table(("metric", "score:", "explanation"), [_graded(grade) for grade in wholes(result.grades)])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _step(step: Step) -> str:
    return f"agent:{step.name}" if isinstance(step, AgentStep) else f"tool:{step.name}"


def _tools(calls: tuple[ToolCall, ...]) -> Iterator[str]:
    if not calls:
        return
    yield "### Tools"
    lines = [[escaped(call.name), escaped(", ".join(call.arguments)), _came(call)] for call in calls[:SHOWN_TOOLS]]
    yield table(("tool", "arguments", "result"), lines)
    if len(calls) > SHOWN_TOOLS:
        yield f"{len(calls) - SHOWN_TOOLS:,} more calls are not shown."


def _came(call: ToolCall) -> str:
    if call.result is None:
        return "no result"
    return "error" if call.result.failed else "success"


def _graded(grade: Grade) -> list[str]:
    shown = number(grade.value) if isinstance(grade, Score) else status(grade).replace("_", " ")
    return [escaped(grade.name), shown, escaped(one_line(grade.reason, EXPLANATION_LENGTH))]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
