"""Where calibrations are kept: one JSON object a line, added to and never rewritten, beside the database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.dialects.finding import readable
from assay.errors import DatasetInvalid, PlanRefused, Problem
from assay.model.run import Pins
from assay.model.trust import Calibration, JudgePin
from assay.services.judging import RECORDED, Judging
from assay.services.paths import stored
from assay.services.workplace import Workplace
from assay.version import __version__

FILE = "calibrations.jsonl"


def file_of(work: Workplace) -> Path:
    return work.data_folder / FILE


def keep(work: Workplace, calibration: Calibration) -> Path:
    """Adds one line."""
    path = file_of(work)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(msgspec.json.encode(calibration) + b"\n")
    except OSError as error:
        raise PlanRefused(f"{path}: cannot be written: {error.strerror}") from error
    return path


def kept(work: Workplace) -> list[Calibration]:
    """Every calibration, oldest first; or every line that is none."""
    path = file_of(work)
    if not path.exists():
        return []
    found: list[Calibration] = []
    problems: list[Problem] = []
    for number, line in _lines(path):
        try:
            found.append(msgspec.json.decode(line, type=Calibration))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            message = f"not a calibration: {error}"
            hint = "remove the line; other calibrations do not depend on it"
            problems.append(Problem(code="not-a-calibration", message=message, file=str(path), line=number, hint=hint))
    if problems:
        raise DatasetInvalid(str(path), problems)
    return found


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with readable(path), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.isspace():
                yield number, line


def pin_of(judging: Judging) -> JudgePin:
    """The judge that is open now."""
    return JudgePin(
        spec=judging.spec,
        sha256=judging.sha256,
        prompts=judging.prompts,
        assay_version=__version__,
    )


def pin_of_run(pins: Pins) -> JudgePin:
    """The judge of a run, with the words that it was asked in."""
    return JudgePin(
        spec=pins.judge, sha256=pins.judge_sha256, prompts=pins.judge_prompts, assay_version=pins.assay_version
    )


def named(spec: str) -> str:
    """The spec as runs pin it: a recording by its whole path."""
    kind, _, rest = spec.partition(":")
    return f"{RECORDED}:{stored(Path(rest))}" if kind == RECORDED and rest else spec
