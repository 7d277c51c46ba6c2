"""`summary.json` and `run_config.json` of the legal benchmark's runner. Averages are over what was judged. No secret
is in them: of providers only the names."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from howsure.model.result import Result
from howsure.model.run import Run, RunState
from howsure.reports.figures import counted
from howsure.reports.header import judged_by
from howsure.reports.wire import error

PASS_THRESHOLD = 0.7
PRBENCH = ("prbench_weighted_raw", "prbench_points_normalized", "prbench_points_clipped")


def split(spec: str) -> tuple[str, str]:
    """`provider:model` in its two parts; a name alone is the model's."""
    provider, colon, model = spec.partition(":")
    return (provider, model) if colon else ("", spec)


def source_of(run: Run) -> str:
    """Where answers came from, in their words."""
    if run.pins.responses:
        return "prefilled"
    return "part_of_conversation" if run.pins.target == "recorded" else "sampled"


class Stats(Struct):
    """What one candidate, or one dataset, comes to."""

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
        averages = {f"avg_{name}": sum(values) / len(values) for name, values in self.points.items()}
        return {
            "responses": self.responses,
            "judged": self.judged,
            "score_sum": self.score_sum,
            "pass_count": self.pass_count,
            "avg_score": self.score_sum / self.judged if self.judged else None,
            "pass_rate": self.pass_count / self.judged if self.judged else None,
            **averages,
        }


class Totals:
    """Counts while the results come."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.models: dict[str, Stats] = {}
        self.datasets: dict[str, Stats] = {}
        self.by_both: dict[str, dict[str, Stats]] = {}
        self.failed: list[dict[str, Any]] = []

    def add(self, result: Result, answered: bool, graded: dict[str, Any] | None) -> None:
        dataset, name = result.case.labels.get("dataset", ""), result.candidate
        for stats in (
            self.models.setdefault(name, Stats(points={})),
            self.datasets.setdefault(dataset, Stats(points={})),
            self.by_both.setdefault(dataset, {}).setdefault(name, Stats(points={})),
        ):
            stats.add(answered, graded)
        if graded is None or graded["score"] is None:
            why = error(result) or "; ".join(result.reasons) or "not judged"
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
            "judges": [judged_by(self.run.pins)] if self.run.pins.judge else [],
            "num_responses": sum(stats.responses for stats in self.models.values()),
            "num_judgments": sum(stats.judged for stats in self.models.values()),
            "models": {name: stats.shape() for name, stats in self.models.items()},
            "by_dataset": {
                name: {**stats.shape(), "models": {who: own.shape() for who, own in self.by_both[name].items()}}
                for name, stats in self.datasets.items()
            },
            "failed_items": self.failed,
            "num_failures": len(self.failed),
            "note": f"scores are null, not 0, where nothing could be judged ({counted(len(self.failed), 'pair')})",
        }


def run_config(run: Run) -> dict[str, Any]:
    """What the run was made with, in the shape of their configuration."""
    pins = run.pins
    models = [{"name": name, **dict(zip(("provider", "model"), split(name), strict=True))} for name in pins.candidates]
    judge = judged_by(pins)
    judges = [{"name": judge, **dict(zip(("provider", "model"), split(judge), strict=True))}]
    providers = {each["provider"] for each in [*models, *(judges if pins.judge else [])]} - {""}
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
        "judges": judges if pins.judge else [],
        "run": {
            "final_response_source": source_of(run),
            "prefilled_responses_path": pins.responses[0].path if pins.responses else None,
            "judge_pass_threshold": PASS_THRESHOLD,
            "response_parallel_workers": pins.concurrency,
            "repeat": pins.repeat,
            "limit": pins.limit,
            "howsure_version": pins.howsure_version,
        },
    }
