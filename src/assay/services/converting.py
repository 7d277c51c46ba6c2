"""Converting: reading one format and writing another, one case at a time, with a report of everything that was read,
written, left out, changed or lost. Nothing is written while a source has a problem."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from assay.dialects.importers.base import SKIPPED, Options
from assay.dialects.lines import write_lines
from assay.dialects.reading import read_cases, validate
from assay.errors import Conflict, DatasetInvalid, InputError, Problem, UnknownName
from assay.kit import Kit
from assay.model.case import Case, SingleTurn
from assay.services.conversion.catalog import scenarios
from assay.services.conversion.ids import Ids
from assay.services.conversion.ledger import FieldLine, Fitted, How, Ledger
from assay.services.conversion.roads import Fit, fit_for
from assay.services.conversion.sources import Source, sources

CATALOG = "scenario-catalog"
ENDINGS = {
    "golden": (".json",),
    "test-set": (".json",),
    "simulation": (".jsonl", ".ndjson", ".csv"),
    "explain": (".jsonl", ".ndjson"),
    "legal": (".jsonl", ".ndjson"),
    CATALOG: (".jsonl", ".ndjson"),
}
STAGED = ("golden", "test-set")
"""Formats whose writer does not read what it wrote: they are checked before they take their place."""


class Order(Struct, frozen=True, kw_only=True):
    """What is asked for."""

    paths: tuple[str, ...]
    to: str
    output: Path
    source: str = ""
    options: Options = Options()
    force: bool = False
    append: bool = False


class SourceLine(Struct, frozen=True, kw_only=True):
    path: str
    dialect: str
    cases: int
    warnings: tuple[Problem, ...] = ()


class SkipLine(Struct, frozen=True, kw_only=True):
    """Cases that were left out for one reason."""

    why: str
    cases: int
    first: str


class Converted(Struct, frozen=True, kw_only=True):
    """The report. read = written + skipped, but for what a source left out itself; `kept` were there before."""

    output: str
    to: str
    read: int
    written: int
    kept: int = 0
    sources: tuple[SourceLine, ...] = ()
    skipped: tuple[SkipLine, ...] = ()
    lost: tuple[FieldLine, ...] = ()
    changed: tuple[FieldLine, ...] = ()


def convert(order: Order, kit: Kit) -> Converted:
    """Writes the file, or raises and leaves everything as it was."""
    _check(order)
    with TemporaryDirectory() as spooled:
        found = sources(order.paths, kit, order.source, order.options, Path(spooled))
        existing = _existing(order, kit)
        flow = _Flow(order, found, existing, fit_for(order.to, order.options, found[0].path.stem))
        _write(order, kit, flow.cases())
        return flow.report(found)


def write_catalog(output: Path, count: int, seed: int, *, force: bool = False) -> int:
    """A generated scenario catalog; how many scenarios it holds."""
    _check(Order(paths=(), to=CATALOG, output=output, force=force))
    if count < 1:
        raise InputError(f"a catalog needs one scenario or more, not {count}")
    write_lines(scenarios(count, seed), output)
    return count


def _check(order: Order) -> None:
    if order.to not in ENDINGS:
        raise UnknownName("target", order.to, list(ENDINGS))
    if order.output.suffix.lower() not in ENDINGS[order.to]:
        raise InputError(f"{order.output}: a {order.to} file ends in {' or '.join(ENDINGS[order.to])}")
    if not order.output.parent.is_dir():
        raise InputError(f"{order.output.parent}: no such folder")
    if order.append and order.to != "golden":
        raise InputError("only golden files can be appended to")
    if order.output.exists() and not order.force and not order.append:
        raise Conflict(f"{order.output} exists already; --force overwrites it" + _or_append(order))


def _or_append(order: Order) -> str:
    return ", --append adds to it" if order.to == "golden" else ""


def _existing(order: Order, kit: Kit) -> list[Case]:
    if not order.append or not order.output.exists():
        return []
    return list(read_cases(order.output, kit.dialects[order.to]))


def _write(order: Order, kit: Kit, cases: Iterator[Case]) -> None:
    dialect = kit.dialects[order.to]
    if order.to not in STAGED:
        dialect.write(cases, order.output)
        return
    with TemporaryDirectory(dir=order.output.parent, prefix=".assay-") as folder:
        staged = Path(folder) / order.output.name
        dialect.write(cases, staged)
        report = validate(staged, dialect)
        if report.problems:
            raise DatasetInvalid(str(order.output), report.problems)
        os.replace(staged, order.output)


class _Flow:
    """The cases on their way, and what is noticed about them."""

    def __init__(self, order: Order, found: list[Source], existing: list[Case], fit: Fit) -> None:
        self._order = order
        self._found = found
        self._existing = existing
        self._fit = fit
        self._ledger = Ledger()
        self._skipped: dict[str, tuple[str, int]] = {}
        self._read = 0
        self._written = 0

    def cases(self) -> Iterator[Case]:
        ids = Ids(alone=len(self._found) == 1 and not self._existing)
        for case in self._existing:
            ids.know(case)
        yield from self._existing
        for source in self._found:
            bring = _carrier(source.path.parent, self._order.output.parent)
            fit = Fitted if source.reader.name == self._order.to else self._fit
            for case in source.cases():
                self._read += 1
                made = self._one(case, fit(case), source, ids)
                if made is not None:
                    bring(made)
                    yield made
        if ids.problems:
            raise DatasetInvalid(str(self._order.output), ids.problems)
        if not self._written and not self._existing:
            raise InputError(self._nothing())

    def _one(self, case: Case, fitted: Fitted, source: Source, ids: Ids) -> Case | None:
        """The case to write; None, and why, where it is left out."""
        if fitted.case is None:
            self._skip(fitted.reason, case.id)
            return None
        unique = ids.unique(fitted.case, source)
        if unique is None:
            self._skip("the same case was read before", case.id)
            return None
        if fitted.entries:
            self._ledger.add(case.id, fitted.entries)
        self._written += 1
        return unique

    def _skip(self, why: str, id: str) -> None:
        first, count = self._skipped.get(why, (id, 0))
        self._skipped[why] = (first, count + 1)

    def _nothing(self) -> str:
        reasons = [why for why, _ in self._skipped.items()]
        reasons += [note.message for source in self._found for note in source.report.warnings if note.code == SKIPPED]
        return f"nothing to write: {'; '.join(dict.fromkeys(reasons)) or 'the sources hold no case'}"

    def report(self, found: list[Source]) -> Converted:
        left_out = [(note.message, note.place) for one in found for note in one.report.warnings if note.code == SKIPPED]
        for why, place in left_out:
            self._skip(why, place)
        lines = [
            SourceLine(
                path=str(one.path), dialect=one.reader.name, cases=one.report.cases, warnings=one.report.warnings
            )
            for one in found
        ]
        skips = [SkipLine(why=why, cases=count, first=first) for why, (first, count) in self._skipped.items()]
        return Converted(
            output=str(self._order.output),
            to=self._order.to,
            read=self._read,
            written=self._written,
            kept=len(self._existing),
            sources=tuple(lines),
            skipped=tuple(skips),
            lost=self._ledger.lines(How.LOST),
            changed=self._ledger.lines(How.CHANGED),
        )


def _carrier(source: Path, target: Path) -> Callable[[Case], None]:
    """Attachments are named by paths beside the file, so they go where it goes."""
    if source.resolve() == target.resolve():
        return lambda _: None

    def bring(case: Case) -> None:
        for attachment in case.input.attachments if isinstance(case.input, SingleTurn) else ():
            old, new = source / attachment.path, target / attachment.path
            if old.is_file() and not new.exists() and new.resolve().is_relative_to(target.resolve()):
                new.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(old, new)

    return bring
