"""What a worker is told: the run with its pins, the settings, and where things lie. No secret is among it: keys are
read from the worker's own environment, and the address of a database server with them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.config import ServiceSettings, Settings
from howsure.dialects.reading import FileReport
from howsure.errors import ConfigInvalid
from howsure.kit import Kit
from howsure.model.run import DatasetPin, Run
from howsure.services.cluster.records import is_cut
from howsure.services.options import RunOptions
from howsure.services.planning import Plan
from howsure.services.survey import Dataset, Survey
from howsure.services.workspace import Workspace
from howsure.store.addresses import Server, place

ADDRESS = "HOWSURE_DATABASE_URL"
SENT = -1


class Site(Struct, frozen=True, kw_only=True):
    """`location` is the file that runs are kept in, "" where a server keeps them. `budget` is the one that holds now,
    `cases` how many the driver's survey found. `traces`, `records`: calls, and replies of judges, are written down.
    `sizes`: the bytes of every dataset that workers read themselves, `SENT` for one whose cases are sent along."""

    run: Run
    settings: Settings
    folder: str
    beside: str
    plugins: tuple[str, ...]
    location: str
    budget: str
    cases: int
    caches: bool
    traces: bool = False
    records: bool = False
    sizes: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, work: Workspace, plan: Plan, run: Run, *, caches: bool, traces: bool = False, records: bool = False
    ) -> Self:
        return cls(
            run=run,
            settings=replace(work.settings, database="", service=ServiceSettings(hosts=work.settings.service.hosts)),
            folder=str(work.folder.resolve()),
            beside=str(work.beside.resolve()),
            plugins=tuple(str(Path(file).resolve()) for file in work.plugins),
            location="" if server_of(work) else str(Path(str(place(work.location))).resolve()),
            budget=plan.pins.budget,
            cases=plan.survey.total,
            caches=caches,
            traces=traces,
            records=records,
            sizes=tuple((each.path.stat().st_size if is_cut(each) else SENT) for each in plan.survey.datasets),
        )

    def packed(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        return msgspec.json.decode(packed, type=cls)

    def workplace(self) -> Workspace:
        """The run's workplace, on this machine. Plug-ins and evals are those that lie here."""
        database = self.location or os.environ.get(ADDRESS, "")
        if not database:
            raise ConfigInvalid(f"{ADDRESS} is not set there: it names the PostgreSQL that keeps the run")
        settings = replace(self.settings, database=database)
        return Workspace.made(settings, Path(self.folder), Path(self.beside), self.plugins)

    def survey(self, kit: Kit, options: RunOptions) -> Survey:
        """What the driver found, with the files where they lie here."""
        pins = zip(self.run.pins.datasets, options.datasets, strict=True)
        return Survey(
            datasets=tuple(_dataset(pin, Path(path), kit) for pin, path in pins),
            filters=options.filters,
            limit=options.limit,
            total=self.cases,
        )


def server_of(work: Workspace) -> str:
    """The address of the server that keeps the runs; "" where a file does."""
    return str(work.location) if isinstance(place(work.location), Server) else ""


def _dataset(pin: DatasetPin, path: Path, kit: Kit) -> Dataset:
    report = FileReport(path=str(path), dialect=pin.dialect, cases=pin.cases, sha256=pin.sha256)
    header = {"test_set_id": pin.id, "name": pin.name, "version": pin.version}
    return Dataset(path, kit.reader(pin.dialect), report, header)
