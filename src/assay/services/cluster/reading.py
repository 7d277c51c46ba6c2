"""The cases of a shard, where it is worked on. Lines are given to the run's own dialect in a small file of their own,
so that any line dialect, a plug-in's too, can be cut without knowing that it is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.dialects.base import Importer
from assay.dialects.reading import Rereading, changed
from assay.errors import Level
from assay.model.case import Case
from assay.services.cluster.shards import Carried, Range, Shard, carried_cases, read_bytes
from assay.services.survey import Dataset, Survey


def shard_cases(survey: Survey, shard: Shard) -> list[Case]:
    """In order, shaped as the run shapes them."""
    cases = carried_cases(shard) if isinstance(shard, Carried) else _ranged(survey.datasets, shard)
    return cases if survey.shape is None else list(map(survey.shape, cases))


def _ranged(datasets: tuple[Dataset, ...], shard: Range) -> list[Case]:
    dataset = datasets[shard.file]
    lines = read_bytes(dataset.path, shard)
    with TemporaryDirectory(prefix="assay-shard-") as folder:
        part = Path(folder) / dataset.path.name
        part.write_bytes(lines)
        cases = _read(part, dataset.dialect)
    if cases is None:
        # Something of it lies beside the whole file: attachments, a catalog.
        before = shard.first - sum(each.report.cases for each in datasets[: shard.file])
        cases = list(islice(_whole(dataset), before, before + shard.cases))
    if len(cases) != shard.cases:
        raise changed(dataset.path)
    return cases


def _read(part: Path, dialect: Importer) -> list[Case] | None:
    """None: these lines cannot be read without what is beside their file."""
    found = dialect.read_again(part, lambda _: None) if isinstance(dialect, Rereading) else dialect.read(part)
    cases: list[Case] = []
    for each in found:
        if isinstance(each, Case):
            cases.append(each)
        elif each.level is Level.ERROR:
            return None
    return cases


def _whole(dataset: Dataset) -> Iterator[Case]:
    found = dataset.dialect.read(dataset.path)
    return (each for each in found if isinstance(each, Case))
