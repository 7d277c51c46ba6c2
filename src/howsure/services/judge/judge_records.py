"""What was measured about judges, and where it is kept: calibrations and judge tests, one JSON object a line, in files
beside the database that only grow; and `howsure judge about`, which shows it together with what is known about the
offline judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.datasets import readable
from howsure.errors import ConfigInvalid, DatasetInvalid, PlanRefused, Problem
from howsure.judges.judge_prompts import prompts_fingerprint
from howsure.judges.offline.opinions import MEASURED, NOT_MEASURED, MeasuredAgreement
from howsure.llm.specs import Providers, parse_model
from howsure.model.calibration import Calibration, JudgePin, JudgeTest
from howsure.model.run import Pins
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.services.files import stored_path
from howsure.services.run.execute import utc_now
from howsure.services.run.judges import NONE, RECORDED, OpenModels, open_models
from howsure.services.workspace import Workspace
from howsure.version import __version__

CALIBRATIONS = "calibrations.jsonl"
T = TypeVar("T")


def calibration_file(work: Workspace) -> Path:
    return work.data_folder / CALIBRATIONS


def save_calibration(work: Workspace, calibration: Calibration) -> Path:
    """Add one line to the file of calibrations."""
    path = calibration_file(work)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(msgspec.json.encode(calibration) + b"\n")
    except OSError as error:
        raise PlanRefused(f"{path}: cannot be written: {error.strerror}") from error
    return path


def read_calibrations(work: Workspace) -> list[Calibration]:
    """Every calibration, oldest first; or `DatasetInvalid` with every line that is not one."""
    path = calibration_file(work)
    if not path.exists():
        return []
    found: list[Calibration] = []
    problems: list[Problem] = []
    for number, line in _lines(path):
        try:
            found.append(msgspec.json.decode(line, type=Calibration))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problems.append(_no_calibration(path, number, error))
    if problems:
        raise DatasetInvalid(str(path), problems)
    return found


class CalibrationHead(Struct, frozen=True):
    """The judge and the run of a calibration, and where its line lies in the file (offset and length)."""

    judge: JudgePin
    run: str
    place: tuple[int, int] = (0, 0)


_head = msgspec.json.Decoder(CalibrationHead).decode


def read_heads(work: Workspace) -> list[CalibrationHead]:
    """The head of every calibration, oldest first. A calibration may be long, and a page shows few of them whole."""
    path = calibration_file(work)
    if not path.exists():
        return []
    status = path.stat()
    return list(_heads(path, status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=4)
def _heads(path: Path, _changed_at: int, _size: int) -> tuple[CalibrationHead, ...]:
    """The heads of a file, read again when it changes."""
    found, start = [], 0
    with readable(path), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.isspace():
                found.append(replace(_decoded(path, number, line, _head), place=(start, len(line))))
            start += len(line)
    return tuple(found)


def load_calibrations(work: Workspace, wanted: Sequence[CalibrationHead]) -> list[Calibration]:
    """These calibrations in full, in this order."""
    path = calibration_file(work)
    if not wanted:
        return []
    found = []
    with readable(path), path.open("rb") as file:
        for start, size in (each.place for each in wanted):
            file.seek(start)
            found.append(_decoded(path, None, file.read(size), _calibration))
    return found


_calibration = msgspec.json.Decoder(Calibration).decode


def _decoded(path: Path, number: int | None, line: bytes, decode: Callable[[bytes], T]) -> T:
    try:
        return decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DatasetInvalid(str(path), [_no_calibration(path, number, error)]) from error


def _no_calibration(path: Path, number: int | None, error: Exception) -> Problem:
    message = f"not a calibration: {error}"
    hint = "remove the line; other calibrations do not depend on it"
    return Problem(code="not-a-calibration", message=message, file=str(path), line=number, hint=hint)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with readable(path), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.isspace():
                yield number, line


def open_judge_pin(models: OpenModels) -> JudgePin:
    """The pin of the judge that is open now."""
    return JudgePin(
        spec=models.judge,
        sha256=models.judge_sha256,
        prompts=models.judge_prompts,
        howsure_version=__version__,
    )


def run_judge_pin(pins: Pins) -> JudgePin:
    """The pin of a run's judge, with the prompts that it was asked with."""
    return JudgePin(
        spec=pins.request.judge,
        sha256=pins.judge_sha256,
        prompts=pins.judge_prompts,
        howsure_version=pins.howsure_version,
    )


