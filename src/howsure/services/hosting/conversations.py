"""Finished conversations, graded without calling the agent: those of earlier results, gathered into a dataset, or one
that is sent along and graded on the spot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from howsure.errors import NotFound, PlanRefused
from howsure.model.access_scope import AccessScope
from howsure.model.document import Document, DocumentKind
from howsure.model.result import Result
from howsure.services.hosting.host import Host
from howsure.services.hosting.uploads import Upload, draft_of
from howsure.services.pooling import stored_conversations

SIMULATION = "simulation"


async def gathered(host: Host, result_ids: Sequence[str], key: str, upload: Upload, within: AccessScope) -> Document:
    """The conversations of these results, as a dataset of its own. One that the caller may not see is not there.
    `upload` says who gathers them, for which agent."""
    if within.agent_ids is not None and upload.agent_id not in within.agent_ids:
        raise NotFound(f"there is no agent {upload.agent_id}")
    results = await _seen(host, list(dict.fromkeys(result_ids)), within)
    with TemporaryDirectory() as folder:
        dialect = host.work.kit.dialects[SIMULATION]
        path = await stored_conversations(_each(results), dialect, Path(folder), "conversations")
        content = await asyncio.to_thread(Path(path).read_bytes)
    whole = replace(upload, content=content, name="conversations.jsonl", dialect=SIMULATION)
    return await host.store.documents.create(DocumentKind.DATASET, key, await draft_of(host, whole), within)


async def _seen(host: Host, result_ids: list[str], within: AccessScope) -> list[Result]:
    found = await host.store.found(result_ids)
    runs = {run_id: await host.store.run(run_id) for run_id in {run_id for run_id, _ in found}}
    seen = [
        result for run_id, result in found if within.sees(runs[run_id].organization_id, runs[run_id].pins.agent_key)
    ]
    if len(seen) < len(result_ids):
        raise NotFound(f"{len(result_ids) - len(seen)} of {len(result_ids)} conversations are not there")
    if not seen:
        raise PlanRefused("there is no conversation to look at")
    return seen


async def _each(results: Sequence[Result]) -> AsyncIterator[Result]:
    for result in results:
        yield result
