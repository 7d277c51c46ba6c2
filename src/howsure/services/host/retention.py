"""How long data is kept: `service.retention` and `service.undelete_days`. The service removes what is older once a day,
`howsure db purge` at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import asdict

from howsure.config import ServiceSettings
from howsure.errors import InputError
from howsure.services.host.audit import SERVICE
from howsure.services.workspace import Workspace
from howsure.store.audit import COMMAND_LINE
from howsure.store.store import Store

DAY_SECONDS = 24 * 3600.0
log = logging.getLogger("howsure.retention")


def kept_days(rules: ServiceSettings) -> dict[str, int]:
    """How many days each kind is kept; one that is kept for ever is left out."""
    return {kind: int(age.removesuffix("d")) for kind, age in asdict(rules.retention).items() if age}


async def purge(
    work: Workspace, store: Store, *, dry_run: bool = False, actor: str = COMMAND_LINE, now: datetime | None = None
) -> dict[str, int]:
    """Remove what is older than it may be kept, and return how many of each kind. `files` are copies of documents that
    runs have read; they are made again when they are needed."""
    rules = work.settings.service
    done = await store.retention.purge(kept_days(rules), rules.undelete_days, dry_run=dry_run)
    before = (now or datetime.now(UTC)) - timedelta(days=rules.undelete_days)
    done["files"] = await asyncio.to_thread(_remove_copies, work.data_folder / "documents", before, dry_run)
    if not dry_run and any(done.values()):
        counts = " ".join(f"{kind}={number}" for kind, number in done.items() if number)
        await store.audit.record("purge", actor=actor, subject=counts)
    return done


def _remove_copies(folder: Path, before: datetime, dry_run: bool) -> int:
    number = 0
    for file in folder.glob("*/*") if folder.is_dir() else ():
        with suppress(OSError):
            if file.stat().st_mtime < before.timestamp():
                number += 1
                if not dry_run:
                    file.unlink()
                    file.parent.rmdir()
    return number


@asynccontextmanager
async def purging_daily(work: Workspace, store: Store, period: float = DAY_SECONDS) -> AsyncIterator[None]:
    """Inside this block old data is removed, now and once a day."""

    async def every_day() -> None:
        while True:
            try:
                done = await purge(work, store, actor=SERVICE)
                log.info("purged %s", done, extra={"purged": done})
            except InputError as error:
                log.error("old data could not be removed: %s", error)
            await asyncio.sleep(period)

    task = asyncio.create_task(every_day())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
