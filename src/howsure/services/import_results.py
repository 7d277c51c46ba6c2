"""`howsure import`: the results of another tool become a Run, a sample at a time and in bounded memory. The same file
is always the same run. A record that cannot be read is an errored result; a file that is broken as a whole stores
nothing. A command that is given such a file in place of a run imports it into a temporary database."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from copy import copy
from math import sqrt
from pathlib import Path
from shlex import quote
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from uuid import UUID, uuid4, uuid5

from msgspec import Struct, field
from msgspec.structs import replace

from howsure.dialects.datasets import conversion_options, digest, looks_like
from howsure.dialects.tool_results.base import CompanionReader, ResultsReader, SampleResult, UnreadableRecord
from howsure.dialects.tool_results.samples import checked_records
from howsure.dialects.tool_results.streams import read_head
from howsure.dialects.tool_results.trace_files import describe_trace
from howsure.errors import NUL, Conflict, DatasetInvalid, InputError, NotFound, Problem, printable
from howsure.kit import Kit
from howsure.model.case import Case, SingleTurn
from howsure.model.result import Failure, Result
from howsure.model.run import Counts, DatasetPin, Pins, Run, RunState
from howsure.model.run_request import RunRequest
from howsure.model.score import Score
from howsure.model.summary import Summary
from howsure.model.tool_runs import Statistic, ToolAggregate, ToolRun
from howsure.model.verdict import Profile, Verdict
from howsure.policies.verdicts import AS_IMPORTED, NOTHING_TO_DECIDE, decide
from howsure.reports.figures import format_number, pluralize
from howsure.services.files import clean_text, stored_path
from howsure.services.run.execute import FULL_BATCH, utc_now
from howsure.services.workspace import Workspace
from howsure.store.leases import this_owner
from howsure.store.store import Store
from howsure.version import __version__

IMPORTS = UUID("5a0c9d1e-3f0b-5c1d-9a55-6b1f1f6d2c11")
"""The namespace of the ids of imported runs."""
FULL_TEXT = 1 << 22
"""How many characters of conversations are buffered before they are stored."""
SHOWN_NAMES = 8
VERDICTS_AS_IMPORTED = "Verdicts are as imported: those of the tool, or by its scores. Nothing was graded again."


class ImportRequest(Struct, frozen=True, kw_only=True):
    """How results are imported. `kind` names the reader ("": recognise it); `marks` are pass marks of scores for cases
    without a verdict of the tool; `strict` refuses a file with a record that cannot be read."""

    kind: str = ""
    name: str = ""
    marks: dict[str, float] = field(default_factory=dict)
    strict: bool = False


class ResultsFile(Struct, frozen=True):
    """The files of one run of another tool, the first under the name that the user gave, and their reader."""

    path: Path
    reader: ResultsReader
    files: tuple[Path, ...]


class ImportedRun(Struct, frozen=True):
    """An imported run, and whether it was imported before."""

    summary: Summary
    was_there: bool


def recognise(path: Path, kit: Kit, kind: str = "") -> ResultsReader | None:
    """The reader of a results file; None if no reader recognises it."""
    if kind:
        return kit.results_readers[kind]
    head = read_head(path)
    return next((reader for reader in kit.results_readers if reader.detect(path, head)), None)


def find_results(paths: Sequence[str], kit: Kit, kind: str = "") -> list[ResultsFile]:
    """The runs in these files; the companion file of another one is not a run of its own."""
    found: list[ResultsFile] = []
    taken: set[Path] = set()
    for path in map(Path, paths):
        if path.resolve() in taken:
            continue
        reader = recognise(path, kit, kind)
        if reader is None:
            raise InputError(f"{path}: {_what_it_is(path, kit)}")
        files = tuple(reader.companions(path)) if isinstance(reader, CompanionReader) else (path,)
        taken |= {each.resolve() for each in files}
        found.append(ResultsFile(path, reader, files))
    return found


def _what_it_is(path: Path, kit: Kit) -> str:
    """Why a file cannot be imported: what it seems to be, and the command for it."""
    head, word = read_head(path), quote(str(path))
    if not head.strip():
        return "there is nothing in this file"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "this looks like UTF-16: save it as UTF-8"
    if trace := describe_trace(head):
        return trace
    if found := next((dialect.name for dialect in kit.dialects if dialect.detect(path, head)), ""):
        return f"this is a dataset ({found}), not results: `howsure run {word}` runs it"
    if importer := next((each for each in kit.importers if each.detect(path, head)), None):
        command = f"howsure convert {word} {conversion_options(path, importer)}"
        return f"this is a file of {importer.name}, not results: `{command}` makes a dataset of it"
    known = ", ".join(sorted(kit.results_readers.names()))
    found = looks_like(path, head).partition(";")[0]
    return f"not recognised as results of a tool: {found} (known: {known}; --from names one)"


async def import_results(work: Workspace, paths: Sequence[str], request: ImportRequest) -> list[ImportedRun]:
    """Store each file as a run."""
    found = find_results(paths, work.kit, request.kind)
    async with await work.store() as store:
        return [await import_file(store, each, request) for each in found]


async def import_file(store: Store, found: ResultsFile, request: ImportRequest | None = None) -> ImportedRun:
    """Store one run, unless it was imported before."""
    request = request or ImportRequest()
    pins = [
        DatasetPin(path=stored_path(path), sha256=await asyncio.to_thread(digest, path), size=path.stat().st_size)
        for path in found.files
    ]
    marks = sorted(request.marks.items())
    run_id = str(uuid5(IMPORTS, repr((found.reader.name, sorted(pin.sha256 for pin in pins), marks))))
    with suppress(NotFound):
        earlier = await store.run(run_id)
        if earlier.state is RunState.COMPLETED:
            return ImportedRun(await store.summary(run_id), was_there=True)
        if earlier.state is RunState.RUNNING:
            raise Conflict(f"{found.path} is being imported by another process")
        await store.delete_run(run_id)
    begun = Pins(datasets=tuple(pins), imported=ToolRun(tool=found.reader.name), howsure_version=__version__)
    name, owner = clean_text(request.name) or found.path.name, this_owner(uuid4().hex)
    run = Run(id=run_id, name=name, state=RunState.RUNNING, pins=begun, counts=Counts(), created_at=utc_now())
    async with AsyncExitStack() as undone:
        await store.create_run(run)
        undone.push_async_callback(store.delete_run, run_id)
        await store.claim(run_id, owner, utc_now())
        tally = ImportTally()
        batches = ResultsConversion(found, request, tally).batches()
        batch = await asyncio.to_thread(next, batches, None)
        while batch is not None:
            # While a batch is written, the next one is read.
            saved, batch_read = store.save(run_id, batch, owner), asyncio.to_thread(next, batches, None)
            _, batch = await asyncio.gather(saved, batch_read)
        await store.complete_pins(replace(run, pins=tally.pins(begun), counts=Counts(total=tally.read)), owner)
        started = tally.tool.started_at or utc_now()
        ended = tally.tool.completed_at or started
        await store.set_state(run_id, RunState.COMPLETED, started_at=started, completed_at=ended, owner=owner)
        await store.audit.record_command("import", run_id)
        undone.pop_all()
    return ImportedRun(await store.summary(run_id), was_there=False)


class ImportTally:
    """The counts while results are read: verdicts, and the values of every score by case, to be compared with the
    tool's own numbers."""

    def __init__(self) -> None:
        self.tool = ToolRun(tool="")
        self.read = 0
        self.unreadable: list[str] = []
        self.values: dict[str, dict[str, list[float]]] = {}
        self._repeats = 1
        self._unmarked: Counter[str] = Counter()
        self._verdicts: Counter[Verdict] = Counter()
        self._candidates: dict[str, None] = {}
        self._cases: set[str] = set()

    def add(self, result: Result) -> None:
        self.read += 1
        self._cases.add(result.case.id)
        self._repeats = max(self._repeats, result.repeat)
        self._verdicts[result.verdict] += 1
        self._candidates.setdefault(result.candidate)
        for grade in result.grades:
            if isinstance(grade, Score):
                self.values.setdefault(grade.name, {}).setdefault(result.case.id, []).append(grade.value)
                if grade.pass_mark is None and result.verdict is Verdict.SKIPPED:
                    self._unmarked[grade.name] += 1

    def pins(self, begun: Pins) -> Pins:
        """The pins of the run after all of it was read."""
        tool = self.tool
        tool = replace(tool, aggregates=tuple(replace(each, ours=self._ours(each)) for each in tool.aggregates))
        target = ", ".join(dict.fromkeys(tool.models.values())) or tool.tool
        first = replace(begun.datasets[0], dialect=tool.tool, cases=len(self._cases))
        return replace(
            begun,
            request=RunRequest(candidates=tuple(filter(None, self._candidates)), repeat=self._repeats, target=target),
            datasets=(first, *begun.datasets[1:]),
            models=tool.models,
            imported=tool,
            notes=(*tool.notes, *self._notes(tool)),
        )

    def _ours(self, aggregate: ToolAggregate) -> float | None:
        """The same number over the samples that were read. The standard error of a single sample is 0, as in other
        tools."""
        if aggregate.statistic in (Statistic.PASSED, Statistic.FAILED, Statistic.ERRORED):
            return float(self._verdicts[Verdict(aggregate.statistic.value)])
        values = self.values.get(aggregate.score, {}).items()
        means = [fmean(each) for case, each in values if case.startswith(aggregate.cases)]
        if not means or aggregate.statistic is None:
            return None
        if aggregate.statistic is Statistic.MEAN:
            return fmean(means)
        return stdev(means) / sqrt(len(means)) if len(means) > 1 else 0.0

    def _notes(self, tool: ToolRun) -> Iterator[str]:
        yield VERDICTS_AS_IMPORTED
        whole = tool.samples is None or tool.samples == self.read
        if tool.samples is not None and self.read < tool.samples:
            yield f"{self.read:,} of {tool.samples:,} samples present: the tool's own numbers are over all of them."
        elif not whole:
            yield f"The file has {pluralize(self.read, 'record')}, and the tool says {tool.samples:,}."
        same = [each for each in tool.aggregates if whole and each.agrees]
        if same:
            listed = ", ".join(f"{each.name} {each.value:.4g}" for each in same)
            yield f"{tool.tool} says {listed}, and so do its samples here."
        for each in tool.aggregates:
            if each not in same:
                ours = f"; over the samples here it is {each.ours:.4g}" if whole and each.ours is not None else ""
                yield f"{tool.tool} says {each.name} {each.value:.4g}{ours}."
        if broken := len(self.unreadable):
            listed = ", ".join(self.unreadable[:SHOWN_NAMES]) + (", …" if broken > SHOWN_NAMES else "")
            verb = "is" if broken == 1 else "are"
            yield f"{broken:,} of {pluralize(self.read, 'record')} cannot be read, and {verb} errored: {listed}."
        for name, number in self._unmarked.items():
            has = f"{pluralize(number, 'case')} {'has' if number == 1 else 'have'}"
            yield f"{has} {name} and no verdict: `--mark {name}=VALUE` sets what passes."


