"""Where judge tests are kept: one JSON object a line, added to and never rewritten, beside the database."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from howsure.dialects.finding import readable
from howsure.errors import DatasetInvalid, PlanRefused, Problem
from howsure.model.trust import JudgeTest
from howsure.services.running import utc_now
from howsure.services.workspace import Workspace

FILE = "judge-tests.jsonl"


class KeptTest(Struct, frozen=True):
    """What was found about a judge, and when."""

    at: datetime
    test: JudgeTest


def file_of(work: Workspace) -> Path:
    return work.data_folder / FILE


def keep_test(work: Workspace, test: JudgeTest) -> Path:
    """Adds one line."""
    path = file_of(work)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(msgspec.json.encode(KeptTest(utc_now(), test)) + b"\n")
    except OSError as error:
        raise PlanRefused(f"{path}: cannot be written: {error.strerror}") from error
    return path


def kept_tests(work: Workspace) -> list[KeptTest]:
    """Every test, oldest first; or every line that is none."""
    path = file_of(work)
    if not path.exists():
        return []
    found: list[KeptTest] = []
    problems: list[Problem] = []
    with readable(path), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.isspace():
                continue
            try:
                found.append(msgspec.json.decode(line, type=KeptTest))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                problems.append(_problem(path, number, error))
    if problems:
        raise DatasetInvalid(str(path), problems)
    return found


def _problem(path: Path, number: int, error: Exception) -> Problem:
    message = f"not a judge test: {error}"
    hint = "remove the line; other tests do not depend on it"
    return Problem(code="not-a-judge-test", message=message, file=str(path), line=number, hint=hint)
