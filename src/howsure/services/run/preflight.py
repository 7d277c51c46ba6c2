"""One look at every case before anything runs: it validates, counts, and finds what would make the run useless, such as
answers that are missing, or tools that the agent does not have. What can be foreseen of the results (expectations that
no grader checks, contracts that nobody has, evals that need a model, documents that cannot be shown) becomes notes,
which are printed before the run and pinned."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from howsure.config import FILE
from howsure.dialects.base import Importer
from howsure.dialects.datasets import FileReport, detect, expand, read_cases, validate
from howsure.dialects.ids import SeenIds
from howsure.dialects.plain_columns import TableOptions, check_table
from howsure.dialects.problems import did_you_mean
from howsure.dialects.test_set import HEADER
from howsure.engine.candidates import CandidateRepeat, FieldCheck, Rules, may_want, verified_kinds, verifies
from howsure.errors import CaseFailure, DatasetInvalid, PlanRefused, Problem, SimulatorFailed
from howsure.graders.judged_grader import JudgedGrader
from howsure.judges.base import Question
from howsure.judges.documents import CUT, UNREAD
from howsure.judges.offline.judge import OfflineJudge
from howsure.kit import Kit
from howsure.model.agent import Agent
from howsure.model.case import Case, Scenario, World
from howsure.model.expectation import Contract, ForbiddenTools, ToolCalls
from howsure.model.rubric import Rubric
from howsure.model.run import DatasetPin, Pins
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.model.score import UnscoredReason
from howsure.model.transcript import Transcript
from howsure.model.verdict import Verdict
from howsure.targets.base import Target
from howsure.targets.recordings import RecordedTarget
from howsure.users.base import UserSimulator
from howsure.users.scripts import ReplayedUsers

Filters = Mapping[str, tuple[str, ...]]
Look = Callable[[Case], None]
Shape = Callable[[Case], Case]
"""What becomes of a case before it is tried."""


class CheckedDataset(Struct, frozen=True):
    """A file, who reads it, and what the first pass found. `header` is what a test set says of itself; `selected` is
    how many of its cases the run has."""

    path: Path
    dialect: Importer
    report: FileReport
    header: Mapping[str, Any] = field(default_factory=dict)
    selected: int | None = None


class CaseSelection(Struct, frozen=True, kw_only=True):
    """The cases of a run, as the first pass over all files found them; `read` reads them again, one at a time."""

    datasets: tuple[CheckedDataset, ...]
    filters: Filters = field(default_factory=dict)
    limit: int | None = None
    total: int = 0
    shape: Shape | None = None

    @property
    def warnings(self) -> list[Problem]:
        return [warning for dataset in self.datasets for warning in dataset.report.warnings]

    def read(self) -> Iterator[Case]:
        """The selected cases, in the order of the files; a file that changed meanwhile raises `Conflict`."""
        every = (case for each in self.datasets for case in read_cases(each.path, each.dialect, each.report))
        matching = (case for case in every if matches(case, self.filters)) if self.filters else every
        chosen = islice(matching, self.limit)
        return chosen if self.shape is None else map(self.shape, chosen)


def preflight(request: RunRequest, kit: Kit, look: Look, *, glance: bool = False) -> CaseSelection:
    """Read every file once, show each selected case to `look`, and refuse with every problem of every file.

    `glance`: nothing but the answer and the contract matter of a case, so those that bring an answer and name no
    contract need not be built to be looked at.
    """
    options = TableOptions(map=request.map, match=request.match) if request.map or request.match else None
    kit = kit.with_tables(options) if options else kit
    files = expand([Path(path) for path in request.datasets], kit.dialects)
    seen = _CaseTally(look, request.filters, request.limit, several=len(files) > 1)
    glance = glance and len(files) == 1 and not request.filters and request.limit is None
    datasets: list[CheckedDataset] = []
    problems: list[Problem] = []
    for path in files:
        reader = (
            kit.reader(request.dialect)
            if request.dialect
            else detect(path, kit.dialects, kit.importers, kit.results_readers)
        )
        if options:
            check_table(path, reader, options)
        seen.begin(path.name)
        before = seen.total
        glance = glance and getattr(reader, "brings_answers", False)
        report = validate(path, reader, seen, glance=glance)
        if glance:
            seen.read = seen.total = report.cases
        problems += [*report.problems, *seen.clashes]
        seen.clashes.clear()
        datasets.append(CheckedDataset(path, reader, report, seen.header, seen.total - before))
    if problems:
        more = sum(each.report.more_problems for each in datasets)
        raise DatasetInvalid(", ".join(str(each.path) for each in datasets), problems, more)
    if not seen.total:
        if not seen.read:
            raise PlanRefused("there is no case to run: the dataset holds none")
        filters = ", ".join(f"{key}:{','.join(values)}" for key, values in request.filters.items())
        wanted = filters or "a place under the limit"
        raise PlanRefused(f"there is no case to run: none of {seen.read:,} has {wanted}{seen.filter_hint()}")
    return CaseSelection(datasets=tuple(datasets), filters=request.filters, limit=request.limit, total=seen.total)


def pinned_cases(pins: Pins, request: RunRequest, kit: Kit, total: int) -> CaseSelection:
    """The `total` cases that were selected when the run was planned; the files, now at `request.datasets`, are not
    checked again."""

    if request.map or request.match:
        kit = kit.with_tables(TableOptions(map=request.map, match=request.match))

    def dataset(pin: DatasetPin, path: str) -> CheckedDataset:
        report = FileReport(path=path, dialect=pin.dialect, cases=pin.cases, sha256=pin.sha256, size=pin.size)
        header = {"test_set_id": pin.id, "name": pin.name, "version": pin.version}
        return CheckedDataset(Path(path), kit.reader(pin.dialect), report, header, pin.selected)

    datasets = tuple(dataset(pin, path) for pin, path in zip(pins.datasets, request.datasets, strict=True))
    return CaseSelection(datasets=datasets, filters=request.filters, limit=request.limit, total=total)


class _CaseTally:
    """Counts the selected cases and notices ids that occur in two files, where there are several."""

    def __init__(self, look: Look, filters: Filters, limit: int | None, *, several: bool) -> None:
        self._look = look
        self._filters = filters
        self._limit = limit
        self._ids = SeenIds() if several else None
        self._files: list[str] = []
        self.header: Mapping[str, Any] = {}
        self.read = 0
        self.total = 0
        self.clashes: list[Problem] = []
        self._keys: set[str] = set()
        self._values: dict[str, dict[str, None]] = {key: {} for key in filters}

    def begin(self, file: str) -> None:
        self._files.append(file)
        self.header = {}

    def __call__(self, case: Case) -> None:
        self.read += 1
        self.header = self.header or case.metadata.get(HEADER, {})
        if self._ids is not None and not self._ids.is_new(case.id, len(self._files)):
            first = self._files[self._ids.line_of(case.id) - 1]
            self.clashes.append(
                Problem(
                    code="duplicate-id",
                    message=f"the case {case.id!r} is also in {first}",
                    file=self._files[-1],
                    field="id",
                    expected="ids that are unique over all files of one run",
                    found=case.id,
                    hint="run the files one by one, or rename one of the cases",
                )
            )
        if self._filters and not self.total:
            self._keys.update(case.labels, ("tag",) if case.tags else ())
            for key, values in self._values.items():
                if len(values) <= LISTED:
                    values |= dict.fromkeys(values_of(case, key))
        if (self._limit is None or self.total < self._limit) and matches(case, self._filters):
            self.total += 1
            self._look(case)

    def filter_hint(self) -> str:
        """The values that could have been filtered by, for a refusal."""
        told = ""
        for key, values in self._values.items():
            if not values:
                told += f"; no case has a {key}, they have: {', '.join(('id', *sorted(self._keys)))}"
            elif values.keys().isdisjoint(self._filters[key]):
                more = " …" if len(values) > LISTED else ""
                told += f"; {key} is: {', '.join(list(values)[:LISTED])}{more}"
        return told


def matches(case: Case, filters: Filters) -> bool:
    """Whether the case has one of the wanted values for every key: its id, a tag, a label, or in its metadata."""
    return all(not values_of(case, key).isdisjoint(wanted) for key, wanted in filters.items())


def values_of(case: Case, key: str) -> set[str]:
    if key in ("id", "case_id"):
        return {case.id}
    if key in ("tag", "tags"):
        return set(case.tags)
    if key in case.labels:
        return {case.labels[key]}
    value = case.metadata.get(key)
    if value is None and isinstance(inner := case.metadata.get("metadata"), dict):
        value = inner.get(key)
    return {str(each) for each in value} if isinstance(value, list) else set() if value is None else {str(value)}


LISTED = 10

CandidateKey = tuple[str, int]
"""A candidate, and which of its repeats."""
Sides = tuple[Target, UserSimulator]
"""Who answers, and who plays the user."""


class CoverageCheck:
    """Looks at every case of the preflight. `simulated` counts the scenarios that somebody has to play; `answered` are
    the ids that there are recorded answers for."""

    def __init__(
        self,
        sides: Mapping[CandidateKey, Sides],
        agent: Agent | None,
        *,
        left_out: bool = False,
        answered: Collection[str] = (),
    ) -> None:
        self._left_out = left_out
        self._unused = dict.fromkeys(answered)
        recorded = {key: each.covers for key, (each, _) in sides.items() if isinstance(each, RecordedTarget)}
        self._live = len(recorded) < len(sides)
        replayed = {key: each for key, (_, each) in sides.items() if isinstance(each, ReplayedUsers)}
        self._replays = bool(replayed)
        self._covers: dict[CandidateKey, Callable[[Case], bool]] = dict(recorded)
        self._covers |= {key: partial(_can_replay, each) for key, each in replayed.items()}
        self._agent = agent
        self._tools = {tool.tool_name for tool in agent.tools} if agent else set()
        self._missing: list[str] = []
        self._missing_count = 0
        self._covered = self._live
        self.simulated = 0
        self._unknown_tools: dict[str, str] = {}

    def __call__(self, case: Case) -> None:
        self._unused.pop(case.id, None)
        for (candidate, repeat), covers in self._covers.items():
            if covers(case):
                self._covered = True
            else:
                self._missing_count += 1
                if len(self._missing) < LISTED:
                    by = f" by {candidate}" if candidate else ""
                    self._missing.append(case.id + by + (f" (repeat {repeat})" if repeat > 1 else ""))
        if self._live and isinstance(case.input, Scenario):
            self.simulated += 1
        if self._agent is not None:
            for name in named_tools(case):
                if name not in self._tools:
                    self._unknown_tools.setdefault(name, case.id)

    def refuse(self, columns: Sequence[str] = ()) -> None:
        """Refuse answers that are missing, unless the run is `partial` and there is one. `columns`: what the columns of
        tables were read as."""
        if not self._missing_count or (self._left_out and self._covered and not self._replays):
            return
        in_a_column = (
            f" If a column holds the answers: --map response=COLUMN ({'; '.join(columns)})." if columns else ""
        )
        more = self._missing_count - len(self._missing)
        named = ", ".join(self._missing) + (f" and {more} more" if more else "")
        in_a_column = f" {self._without_case}" if self._unused else in_a_column
        if self._replays:
            raise PlanRefused(
                f"{self._missing_count} earlier conversations to replay are missing: {named}. Name a file of whole"
                " conversations, or run:RUN, with --responses."
            )
        if self._left_out:
            raise PlanRefused(
                f"nothing is left to grade with --partial: no case has a recorded answer ({named}). Answers are found"
                " by the ids of their cases, or by what the user said; name a file with some of these with --responses."
                + in_a_column
            )
        are = "answer is" if self._missing_count == 1 else "answers are"
        raise PlanRefused(
            f"{self._missing_count} {are} missing: {named}. Name a file with --responses, or a live --target."
            + (" With --partial, what was recorded is graded." if self._covered else "")
            + in_a_column
        )

    @property
    def _without_case(self) -> str:
        ids, count = sorted(self._unused), len(self._unused)
        named = ", ".join(map(repr, ids[:LISTED])) + (f" and {count - LISTED} more" if count > LISTED else "")
        return f"No case has the id{'s' if count > 1 else ''} {named}: recorded answers that are not used."

    def warnings(self, rubric: Rubric | None) -> list[str]:
        note = f"{self._missing_count} without a recorded answer: skipped (--partial)"
        warnings = [note] if self._left_out and self._missing_count else []
        warnings += [self._without_case] if self._unused else []
        if self._agent is None:
            return warnings
        warnings += [
            f"case {case!r} names the tool {tool!r}, which the agent {self._agent.name!r} does not have"
            for tool, case in self._unknown_tools.items()
        ]
        known = {tool.id for tool in self._agent.tools} | {base.id for base in self._agent.knowledge_bases}
        for rule in rubric.rules if rubric else ():
            warnings += [
                f"rule {rule.id!r} names the component {component!r}, which the agent {self._agent.name!r} lacks"
                for component in rule.component_ids
                if component not in known
            ]
        return warnings


def _can_replay(users: ReplayedUsers, case: Case) -> bool:
    """Whether there is something to re-send: they say so by refusing to play."""
    try:
        users.open(case)
    except SimulatorFailed:
        return False
    return True


def named_tools(case: Case) -> list[str]:
    """The tools that a case's expectations name."""
    names: list[str] = []
    for expectation in case.expectations:
        if isinstance(expectation, ToolCalls):
            names += [call.name for call in expectation.expected]
        elif isinstance(expectation, ForbiddenTools):
            names += expectation.names
    return names


