"""Is everything here that a run needs? Each finding says what was looked at, what was found and what to do."""

from __future__ import annotations

import platform
import sqlite3
import sys

from msgspec import Struct

from howsure.config import DATABASE, FILE
from howsure.errors import CaseFailure, InputError, PlanRefused
from howsure.services.aiming import Cast, aim_of
from howsure.services.judging import judging
from howsure.services.options import RunOptions
from howsure.services.readying import visit
from howsure.services.runs import ground, wanted
from howsure.services.workspace import Workspace
from howsure.targets.chat.target import ChatTarget
from howsure.version import __version__


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was looked at."""

    what: str
    well: bool
    found: str
    hint: str = ""


async def examine(work: Workspace, target: str = "") -> list[Finding]:
    """Everything, and the target where one is named (as `howsure run --target` takes it)."""
    found = [
        Finding(what="howsure", well=True, found=__version__),
        Finding(what="python", well=sys.version_info >= (3, 11), found=platform.python_version()),
        _sqlite(),
        await _database(work),
        _settings(work),
        _kit(work),
        _terminal(),
    ]
    return [*found, await _target(work, target)] if target else found


async def _target(work: Workspace, spec: str) -> Finding:
    """Made as a run would make it; started, asked, stopped."""
    try:
        said = await _greeted(work, spec)
    except (InputError, CaseFailure) as error:
        hint = f"`targets.{spec}` in {FILE} says how to reach it" if spec in work.settings.targets else ""
        return Finding(what=f"target {spec}", well=False, found=str(error), hint=hint)
    return Finding(what=f"target {spec}", well=True, found=said or "made; it cannot be asked before a run")


async def _greeted(work: Workspace, spec: str) -> str:
    aim = aim_of(spec, work.kit, work.settings.targets)
    if aim.is_recorded:
        raise PlanRefused("recorded answers are read from files: there is nobody to ask")
    # Models are really asked: an answer out of the cache would tell nothing.
    options = RunOptions(datasets=(), target=spec, cache=False)
    async with judging(wanted(work, options)) as opened:
        cast = Cast(aim=aim, kit=work.kit, ground=ground(work), models=opened.models)
        target = cast.target("", 1)
        return await target.greet() if isinstance(target, ChatTarget) else await visit(target)


def _sqlite() -> Finding:
    return Finding(
        what="sqlite",
        well=sqlite3.sqlite_version_info >= (3, 35),
        found=sqlite3.sqlite_version,
        hint="" if sqlite3.sqlite_version_info >= (3, 35) else "3.35 or newer is needed",
    )


async def _database(work: Workspace) -> Finding:
    where = work.settings.database or DATABASE
    try:
        async with await work.store() as store:
            runs = await store.runs(limit=1)
            # An address may hold a password.
            where = store.where if "://" in where else where
    except InputError as error:
        return Finding(what="database", well=False, found=str(error), hint="set HOWSURE_DATABASE_URL or --database")
    return Finding(what="database", well=True, found=f"{where}, {'has runs' if runs else 'no runs yet'}")


def _settings(work: Workspace) -> Finding:
    there = (work.folder / FILE).is_file()
    return Finding(what="settings", well=True, found=FILE if there else f"no {FILE}: defaults hold")


def _kit(work: Workspace) -> Finding:
    kit = work.kit
    counts = (
        ("dialects", kit.dialects),
        ("targets", kit.targets),
        ("graders", kit.graders),
        ("profiles", kit.profiles),
    )
    return Finding(what="kit", well=True, found=", ".join(f"{len(each.names())} {name}" for name, each in counts))


def _terminal() -> Finding:
    encoding = sys.stdout.encoding or "unknown"
    well = encoding.lower().replace("-", "") == "utf8"
    hint = "" if well else "text beyond ASCII is shown escaped; JSON output is UTF-8 all the same"
    return Finding(what="terminal", well=True, found=encoding, hint=hint)
