"""Parts of datasets, and several in one: drawn by seed, split by label or share, merged. Ids stay, and records are
copied as they stand. Chance is a hash of seed and id, so a case that is added moves no other case."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from assay.dialects.base import Dialect
from assay.dialects.finding import detect, expand
from assay.dialects.reading import read_cases, validate
from assay.dialects.simulation import question_of
from assay.errors import Conflict, DatasetInvalid, InputError, Problem
from assay.kit import Kit
from assay.model.case import Case
from assay.services.conversion.raw_records import Records, read_records, same_header, write_records

TAG = "tag"
NONE = "none"
REPEATING = "simulation"
"""Files of this dialect may hold a question several times: its conversations are numbered when they are read."""
_UNSAFE = re.compile(r"[^\w.-]+")


class Part(Struct, frozen=True, kw_only=True):
    """A file that was written. `groups` counts its cases by what they were drawn by."""

    path: str
    cases: int
    groups: dict[str, int] = {}


class Merged(Struct, frozen=True, kw_only=True):
    """What came of a merge; `repeated` stood in two files, word for word, and was kept once."""

    path: str
    cases: int
    repeated: int
    header_of: str = ""


class _Dataset(Struct, frozen=True):
    path: Path
    dialect: Dialect
    cases: list[Case]
    records: Records


def draw(file: Path, kit: Kit, output: Path, count: int, *, by: str = "", seed: int = 0, force: bool = False) -> Part:
    """`count` cases, in the order of the file; with `by`, from each group in proportion to its size."""
    dataset = _opened(file, kit)
    _free(output, dataset.path, force)
    if not 0 < count <= len(dataset.cases):
        raise InputError(f"-n {count}: the file has {len(dataset.cases)} cases")
    groups = _groups(dataset.cases, by)
    shares = _shares({name: len(places) for name, places in groups.items()}, count)
    chosen = sorted(
        place for name, places in groups.items() for place in _by_chance(places, dataset.cases, seed)[: shares[name]]
    )
    _check_repeats(dataset.cases, [chosen])
    write_records(dataset.records.chosen(chosen), output)
    return Part(path=str(output), cases=count, groups=shares if by else {})


def split_by(file: Path, kit: Kit, folder: Path, by: str, *, force: bool = False) -> list[Part]:
    """A file for each value; a case with several tags goes by the first."""
    dataset = _opened(file, kit)
    groups = _groups(dataset.cases, by)
    outputs = {name: folder / f"{file.stem}.{_UNSAFE.sub('_', name)}{file.suffix}" for name in groups}
    if len(set(outputs.values())) != len(outputs):
        raise InputError(f"--by {by}: two of the values make the same file name ({', '.join(groups)})")
    return _written(dataset, [(outputs[name], places) for name, places in groups.items()], force)


def split_at(file: Path, kit: Kit, folder: Path, share: float, *, seed: int = 0, force: bool = False) -> list[Part]:
    """Two files, `.a` with the share of the cases and `.b` with the rest."""
    if not 0 < share < 1:
        raise InputError(f"--share {share}: expected a number between 0 and 1")
    dataset = _opened(file, kit)
    order = _by_chance(range(len(dataset.cases)), dataset.cases, seed)
    first = round(len(order) * share)
    while 0 < first < len(order) and question_of(dataset.cases[order[first]])[1] > 1:
        first += 1  # conversations about one question stay in one part
    if not 0 < first < len(order):
        raise InputError(f"--share {share}: of {len(order)} cases, one part would be empty")
    parts = (("a", order[:first]), ("b", order[first:]))
    return _written(
        dataset, [(folder / f"{file.stem}.{name}{file.suffix}", sorted(places)) for name, places in parts], force
    )


def merge(files: Sequence[Path], kit: Kit, output: Path, *, force: bool = False) -> Merged:
    """All cases in one file of the same dialect: equal ones once; one id for two different ones is refused."""
    datasets = [_opened(path, kit) for path in expand(files, list(kit.dialects))]
    names = {dataset.dialect.name for dataset in datasets}
    if len(names) > 1:
        raise InputError(f"the files are of several dialects ({', '.join(sorted(names))}); convert them first")
    _free(output, datasets[0].path, force)
    parts = [dataset.records for dataset in datasets]
    if output.suffix.lower() == ".csv" and not same_header(parts):
        raise InputError("the tables have different columns; convert them to JSONL first")
    kept, repeated = _kept(datasets)
    records = [
        dataset.records.records[place] for dataset, places in zip(datasets, kept, strict=True) for place in places
    ]
    write_records(Records(records, parts[0].header), output)
    headers = output.suffix.lower() == ".json" and not _same_beside(parts)
    return Merged(
        path=str(output), cases=len(records), repeated=repeated, header_of=str(datasets[0].path) if headers else ""
    )


def _same_beside(parts: Sequence[Records]) -> bool:
    return all(part.header[1] == parts[0].header[1] for part in parts)


def _kept(datasets: Sequence[_Dataset]) -> tuple[list[list[int]], int]:
    seen: dict[str, Case] = {}
    problems: list[Problem] = []
    kept: list[list[int]] = []
    repeated = 0
    for dataset in datasets:
        kept.append([])
        for place, case in enumerate(dataset.cases):
            first = seen.setdefault(case.id, case)
            if first is case or (dataset.dialect.name == REPEATING and not _alike(first, case)):
                kept[-1].append(place)
            elif _alike(first, case):
                repeated += 1
            else:
                problems.append(_clash(case, dataset.path))
    if problems:
        raise DatasetInvalid(", ".join(str(dataset.path) for dataset in datasets), problems)
    return kept, repeated


def _alike(one: Case, other: Case) -> bool:
    """Equal but for the file they stand in."""
    return (one.input, one.expectations, one.recorded, one.labels) == (
        other.input,
        other.expectations,
        other.recorded,
        other.labels,
    )


def _clash(case: Case, path: Path) -> Problem:
    message = f"the id {case.id!r} stands for another case in an earlier file"
    return Problem(code="duplicate-id", message=message, file=str(path), hint="rename one of them")


def _opened(path: Path, kit: Kit) -> _Dataset:
    dialect = detect(path, list(kit.dialects))
    report = validate(path, dialect)
    cases = list(read_cases(path, dialect, report))
    return _Dataset(path, dialect, cases, read_records(path))


def _groups(cases: Sequence[Case], by: str) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for place, case in enumerate(cases):
        groups.setdefault(_value(case, by), []).append(place)
    if by and list(groups) == [NONE]:
        raise InputError(f"--by {by}: no case has one (labels: {', '.join(sorted(cases[0].labels)) or 'none'})")
    return groups


def _value(case: Case, by: str) -> str:
    if by == TAG:
        return case.tags[0] if case.tags else NONE
    return case.labels.get(by, NONE) if by else NONE


def _shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Whole numbers in proportion to the sizes, by largest remainder."""
    total = sum(sizes.values())
    exact = {name: size * count / total for name, size in sizes.items()}
    shares = {name: int(share) for name, share in exact.items()}
    left = count - sum(shares.values())
    for name in sorted(sizes, key=lambda one: (shares[one] - exact[one], one))[:left]:
        shares[name] += 1
    return shares


