"""The cases of a shard, where it is worked on. Records are given to the run's own dialect in a small file of their own,
so that any line dialect, a plug-in's too, can be cut without knowing that it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from howsure.dialects.base import Importer
from howsure.dialects.reading import Rereading, changed
from howsure.errors import Level
from howsure.model.case import Case
from howsure.services.cluster.shards import Carried, Range, Shard, carried_cases, checked, read_bytes
from howsure.services.remote import read_part
from howsure.services.survey import Dataset, Survey


def shard_cases(survey: Survey, shard: Shard) -> list[Case]:
    """In order, shaped as the run shapes them."""
    cases = carried_cases(shard) if isinstance(shard, Carried) else _ranged(survey.datasets[shard.file], shard)
    return cases if survey.shape is None else list(map(survey.shape, cases))


def _ranged(dataset: Dataset, shard: Range) -> list[Case]:
    records = _far_bytes(shard, dataset.path) if shard.source else read_bytes(dataset.path, shard)
    with TemporaryDirectory(prefix="howsure-shard-") as folder:
        part = Path(folder) / dataset.path.name
        part.write_bytes(records)
        cases = _read(part, dataset.dialect)
    if cases is None and not shard.source:
        # Something of it lies beside the whole file: attachments, a catalog.
        cases = list(islice(_whole(dataset), shard.before, shard.before + shard.read))
    if cases is None or len(cases) != shard.read:
        raise changed(dataset.path)
    return _picked(_named(cases, shard.ids), shard.picks)


def _far_bytes(shard: Range, path: Path) -> bytes:
    head = read_part(shard.source, 0, shard.head) if shard.head else b""
    return checked(head + read_part(shard.source, shard.start, shard.end), shard, path)


def _named(cases: list[Case], ids: Mapping[int, str]) -> list[Case]:
    """With the ids that depend on what comes before them in the whole file: `q#3` is the third about that question."""
    for place, id in ids.items():
        if cases[place].id != id:
            labels = {**cases[place].labels, "repeat": id.rpartition("#")[2]}
            cases[place] = replace(cases[place], id=id, labels=labels)
    return cases


def _picked(cases: list[Case], picks: Sequence[int] | None) -> list[Case]:
    return cases if picks is None else [cases[place] for place in picks]


def _read(part: Path, dialect: Importer) -> list[Case] | None:
    """None: these records cannot be read without what is beside their file."""
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