FORESEEN = 100
"""How many answers are shown to the offline judge before the run: the first ones."""
LISTED_DOCUMENTS = 5
"""How many documents a note names."""
DOCUMENTS = {
    UNREAD: "documents that cannot be shown ({}; texts in UTF-8 and PDFs can be)",
    CUT: f"documents that are cut ({{}}; `document_characters` in {FILE} sets the limit)",
}


class PlanNotes:
    """Looks at every case of the preflight."""

    def __init__(self, candidates: Sequence[CandidateRepeat], rules: Rules, kit: Kit, judge: str) -> None:
        self._candidates = candidates
        self._rules = rules
        self._kit = kit
        self._judge = judge
        judged = any(isinstance(each, JudgedGrader) for each in candidates[0].graders)
        self._offline = OfflineJudge() if judge == OFFLINE and judged else None
        self._profiles: Counter[str] = Counter()
        self._contracts: Counter[str] = Counter()
        self._unchecked: Counter[str] = Counter()
        self._examples: dict[str, tuple[FieldCheck, Case]] = {}
        self._untold: Counter[str] = Counter()
        self._open_cases = 0
        self._foreseen = 0
        self._documents: defaultdict[str, set[str]] = defaultdict(set)
        self._with_documents: Counter[str] = Counter()

    @property
    def may_glance(self) -> bool:
        """Whether it need not see an Explain case that brings its answer and names no contract."""
        return self._offline is None and any(verifies(grader, ToolCalls) for grader in self._candidates[0].graders)

    def __call__(self, case: Case) -> None:
        flags = {flag for candidate in self._candidates for flag in candidate.case_flags(case)}
        self._with_documents.update({flag.kind for flag in flags})
        for flag in flags:
            self._documents[flag.kind].add(flag.text)
        try:
            self._look(case)
        except CaseFailure as failure:
            raise PlanRefused(f"{failure} (in planning: nothing was run)") from failure

    def _look(self, case: Case) -> None:
        if case.profile and self._rules.profile is None and case.profile not in self._rules.profiles:
            self._profiles[case.profile] += 1
            return
        names = [each.name for each in case.expectations if isinstance(each, Contract)]
        unknown = [name for name in names if name not in self._kit.contracts]
        self._contracts.update(unknown)
        graders, checks = self._candidates[0].selection.choose(case)
        judged = any(isinstance(each, JudgedGrader) for each in graders)
        self._open_cases += case.world == World.PLAIN and not case.expectations and not judged
        for check in checks:
            if check.kind is not Contract or not unknown:
                self._unchecked[check.field] += 1
                self._examples.setdefault(check.field, (check, case))
        if self._offline is not None:
            for candidate in self._candidates:
                self._foresee(case, candidate, self._offline)

    def _foresee(self, case: Case, candidate: CandidateRepeat, judge: OfflineJudge) -> None:
        """Counts the graders whose questions about a recorded answer the offline judge cannot answer, where the case is
        errored without."""
        transcript = candidate.target.find(case) if isinstance(candidate.target, RecordedTarget) else None
        if self._foreseen == FORESEEN or not isinstance(transcript, Transcript):
            return
        self._foreseen += 1
        for grader in candidate.selection.choose(case)[0]:
            if not isinstance(grader, JudgedGrader):
                continue
            for part in grader.asks_about(case):
                missing = grader.unscored(UnscoredReason.ERROR, "", part)
                asked = Question(
                    grader=grader.name, case=case, transcript=transcript, part=part, rubric=grader.context.rubric
                )
                if not judge.can_tell(asked) and self._rules.decide(case, [missing]).verdict is Verdict.ERRORED:
                    self._untold[grader.name] += 1
                    break

    def refuse(self, *, require_contracts: bool) -> None:
        """PlanRefused for what would break in the middle of the run."""
        reasons = [*self._unknown("profile", self._profiles, self._rules.profiles)]
        reasons += self._unknown("contract", self._contracts, self._kit.contracts) if require_contracts else ()
        if reasons:
            raise PlanRefused("; ".join(reasons))

    def notes(self) -> tuple[str, ...]:
        contracts = self._unknown("contract", self._contracts, self._kit.contracts)
        not_checked = (f"{note}, and is not checked" for note in contracts)
        unchecked = map(self._unchecked_note, self._unchecked)
        open_cases = [f"{_cases(self._open_cases)} without `expected`, `criteria` or the like: nothing to decide there"]
        open_cases = open_cases if self._open_cases and self._rules.profile is None else []
        return (*not_checked, *unchecked, *open_cases, *self._offline_notes(), *self._document_notes())

    def _unknown(self, what: str, found: Counter[str], known: Collection[str]) -> Iterator[str]:
        for name, number in found.items():
            hint = f"known: {', '.join(sorted(known))}; {did_you_mean(name, known)}".rstrip("; ")
            yield f"the {what} {name!r} of {_cases(number)} is not known ({hint})"

    def _unchecked_note(self, field: str) -> str:
        check, case = self._examples[field]
        graders: Iterable[Any] = self._kit.graders
        able = [
            each
            for each in graders
            if check.kind in (verified_kinds(each) or ())
            and may_want(each, case)
            and (getattr(each, "optional", False) or each.wants(case))
        ]
        advice = f": use --graders {' or '.join(f'+{each.name}' for each in able)}" if able else ""
        if able and self._judge in ("", OFFLINE) and all(isinstance(each, JudgedGrader) for each in able):
            advice += " and --judge MODEL"
        return f"{field} of {_cases(self._unchecked[field])} is checked by no grader of this run{advice}"

    def _offline_notes(self) -> Iterator[str]:
        first = f" of the first {FORESEEN}" if self._foreseen == FORESEEN else ""
        noun = "case" if len(self._candidates) == 1 else "result"
        for name, number in self._untold.items():
            yield (
                f"{name} needs a model: {number}{first} {noun}{'' if number == 1 else 's'} will be errored, unless"
                f" something else fails them; use --judge MODEL or --graders -{name}"
            )

    def _document_notes(self) -> Iterator[str]:
        for kind, sentence in DOCUMENTS.items():
            if documents := sorted(self._documents[kind]):
                number = f"{len(documents):,}, in {_cases(self._with_documents[kind])}"
                more = f"; and {len(documents) - LISTED_DOCUMENTS:,} more" if len(documents) > LISTED_DOCUMENTS else ""
                yield f"{sentence.format(number)}: {'; '.join(documents[:LISTED_DOCUMENTS])}{more}"


def _cases(number: int) -> str:
    return f"{number:,} case{'' if number == 1 else 's'}"
