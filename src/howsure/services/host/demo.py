"""The demo on the pages: its documents go into the library, its runs are planned and queued, and a worker executes
them. The ids depend on the organisation and the dataset only, so that loading the demo twice gives the same runs."""

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
from howsure.model.run_request import RunRequest
from howsure.services.demo import DEMOS, Demo, demo_folder, demo_request
from howsure.services.host.document_files import DocumentReference
from howsure.services.host.documents import ID_FIELDS, DocumentChange, add_document
from howsure.services.host.uploads import Upload, check_upload
from howsure.services.run.start import prepare
from howsure.services.workspace import Host

ID_NAMESPACE = UUID("8a4cf3d2-6f0b-4a53-9d0c-3f4b2f6f8f11")
AUTHOR, NOTE = "demo", "from the demo"
READ_IN_PLACE = ("explain", "legal")
"""Dialects whose files need another file beside them (a catalog, an attachment): they stay outside the library."""


def demo_id(demo: Demo, scope: AccessScope) -> str:
    return str(uuid5(ID_NAMESPACE, f"{scope.home}|{demo.dialect}"))


async def load_demo(host: Host, scope: AccessScope) -> list[str]:
    """Queue the runs of the demo that are not in the store yet. Returns the ids of all of them."""
    for demo in DEMOS:
        try:
            await host.store.run(demo_id(demo, scope))
        except NotFound:
            home = AccessScope(organization_id=scope.organization_id)
            started = await prepare(host.work, host.store, await _library_request(host, demo, home), home)
            run = replace(started.run, id=demo_id(demo, scope), organization_id=scope.home)
            # A second request at the same time may have queued it already.
            with suppress(Conflict):
                await host.store.queue.add(run)
    return [demo_id(demo, scope) for demo in DEMOS]


async def _library_request(host: Host, demo: Demo, home: AccessScope) -> RunRequest:
    """The request of `howsure demo`, with documents of the library in place of files where possible."""
    request, folder = demo_request(demo), demo_folder()
    if demo.dialect in READ_IN_PLACE:
        return request
    if demo.dialect != "test-set":
        path = folder / demo.dataset
        content = await asyncio.to_thread(path.read_bytes)
        key = str(uuid5(ID_NAMESPACE, f"{home.home}|dataset|{demo.dialect}"))
        upload = Upload(content=content, name=path.name, agent_id="", dialect=demo.dialect, author=AUTHOR, note=NOTE)
        with suppress(Conflict):
            await host.store.documents.create(DocumentKind.DATASET, key, await check_upload(host, upload), home)
        return replace(request, datasets=(str(DocumentReference(DocumentKind.DATASET, key, 1)),))
    return replace(
        request,
        datasets=(await _save_document(host, DocumentKind.TEST_SET, folder / demo.dataset, home),),
        rubric=await _save_document(host, DocumentKind.RUBRIC, folder / demo.rubric, home),
        agent=await _save_document(host, DocumentKind.AGENT, folder / demo.agent, home),
    )


async def _save_document(host: Host, kind: DocumentKind, path: Path, home: AccessScope) -> str:
    """Store a document under the id in its file, unless it exists. Returns its reference."""
    body = msgspec.json.decode(await asyncio.to_thread(path.read_bytes))
    key = str(body[ID_FIELDS[kind]])
    with suppress(Conflict):
        await add_document(host, kind, DocumentChange(body=body, author=AUTHOR, note=NOTE), home, key)
    return str(DocumentReference(kind, key, 1))
