"""`howsure sample`, `split` and `merge`: parts of a dataset, or several datasets in one file. Ids stay, and records are
copied byte for byte. Random choices are a hash of seed and id, so adding a case moves no other case. Lines and CSV
records are copied one by one; only a JSON document is held in memory as a whole."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from howsure.dialects.base import Dialect, Watch
from howsure.dialects.datasets import detect, expand, file_changed, validate
from howsure.dialects.golden import LISTS
from howsure.dialects.lines import LONGEST_CELL, is_table, open_file, read_lines
from howsure.dialects.plain_columns import TableDialect
from howsure.dialects.simulation import question_of
from howsure.dialects.tables import is_cut_by_lines
from howsure.dialects.tool_datasets.documents import ToolDialect
from howsure.dialects.writers import AtomicFile, write_json
from howsure.errors import Conflict, DatasetInvalid, InputError, Problem
from howsure.kit import Kit
from howsure.model.case import Case

WHOLE = (*LISTS, "items")
"""The keys under which whole JSON files have their lists."""
AT_ONCE = 64
"""Files that are written at the same time; the source is read again for each so many."""


class OriginalFile(Struct, frozen=True):
    """A file that was found valid, and the hash that it had at that time."""

    path: Path
    sha256: str

    @property
    def is_document(self) -> bool:
        return self.path.suffix.lower() == ".json"

    def header(self) -> Any:
        """The header line of a table, or the key and the other fields of a document; None for lines."""
        if self.is_document:
            return self.document()[0]
        return next(_csv_records(self.path), b"") if is_table(self.path) else None

    def records(self) -> Iterator[bytes]:
        """The records of lines or a table. Raises Conflict after the last one if the file has changed since."""
        hashed = sha256()
        if is_table(self.path):
            yield from islice(_csv_records(self.path, hashed.update), 1, None)
        else:
            with open_file(self.path, hashed.update) as stream:
                for _, line in read_lines(stream):
                    yield line.rstrip(b"\r\n") + b"\n"
        self._check(hashed.hexdigest())

    def document(self) -> tuple[tuple[str, dict[str, Any]], list[Any]]:
        """The key of the list with the fields beside it, and the list itself."""
        text = self.path.read_bytes()
        self._check(sha256(text).hexdigest())
        document = json.loads(text.decode("utf-8-sig"))
        key = next(name for name in WHOLE if isinstance(document.get(name), list))
        return (key, {name: value for name, value in document.items() if name != key}), document[key]

    def _check(self, found: str) -> None:
        if found != self.sha256:
            raise file_changed(self.path)


def _csv_records(path: Path, watch: Watch | None = None) -> Iterator[bytes]:
    """The header and each record, with its line breaks; blank records are left out because they are no cases."""
    csv.field_size_limit(LONGEST_CELL)
    taken: list[str] = []
    with io.TextIOWrapper(open_file(path, watch), encoding="utf-8-sig", newline="") as stream:
        for cells in csv.reader(_noted(stream, taken), strict=True):
            raw = "".join(taken)
            taken.clear()
            if any(cells):
                yield (raw if raw.endswith("\n") else f"{raw}\r\n").encode("utf-8")


def _noted(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    for line in lines:
        taken.append(line)
        yield line


def write_parts(source: OriginalFile, parts: Mapping[Path, Sequence[int]]) -> None:
    """Write files that hold the records at these places, in the order of the source. Each appears whole or not at
    all."""
    if source.is_document:
        (key, beside), listed = source.document()
        for path, places in parts.items():
            write_json({**beside, key: [listed[place] for place in sorted(places)]}, path)
        return
    waiting = iter(parts.items())
    while batch := dict(islice(waiting, AT_ONCE)):
        _copy(source, batch)


def _copy(source: OriginalFile, parts: Mapping[Path, Sequence[int]]) -> None:
    header = source.header() or b""
    with ExitStack() as stack:
        owners: dict[int, BinaryIO] = {}
        for path, places in parts.items():
            file = _begun(stack, path, header)
            owners |= dict.fromkeys(places, file)
        for place, record in enumerate(source.records()):
            if place in owners:
                owners[place].write(record)


def _begun(stack: ExitStack, path: Path, header: bytes) -> BinaryIO:
    unfinished = stack.enter_context(AtomicFile(path))
    file = stack.enter_context(open(unfinished, "wb"))  # noqa: SIM115 (the stack closes it)
    file.write(header)
    return file


def write_merged(sources: Sequence[tuple[OriginalFile, Collection[int]]], output: Path) -> None:
    """Write all records to one file, except those at these places; a document gets the fields of the first source."""
    if sources[0][0].is_document:
        documents = [(original.document(), left_out) for original, left_out in sources]
        key, beside = documents[0][0][0]
        listed = [
            element
            for (_, elements), left_out in documents
            for place, element in enumerate(elements)
            if place not in left_out
        ]
        write_json({**beside, key: listed}, output)
        return
    with ExitStack() as stack:
        file = _begun(stack, output, sources[0][0].header() or b"")
        for original, left_out in sources:
            file.writelines(record for place, record in enumerate(original.records()) if place not in left_out)


TAG = "tag"
NONE = "none"
REPEATING = "simulation"
"""Files of this dialect may hold a question several times: its conversations are numbered when they are read."""
_encode = msgspec.json.Encoder().encode
_UNSAFE = re.compile(r"[^\w.-]+")


class DatasetPart(Struct, frozen=True, kw_only=True):
    """A file that was written. `groups` counts its cases by the label that they were sampled by."""

    path: str
    cases: int
    groups: dict[str, int] = {}


class MergeReport(Struct, frozen=True, kw_only=True):
    """What a merge wrote; `repeated` counts cases that were in two files word for word and are written once."""

    path: str
    cases: int
    repeated: int
    header_of: str = ""


class _CaseMark(Struct, frozen=True, gc=False):
    """What is remembered of a case: its question, its number among the question's conversations, its group, and a hash
    of its content."""

    id: str
    question: str
    number: int
    group: str
    content: bytes


class _Dataset(Struct, frozen=True, kw_only=True):
    """A file, and a mark for each of its cases: memory grows with the number of cases, not with their size."""

    original: OriginalFile
    dialect: Dialect
    marks: list[_CaseMark]
    labels: list[str]

    @property
    def path(self) -> Path:
        return self.original.path


def sample(
    file: Path, kit: Kit, output: Path, count: int, *, by: str = "", seed: int = 0, force: bool = False
) -> DatasetPart:
    """Write `count` cases in the order of the file; with `by`, from each group in proportion to its size."""
    dataset = _open(file, kit, by)
    _check_output(output, dataset.path, force)
    if not 0 < count <= len(dataset.marks):
        raise InputError(f"-n {count}: the file has {len(dataset.marks)} cases")
    groups = _groups(dataset, by)
    shares = _shares({name: len(places) for name, places in groups.items()}, count)
    chosen = sorted(
        place for name, places in groups.items() for place in _by_chance(places, dataset.marks, seed)[: shares[name]]
    )
    _check_repeats(dataset.marks, [chosen])
    write_parts(dataset.original, {output: chosen})
    return DatasetPart(path=str(output), cases=count, groups=shares if by else {})


def sample_chosen(
    file: Path, kit: Kit, output: Path, choose: Callable[[Sequence[str]], Collection[str]], *, force: bool = False
) -> DatasetPart:
    """Write the cases that `choose` picks from the ids of the file, in the order of the file."""
    dataset = _open(file, kit)
    _check_output(output, dataset.path, force)
    chosen = choose([mark.id for mark in dataset.marks])
    places = [place for place, mark in enumerate(dataset.marks) if mark.id in chosen]
    return _write(dataset, {output: places}, force)[0]


def split_by_label(file: Path, kit: Kit, folder: Path, by: str, *, force: bool = False) -> list[DatasetPart]:
    """Write one file for each value of the label; a case with several tags counts by its first."""
    dataset = _open(file, kit, by)
    groups = _groups(dataset, by)
    outputs = {name: folder / f"{file.stem}.{_UNSAFE.sub('_', name)}{file.suffix}" for name in groups}
    if len(set(outputs.values())) != len(outputs):
        raise InputError(f"--by {by}: two of the values make the same file name ({', '.join(groups)})")
    _make_folder(folder)
    return _write(dataset, {outputs[name]: places for name, places in groups.items()}, force)


def split_by_share(
    file: Path, kit: Kit, folder: Path, share: float, *, seed: int = 0, force: bool = False
) -> list[DatasetPart]:
    """Write two files, `.a` with the share of the cases and `.b` with the rest."""
    if not 0 < share < 1:
        raise InputError(f"--share {share}: expected a number between 0 and 1")
    dataset = _open(file, kit)
    order = _by_chance(range(len(dataset.marks)), dataset.marks, seed)
    first = round(len(order) * share)
    while 0 < first < len(order) and dataset.marks[order[first]].number > 1:
        first += 1  # conversations about one question stay in one part
    if not 0 < first < len(order):
        raise InputError(f"--share {share}: of {len(order)} cases, one part would be empty")
    parts = {"a": order[:first], "b": order[first:]}
    _make_folder(folder)
    return _write(dataset, {folder / f"{file.stem}.{name}{file.suffix}": parts[name] for name in parts}, force)


def merge(files: Sequence[Path], kit: Kit, output: Path, *, force: bool = False) -> MergeReport:
    """Write all cases to one file of the same dialect: equal cases once; two different cases with one id are
    refused."""
    datasets = [_open(path, kit) for path in expand(files, list(kit.dialects))]
    names = {dataset.dialect.name for dataset in datasets}
    if len(names) > 1:
        raise InputError(f"the files are of several dialects ({', '.join(sorted(names))}); convert them first")
    _check_output(output, datasets[0].path, force)
    endings = {dataset.path.suffix.lower().replace(".ndjson", ".jsonl") for dataset in datasets}
    if len(endings) > 1:
        raise InputError(f"the files are of several forms ({', '.join(sorted(endings))}); convert them to one first")
    headers = [dataset.original.header() for dataset in datasets]
    differ = any(header != headers[0] for header in headers)
    if output.suffix.lower() == ".csv" and differ:
        raise InputError("the tables have different columns; convert them to JSONL first")
    repeated = _repeated(datasets)
    write_merged([(one.original, places) for one, places in zip(datasets, repeated, strict=True)], output)
    twice = sum(map(len, repeated))
    header_of = str(datasets[0].path) if output.suffix.lower() == ".json" and differ else ""
    total = sum(len(dataset.marks) for dataset in datasets)
    return MergeReport(path=str(output), cases=total - twice, repeated=twice, header_of=header_of)


def _repeated(datasets: Sequence[_Dataset]) -> list[set[int]]:
    """For each file, the places of cases that an earlier file has word for word."""
    seen: dict[str, bytes] = {}
    problems: list[Problem] = []
    repeated: list[set[int]] = [set() for _ in datasets]
    for dataset, places in zip(datasets, repeated, strict=True):
        known = set(seen)  # the dialect checks the ids inside one file
        for place, mark in enumerate(dataset.marks):
            alike = seen.setdefault(mark.id, mark.content) == mark.content
            if mark.id in known and alike:
                places.add(place)
            elif not alike and dataset.dialect.name != REPEATING:
                message = f"the id {mark.id!r} stands for another case in an earlier file"
                hint = "rename one of them"
                problems.append(Problem(code="duplicate-id", message=message, file=str(dataset.path), hint=hint))
    if problems:
        raise DatasetInvalid(", ".join(str(dataset.path) for dataset in datasets), problems)
    return repeated


def _open(path: Path, kit: Kit, by: str = "") -> _Dataset:
    dialect = detect(path, list(kit.dialects), kit.importers, kit.results_readers)
    if isinstance(dialect, TableDialect) and not is_cut_by_lines(path):
        example = f"howsure convert {path} --to {dialect.name} -o {path.stem}.jsonl"
        raise InputError(f"{path}: of plain tables, JSONL and CSV with commas can be divided; first type `{example}`")
    if isinstance(dialect, ToolDialect):
        example = f"howsure convert {path} --to plain -o {path.stem}.jsonl"
        raise InputError(f"{path}: a file of the dialect {dialect.name} cannot be divided; first type `{example}`")
    marks: list[_CaseMark] = []
    labels: list[str] = []

    def look(case: Case) -> None:
        if not marks:
            labels.extend(sorted(case.labels))
        question, number = question_of(case)
        content = sha256(_encode((case.input, case.expectations, case.recorded, case.labels))).digest()
        group = (*case.tags, NONE)[0] if by == TAG else case.labels.get(by, NONE) if by else NONE
        marks.append(_CaseMark(case.id, question, number, group, content))

    report = validate(path, dialect, look)
    if report.problems:
        raise DatasetInvalid(str(path), report.problems, report.more_problems)
    return _Dataset(original=OriginalFile(path, report.sha256), dialect=dialect, marks=marks, labels=labels)


def _groups(dataset: _Dataset, by: str) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for place, mark in enumerate(dataset.marks):
        groups.setdefault(mark.group, []).append(place)
    if by and list(groups) == [NONE]:
        raise InputError(f"--by {by}: no case has one (labels: {', '.join(dataset.labels) or 'none'})")
    return groups


def _shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Whole numbers in proportion to the sizes, by largest remainder."""
    total = sum(sizes.values())
    exact = {name: size * count / total for name, size in sizes.items()}
    shares = {name: int(share) for name, share in exact.items()}
    left = count - sum(shares.values())
    for name in sorted(sizes, key=lambda one: (shares[one] - exact[one], one))[:left]:
        shares[name] += 1
    return shares