class ResultsConversion:
    """Turns the records of a file into Results, in batches."""

    def __init__(self, found: ResultsFile, request: ImportRequest, tally: ImportTally) -> None:
        self._path, self._reader = found.path, found.reader
        self._request = request
        self._tally = tally
        self._profile = Profile(name="", marks=request.marks) if request.marks else None
        self._seen: set[tuple[str, str, int]] = set()
        self._problems: list[Problem] = []

    def batches(self) -> Iterator[list[Result]]:
        batch: list[Result] = []
        held = 0
        for record in checked_records(self._path, self._reader.read(self._path)):
            if isinstance(record, ToolRun):
                self._tally.tool = record
                continue
            result = self._result(record)
            self._tally.add(result)
            batch.append(result)
            if said := result.transcript:
                held += len(said.answer) + sum(len(each.content) for each in said.messages)
            if len(batch) == FULL_BATCH or held > FULL_TEXT:
                yield batch
                batch, held = [], 0
        if self._problems:
            raise DatasetInvalid(str(self._path), self._problems)
        if unknown := [name for name in self._request.marks if name not in self._tally.values]:
            known = ", ".join(self._tally.values) or "none"
            raise InputError(f"--mark {unknown[0]}: no score of {self._path} has this name; it has {known}")
        if batch:
            yield batch

    def _result(self, record: SampleResult | UnreadableRecord) -> Result:
        position = self._tally.read
        if isinstance(record, SampleResult):
            id, candidate, repeat = key = (record.case.id, record.candidate, record.repeat)
            spoiled = any("\0" in text for text in (id, candidate, *(grade.name for grade in record.grades)))
            if key not in self._seen and not spoiled:
                self._seen.add(key)
                return self._decided(record, position)
            reason = f"a second result of the case {id!r}, candidate {candidate!r}, repeat {repeat}"
            reason = f"{NUL} stands in an id or a name" if spoiled else reason
            record = UnreadableRecord(place=f"record {position + 1}", reason=reason, id=printable(id))
        if self._request.strict:
            self._problems.append(
                Problem(code="unreadable-record", message=record.reason, file=str(self._path), field=record.place)
            )
        self._tally.unreadable.append(record.place)
        name = f"{record.id} ({record.place})" if record.id else record.place
        self._seen.add((name, "", 1))
        return Result(
            case=Case(id=name, input=SingleTurn(message="")),
            verdict=Verdict.ERRORED,
            reasons=(f"the record cannot be read: {record.reason}",),
            failures=(Failure(kind="RecordUnreadable", message=f"{record.place}: {record.reason}"),),
            position=position,
        )

    def _decided(self, sample: SampleResult, position: int) -> Result:
        """The verdict of the tool; without one, the verdict of its scores by their marks."""
        tool, failures = self._reader.name, tuple[Failure, ...]()
        decision = decide(sample.grades, self._profile)
        verdict, reasons = decision.verdict, (AS_IMPORTED, *decision.reasons)
        if sample.error:
            verdict, reasons = Verdict.ERRORED, (f"{tool}: {sample.error}",)
            failures = (Failure(kind="ToolFailed", message=sample.error),)
        elif sample.passed is not None:
            verdict = Verdict.PASSED if sample.passed else Verdict.FAILED
            scored = decision.reasons if decision.verdict is verdict is Verdict.FAILED else ()
            why = (sample.reason,) if sample.reason else scored
            reasons = (f"{AS_IMPORTED}: {tool} says {verdict.value}", *why)
        elif decision.reasons == (NOTHING_TO_DECIDE,):
            scores = [each for each in decision.grades if isinstance(each, Score)]
            known = ", ".join(f"{each.name} {format_number(each.value)}" for each in scores[:SHOWN_NAMES])
            reasons = (f"{NOTHING_TO_DECIDE}: " + (f"no mark for {known}" if known else f"{tool} gave no score"),)
        return Result(
            case=sample.case,
            verdict=verdict,
            reasons=reasons,
            grades=decision.grades,
            failures=failures,
            transcript=sample.transcript,
            candidate=sample.candidate,
            repeat=sample.repeat,
            position=position,
            duration_ms=(sample.transcript.duration_ms if sample.transcript else None) or 0.0,
        )


