"""`howsure judge about`: what has been measured about a judge, here and, for the offline judge, by its makers."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from howsure.errors import ConfigInvalid
from howsure.judges.offline.about import MEASURED, NOT_MEASURED, Measured
from howsure.judges.prompt_files import prompts_fingerprint
from howsure.llm.specs import parse
from howsure.model.trust import Calibration
from howsure.services.judging import NONE, OFFLINE, RECORDED, judging
from howsure.services.judging import Wanted as WantedJudge
from howsure.services.trust.calibrations import kept, named
from howsure.services.workspace import Workspace


class Known(Struct, frozen=True, kw_only=True):
    """One calibration; `current` None: whether the judge is still the same cannot be told here."""

    calibration: Calibration
    current: bool | None


class About(Struct, frozen=True, kw_only=True):
    """Everything known about a judge, the newest calibration first."""

    judge: str
    calibrations: tuple[Known, ...]
    measured: tuple[Measured, ...] = ()
    not_measured: tuple[str, ...] = ()


async def about(work: Workspace, spec: str, environ: dict[str, str]) -> About:
    """What is known about the judge of this spec; `UnknownName` when there can be none."""
    offline = spec == OFFLINE
    now = await _fingerprint(spec, environ)
    found = [each for each in kept(work) if each.judge.spec == named(spec)]
    return About(
        judge=named(spec),
        calibrations=tuple(Known(calibration=each, current=_current(each, now)) for each in reversed(found)),
        measured=MEASURED if offline else (),
        not_measured=NOT_MEASURED if offline else (),
    )


async def _fingerprint(spec: str, environ: dict[str, str]) -> str:
    """The hash of the judge as it is now; empty for one whose model cannot be looked into."""
    kind, _, file = spec.partition(":")
    if spec in ("", NONE):
        raise ConfigInvalid("name a judge: offline, recorded:FILE or provider:model")
    if spec == OFFLINE or (kind == RECORDED and Path(file).is_file()):
        async with judging(WantedJudge(judge=spec)) as found:
            return found.sha256
    if kind != RECORDED:
        _check(spec, environ)
    return ""


def _check(spec: str, environ: dict[str, str]) -> None:
    """A spec that nobody can open is refused; a missing key is not: nothing is asked here."""
    try:
        parse(spec, environ)
    except ConfigInvalid as error:
        if "in the environment" not in str(error):
            raise


def _current(calibration: Calibration, now: str) -> bool | None:
    if now:
        return calibration.judge.sha256 == now
    if calibration.judge.prompts and calibration.judge.prompts != prompts_fingerprint():
        return False
    return True if calibration.judge.prompts else None
