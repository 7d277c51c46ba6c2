"""`howsure doctor`: checks whether everything that a run needs is here. Each finding says what was checked, what was
found and what to do."""

from __future__ import annotations

import platform
import sqlite3
import sys

from msgspec import Struct

from howsure.config import DATABASE, FILE
from howsure.errors import CaseFailure, InputError, PlanRefused
from howsure.model.run_request import RunRequest
from howsure.services.run.execute import visit
from howsure.services.run.judges import open_models
from howsure.services.run.participants import Participants, parse_target
from howsure.services.workspace import Workspace
from howsure.targets.chat.target import ChatTarget
from howsure.version import __version__

NOT_UTF8 = "text beyond ASCII is shown escaped; JSON output is UTF-8 all the same"


class DoctorFinding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one check."""

    what: str
    well: bool
    found: str
    hint: str = ""


async def examine(work: Workspace, target: str = "") -> list[DoctorFinding]:
    """All checks, and the target if one is named (as for `howsure run --target`)."""
    kit = {name: len(getattr(work.kit, name).names()) for name in ("dialects", "targets", "graders", "profiles")}
    settings = FILE if (work.folder / FILE).is_file() else f"no {FILE}: defaults hold"
    encoding = sys.stdout.encoding or "unknown"
    is_utf8 = encoding.lower().replace("-", "") == "utf8"
    found = [
        DoctorFinding(what="howsure", well=True, found=__version__),
        DoctorFinding(what="python", well=sys.version_info >= (3, 11), found=platform.python_version()),
        DoctorFinding(
            what="sqlite",
            well=sqlite3.sqlite_version_info >= (3, 35),
            found=sqlite3.sqlite_version,
            hint="" if sqlite3.sqlite_version_info >= (3, 35) else "3.35 or newer is needed",
        ),
        await _database(work),
        DoctorFinding(what="settings", well=True, found=settings),
        DoctorFinding(what="kit", well=True, found=", ".join(f"{count} {name}" for name, count in kit.items())),
        DoctorFinding(what="terminal", well=True, found=encoding, hint="" if is_utf8 else NOT_UTF8),
    ]
    return [*found, await _target(work, target)] if target else found


async def _target(work: Workspace, spec: str) -> DoctorFinding:
    """Build the target as a run would; start it, ask it, stop it."""
    # The model is really asked: an answer from the cache would prove nothing.
    request = RunRequest(target=spec, cache=False)
    try:
        if parse_target(spec, work.kit, work.settings.targets).is_recorded:
            raise PlanRefused("recorded answers are read from files: there is no target to ask")
        async with open_models(work, request) as models:
            participants = Participants(work, request, models)
            targets = [participants.target(candidate, 1) for candidate in participants.candidates]
            replies = [await (each.greet() if isinstance(each, ChatTarget) else visit(each)) for each in targets]
    except (InputError, CaseFailure) as error:
        hint = f"`targets.{spec}` in {FILE} says how to reach it" if spec in work.settings.targets else ""
        return DoctorFinding(what=f"target {spec}", well=False, found=str(error), hint=hint)
    said = "; ".join(filter(None, replies)) or "made; it cannot be asked before a run"
    return DoctorFinding(what=f"target {spec}", well=True, found=said)


async def _database(work: Workspace) -> DoctorFinding:
    where = work.settings.database or DATABASE
    try:
        async with await work.store() as store:
            runs = await store.runs(limit=1)
            # An address may hold a password.
            where = store.where if "://" in where else where
    except InputError as error:
        return DoctorFinding(
            what="database", well=False, found=str(error), hint="set HOWSURE_DATABASE_URL or --database"
        )
    return DoctorFinding(what="database", well=True, found=f"{where}, {'has runs' if runs else 'no runs yet'}")
