"""Transcript mode: finished conversations, from files or from an earlier run, held against the pooled criteria of a
whole test set. The agent is not called; what the test set's items ask is not looked at."""

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
from howsure.targets.recordings import Recordings
from howsure.users.scripts import user_messages

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
LONGEST_NAME = 40


class PooledCriteria:
    """The criteria of all items of a test set, each once; a case is held against all of them and nothing else."""

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
        held = [each for case in cases for each in case.expectations if isinstance(each, Criteria)]
        pool = cls(criterion for each in held for criterion in each.criteria)
        if not pool.criteria:
            raise PlanRefused(f"--criteria-from {path}: none of its {len(cases)} items has a success criterion")
        return pool

    def __call__(self, case: Case) -> Case:
        return replace(case, expectations=(Criteria(criteria=self.criteria),), world=World.TEST_SET, profile="")


def conversations(path: str, dialect: Dialect, folder: Path) -> str:
    """The dataset of finished conversations that `path` is; a file of transcripts becomes one, kept in `folder`."""
    if not Path(path).is_file() or is_simulation(Path(path), dialect):
        return path
    return _kept(_cases(read_answers([path], dialect).recordings), dialect, folder, Path(path).stem)


def _cases(recordings: Recordings) -> list[Case]:
    return [
        _case(_name(case, candidate, repeat), recording)
        for (case, candidate, repeat), recording in recordings.by_case.items()
    ]


async def stored_conversations(results: AsyncIterator[Result], dialect: Dialect, folder: Path, name: str) -> str:
    """What was said in an earlier run, as a dataset; a conversation that broke is still one that broke. `name` is the
    run's."""
    cases: list[Case] = []
    async for result in results:
        broken = "; ".join(failure.message for failure in result.failures) or "no transcript was kept"
        recording = BrokenRecording(reason=broken) if result.transcript is None else result.transcript
        cases.append(_case(_name(result.case.id, result.candidate, result.repeat), recording))
    return _kept(cases, dialect, folder, name.removesuffix(".jsonl").removesuffix(".json"))


def _name(case: str, candidate: str, repeat: int) -> str:
    return case + (f" by {candidate}" if candidate else "") + (f" (repeat {repeat})" if repeat > 1 else "")


def _case(id: str, recording: Transcript | BrokenRecording) -> Case:
    said = user_messages(recording) if isinstance(recording, Transcript) else ()
    return Case(id=id, input=Script(turns=said or ("(nothing is known of what the user said)",)), recorded=recording)


def _kept(cases: list[Case], dialect: Dialect, folder: Path, name: str) -> str:
    """Named by where they are from and what is in it, so that the same conversations are the same file."""
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
