"""The artifact set of the golden world's tools: `eval_summary.json`, `question_answer_log.md`, and under `raw/` the
conversations and their results. Names are theirs. Repeats of a question are averaged, where theirs kept the last; what
could not be measured is left out of means, where theirs counted 0."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterable, Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, json
from msgspec.structs import replace

from howsure.dialects.golden import GoldenDialect
from howsure.dialects.simulation import SimulationDialect
from howsure.errors import DatasetInvalid
from howsure.graders.measures import NAMES as MEASURES
from howsure.model.adk_criteria import RESPONSE_MATCH, TRAJECTORY
from howsure.model.case import Case, World, user_turns
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.score import Grade, Score
from howsure.model.summary import Summary
from howsure.model.transcript import AgentStep, ToolCall
from howsure.reports.artifacts.files import check_world, mean, start_time, write_json
from howsure.reports.atomic_files import atomic_text
from howsure.reports.case_facts import conversation
from howsure.reports.document import Block, Fence, Heading, Paragraph, Table, markdown
from howsure.reports.figures import format_number, iso_utc
from howsure.reports.grades import case_grades, grade_status, grade_value
from howsure.reports.safe_text import one_line
from howsure.reports.tables import escape_formula

BY_PROGRAM = frozenset((
    "tool_usage_accuracy", "trajectory_accuracy", "state_management_fidelity", "agent_routing", *MEASURES,
    TRAJECTORY, RESPONSE_MATCH,
))  # fmt: skip
ADK = "adk_score."
INPUT_LENGTH = 500
ANSWER_LENGTH, EXPLANATION_LENGTH, SHOWN_TOOLS = 500, 300, 10
COLUMNS = ("question_id", "run_id", "candidate", "repeat", "user_inputs", "final_response", "verdict", "eval_results")


class QuestionSummary(Struct):
    """The figures of all conversations about one question."""

    case: Case
    runs: int = 0
    numbers: dict[str, list[float]] = {}
    judged: dict[str, list[Grade]] = {}
    answer: str = ""


async def write_golden(summary: Summary, results: AsyncIterable[Result], folder: Path) -> list[Path]:
    run, stamp = summary.run, f"{start_time(summary.run):%Y%m%d_%H%M%S}"
    raw = folder / "raw"
    raw.mkdir(exist_ok=True)
    questions: dict[str, QuestionSummary] = {}
    conversations: list[Case] = []
    log, table = folder / "question_answer_log.md", raw / f"evaluation_results_{stamp}.csv"
    with atomic_text(log) as log_file, atomic_text(table) as table_file:
        writer = csv.writer(table_file, lineterminator="\n")
        writer.writerow(COLUMNS)
        log_file.write("# Question and answer log\n\n")
        async for result in results:
            check_world(result, World.GOLDEN, "golden")
            question = questions.setdefault(result.case.id, QuestionSummary(case=result.case, numbers={}, judged={}))
            question.runs += 1
            question.answer = result.transcript.answer if result.transcript else question.answer
            for grade in case_grades(result.grades):
                if grade.name not in BY_PROGRAM:
                    question.judged.setdefault(grade.name, []).append(grade)
                for name, value in _numbers(grade).items():
                    question.numbers.setdefault(name, []).append(value)
            # Further repeats of a question are numbered as the simulation dialect does.
            case = replace(result.case, recorded=result.recording)
            if result.repeat > 1:
                labels = {**case.labels, "repeat": str(result.repeat)}
                case = replace(case, id=f"{case.id}#{result.repeat}", labels=labels)
            conversations.append(case)
            log_file.write(log_entry(result))
            writer.writerow(_cells(run, result))
    interactions = raw / f"processed_interaction_{stamp}.jsonl"
    SimulationDialect().write(conversations, interactions)
    summary_file = write_json(folder / "eval_summary.json", eval_summary(summary, questions.values()))
    return [summary_file, log, table, interactions, *_questions(run, [each.case for each in questions.values()], raw)]


def _questions(run: Run, cases: list[Case], raw: Path) -> list[Path]:
    """The questions as a golden file, where they come from one and such a file can hold them."""
    if {pin.dialect for pin in run.pins.datasets} != {World.GOLDEN}:
        return []
    path = raw / "temp_consolidated_questions.json"
    try:
        GoldenDialect().write(cases, path)
    except DatasetInvalid:
        return []
    return [path]


def _numbers(grade: Grade) -> dict[str, float]:
    """`tool_usage_accuracy.score` and every number among the details, of what was measured by program."""
    if grade.name not in BY_PROGRAM or not isinstance(grade, Score):
        return {}
    known = {"score": grade.value, **grade.details}
    return {f"{grade.name}.{name}": float(value) for name, value in known.items() if _is_number(value)}


def eval_summary(summary: Summary, questions: Iterable[QuestionSummary]) -> dict[str, Any]:
    """`eval_summary.json`."""
    run, known = summary.run, list(questions)
    numbers: dict[str, list[float]] = {}
    for question in known:
        for name, values in question.numbers.items():
            numbers.setdefault(name, []).extend(values)
    judged = [grader for grader in summary.graders if grader.name not in BY_PROGRAM]
    return {
        "experiment_id": f"eval-{start_time(run):%Y%m%d_%H%M%S}",
        "run_type": run.name or "manual",
        "test_description": ", ".join(pin.name or Path(pin.path).name for pin in run.pins.datasets),
        "interaction_datetime": iso_utc(start_time(run)),
        "overall_summary": {
            "deterministic_metrics": {name: mean(values) for name, values in numbers.items()},
            "llm_based_metrics": {
                f"{grader.name} ({grader.candidate})" if len(summary.candidates) > 1 else grader.name: {
                    "average": grader.mean,
                    "score_range": {
                        "min": grader.scale.low,
                        "max": grader.scale.high,
                        "description": str(grader.scale),
                    },
                }
                for grader in judged
                if grader.mean is not None
            },
        },
        "per_question_summary": [_question(question) for question in known],
    }


def _question(question: QuestionSummary) -> dict[str, Any]:
    """Their own fields last: a question's metadata must not take their place."""
    metadata = question.case.metadata.get("metadata", {})
    return {
        **metadata,
        "question_id": question.case.id,
        "runs": question.runs,
        "deterministic_metrics": {name: mean(values) for name, values in question.numbers.items()},
        "llm_metrics": {name: _judged(question, grades) for name, grades in question.judged.items()},
    }


