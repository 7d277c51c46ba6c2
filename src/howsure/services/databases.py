"""The database of a workplace, looked after: checked, upgraded, backed up."""

from __future__ import annotations

from pathlib import Path

from howsure.services.workspace import Workspace
from howsure.store import care
from howsure.store.care import Copied, Health, Upgraded


async def check(work: Workspace) -> Health:
    return await care.check(work.location)


async def upgrade(work: Workspace) -> Upgraded:
    return await care.upgrade(work.location)


async def backup(work: Workspace, file: Path, *, replace: bool) -> Copied:
    return await care.backup(work.location, file, replace=replace)
