"""A run as an exported eval of promptfoo (results version 3): `promptfoo import FILE`, then `promptfoo view`. A case is
a test, a candidate a provider, a grade with a mark an assertion, other grades named scores. promptfoo knows no result
without a verdict: skipped cases are left out, and counted in `metadata`."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from hashlib import sha256
from pathlib import Path

from howsure.model.result import Result
from howsure.model.run import Counts, Run
from howsure.model.score import Grade, Score
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.reports.every_eval_ever import model_info
from howsure.reports.figures import iso_utc
from howsure.reports.tool_files import shapes
from howsure.reports.tool_files.shapes import ENCODER, Shape, result_content

PROMPT, VERSION, WHOLE = "{{input}}", 3, "score"
PROMPT_ID = sha256(PROMPT.encode()).hexdigest()
NONE, ASSERTION, ERROR = 0, 1, 2
"""promptfoo's `failureReason`."""


async def write_promptfoo(summary: Summary, results: AsyncIterable[Result], path: Path) -> None:
    run, models = summary.run, {name: model_info(summary.run, name)["id"] for name in summary.candidates}
    tests: dict[tuple[str, int], int] = {}

    async def rows() -> AsyncIterator[Shape]:
        async for result in results:
            if result.verdict is not Verdict.SKIPPED:
                test = tests.setdefault((result.case.id, result.repeat), len(tests))
                place = {"testIdx": test, "promptIdx": list(models).index(result.candidate), "promptId": PROMPT_ID}
                yield {**place, **promptfoo_row(run, result, models[result.candidate])}

    prompts = [
        {"raw": PROMPT, "label": PROMPT, "id": PROMPT_ID, "provider": name or models[name], "metrics": _metrics(counts)}
        for name, counts in summary.candidates.items()
    ]
    about = {"evaluationCreatedAt": iso_utc(run.created_at), "howsureRun": run.id, "skipped": run.counts.skipped}
    config = {"description": run.name, "prompts": [PROMPT], "providers": list(models.values()), "tests": []}
    outer = {"evalId": f"howsure-{run.id}", "config": config, "shareableUrl": None, "metadata": about}
    inner = {"version": VERSION, "timestamp": iso_utc(run.started_at or run.created_at), "prompts": prompts}
    stats = {"successes": run.counts.passed, "failures": run.counts.failed, "errors": run.counts.errored}
    head = ENCODER.encode(outer)[:-1] + b',"results":' + ENCODER.encode({**inner, "stats": stats})[:-1] + b',"results":'
    await shapes.write_rows(path, rows(), head, b"}}")


def _metrics(counts: Counts) -> Shape:
    known = {"testPassCount": counts.passed, "testFailCount": counts.failed, "testErrorCount": counts.errored}
    return {"score": counts.passed, **known, "namedScores": {}, "tokenUsage": {}}


def promptfoo_row(run: Run, result: Result, model: str) -> Shape:
    """One result as a row of `results.results`."""
    facts, passed = result_content(run, result), result.verdict is Verdict.PASSED
    used, asked, own = facts.usage, shapes.prompt_messages(result), dict(facts.metadata)
    tokens = {"prompt": used.prompt_tokens, "completion": used.completion_tokens, "cached": used.cached_tokens}
    known = {name: count for name, count in tokens.items() if count is not None}
    # The variables under promptfoo's own names: imported runs keep them, and with them the identity of the test.
    values = own.pop("vars", None) or {"input": facts.question}
    scores = {grade.name: grade for grade in facts.scores}
    whole = scores.pop(WHOLE, None)
    grading = {
        "pass": passed,
        "score": whole.value if whole else float(passed),
        "reason": facts.reason,
        "namedScores": {name: grade.value for name, grade in scores.items() if grade.passed is None},
        "componentResults": [_component(grade, result.grades) for grade in scores.values() if grade.passed is not None],
    }
    return {
        "id": str(facts.id),
        "provider": {"id": model, "label": result.candidate},
        "prompt": {"raw": asked[0]["content"] if len(asked) == 1 else shapes.json_text(asked), "label": PROMPT},
        "vars": values,
        "testCase": {"description": result.case.name or result.case.id, "vars": values, "assert": [], "metadata": own},
        "response": {} if facts.answer is None else {"output": facts.answer, "tokenUsage": known},
        "success": passed,
        "failureReason": ERROR if facts.error else NONE if passed else ASSERTION,
        "error": facts.error or (None if passed else facts.reason),
        "score": grading["score"],
        "namedScores": grading["namedScores"],
        "gradingResult": None if facts.error else grading,
        "latencyMs": round(result.duration_ms),
        "cost": used.cost_usd or 0,
        "metadata": {"howsure_case": result.case.id, "repeat": result.repeat},
    }


def _component(grade: Score, grades: tuple[Grade, ...]) -> Shape:
    details = shapes.grade_details(grade, grades)
    assertion = details.pop("assertion", None) or {"type": "howsure", "metric": grade.name, "value": details}
    return {"pass": grade.passed, "score": grade.value, "reason": grade.reason, "assertion": assertion}
