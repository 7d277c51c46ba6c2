"""The artifact set of the legal benchmark's runner: `examples`, `responses`, `judgments`, `scored_responses`, `trace`
as JSON lines, `summary.json` and `run_config.json`. Field names are theirs; `repeat` and `verdict` are ours. What could
not be judged has a null score, where theirs had a zero."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from msgspec import Struct, to_builtins

from howsure.dialects.legal import LegalDialect
from howsure.model.case import Case, SingleTurn, World
from howsure.model.expectation import CorrectChoice, ReferenceAnswer, WeightedCriteria
from howsure.model.result import Result, result_id
from howsure.model.run import Run, RunState
from howsure.model.score import Grade, Score
from howsure.model.summary import Summary
from howsure.model.transcript import Message
from howsure.reports.artifacts.files import check_world, json_line, start_time, write_json
from howsure.reports.atomic_files import atomic_bytes
from howsure.reports.case_facts import result_error
from howsure.reports.figures import iso_utc, pluralize
from howsure.reports.grades import case_grades, grade_passed, grade_status, grade_value, part_grades
from howsure.reports.run_facts import judge_name

PASS_THRESHOLD = 0.7
PRBENCH = ("prbench_weighted_raw", "prbench_points_normalized", "prbench_points_clipped")


def split_model_name(spec: str) -> tuple[str, str]:
    """`provider:model` in its two parts; a name alone is the model's."""
    provider, colon, model = spec.partition(":")
    return (provider, model) if colon else ("", spec)


def response_source(run: Run) -> str:
    """Where the answers came from, in the words of their runner."""
    if run.pins.responses:
        return "prefilled"
    return "part_of_conversation" if run.pins.request.target == "recorded" else "sampled"


class LegalStats(Struct):
    """The figures of one candidate or one dataset."""

    responses: int = 0
    judged: int = 0
    score_sum: float = 0.0
    pass_count: int = 0
    points: dict[str, list[float]] = {}

    def add(self, answered: bool, graded: dict[str, Any] | None) -> None:
        self.responses += answered
        if graded is None or graded["score"] is None:
            return
        self.judged += 1
        self.score_sum += graded["score"]
        self.pass_count += graded["pass"] is True
        for name in PRBENCH:
            if graded[name] is not None:
                self.points.setdefault(name, []).append(graded[name])

    def shape(self) -> dict[str, Any]:
        counted: dict[str, Any] = to_builtins(self)
        averages = {f"avg_{name}": sum(values) / len(values) for name, values in counted.pop("points").items()}
        sums = {"avg_score": self.score_sum, "pass_rate": self.pass_count}
        means = {name: total / self.judged if self.judged else None for name, total in sums.items()}
        return {**counted, **means, **averages}


