"""The index of cases in uploaded datasets, so that a case is found by its id alone. It holds only newest versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID, uuid5

from msgspec import Struct
from sqlalchemy import Connection, delete, func, insert, select, tuple_

from howsure.errors import NotFound
from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.store.database import Database, fetch_rows
from howsure.store.pages import visible
from howsure.store.schema import dataset_cases

CASES = UUID("5b6f2f2e-3f0c-5d43-9a59-6f5d4c1f9d11")
CHUNK = 1000


class CaseAddress(Struct, frozen=True):
    """A case of a dataset: its address, its id in the file, and how many stand before it."""

    id: str
    dataset_id: str
    case_id: str
    position: int


class OwnedDataset(Protocol):
    """A dataset, whole or as lists show it."""

    @property
    def organization_id(self) -> str: ...

    @property
    def id(self) -> str: ...


def case_address(dataset_id: str, case_id: str) -> str:
    """The id of a case among those of all datasets."""
    return str(uuid5(CASES, f"{dataset_id}\n{case_id}"))


class DatasetCaseIndex:
    """The cases of uploaded datasets, by their addresses."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, id: str, within: AccessScope = EVERYWHERE) -> CaseAddress:
        """Whose dataset it is in must still be asked: an agent's boundary is the dataset's."""
        statement = visible(select(dataset_cases).where(dataset_cases.c.id == id), dataset_cases, within)
        rows = await self._database.read(fetch_rows, statement.limit(1))
        if not rows:
            raise NotFound(f"there is no test case {id}")
        return CaseAddress(rows[0].id, rows[0].dataset_id, rows[0].case_id, rows[0].position)

    async def count(self, datasets: Sequence[OwnedDataset]) -> dict[tuple[str, str], int]:
        """How many cases the newest versions have, by organisation and id: two organisations may keep the same cases
        under the same id."""
        if not datasets:
            return {}
        place = (dataset_cases.c.organization_id, dataset_cases.c.dataset_id)
        keys = [(dataset.organization_id, dataset.id) for dataset in datasets]
        counts = select(*place, func.count()).where(tuple_(*place).in_(keys)).group_by(*place)
        return {(row[0], row[1]): row[2] for row in await self._database.read(fetch_rows, counts)}


def index_cases(connection: Connection, organization_id: str, dataset_id: str, case_ids: Sequence[str]) -> None:
    """Note down the cases of a new version, in place of those of the one before."""
    here = (dataset_cases.c.organization_id == organization_id, dataset_cases.c.dataset_id == dataset_id)
    connection.execute(delete(dataset_cases).where(*here))
    values = [
        {
            "organization_id": organization_id,
            "id": case_address(dataset_id, case_id),
            "dataset_id": dataset_id,
            "case_id": case_id,
            "position": position,
        }
        for position, case_id in enumerate(case_ids)
    ]
    for start in range(0, len(values), CHUNK):
        connection.execute(insert(dataset_cases), values[start : start + CHUNK])