def full_spec(spec: str) -> str:
    """The spec as runs pin it: a recording by its absolute path."""
    kind, _, rest = spec.partition(":")
    return f"{RECORDED}:{stored_path(Path(rest))}" if kind == RECORDED and rest else spec


JUDGE_TESTS = "judge-tests.jsonl"


class SavedJudgeTest(Struct, frozen=True):
    """What a judge test found, and when."""

    at: datetime
    test: JudgeTest


def judge_test_file(work: Workspace) -> Path:
    return work.data_folder / JUDGE_TESTS


def save_judge_test(work: Workspace, test: JudgeTest) -> Path:
    """Add one line to the file of judge tests."""
    path = judge_test_file(work)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(msgspec.json.encode(SavedJudgeTest(utc_now(), test)) + b"\n")
    except OSError as error:
        raise PlanRefused(f"{path}: cannot be written: {error.strerror}") from error
    return path


def read_judge_tests(work: Workspace) -> list[SavedJudgeTest]:
    """Every judge test, oldest first; or `DatasetInvalid` with every line that is not one."""
    path = judge_test_file(work)
    if not path.exists():
        return []
    found: list[SavedJudgeTest] = []
    problems: list[Problem] = []
    with readable(path), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.isspace():
                continue
            try:
                found.append(msgspec.json.decode(line, type=SavedJudgeTest))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                problems.append(_problem(path, number, error))
    if problems:
        raise DatasetInvalid(str(path), problems)
    return found


def _problem(path: Path, number: int, error: Exception) -> Problem:
    message = f"not a judge test: {error}"
    hint = "remove the line; other tests do not depend on it"
    return Problem(code="not-a-judge-test", message=message, file=str(path), line=number, hint=hint)


class KnownCalibration(Struct, frozen=True, kw_only=True):
    """One calibration; `current` None: whether the judge is still the same cannot be determined here."""

    calibration: Calibration
    current: bool | None


class JudgeFacts(Struct, frozen=True, kw_only=True):
    """Everything known about a judge, the newest calibration first."""

    judge: str
    calibrations: tuple[KnownCalibration, ...]
    measured: tuple[MeasuredAgreement, ...] = ()
    not_measured: tuple[str, ...] = ()


async def about_judge(work: Workspace, spec: str, environ: dict[str, str]) -> JudgeFacts:
    """What is known about the judge with this spec; `UnknownName` if there can be no such judge."""
    offline = spec == OFFLINE
    now = await _fingerprint(work, spec, environ)
    found = [each for each in read_calibrations(work) if each.judge.spec == full_spec(spec)]
    return JudgeFacts(
        judge=full_spec(spec),
        calibrations=tuple(KnownCalibration(calibration=each, current=_current(each, now)) for each in reversed(found)),
        measured=MEASURED if offline else (),
        not_measured=NOT_MEASURED if offline else (),
    )


async def _fingerprint(work: Workspace, spec: str, environ: dict[str, str]) -> str:
    """The hash of the judge as it is now; empty for a model, which cannot be hashed."""
    kind, _, file = spec.partition(":")
    if spec in ("", NONE):
        raise ConfigInvalid("name a judge: offline, recorded:FILE or provider:model")
    if spec == OFFLINE or (kind == RECORDED and Path(file).is_file()):
        async with open_models(work, RunRequest(judge=spec)) as models:
            return models.judge_sha256
    if kind != RECORDED:
        _check(spec, environ, work.kit.providers.by_name())
    return ""


def _check(spec: str, environ: dict[str, str], providers: Providers) -> None:
    """Refuse a spec that names no model; a missing key is fine because nothing is asked here."""
    try:
        parse_model(spec, environ, providers)
    except ConfigInvalid as error:
        if "in the environment" not in str(error):
            raise


def _current(calibration: Calibration, now: str) -> bool | None:
    if now:
        return calibration.judge.sha256 == now
    if calibration.judge.prompts and calibration.judge.prompts != prompts_fingerprint():
        return False
    return True if calibration.judge.prompts else None