def _by_chance(places: Iterable[int], cases: Sequence[Case], seed: int) -> list[int]:
    """Conversations about one question stay together, in their order."""
    return sorted(places, key=lambda place: (_chance(question_of(cases[place])[0], seed), place))


def _chance(id: str, seed: int) -> bytes:
    return sha256(f"{seed}:{id}".encode("utf-8", "replace")).digest()


def _check_repeats(cases: Sequence[Case], parts: Iterable[Sequence[int]]) -> None:
    """Conversations about one question are numbered in the order of the file: a part must hold the first of them."""
    for places in parts:
        told: Counter[str] = Counter()
        for place in sorted(places):
            question, number = question_of(cases[place])
            told[question] += 1
            if number != told[question]:
                raise InputError(f"the part would hold {cases[place].id!r} without those before it, and renumber it")


def _written(dataset: _Dataset, parts: Sequence[tuple[Path, Sequence[int]]], force: bool) -> list[Part]:
    _check_repeats(dataset.cases, [places for _, places in parts])
    for path, _ in parts:
        _free(path, dataset.path, force)
    for path, places in parts:
        write_records(dataset.records.chosen(places), path)
    return [Part(path=str(path), cases=len(places)) for path, places in parts]


def _free(output: Path, source: Path, force: bool) -> None:
    if output.suffix.lower() != source.suffix.lower():
        raise InputError(f"{output}: records keep their form, so the file must end in {source.suffix}")
    if not output.parent.is_dir():
        raise InputError(f"{output.parent}: no such folder")
    if output.exists() and not force:
        raise Conflict(f"{output} exists already; --force overwrites it")
