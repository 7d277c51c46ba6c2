"""Transcript mode: finished conversations, from files or from an earlier run, are graded by the pooled criteria of a
whole test set. The agent is not called, and the inputs of the test set's items are not used."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec.structs import replace

from howsure.dialects.base import Dialect
from howsure.dialects.datasets import detect, read_cases
from howsure.errors import ConfigInvalid, NotFound, PlanRefused
from howsure.kit import Kit
from howsure.model.case import Case, Script, World
from howsure.model.expectation import Criteria, Criterion
from howsure.model.result import Result
from howsure.model.transcript import BrokenRecording, Transcript
from howsure.services.run.recorded_answers import is_simulation, read_answers
from howsure.users.scripts import user_messages

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
LONGEST_NAME = 40


class PooledCriteria:
    """The criteria of all items of a test set, each once. A case is graded by all of them and by nothing else."""

    def __init__(self, criteria: Iterable[Criterion]) -> None:
        known: dict[str, Criterion] = {}
        for criterion in criteria:
            known.setdefault(criterion.text, criterion)
        self.criteria = tuple(known.values())

    @classmethod
    def of(cls, path: Path, kit: Kit) -> PooledCriteria:
        if not path.is_file():
            raise NotFound(f"--criteria-from {path}: no such test set")
        cases = list(read_cases(path, detect(path, list(kit.dialects))))
        expected = [each for case in cases for each in case.expectations if isinstance(each, Criteria)]
        pool = cls(criterion for each in expected for criterion in each.criteria)
        if not pool.criteria:
            raise PlanRefused(f"--criteria-from {path}: none of its {len(cases)} items has a success criterion")
        return pool

    def __call__(self, case: Case) -> Case:
        return replace(case, expectations=(Criteria(criteria=self.criteria),), world=World.TEST_SET, profile="")


def conversation_dataset(path: str, dialect: Dialect, folder: Path) -> str:
    """The path of a dataset of finished conversations. A file of transcripts is written as one in `folder`."""
    if not Path(path).is_file() or is_simulation(Path(path), dialect):
        return path
    recordings = read_answers([path], dialect).recordings.by_case
    cases = [_case(_name(*attempt), recording) for attempt, recording in recordings.items()]
    return _write_cases(cases, dialect, folder, Path(path).stem)


async def stored_conversations(results: AsyncIterator[Result], dialect: Dialect, folder: Path, name: str) -> str:
    """The conversations of an earlier run, written as a dataset. A conversation that broke stays one that broke."""
    cases = [
        _case(_name(result.case.id, result.candidate, result.repeat), result.recording) async for result in results
    ]
    return _write_cases(cases, dialect, folder, name.removesuffix(".jsonl").removesuffix(".json"))


def _name(case: str, candidate: str, repeat: int) -> str:
    return case + (f" by {candidate}" if candidate else "") + (f" (repeat {repeat})" if repeat > 1 else "")


def _case(id: str, recording: Transcript | BrokenRecording) -> Case:
    turns = user_messages(recording) if isinstance(recording, Transcript) else ()
    return Case(id=id, input=Script(turns=turns or ("(nothing is known of what the user said)",)), recorded=recording)


def _write_cases(cases: list[Case], dialect: Dialect, folder: Path, name: str) -> str:
    """The file is named after its source and its content, so that the same conversations give the same file."""
    if not cases:
        raise PlanRefused("there is no conversation to look at")
    shown = _UNSAFE.sub("-", name)[:LONGEST_NAME].strip("-.") or "conversations"
    path = folder / f"{shown}-{sha256(msgspec.json.encode(cases)).hexdigest()[:16]}.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigInvalid(f"the conversations cannot be kept in {folder}: {error.strerror}") from error
    dialect.write(cases, path)
    return str(path)
