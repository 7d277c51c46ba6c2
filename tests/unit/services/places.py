"""A workplace with multiple-choice cases and a target that does as it is told, for the tests of services."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dialect_rows import Row
from house import lines as written
from house import mcq as mcq
from howsure.config import Settings
from howsure.kit.plugins import builtin_kit
from howsure.model.case import Case
from howsure.model.result import Result
from howsure.model.run_request import RunRequest
from howsure.policies.verdicts import builtin_profiles
from howsure.reports.formats import register as register_formats
from howsure.services.run.execute import Progress, RunHandle
from howsure.services.workspace import Workspace
from howsure.targets.base import Reply, Stateless, Target


def lines(path: Path, *objects: Row) -> str:
    return str(written(path, *objects))


def house(folder: Path, count: int = 4, name: str = "house.jsonl") -> str:
    """A dataset of that many cases, q1, q2 …; A is right."""
    return lines(folder / name, *(mcq(number) for number in range(1, count + 1)))


class Counting:
    """A target that remembers whom it was asked about; `answer` says A, raises, or whatever the test wants."""

    name = "counting"

    def __init__(self, answer: Callable[[Case], str] = lambda case: "A") -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def open(self, case: Case) -> Stateless:
        self.asked.append(case.id)
        said = self.answer(case)
        return Stateless(lambda _: Reply.saying(said))


def workplace(folder: Path, *targets: Target, settings: Settings | None = None) -> Workspace:
    kit = builtin_kit(builtin_profiles())
    register_formats(kit)
    for target in targets:
        kit.targets.add(target)
    return Workspace(settings or Settings(), kit, folder)


def asking(dataset: str, **options: Any) -> RunRequest:
    """A run of the counting target, one case at a time."""
    return RunRequest(**{"datasets": (dataset,), "target": "counting", "concurrency": 1, **options})


def unwatched(_: RunHandle) -> Progress:
    def ignore(results: Sequence[Result]) -> None:
        return None

    return ignore
