"""What the artifact sets share: JSON files, start times, means, and refusing a run of another world."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import json

from howsure.errors import PlanRefused
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.reports.atomic_files import atomic_bytes

ENCODER = json.Encoder()


def json_line(value: Any) -> bytes:
    return ENCODER.encode(value) + b"\n"


def write_json(path: Path, value: Any) -> Path:
    """Indented JSON; the file is there only when it is complete."""
    with atomic_bytes(path) as file:
        file.write(json.format(ENCODER.encode(value), indent=2) + b"\n")
    return path


def start_time(run: Run) -> datetime:
    """When the run started, in UTC. A time without a zone is UTC: that is how stores return them."""
    moment = run.started_at or run.created_at
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def check_world(result: Result, world: str, name: str) -> None:
    if result.case.world != world:
        raise PlanRefused(
            f"--artifacts {name}: these files are for runs over {world} data, and the case {result.case.id!r} is of "
            f"{result.case.world} data; `howsure report RUN -o results.jsonl` writes any run"
        )


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