def _judged(question: QuestionSummary, grades: list[Grade]) -> dict[str, Any]:
    scored = [grade for grade in grades if isinstance(grade, Score)]
    last = scored[-1] if scored else grades[-1]
    texts = {"prompt": "\n".join(user_turns(question.case.input)), "response": question.answer}
    return {
        "score": mean([grade.value for grade in scored]),
        "explanation": last.reason,
        "rubric_verdicts": last.details.get("rubric_verdicts", []),
        "error": None if scored else last.reason,
        "input": {name: text[:INPUT_LENGTH] for name, text in texts.items()},
    }


def _cells(run: Run, result: Result) -> list[str | int]:
    graded = {
        grade.name: {"score": grade_value(grade), "explanation": grade.reason, "details": grade.details}
        for grade in case_grades(result.grades)
    }
    return [
        escape_formula(result.case.id),
        run.id,
        escape_formula(result.candidate),
        result.repeat,
        escape_formula(json.encode(user_turns(result.case.input)).decode()),
        escape_formula(result.transcript.answer if result.transcript else ""),
        result.verdict.value,
        json.encode(graded).decode(),
    ]


def log_entry(result: Result) -> str:
    """One conversation in `question_answer_log.md`."""
    return markdown(_log_blocks(result)) + "\n\n"


def _log_blocks(result: Result) -> Iterator[Block]:
    case, transcript = result.case, result.transcript
    facts = {"candidate": result.candidate, "run": str(result.repeat), "verdict": result.verdict.value, **case.labels}
    for name, value in case.metadata.items():
        if name.startswith(ADK) and _is_number(value):
            facts[name] = format_number(value)
    facts["reasons"] = "; ".join(result.reasons)
    messages = [each for each in conversation(result) if each.content]
    yield Heading(case.id)
    yield Table(("", ""), [fact for fact in facts.items() if fact[1]], header=False)
    yield Heading("Conversation", level=3)
    yield Fence("\n".join(f"{each.agent or each.role.value}: {each.content}" for each in messages))
    if transcript is not None:
        answer = transcript.answer
        steps = (f"{'agent' if isinstance(step, AgentStep) else 'tool'}:{step.name}" for step in transcript.trajectory)
        yield Heading("Final response", level=3)
        yield Fence(answer if len(answer) <= ANSWER_LENGTH else f"{answer[:ANSWER_LENGTH]}…")
        yield Heading("Trajectory", level=3)
        yield Paragraph(" → ".join(steps) or "nobody is named")
        yield from _log_tools(transcript.tool_calls)
    if grades := case_grades(result.grades):
        yield Heading("Metrics", level=3)
        rows = []
        for grade in grades:
            score = format_number(grade.value) if isinstance(grade, Score) else grade_status(grade).replace("_", " ")
            rows.append((grade.name, score, one_line(grade.reason, EXPLANATION_LENGTH)))
        yield Table(("metric", "score:", "explanation"), rows)


def _log_tools(calls: tuple[ToolCall, ...]) -> Iterator[Block]:
    if not calls:
        return
    rows = []
    for call in calls[:SHOWN_TOOLS]:
        outcome = "no result" if call.result is None else "error" if call.result.failed else "success"
        rows.append((call.name, ", ".join(call.arguments), outcome))
    yield Heading("Tools", level=3)
    yield Table(("tool", "arguments", "result"), rows)
    if len(calls) > SHOWN_TOOLS:
        yield Paragraph(f"{len(calls) - SHOWN_TOOLS:,} more calls are not shown.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
