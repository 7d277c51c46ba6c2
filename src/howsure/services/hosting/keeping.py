"""Keeping the cases of a run as a dataset of their own, under the id that the run shows."""

from __future__ import annotations

from howsure.errors import Conflict
from howsure.model.access_scope import AccessScope
from howsure.model.document import DocumentKind
from howsure.model.run import Run
from howsure.reports.run_wire import dataset_id_of
from howsure.services.hosting.host import Host
from howsure.services.hosting.materials import read_reference
from howsure.services.hosting.shapes import file_of
from howsure.services.hosting.uploads import Upload, draft_of


async def keep_cases(host: Host, run: Run, author: str, within: AccessScope) -> None:
    """The same cases give the same dataset: keeping them twice changes nothing."""
    source = read_reference(run.pins.datasets[0].path)
    document = await host.store.documents.get(source.kind, source.id, source.version, within=within, deleted=True)
    upload = Upload(
        content=file_of(document),
        name=f"{document.name}.json",
        agent_id=document.agent_id,
        dialect="test-set",
        author=author,
        note=f"the cases of test set {document.id}, version {document.edition.version}",
    )
    draft = await draft_of(host, upload)
    try:
        await host.store.documents.create(DocumentKind.DATASET, dataset_id_of(run.pins), draft, within)
    except Conflict:
        return
