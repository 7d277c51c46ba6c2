"""The artifact set of the legal benchmark's runner: `examples`, `responses`, `judgments`, `scored_responses`, `trace`
as JSON lines, `summary.json` and `run_config.json`. Field names are theirs; `repeat` and `verdict` are ours. What could
not be judged has a null score, where theirs had a zero."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from msgspec import to_builtins

from howsure.dialects.legal import LegalDialect
from howsure.model.case import Case, SingleTurn, World
from howsure.model.expectation import CorrectChoice, ReferenceAnswer, WeightedCriteria
from howsure.model.result import Result, result_id
from howsure.model.run import Run
from howsure.model.score import Grade, Score
from howsure.model.summary import Summary
from howsure.reports.artifacts.files import began, check_world, line, write_json
from howsure.reports.artifacts.legal_summary import Totals, run_config, source_of, split
from howsure.reports.checks import parts, status, wholes
from howsure.reports.figures import utc
from howsure.reports.header import judged_by
from howsure.reports.whole_file import whole_bytes

GRADERS = ("choice", "weighted_criteria", "reference_answer")
LINES = ("responses", "judgments", "scored_responses", "trace")
MODES = {CorrectChoice: "mcq", WeightedCriteria: "rubric", ReferenceAnswer: "reference"}


async def write_legal(summary: Summary, results: AsyncIterable[Result], folder: Path) -> list[Path]:
    """All seven files; those of answers and grades are written as the results come."""
    run, totals = summary.run, Totals(summary.run)
    cases: dict[str, Case] = {}
    paths = {name: folder / f"{name}.jsonl" for name in LINES}
    with ExitStack() as stack:
        files = {name: stack.enter_context(whole_bytes(path)) for name, path in paths.items()}
        async for result in results:
            check_world(result, World.LEGAL, "legal")
            cases[result.case.id] = result.case
            totals.add(result, *_lines(run, result, files))
        # By the dialect, so that it can be read as a dataset again.
        LegalDialect().write(cases.values(), folder / "examples.jsonl")
    return [
        folder / "examples.jsonl",
        *paths.values(),
        write_json(folder / "summary.json", totals.summary(len(cases))),
        write_json(folder / "run_config.json", run_config(run)),
    ]


def _lines(run: Run, result: Result, files: dict[str, BinaryIO]) -> tuple[bool, dict[str, Any] | None]:
    """Writes what one result gives; whether there was a response, and the judgment of it."""
    if result.transcript is None:
        return False, None
    response, graded = response_of(run, result), judgment_of(run, result)
    files["responses"].write(line(response))
    files["scored_responses"].write(line({**response, "grading": graded}))
    if graded:
        files["judgments"].write(line({**_about(run, result), **graded}))
    files["trace"].writelines(map(line, _events(run, result, response, graded)))
    return True, graded


def _about(run: Run, result: Result) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "run_started_at_utc": utc(began(run)),
        "dataset": result.case.labels.get("dataset", ""),
        "provenance": "auto",
        "judge_mode": mode_of(result.case),
        "example_id": result.case.id,
        "candidate_name": result.candidate,
        "repeat": result.repeat,
    }


def mode_of(case: Case) -> str:
    found = (MODES[type(expected)] for expected in case.expectations if type(expected) in MODES)
    return next(found, "auto")


def response_of(run: Run, result: Result) -> dict[str, Any]:
    """One line of `responses.jsonl`; a model's settings and the caches of their runner are not known here."""
    said = result.transcript
    assert said is not None  # asked before
    provider, model = split(result.candidate)
    references = [answer for each in result.case.expectations for answer in _references(each)]
    return {
        **_about(run, result),
        "candidate_provider": provider,
        "candidate_model": model,
        "candidate_settings": {},
        "request_id": str(result_id(UUID(run.id), result.case.id, result.candidate, result.repeat)),
        "cache_key": None,
        "cache_hit": None,
        "response_source": source_of(run),
        "prompt_messages": prompt_of(result.case),
        "response_text": said.answer,
        "usage": to_builtins(said.usage) if said.usage else {},
        "latency_s": said.duration_ms / 1000 if said.duration_ms is not None else None,
        "metadata": {key: value for key, value in result.case.metadata.items() if not key.startswith("howsure")},
        "reference_answer": references[0] if references else None,
    }


