"""What was found out about judges, and of which of them: the order in which a page shows them, and who may see what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from howsure.errors import NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.run import Run
from howsure.model.trust import Calibration, JudgePin
from howsure.services.trust.calibrations import Head, pin_of_run
from howsure.services.trust.judge_tests import KeptTest
from howsure.store.store import Store

Key = tuple[str, str]


class Kept(Struct, frozen=True, kw_only=True):
    """What was found out about judges. `measured` is the pin of each that was calibrated, the latest first, with how
    often; `calibrations` are those that were read, one for each judge that is shown."""

    measured: Mapping[Key, tuple[JudgePin, int]] = {}
    calibrations: Sequence[Calibration] = ()
    tests: Sequence[KeptTest] = ()


def kept_of(calibrations: Sequence[Calibration], tests: Sequence[KeptTest] = ()) -> Kept:
    """Of calibrations that were all read, oldest first."""
    return Kept(measured=measured(each.judge for each in calibrations), calibrations=calibrations, tests=tests)


def measured(pins: Iterable[JudgePin]) -> dict[Key, tuple[JudgePin, int]]:
    """The judges of calibrations, which come oldest first."""
    found: dict[Key, tuple[JudgePin, int]] = {}
    for pin in pins:
        found[key_of(pin)] = (pin, found.pop(key_of(pin), (pin, 0))[1] + 1)
    return dict(reversed(found.items()))


def known(kept: Kept, runs: Sequence[Run]) -> dict[Key, JudgePin]:
    """Judges of recent runs first, then others that were measured."""
    used = [pin_of_run(run.pins) for run in runs if run.pins.judge]
    found: dict[Key, JudgePin] = {}
    for pin in (*used, *(pin for pin, _ in kept.measured.values()), *(each.test.judge for each in kept.tests[::-1])):
        found.setdefault(key_of(pin), pin)
    return found


def key_of(pin: JudgePin) -> Key:
    return pin.spec, pin.sha256


async def seen_heads(store: Store, found: Sequence[Head], within: AccessScope) -> list[Head]:
    """Those of runs that the caller may see."""
    if within == EVERYWHERE:
        return list(found)
    visible: Mapping[str, bool] = {run: await _sees(store, run, within) for run in {each.run for each in found}}
    return [each for each in found if visible[each.run]]


async def _sees(store: Store, run_id: str, within: AccessScope) -> bool:
    try:
        await store.run(run_id, within)
    except NotFound:
        return False
    return True
