"""The demo for whoever opens the pages for the first time: its documents go into the library, its runs are planned and
queued, and a worker carries them out. Ids follow from the organisation and the dataset: asking again, or twice at once,
gives the same runs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from uuid import UUID, uuid5

import msgspec
from msgspec.structs import replace

from howsure.errors import Conflict, NotFound
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.services.demo import DEMOS, Demo, folder, options
from howsure.services.hosting.host import Host
from howsure.services.hosting.library import Change, add
from howsure.services.hosting.materials import Reference
from howsure.services.hosting.shapes import ID_FIELDS
from howsure.services.hosting.uploads import Upload, draft_of
from howsure.services.options import RunOptions
from howsure.services.runs import prepare

SPACE = UUID("8a4cf3d2-6f0b-4a53-9d0c-3f4b2f6f8f11")
AUTHOR, NOTE = "demo", "from the demo"
BESIDE = ("explain", "legal")
"""Something lies beside these files that they need: a catalog, an attachment. They are read where they are."""


def demo_id(demo: Demo, within: AccessScope) -> str:
    return str(uuid5(SPACE, f"{within.home}|{demo.dialect}"))


async def load_demo(host: Host, within: AccessScope) -> list[str]:
    """The ids of the demo's runs, all of them in the store now."""
    for demo in DEMOS:
        if not await _is_there(host, demo_id(demo, within)):
            await _queue(host, demo, within)
    return [demo_id(demo, within) for demo in DEMOS]


async def _is_there(host: Host, run_id: str) -> bool:
    try:
        await host.store.run(run_id)
    except NotFound:
        return False
    return True


async def _queue(host: Host, demo: Demo, within: AccessScope) -> None:
    # The documents are of the organisation, whichever of its agents somebody may see.
    home = AccessScope(organization_id=within.organization_id)
    started = await prepare(host.work, host.store, await _options(host, demo, home), home)
    run = replace(started.run, id=demo_id(demo, within), organization_id=within.home)
    # Somebody else may have clicked at the same time: then it is there, which is what was asked for.
    with suppress(Conflict):
        await host.store.queue.add(run)


async def _options(host: Host, demo: Demo, home: AccessScope) -> RunOptions:
    """As `howsure demo` has it, with documents of the library in place of files, where they can be."""
    wanted, base = options(demo), folder()
    if demo.dialect in BESIDE:
        return wanted
    if demo.dialect != "test-set":
        return replace(wanted, datasets=(await _kept_dataset(host, demo, home),))
    return replace(
        wanted,
        datasets=(await _kept(host, DocumentKind.TEST_SET, base / demo.dataset, home),),
        rubric=await _kept(host, DocumentKind.RUBRIC, base / demo.rubric, home),
        agent=await _kept(host, DocumentKind.AGENT, base / demo.agent, home),
    )


async def _kept(host: Host, kind: DocumentKind, path: Path, home: AccessScope) -> str:
    """A document under the id that its file gives it; one that is there already stays as it is."""
    body = msgspec.json.decode(await asyncio.to_thread(path.read_bytes))
    key = str(body[ID_FIELDS[kind]])
    with suppress(Conflict):
        await add(host, kind, Change(body=body, author=AUTHOR, note=NOTE), home, key)
    return str(Reference(kind, key, 1))


async def _kept_dataset(host: Host, demo: Demo, home: AccessScope) -> str:
    path = folder() / demo.dataset
    content = await asyncio.to_thread(path.read_bytes)
    key = str(uuid5(SPACE, f"{home.home}|dataset|{demo.dialect}"))
    upload = Upload(content=content, name=path.name, agent_id="", dialect=demo.dialect, author=AUTHOR, note=NOTE)
    with suppress(Conflict):
        await host.store.documents.create(DocumentKind.DATASET, key, await draft_of(host, upload), home)
    return str(Reference(DocumentKind.DATASET, key, 1))