def _references(expected: object) -> tuple[str, ...]:
    match expected:
        case ReferenceAnswer(answers=answers) | WeightedCriteria(references=answers):
            return answers
        case CorrectChoice(correct=correct):
            return (", ".join(correct),)
        case _:
            return ()


def prompt_of(case: Case) -> list[dict[str, str]]:
    """Messages, then context, then the prompt unless it repeats the last user turn."""
    given = case.input
    if not isinstance(given, SingleTurn):
        return []
    shown = [{"role": message.role.value, "content": message.content} for message in given.history]
    if given.context:
        shown.append({"role": "user", "content": given.context})
    if not shown or shown[-1]["content"] != given.message:
        shown.append({"role": "user", "content": given.message})
    return shown


def judgment_of(run: Run, result: Result) -> dict[str, Any] | None:
    """The `grading` of a scored response; None where nothing graded it."""
    grade = next((each for each in wholes(result.grades) if each.name in GRADERS), None)
    if grade is None:
        return None
    answered = parts(result.grades, grade.name)
    by_program = grade.name == "choice"
    provider, model = ("", "programmatic") if by_program else split(judged_by(run.pins))
    value = grade.value if isinstance(grade, Score) else None
    return {
        "judge_name": "mcq_programmatic" if by_program else grade.judge or judged_by(run.pins),
        "judge_provider": provider,
        "judge_model": model,
        "score": value,
        "pass": grade.passed if isinstance(grade, Score) else None,
        "rationale": grade.reason,
        "criteria": _criteria(answered) or ({} if value is None else {"overall": value}),
        "parse_error": status(grade) == "error",
        **_points(grade),
        "raw_judge": {"calls": [_call(each) for each in answered], "details": grade.details},
        "verdict": result.verdict.value,
    }


def _criteria(answered: list[Grade]) -> dict[str, float]:
    return {each.part.id: each.value for each in answered if each.part and isinstance(each, Score)}


def _call(grade: Grade) -> dict[str, Any]:
    part = grade.part
    return {
        "criterion_id": part.id if part else "",
        "criterion": part.text if part else "",
        "weight": part.weight if part else None,
        "score": grade.value if isinstance(grade, Score) else None,
        "rationale": grade.reason,
        "status": status(grade),
    }


def _points(grade: Grade) -> dict[str, float | None]:
    """Theirs: the weighted sum, its share of what can be earned, and that share between 0 and 1."""
    details = grade.details
    raw, most = details.get("raw_sum"), details.get("max_raw")
    return {
        "prbench_weighted_raw": raw,
        "prbench_points_normalized": raw / most if raw is not None and most else None,
        "prbench_points_clipped": details.get("points"),
    }


def _events(
    run: Run, result: Result, response: dict[str, Any], graded: dict[str, Any] | None
) -> Iterator[dict[str, Any]]:
    """What was asked of models is not kept with a run: `request` is what the case gives, null for a judge."""
    about = {name: response[name] for name in ("run_id", "dataset", "example_id", "candidate_name", "repeat")}
    given = {name: response[name] for name in ("response_text", "usage", "latency_s")}
    request = {"messages": response["prompt_messages"]}
    yield {"event": "generation_call", **about, "request": request, "response": given}
    if graded is None:
        return
    if mode_of(result.case) == "mcq":
        told = {name: graded[name] for name in ("score", "pass", "rationale", "parse_error")}
        yield {"event": "mcq_grade", **about, **told}
        return
    whole = {"criterion_id": "", "score": graded["score"], "rationale": graded["rationale"]}
    for call in graded["raw_judge"]["calls"] or [whole]:
        judge = {"judge_name": graded["judge_name"], "criterion_id": call["criterion_id"]}
        yield {"event": "judge_call", **about, **judge, "request": None, "response": call}
