"""The answers of a recorded run: read from responses files, a simulation file, or an earlier run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from howsure.dialects.base import Dialect
from howsure.dialects.datasets import digest, read_cases
from howsure.dialects.responses import RecordedResponse, read_responses
from howsure.dialects.simulation import question_of
from howsure.errors import DatasetInvalid, NotFound, Problem
from howsure.model.case import Case, user_turns
from howsure.model.result import Result
from howsure.model.run import DatasetPin
from howsure.services.files import stored_path
from howsure.targets.recordings import Recordings


class RecordedAnswers(Struct, frozen=True):
    """Recordings, and the files they came from with their hashes."""

    recordings: Recordings
    pins: tuple[DatasetPin, ...]


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
    if problems:
        raise DatasetInvalid(", ".join(paths), problems)
    return RecordedAnswers(recordings, tuple(pins))


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
    recordings = Recordings()
    async for result in results:
        recordings.by_case[(result.case.id, result.candidate, result.repeat)] = result.recording
    return recordings
