"""What was measured about judges, and where it is kept: calibrations and judge tests, one JSON object a line, in files
beside the database that only grow; and `howsure judge about`, which shows it together with what is known about the
offline judge."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.dialects.datasets import readable
from howsure.errors import ConfigInvalid, DatasetInvalid, PlanRefused, Problem
from howsure.judges.judge_prompts import prompts_fingerprint
from howsure.judges.offline.opinions import MEASURED, NOT_MEASURED, MeasuredAgreement
from howsure.llm.specs import parse_model
from howsure.model.calibration import Calibration, JudgePin, JudgeTest
from howsure.model.run import Pins
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.reports.run_facts import tool_run_text
from howsure.services.files import stored_path
from howsure.services.run.execute import utc_now
from howsure.services.run.judges import NONE, open_models
from howsure.services.run.model_access import RECORDED, OpenModels
from howsure.services.workspace import Workspace
from howsure.version import __version__

T = TypeVar("T")
H = TypeVar("H")


class SavedJudgeTest(Struct, frozen=True):
    """What a judge test found, and when."""

    at: datetime
    test: JudgeTest


class CalibrationHead(Struct, frozen=True):
    """The judge and the run of a calibration, and where its line lies in the file (offset and length)."""

    judge: JudgePin
    run: str
    place: tuple[int, int] = (0, 0)


class RecordFile(Generic[T]):
    """A file in the data folder with one JSON object a line; it only grows. `what` and `others` name its records."""

    def __init__(self, name: str, kind: type[T], what: str, others: str) -> None:
        self._name, self._kind, self._what, self._others = name, kind, what, others

    def path(self, work: Workspace) -> Path:
        return work.data_folder / self._name

    def append(self, work: Workspace, record: T) -> Path:
        path = self.path(work)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(msgspec.json.encode(record) + b"\n")
        except OSError as error:
            raise PlanRefused(f"{path}: cannot be written: {error.strerror}") from error
        return path

    def read_all(self, work: Workspace) -> list[T]:
        """Every record, oldest first; or `DatasetInvalid` with every line that is not one."""
        path = self.path(work)
        if not path.exists():
            return []
        records: list[T] = []
        problems: list[Problem] = []
        with readable(path), path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.isspace():
                    continue
                try:
                    records.append(self.decode(path, number, line, self._kind))
                except DatasetInvalid as error:
                    problems += error.problems
        if problems:
            raise DatasetInvalid(str(path), problems)
        return records

    def decode(self, path: Path, number: int | None, line: bytes, kind: type[H]) -> H:
        """One line as this type, which may be a part of the record."""
        try:
            return msgspec.json.decode(line, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            code, message = f"not-a-{self._what.replace(' ', '-')}", f"not a {self._what}: {error}"
            hint = f"remove the line; other {self._others} do not depend on it"
            problem = Problem(code=code, message=message, file=str(path), line=number, hint=hint)
            raise DatasetInvalid(str(path), [problem]) from error


CALIBRATIONS = RecordFile("calibrations.jsonl", Calibration, "calibration", "calibrations")
JUDGE_TESTS = RecordFile("judge-tests.jsonl", SavedJudgeTest, "judge test", "tests")


def read_heads(work: Workspace) -> list[CalibrationHead]:
    """The head of every calibration, oldest first. A calibration may be long, and a page shows few of them whole."""
    path = CALIBRATIONS.path(work)
    if not path.exists():
        return []
    status = path.stat()
    return list(_heads(path, status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=4)
def _heads(path: Path, _changed_at: int, _size: int) -> tuple[CalibrationHead, ...]:
    """The heads of a file, read again when it changes."""
    heads, start = [], 0
    with readable(path), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.isspace():
                head = CALIBRATIONS.decode(path, number, line, CalibrationHead)
                heads.append(replace(head, place=(start, len(line))))
            start += len(line)
    return tuple(heads)


def load_calibrations(work: Workspace, heads: Sequence[CalibrationHead]) -> list[Calibration]:
    """These calibrations in full, in this order."""
    if not heads:
        return []
    path, calibrations = CALIBRATIONS.path(work), []
    with readable(path), path.open("rb") as file:
        for start, size in (head.place for head in heads):
            file.seek(start)
            calibrations.append(CALIBRATIONS.decode(path, None, file.read(size), Calibration))
    return calibrations


def save_judge_test(work: Workspace, test: JudgeTest) -> Path:
    return JUDGE_TESTS.append(work, SavedJudgeTest(utc_now(), test))


def open_judge_pin(models: OpenModels) -> JudgePin:
    """The pin of the judge that is open now."""
    return JudgePin(
        spec=models.judge, sha256=models.judge_sha256, prompts=models.judge_prompts, howsure_version=__version__
    )


def run_judge_pin(pins: Pins) -> JudgePin:
    """The pin of a run's judge, with its prompts. The judge of imported results is the scorers of the other tool."""
    if pins.imported:
        return JudgePin(spec=tool_run_text(replace(pins.imported, name="")), howsure_version=pins.howsure_version)
    return JudgePin(
        spec=pins.request.judge,
        sha256=pins.judge_sha256,
        prompts=pins.judge_prompts,
        howsure_version=pins.howsure_version,
        recorded=pins.recorded_judges,
    )


def is_same_judge(first: JudgePin, second: JudgePin) -> bool:
    """Whether two pins are of one judge. Recordings of the same judges are one, whatever their files are called."""
    if first.spec.startswith(f"{RECORDED}:") and second.spec.startswith(f"{RECORDED}:"):
        return first.sha256 == second.sha256 or (bool(first.recorded) and first.recorded == second.recorded)
    return (first.spec, first.sha256) == (second.spec, second.sha256)


def full_spec(spec: str) -> str:
    """The spec as runs pin it: a recording by its absolute path."""
    kind, _, rest = spec.partition(":")
    return f"{RECORDED}:{stored_path(Path(rest))}" if kind == RECORDED and rest else spec


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
    found = [each for each in CALIBRATIONS.read_all(work) if each.judge.spec == full_spec(spec)]
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
        # Refuse a spec that names no model; a missing key is fine because nothing is asked here.
        try:
            parse_model(spec, environ, work.kit.providers.by_name())
        except ConfigInvalid as error:
            if "in the environment" not in str(error):
                raise
    return ""


def _current(calibration: Calibration, now: str) -> bool | None:
    if now:
        return calibration.judge.sha256 == now
    if calibration.judge.prompts and calibration.judge.prompts != prompts_fingerprint():
        return False
    return True if calibration.judge.prompts else None