@asynccontextmanager
async def with_results_files(work: Workspace, names: Sequence[str]) -> AsyncIterator[tuple[Workspace, dict[str, str]]]:
    """A workspace in which the names of runs may be results files, and the name of each run there. If one is a results
    file, all runs are copied to a temporary database, and nothing is stored in this one."""
    there = [name for name in names if name and Path(name).exists()]
    files = {name: reader for name in there if (reader := recognise(Path(name), work.kit)) is not None}
    if not files:
        yield work, {name: name for name in names}
        return
    with TemporaryDirectory(prefix="howsure-") as folder:
        own = copy(work)
        own.settings = replace(work.settings, database=str(Path(folder) / "results.db"))
        called: dict[str, str] = {}
        async with await own.store() as store:
            for name in names:
                if name in files:
                    (found,) = find_results([name], work.kit, files[name].name)
                    called[name] = (await import_file(store, found)).summary.run.id
                elif name:
                    called[name] = await _copy_run(work, store, name)
        yield own, called


async def _copy_run(work: Workspace, there: Store, name: str) -> str:
    """Copy a stored run, to be compared with runs of files."""
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        await there.create_run(run)
        batch: list[Result] = []
        async for result in store.iterate(run.id):
            batch.append(result)
            if len(batch) == FULL_BATCH:
                await there.save(run.id, batch)
                batch = []
        await there.save(run.id, batch)
        await there.set_state(run.id, run.state, started_at=run.started_at, completed_at=run.completed_at)
    return run.id
