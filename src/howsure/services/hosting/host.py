"""The host: the workplace and the store that a service or a worker has open, and what its operator allows."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from msgspec import Struct

from howsure.config import ServiceSettings
from howsure.services.workspace import Workspace
from howsure.store.store import Store


class Host(Struct, frozen=True):
    """What every use case of the service works with."""

    work: Workspace
    store: Store

    @property
    def rules(self) -> ServiceSettings:
        return self.work.settings.service


class Clock(Protocol):
    """What time it is, in UTC."""

    def __call__(self) -> datetime: ...
