"""Parts of datasets, and several in one: drawn by seed, split by label or share, merged. Ids stay, and records are
copied as they stand, as they come. Chance is a hash of seed and id, so a case that is added moves no other case."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from howsure.dialects.base import Dialect
from howsure.dialects.finding import detect, expand
from howsure.dialects.reading import validate
from howsure.dialects.simulation import question_of
from howsure.errors import Conflict, DatasetInvalid, InputError, Problem
from howsure.kit import Kit
from howsure.model.case import Case
from howsure.services.conversion.raw_records import Original, write_merged, write_parts

TAG = "tag"
NONE = "none"
REPEATING = "simulation"
"""Files of this dialect may hold a question several times: its conversations are numbered when they are read."""
_encode = msgspec.json.Encoder().encode
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


class _Mark(Struct, frozen=True, gc=False):
    """What is remembered of a case: whose conversation it is, its number, its group, and a hash of what it says."""

    id: str
    question: str
    number: int
    group: str
    content: bytes


class _Dataset(Struct, frozen=True, kw_only=True):
    """A file, and a mark for each of its cases: memory grows by ids, and not by what the cases say."""

    original: Original
    dialect: Dialect
    marks: list[_Mark]
    labels: list[str]

    @property
    def path(self) -> Path:
        return self.original.path


def draw(file: Path, kit: Kit, output: Path, count: int, *, by: str = "", seed: int = 0, force: bool = False) -> Part:
    """`count` cases, in the order of the file; with `by`, from each group in proportion to its size."""
    dataset = _opened(file, kit, by)
    _free(output, dataset.path, force)
    if not 0 < count <= len(dataset.marks):
        raise InputError(f"-n {count}: the file has {len(dataset.marks)} cases")
    groups = _groups(dataset, by)
    shares = _shares({name: len(places) for name, places in groups.items()}, count)
    chosen = sorted(
        place for name, places in groups.items() for place in _by_chance(places, dataset.marks, seed)[: shares[name]]
    )
    _check_repeats(dataset.marks, [chosen])
    write_parts(dataset.original, {output: chosen})
    return Part(path=str(output), cases=count, groups=shares if by else {})


def split_by(file: Path, kit: Kit, folder: Path, by: str, *, force: bool = False) -> list[Part]:
    """A file for each value; a case with several tags goes by the first."""
    dataset = _opened(file, kit, by)
    groups = _groups(dataset, by)
    outputs = {name: folder / f"{file.stem}.{_UNSAFE.sub('_', name)}{file.suffix}" for name in groups}
    if len(set(outputs.values())) != len(outputs):
        raise InputError(f"--by {by}: two of the values make the same file name ({', '.join(groups)})")
    return _written(dataset, {outputs[name]: places for name, places in groups.items()}, force)


def split_at(file: Path, kit: Kit, folder: Path, share: float, *, seed: int = 0, force: bool = False) -> list[Part]:
    """Two files, `.a` with the share of the cases and `.b` with the rest."""
    if not 0 < share < 1:
        raise InputError(f"--share {share}: expected a number between 0 and 1")
    dataset = _opened(file, kit)
    order = _by_chance(range(len(dataset.marks)), dataset.marks, seed)
    first = round(len(order) * share)
    while 0 < first < len(order) and dataset.marks[order[first]].number > 1:
        first += 1  # conversations about one question stay in one part
    if not 0 < first < len(order):
        raise InputError(f"--share {share}: of {len(order)} cases, one part would be empty")
    parts = {"a": order[:first], "b": order[first:]}
    return _written(dataset, {folder / f"{file.stem}.{name}{file.suffix}": parts[name] for name in parts}, force)


def merge(files: Sequence[Path], kit: Kit, output: Path, *, force: bool = False) -> Merged:
    """All cases in one file of the same dialect: equal ones once; one id for two different ones is refused."""
    datasets = [_opened(path, kit) for path in expand(files, list(kit.dialects))]
    names = {dataset.dialect.name for dataset in datasets}
    if len(names) > 1:
        raise InputError(f"the files are of several dialects ({', '.join(sorted(names))}); convert them first")
    _free(output, datasets[0].path, force)
    _same_form(datasets)
    headers = [dataset.original.header() for dataset in datasets]
    differ = any(header != headers[0] for header in headers)
    if output.suffix.lower() == ".csv" and differ:
        raise InputError("the tables have different columns; convert them to JSONL first")
    repeated = _repeated(datasets)
    write_merged([(one.original, places) for one, places in zip(datasets, repeated, strict=True)], output)
    twice = sum(map(len, repeated))
    header_of = str(datasets[0].path) if output.suffix.lower() == ".json" and differ else ""
    total = sum(len(dataset.marks) for dataset in datasets)
    return Merged(path=str(output), cases=total - twice, repeated=twice, header_of=header_of)


def _same_form(datasets: Sequence[_Dataset]) -> None:
    endings = {dataset.path.suffix.lower().replace(".ndjson", ".jsonl") for dataset in datasets}
    if len(endings) > 1:
        raise InputError(f"the files are of several forms ({', '.join(sorted(endings))}); convert them to one first")


def _repeated(datasets: Sequence[_Dataset]) -> list[set[int]]:
    """The places in each file of cases that stood before, word for word."""
    seen: dict[str, bytes] = {}
    problems: list[Problem] = []
    found: list[set[int]] = [set() for _ in datasets]
    for dataset, places in zip(datasets, found, strict=True):
        known = set(seen)  # a file's own ids are its dialect's business
        for place, mark in enumerate(dataset.marks):
            alike = seen.setdefault(mark.id, mark.content) == mark.content
            if mark.id in known and alike:
                places.add(place)
            elif not alike and dataset.dialect.name != REPEATING:
                problems.append(_clash(mark.id, dataset.path))
    if problems:
        raise DatasetInvalid(", ".join(str(dataset.path) for dataset in datasets), problems)
    return found


def _clash(id: str, path: Path) -> Problem:
    message = f"the id {id!r} stands for another case in an earlier file"
    return Problem(code="duplicate-id", message=message, file=str(path), hint="rename one of them")


def _opened(path: Path, kit: Kit, by: str = "") -> _Dataset:
    dialect = detect(path, list(kit.dialects))
    marks: list[_Mark] = []
    labels: list[str] = []

    def look(case: Case) -> None:
        if not marks:
            labels.extend(sorted(case.labels))
        marks.append(_mark(case, by))

    report = validate(path, dialect, look)
    if report.problems:
        raise DatasetInvalid(str(path), report.problems)
    return _Dataset(original=Original(path, report.sha256), dialect=dialect, marks=marks, labels=labels)


def _mark(case: Case, by: str) -> _Mark:
    question, number = question_of(case)
    said = sha256(_encode((case.input, case.expectations, case.recorded, case.labels))).digest()
    return _Mark(case.id, question, number, _value(case, by), said)


def _groups(dataset: _Dataset, by: str) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for place, mark in enumerate(dataset.marks):
        groups.setdefault(mark.group, []).append(place)
    if by and list(groups) == [NONE]:
        raise InputError(f"--by {by}: no case has one (labels: {', '.join(dataset.labels) or 'none'})")
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


def _by_chance(places: Iterable[int], marks: Sequence[_Mark], seed: int) -> list[int]:
    """Conversations about one question stay together, in their order."""
    return sorted(places, key=lambda place: (_chance(marks[place].question, seed), place))


def _chance(id: str, seed: int) -> bytes:
    return sha256(f"{seed}:{id}".encode("utf-8", "replace")).digest()


def _check_repeats(marks: Sequence[_Mark], parts: Iterable[Sequence[int]]) -> None:
    """Conversations about one question are numbered in the order of the file: a part must hold the first of them."""
    for places in parts:
        told: Counter[str] = Counter()
        for place in sorted(places):
            mark = marks[place]
            told[mark.question] += 1
            if mark.number != told[mark.question]:
                raise InputError(f"the part would hold {mark.id!r} without those before it, and renumber it")


def _written(dataset: _Dataset, parts: Mapping[Path, Sequence[int]], force: bool) -> list[Part]:
    _check_repeats(dataset.marks, parts.values())
    for path in parts:
        _free(path, dataset.path, force)
    write_parts(dataset.original, parts)
    return [Part(path=str(path), cases=len(places)) for path, places in parts.items()]


def _free(output: Path, source: Path, force: bool) -> None:
    if output.suffix.lower() != source.suffix.lower():
        raise InputError(f"{output}: records keep their form, so the file must end in {source.suffix}")
    if not output.parent.is_dir():
        raise InputError(f"{output.parent}: no such folder")
    if output.exists() and not force:
        raise Conflict(f"{output} exists already; --force overwrites it")