def _by_chance(places: Iterable[int], marks: Sequence[_CaseMark], seed: int) -> list[int]:
    """The places in random order; conversations about one question stay together, in their order."""
    return sorted(
        places, key=lambda place: (sha256(f"{seed}:{marks[place].question}".encode("utf-8", "replace")).digest(), place)
    )


def _check_repeats(marks: Sequence[_CaseMark], parts: Iterable[Sequence[int]]) -> None:
    """Refuse parts that would renumber conversations: those about one question are numbered in the order of the file,
    so a part must hold the first of them."""
    for places in parts:
        conversations: Counter[str] = Counter()
        for place in sorted(places):
            mark = marks[place]
            conversations[mark.question] += 1
            if mark.number != conversations[mark.question]:
                raise InputError(f"the part would hold {mark.id!r} without those before it, and renumber it")


def _write(dataset: _Dataset, parts: Mapping[Path, Sequence[int]], force: bool) -> list[DatasetPart]:
    _check_repeats(dataset.marks, parts.values())
    for path in parts:
        _check_output(path, dataset.path, force)
    write_parts(dataset.original, parts)
    return [DatasetPart(path=str(path), cases=len(places)) for path, places in parts.items()]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made a folder: {error.strerror}") from error


def _check_output(output: Path, source: Path, force: bool) -> None:
    if output.suffix.lower() != source.suffix.lower():
        raise InputError(f"{output}: records keep their form, so the file must end in {source.suffix}")
    if not output.parent.is_dir():
        raise InputError(f"{output.parent}: no such folder")
    if output.exists() and not force:
        raise Conflict(f"{output} exists already; --force overwrites it")