class LegalTotals:
    """The totals of a run, counted while its results are read."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.models: dict[str, LegalStats] = {}
        self.datasets: dict[str, LegalStats] = {}
        self.by_both: dict[str, dict[str, LegalStats]] = {}
        self.failed: list[dict[str, Any]] = []

    def add(self, result: Result, answered: bool, graded: dict[str, Any] | None) -> None:
        dataset, name = result.case.labels.get("dataset", ""), result.candidate
        for stats in (
            self.models.setdefault(name, LegalStats(points={})),
            self.datasets.setdefault(dataset, LegalStats(points={})),
            self.by_both.setdefault(dataset, {}).setdefault(name, LegalStats(points={})),
        ):
            stats.add(answered, graded)
        if graded is None or graded["score"] is None:
            why = result_error(result) or "; ".join(result.reasons) or "not judged"
            stage = "judging" if answered else "generation"
            about = {"dataset": dataset, "example_id": result.case.id, "candidate_name": name}
            self.failed.append({**about, "repeat": result.repeat, "stage": stage, "error": why})

    def summary(self, cases: int) -> dict[str, Any]:
        done = self.run.state is RunState.COMPLETED
        return {
            "run_id": self.run.id,
            "run_status": "completed" if done else "interrupted",
            "interrupted_stage": None if done else "generation",
            "selected_examples": cases,
            "datasets": list(self.datasets),
            "judges": [judge_name(self.run.pins)] if self.run.pins.request.judge else [],
            "num_responses": sum(stats.responses for stats in self.models.values()),
            "num_judgments": sum(stats.judged for stats in self.models.values()),
            "models": {name: stats.shape() for name, stats in self.models.items()},
            "by_dataset": {
                name: {**stats.shape(), "models": {who: own.shape() for who, own in self.by_both[name].items()}}
                for name, stats in self.datasets.items()
            },
            "failed_items": self.failed,
            "num_failures": len(self.failed),
            "note": f"scores are null, not 0, where nothing could be judged ({pluralize(len(self.failed), 'pair')})",
        }


def run_config(run: Run) -> dict[str, Any]:
    """The setup of the run, in the shape of their configuration. Of providers it has only the names, no secret."""
    pins = run.pins
    models = [
        {"name": name, **dict(zip(("provider", "model"), split_model_name(pins.models.get(name, name)), strict=True))}
        for name in pins.request.candidates
    ]
    judge = judge_name(pins)
    judges = [{"name": judge, **dict(zip(("provider", "model"), split_model_name(judge), strict=True))}]
    providers = {each["provider"] for each in [*models, *(judges if pins.request.judge else [])]} - {""}
    return {
        "run_id": run.id,
        "providers": sorted(providers),
        "data": {
            "datasets": [
                {"name": pin.name or pin.path, "path": pin.path, "judge_mode": "auto", "sha256": pin.sha256}
                for pin in pins.datasets
            ]
        },
        "candidates": models,
        "judges": judges if pins.request.judge else [],
        "run": {
            "final_response_source": response_source(run),
            "prefilled_responses_path": pins.responses[0].path if pins.responses else None,
            "judge_pass_threshold": PASS_THRESHOLD,
            "response_parallel_workers": pins.request.concurrency,
            "repeat": pins.request.repeat,
            "limit": pins.request.limit,
            "howsure_version": pins.howsure_version,
        },
    }


GRADERS = ("choice", "weighted_criteria", "reference_answer")
LINES = ("responses", "judgments", "scored_responses", "trace")
MODES = {CorrectChoice: "mcq", WeightedCriteria: "rubric", ReferenceAnswer: "reference"}


async def write_legal(summary: Summary, results: AsyncIterable[Result], folder: Path) -> list[Path]:
    """All seven files; those of answers and grades are written as the results come."""
    run, totals = summary.run, LegalTotals(summary.run)
    cases: dict[str, Case] = {}
    paths = {name: folder / f"{name}.jsonl" for name in LINES}
    with ExitStack() as stack:
        files = {name: stack.enter_context(atomic_bytes(path)) for name, path in paths.items()}
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
    """Write the lines of one result; whether there was a response, and its judgment."""
    if result.transcript is None:
        return False, None
    response, graded = response_line(run, result), judgment(run, result)
    files["responses"].write(json_line(response))
    files["scored_responses"].write(json_line({**response, "grading": graded}))
    if graded:
        files["judgments"].write(json_line({**_about(run, result), **graded}))
    files["trace"].writelines(map(json_line, _events(run, result, response, graded)))
    return True, graded


def _about(run: Run, result: Result) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "run_started_at_utc": iso_utc(start_time(run)),
        "dataset": result.case.labels.get("dataset", ""),
        "provenance": "auto",
        "judge_mode": judge_mode(result.case),
        "example_id": result.case.id,
        "candidate_name": result.candidate,
        "repeat": result.repeat,
    }


def judge_mode(case: Case) -> str:
    found = (MODES[type(expected)] for expected in case.expectations if type(expected) in MODES)
    return next(found, "auto")


def response_line(run: Run, result: Result) -> dict[str, Any]:
    """One line of `responses.jsonl`; the caches of their runner are not known here. A live target has the messages and
    settings as they were sent, recorded answers those that the case gives."""
    transcript = result.transcript
    assert transcript is not None  # the caller checked
    sent = transcript.sent
    provider, model = split_model_name(run.pins.models.get(result.candidate, result.candidate))
    references = [answer for each in result.case.expectations for answer in _references(each)]
    return {
        **_about(run, result),
        "candidate_provider": provider,
        "candidate_model": model,
        "candidate_settings": sent.settings if sent else {},
        "request_id": str(result_id(UUID(run.id), result.case.id, result.candidate, result.repeat)),
        "cache_key": None,
        "cache_hit": None,
        "response_source": response_source(run),
        "prompt_messages": chat_messages(sent.messages) if sent else prompt_messages(result.case),
        "response_text": transcript.answer,
        "usage": to_builtins(transcript.usage) if transcript.usage else {},
        "latency_s": transcript.duration_ms / 1000 if transcript.duration_ms is not None else None,
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


def prompt_messages(case: Case) -> list[dict[str, str]]:
    """Messages, then context, then the prompt unless it repeats the last user turn."""
    given = case.input
    if not isinstance(given, SingleTurn):
        return []
    shown = chat_messages(given.history)
    if given.context:
        shown.append({"role": "user", "content": given.context})
    if not shown or shown[-1]["content"] != given.message:
        shown.append({"role": "user", "content": given.message})
    return shown


def chat_messages(messages: Iterable[Message]) -> list[dict[str, str]]:
    return [{"role": message.role.value, "content": message.content} for message in messages]


def judgment(run: Run, result: Result) -> dict[str, Any] | None:
    """The `grading` of a scored response; None where nothing graded it."""
    grade = next((each for each in case_grades(result.grades) if each.name in GRADERS), None)
    if grade is None:
        return None
    answered = part_grades(result.grades, grade.name)
    by_program = grade.name == "choice"
    provider, model = ("", "programmatic") if by_program else split_model_name(judge_name(run.pins))
    value = grade_value(grade)
    return {
        "judge_name": "mcq_programmatic" if by_program else grade.judge or judge_name(run.pins),
        "judge_provider": provider,
        "judge_model": model,
        "score": value,
        "pass": grade_passed(grade),
        "rationale": grade.reason,
        "criteria": {each.part.id: each.value for each in answered if each.part and isinstance(each, Score)}
        or ({} if value is None else {"overall": value}),
        "parse_error": grade_status(grade) == "error",
        **_points(grade),
        "raw_judge": {"calls": [_call(each) for each in answered], "details": grade.details},
        "verdict": result.verdict.value,
    }


def _call(grade: Grade) -> dict[str, Any]:
    part = grade.part
    return {
        "criterion_id": part.id if part else "",
        "criterion": part.text if part else "",
        "weight": part.weight if part else None,
        "score": grade_value(grade),
        "rationale": grade.reason,
        "status": grade_status(grade),
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
    """`request` is what was sent to the target (what the case gives, of recorded answers), null for a judge: a run does
    not store what judges were asked."""
    about = {name: response[name] for name in ("run_id", "dataset", "example_id", "candidate_name", "repeat")}
    given = {name: response[name] for name in ("response_text", "usage", "latency_s")}
    sent = result.transcript.sent if result.transcript else None
    request = {"messages": response["prompt_messages"], "settings": response["candidate_settings"]}
    request |= {"body": sent.body} if sent and sent.body else {}
    yield {"event": "generation_call", **about, "request": request, "response": given}
    if graded is None:
        return
    if judge_mode(result.case) == "mcq":
        grade = {name: graded[name] for name in ("score", "pass", "rationale", "parse_error")}
        yield {"event": "mcq_grade", **about, **grade}
        return
    whole = {"criterion_id": "", "score": graded["score"], "rationale": graded["rationale"]}
    for call in graded["raw_judge"]["calls"] or [whole]:
        judge = {"judge_name": graded["judge_name"], "criterion_id": call["criterion_id"]}
        yield {"event": "judge_call", **about, **judge, "request": None, "response": call}
