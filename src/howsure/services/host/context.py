"""The context that every use case of the service works with: the workspace, the open store, and what the operator
allows."""

from __future__ import annotations

from msgspec import Struct

from howsure.config import ServiceSettings
from howsure.services.workspace import Workspace
from howsure.store.store import Store


class Host(Struct, frozen=True):
    """The workspace and the open store of a service or a worker."""

    work: Workspace
    store: Store

    @property
    def rules(self) -> ServiceSettings:
        return self.work.settings.service
