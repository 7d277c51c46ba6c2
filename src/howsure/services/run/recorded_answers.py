"""Conversations that are finished before a run begins, from responses files, a simulation file or an earlier run. They
are the answers of a recorded run. Or they are its cases (transcript mode): graded by the pooled criteria of a whole
test set, while the agent is not called and the inputs of the test set's items are not used."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.base import Dialect
from howsure.dialects.datasets import detect, digest, read_cases
from howsure.dialects.responses import RecordedResponse, read_responses
from howsure.dialects.simulation import question_of
from howsure.dialects.test_set import HEADER
from howsure.errors import ConfigInvalid, DatasetInvalid, Level, NotFound, PlanRefused, Problem
from howsure.kit import Kit
from howsure.model.case import Case, Script, World, user_turns
from howsure.model.expectation import Criteria, Criterion
from howsure.model.result import Result
from howsure.model.run import DatasetPin
from howsure.model.transcript import BrokenRecording, Transcript
from howsure.services.files import stored_path
from howsure.store.private_files import make_private_folder
from howsure.targets.recordings import Recordings
from howsure.users.scripts import user_messages

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
LONGEST_NAME = 40


class RecordedAnswers(Struct, frozen=True):
    """Recordings, the files they came from with their hashes, and what in them is not read."""

    recordings: Recordings
    pins: tuple[DatasetPin, ...]
    warnings: tuple[Problem, ...] = ()

    @property
    def case_ids(self) -> set[str]:
        """The ids that a file has answers for; none where they may also be found by what the user said, or where they
        are an earlier run's, which may have had more cases."""
        known = self.recordings
        return set() if known.by_turns or known.of_run else {case for case, _, _ in known.by_case}


def read_answers(paths: Sequence[str], simulation: Dialect) -> RecordedAnswers:
    """Every recording of every file; duplicates and problems of all files are refused together."""
    recordings = Recordings()
    problems: list[Problem] = []
    pins: list[DatasetPin] = []
    for path in map(Path, paths):
        if not path.is_file():
            raise NotFound(f"{path}: no such responses file")
        if is_simulation(path, simulation):
            problems += _add_conversations(recordings, read_cases(path, simulation), path.name)
        else:
            problems += _add_responses(recordings, path)
        pins.append(DatasetPin(path=stored_path(path), sha256=digest(path)))
    errors = [each for each in problems if each.level is Level.ERROR]
    if errors:
        raise DatasetInvalid(", ".join(paths), errors)
    return RecordedAnswers(recordings, tuple(pins), tuple(problems))


def is_simulation(path: Path, simulation: Dialect) -> bool:
    with path.open("rb") as file:
        return simulation.detect(path, file.read(65536))


def _add_responses(recordings: Recordings, path: Path) -> Iterator[Problem]:
    for thing in read_responses(path):
        if isinstance(thing, Problem):
            yield thing
        elif (key := (thing.case_id, thing.candidate, thing.repeat)) in recordings.by_case:
            yield _duplicate(thing, path.name)
        else:
            recordings.by_case[key] = thing.recording


def _duplicate(response: RecordedResponse, file: str) -> Problem:
    who = f" by {response.candidate!r}" if response.candidate else ""
    return Problem(
        code="duplicate-response",
        message=f"a second answer{who} to the case {response.case_id!r} (repeat {response.repeat})",
        file=file,
        line=response.line,
        field="case_id",
        expected="one answer for each case, candidate and repeat",
        found=response.case_id,
        hint="give further answers to the same case their own `repeat`",
    )


def _add_conversations(recordings: Recordings, cases: Iterable[Case], file: str) -> Iterator[Problem]:
    """By id, and by what the user said; several conversations of one question in one file are its repeats."""
    for case in cases:
        if case.recorded is None:
            continue
        question, repeat = question_of(case)
        if (key := (question, "", repeat)) in recordings.by_case:
            yield _duplicate(RecordedResponse(case_id=question, recording=case.recorded, repeat=repeat), file)
            continue
        recordings.by_case[key] = case.recorded
        turns, number = user_turns(case.input), 1
        while (turns, "", number) in recordings.by_turns:
            number += 1
        recordings.by_turns[(turns, "", number)] = case.recorded


async def earlier_answers(results: AsyncIterator[Result]) -> Recordings:
    """The answers of an earlier run. A conversation that broke there is broken here too."""
    recordings = Recordings(of_run=True)
    async for result in results:
        recordings.by_case[(result.case.id, result.candidate, result.repeat)] = result.recording
    return recordings


class PooledCriteria:
    """The criteria of all items of a test set, each once. A case is graded by all of them and by nothing else but the
    rubric; without a rubric there must be some."""

    def __init__(self, criteria: Iterable[Criterion], source: DatasetPin) -> None:
        known: dict[str, Criterion] = {}
        for criterion in criteria:
            known.setdefault(criterion.text, criterion)
        self.criteria = tuple(known.values())
        self.source = source

    @classmethod
    def of(cls, path: Path, kit: Kit) -> PooledCriteria:
        if not path.is_file():
            raise NotFound(f"--criteria-from {path}: no such test set")
        dialect = detect(path, kit.dialects)
        cases = list(read_cases(path, dialect))
        header: Mapping[str, Any] = cases[0].metadata.get(HEADER, {}) if cases else {}
        source = DatasetPin(
            path=stored_path(path),
            sha256=digest(path),
            dialect=dialect.name,
            id=str(header.get("test_set_id") or ""),
            name=str(header.get("name") or ""),
            version=header.get("version"),
        )
        expected = [each for case in cases for each in case.expectations if isinstance(each, Criteria)]
        return cls((criterion for each in expected for criterion in each.criteria), source)

    def __call__(self, case: Case) -> Case:
        expectations = (Criteria(criteria=self.criteria),) if self.criteria else ()
        return replace(case, expectations=expectations, world=World.TEST_SET, profile="")


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


async def stored_cases(cases: AsyncIterator[Case], folder: Path, name: str) -> str:
    """The cases of an imported run, with what was expected of them, written as a dataset."""
    lines = [msgspec.json.encode(case) async for case in cases]
    path = _named_file(folder, name, b"\n".join(lines))
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return str(path)


def _name(case: str, candidate: str, repeat: int) -> str:
    return case + (f" by {candidate}" if candidate else "") + (f" (repeat {repeat})" if repeat > 1 else "")


def _case(id: str, recording: Transcript | BrokenRecording) -> Case:
    turns = user_messages(recording) if isinstance(recording, Transcript) else ()
    return Case(id=id, input=Script(turns=turns or ("(nothing is known of what the user said)",)), recorded=recording)


def _write_cases(cases: list[Case], dialect: Dialect, folder: Path, name: str) -> str:
    path = _named_file(folder, name, msgspec.json.encode(cases) if cases else b"")
    dialect.write(cases, path)
    return str(path)


def _named_file(folder: Path, name: str, content: bytes) -> Path:
    """A file with the name of its source, in a folder named after its content: the same conversations give the same
    file."""
    if not content:
        raise PlanRefused("there is no conversation to look at")
    shown = _UNSAFE.sub("-", name)[:LONGEST_NAME].strip("-.") or "conversations"
    folder = folder / sha256(content).hexdigest()[:16]
    try:
        make_private_folder(folder)
    except OSError as error:
        raise ConfigInvalid(f"the conversations cannot be kept in {folder}: {error.strerror}") from error
    return folder / f"{shown}.jsonl"
