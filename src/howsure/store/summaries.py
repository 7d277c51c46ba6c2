"""The counts of a run and the Summary made of them. The database counts over indexed columns alone, and reads no body
but those of cases that got no grade; the counts of a run that has ended are stored with it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field
from msgspec.structs import replace
from sqlalchemy import Connection, Select, func, select, update

from howsure.errors import NotFound
from howsure.model.case import World
from howsure.model.run import Counts, Pins, Run, RunState
from howsure.model.score import Direction, Interval, Scale, UnscoredReason
from howsure.model.summary import AnswerTotals, GraderSummary, SliceCounts, Summary, Tally
from howsure.model.verdict import Verdict
from howsure.store.codecs import decode_pins, decode_tags
from howsure.store.database import chunks, read_tuples
from howsure.store.results import read_faces, stored_verdict, sum_costs
from howsure.store.run_columns import RULES, ClusteredRate
from howsure.store.runs import count_verdicts, read_run, seal_run
from howsure.store.schema import cases, results, runs, scores

TAG, FILE, CANDIDATE = "tag", "file", "candidate"
MAX_VALUES = 20
"""A label with more values than this names cases rather than groups of them; of tags, the most frequent are counted."""

Mark = tuple[str, str]
"""A label, and its value."""


class RunSlices(Struct, frozen=True):
    """The counts by label, and the names of all labels that cases have."""

    slices: tuple[SliceCounts, ...]
    labels: tuple[str, ...]


def count_slices(connection: Connection, run_id: str, pins: Pins, only: str = "") -> RunSlices:
    """For every label with some values, or for `only` this one, however many it has. NotFound where none has it."""
    faces = read_faces(connection, run_id)
    by_label = _lines_by_label(faces)
    files = [pin.path for pin in pins.datasets] if len(pins.datasets) > 1 else []
    if only and only not in {*by_label, CANDIDATE, *([FILE] if files else [])}:
        raise NotFound(f"no case has the label {only!r}; there is {', '.join(sorted({*by_label, CANDIDATE}))}")
    marks = _marks(faces, by_label, only)
    by_file = only == FILE or (not only and 2 <= len(files) <= MAX_VALUES)
    columns = (results.c.position, results.c.case_id, results.c.candidate, results.c.verdict)
    attempts = read_tuples(connection, select(*columns).where(results.c.run_id == run_id))
    alike = Counter(
        (marks.get(faces.get(case, b""), ()), pins.dataset_name(position) if by_file else "", candidate, verdict)
        for position, case, candidate, verdict in attempts
    )
    verdicts: dict[tuple[Mark, str], Counter[Verdict]] = defaultdict(Counter)
    for (own_marks, file, candidate, verdict), number in alike.items():
        more = ((FILE, file),) if file else ((CANDIDATE, candidate),) if only == CANDIDATE else ()
        for mark in (*own_marks, *more):
            verdicts[mark, candidate][stored_verdict(verdict)] += number
    slices = (
        SliceCounts(label=mark[0], value=mark[1], candidate=name, counts=count_verdicts(own.total(), own))
        for (mark, name), own in sorted(verdicts.items())
    )
    return RunSlices(tuple(slices), tuple(name for name in by_label if name != TAG))


def _lines_by_label(faces: Mapping[str, bytes]) -> dict[str, list[bytes]]:
    """The lines for the values of each label, the most frequent first. As they are stored: most are never decoded."""
    number = Counter(line for face in faces.values() for line in _lines(face))
    groups: dict[bytes, list[bytes]] = {}
    for line in number:
        groups.setdefault(line.partition(b'":')[0] if line.startswith(b"=") else b"", []).append(line)
    return {_label_of_line(own[0])[0]: sorted(own, key=number.__getitem__, reverse=True) for own in groups.values()}


def _marks(faces: Mapping[str, bytes], by_label: Mapping[str, list[bytes]], only: str) -> dict[bytes, tuple[Mark, ...]]:
    """What the cases with the same tags and labels count for."""
    if only:
        counted: Iterable[list[bytes]] = [by_label.get(only, [])]
    else:
        few = [lines[:MAX_VALUES] if name == TAG else lines for name, lines in by_label.items()]
        counted = (lines for lines in few if 2 <= len(lines) <= MAX_VALUES)
    known = {line: _label_of_line(line) for lines in counted for line in lines}
    return {face: tuple(known[line] for line in _lines(face) if line in known) for face in set(faces.values())}


def _lines(face: bytes) -> list[bytes]:
    return face[1:-1].split(b"\n") if face else []


def _label_of_line(line: bytes) -> Mark:
    known = decode_tags(b"\n%b\n" % line)
    return next(iter(known.labels.items()), None) or (TAG, known.tags[0])


SCORED = ("passed", "failed", "unmarked")


class ScoreGroup(Struct, frozen=True):
    """Scores that are alike: same candidate, grader, scope and outcome. The fields are the columns of
    `score_groups_query`."""

    candidate: str
    name: str
    scope: str | None
    outcome: str
    number: int
    value_sum: float | None
    scale_low: float
    scale_high: float | None
    bounded: int
    lowest_mark: float | None
    highest_mark: float | None
    marked: int
    direction: str | None

    @property
    def scored(self) -> bool:
        return self.outcome in SCORED


def score_groups_query(run_id: str) -> Select[Any]:
    """The scores of a run in groups, in the order of their index."""
    alike = (scores.c.candidate, scores.c.name, scores.c.scope, scores.c.outcome)
    return (
        select(
            *alike,
            func.count(),
            func.sum(scores.c.value),
            func.min(scores.c.scale_low),
            func.max(scores.c.scale_high),
            func.count(scores.c.scale_high),
            func.min(scores.c.pass_mark),
            func.max(scores.c.pass_mark),
            func.count(scores.c.pass_mark),
            func.min(scores.c.direction),
        )
        .where(scores.c.run_id == run_id)
        .group_by(*alike)
    )


def verdicts_query(run_id: str) -> Select[Any]:
    """In the order of an index, with the first and the last of the candidates."""
    candidate, verdict = results.c.candidate, results.c.verdict
    statement = select(verdict, func.count(), func.min(candidate), func.max(candidate))
    return statement.where(results.c.run_id == run_id).group_by(verdict)


def faults_query(run_id: str) -> Select[Any]:
    blamed = (results.c.run_id == run_id, results.c.fault.is_not(None))
    return select(results.c.fault, func.count()).where(*blamed).group_by(results.c.fault).order_by(results.c.fault)


def count_flags(connection: Connection, run_id: str) -> dict[str, int]:
    """How many results have each kind of flag."""
    flagged = (results.c.run_id == run_id, results.c.flags.is_not(None))
    alike = select(results.c.flags, func.count()).where(*flagged).group_by(results.c.flags)
    number: Counter[str] = Counter()
    for kinds, count in connection.execute(alike):
        number.update(dict.fromkeys(kinds.split(), count))
    return dict(sorted(number.items()))


class FailureCount(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A grader (`part_id` None), or one of its criteria or rules, that failed or broke in `number` results; `first` and
    `last` are the positions of two of them."""

    name: str
    outcome: str
    number: int
    first: int
    last: int
    part_id: str | None = None


MAX_FAILURES = 60
"""How many kinds of failure are stored; pages show the most frequent."""


def count_failures(connection: Connection, run_id: str) -> list[FailureCount]:
    alike = (scores.c.name, scores.c.part_id, scores.c.outcome)
    number, place = func.count().label("number"), scores.c.position
    bad = scores.c.outcome.in_(("failed", UnscoredReason.ERROR.value))
    counted = select(*alike, number, func.min(place).label("first"), func.max(place).label("last"))
    groups = counted.where(scores.c.run_id == run_id, bad).group_by(*alike)
    most_frequent = groups.order_by(number.desc(), *alike).limit(MAX_FAILURES)
    return [FailureCount(**row._mapping) for row in connection.execute(most_frequent)]


class _CaseExpectation(Struct, frozen=True):
    kind: str
    criteria: tuple[Raw, ...] = ()


class _CaseCriteria(Struct, frozen=True):
    world: str = ""
    expectations: tuple[_CaseExpectation, ...] = ()


_case_criteria = msgspec.json.Decoder(_CaseCriteria).decode
MET = "criteria"


def count_unjudged(connection: Connection, run_id: str) -> int:
    """The criteria of test set items that got no grade, because the attempt errored or was never made. Results list
    them as errors, so a run counts them as such."""
    judged = select(scores.c.position).where(
        scores.c.run_id == run_id, scores.c.position == results.c.position, scores.c.name == MET
    )
    missing = select(results.c.case_id, func.count()).where(
        results.c.run_id == run_id, results.c.verdict.in_(("errored", "skipped")), ~judged.exists()
    )
    numbers = {str(case_id): int(count) for case_id, count in connection.execute(missing.group_by(results.c.case_id))}
    unjudged = 0
    for some in chunks(list(numbers)):
        bodies = select(cases.c.case_id, cases.c.body).where(cases.c.run_id == run_id, cases.c.case_id.in_(some))
        for case_id, body in connection.execute(bodies):
            with suppress(msgspec.DecodeError, UnicodeDecodeError):  # one that is damaged has no criteria
                case = _case_criteria(body)
                own = [each for each in case.expectations if each.kind == MET and case.world == World.TEST_SET]
                unjudged += numbers[case_id] * sum(len(each.criteria) for each in own)
    return unjudged


class SummaryCounts(Struct, frozen=True):
    """What a summary is made of: verdicts by candidate, scores in groups, who was answerable, and flags; what failed
    most; how each rule ended, by its id; and the verdicts by label (None: counted by an older version)."""

    numbers: dict[str, dict[Verdict, int]]
    groups: list[ScoreGroup]
    faults: dict[str, int]
    failing: list[FailureCount] | None = None
    rules: dict[str, dict[str, int]] | None = None
    flags: dict[str, int] = field(default_factory=dict)
    by_label: RunSlices | None = None
    answers: AnswerTotals | None = None
    """What the answers cost; counted when a run ends, as are the intervals of clusters."""
    clustered: list[ClusteredRate] = field(default_factory=list)
    unjudged: int = 0
    """Criteria that got no grade."""

    def interval(self, candidate: str | None = None, grader: str | None = None) -> Interval | UnsetType:
        known = (each.interval for each in self.clustered if (each.candidate, each.grader) == (candidate, grader))
        return next(known, UNSET)


def count_run(connection: Connection, run_id: str) -> SummaryCounts:
    """Counted now, over every result; but not by label, which takes longer."""
    groups = [ScoreGroup(*row) for row in connection.execute(score_groups_query(run_id))]
    blamed = {str(party): int(number) for party, number in connection.execute(faults_query(run_id))}
    ruled = any(group.name == RULES and group.scope is not None for group in groups)
    failed, rated = count_failures(connection, run_id), count_rules(connection, run_id) if ruled else {}
    flags, unjudged = count_flags(connection, run_id), count_unjudged(connection, run_id)
    return SummaryCounts(_numbers_of(connection, run_id), groups, blamed, failed, rated, flags, unjudged=unjudged)


def _numbers_of(connection: Connection, run_id: str) -> dict[str, dict[Verdict, int]]:
    groups = connection.execute(verdicts_query(run_id)).all()
    if any(first != last for _, _, first, last in groups):
        # In no index's order: SQLite holds a line for every result meanwhile.
        alike = (results.c.candidate, results.c.verdict)
        counted = select(*alike, func.count()).where(results.c.run_id == run_id).group_by(*alike)
        rows = [tuple(row) for row in connection.execute(counted)]
    else:
        rows = [(candidate, verdict, number) for verdict, number, candidate, _ in groups]
    numbers: dict[str, dict[Verdict, int]] = {}
    for candidate, verdict, number in rows:
        own = numbers.setdefault(candidate, {})
        own[stored_verdict(verdict)] = own.get(stored_verdict(verdict), 0) + number
    return numbers


def count_rules(connection: Connection, run_id: str) -> dict[str, dict[str, int]]:
    """How often each rule ended how."""
    alike = (scores.c.part_id, scores.c.outcome)
    own = (scores.c.run_id == run_id, scores.c.name == RULES, scores.c.part_id.is_not(None))
    outcomes: dict[str, dict[str, int]] = {}
    for part_id, outcome, number in connection.execute(select(*alike, func.count()).where(*own).group_by(*alike)):
        outcomes.setdefault(part_id, {})[outcome] = number
    return outcomes


def store_counts(connection: Connection, run_id: str, clustered: Sequence[ClusteredRate] = ()) -> None:
    """Count a run that has ended and store the counts: it is read more often than it changes. The rates of clusters are
    computed before, because that would take too long in a transaction."""
    counts = replace(count_run(connection, run_id), clustered=list(clustered))
    with suppress(msgspec.DecodeError):  # of a run that cannot be read, what can be counted is
        pins = decode_pins(*connection.execute(select(runs.c.format, runs.c.body).where(runs.c.id == run_id)).one())
        counts = replace(counts, by_label=count_slices(connection, run_id, pins))
    counts = replace(counts, answers=sum_costs(connection, run_id))
    connection.execute(update(runs).where(runs.c.id == run_id).values(groups=msgspec.json.encode(counts)))
    seal_run(connection, run_id)


def stored_counts(connection: Connection, run_ids: Sequence[str]) -> dict[str, SummaryCounts]:
    statement = select(runs.c.id, runs.c.groups).where(runs.c.id.in_(run_ids), runs.c.groups.is_not(None))
    found: dict[str, SummaryCounts] = {}
    for run_id, counts in connection.execute(statement):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):  # what is damaged is counted again
            found[run_id] = _decode_counts(counts)
    return found


_decode_counts = msgspec.json.Decoder(SummaryCounts).decode


CRITERIA = ("criteria", "weighted_criteria")
GENERAL = "general"


def read_summary(connection: Connection, run_id: str, now: datetime) -> Summary:
    run = read_run(connection, run_id, now)
    counts = stored_counts(connection, [run_id]).get(run_id) or count_run(connection, run_id)
    if counts.by_label is None and run.state not in (RunState.PENDING, RunState.RUNNING):
        counts = replace(counts, by_label=count_slices(connection, run_id, run.pins))
    return make_summary(run, counts)


def make_summary(run: Run, counts: SummaryCounts) -> Summary:
    """The summary made of the counts, without reading anything."""
    by_grader = attrgetter("candidate", "name")
    whole = sorted((group for group in counts.groups if group.scope is None), key=by_grader)
    rules = sorted((group for group in counts.groups if _is_rule(group)), key=_component)
    known = counts.by_label or RunSlices((), ())
    return replace(
        brief_summary(run, counts),
        candidates={
            name: replace(own, pass_rate_interval=counts.interval(name))
            for name, own in _candidates(run, counts.numbers).items()
        },
        graders=tuple(
            replace(_grader(list(alike)), pass_rate_interval=counts.interval(*key))
            for key, alike in groupby(whole, by_grader)
        ),
        components={scope: _tally(list(alike)) for scope, alike in groupby(rules, _component)},
        faults=counts.faults,
        flags=counts.flags,
        slices=known.slices,
        labels=known.labels,
    )


def brief_summary(run: Run, counts: SummaryCounts) -> Summary:
    """With criteria and rules, without candidates, graders and components: what a list of runs needs."""
    criteria = [group for group in counts.groups if group.scope is not None and group.name in CRITERIA]
    rules = [group for group in counts.groups if _is_rule(group)]
    run = replace(run, counts=replace(run.counts, pass_rate_interval=counts.interval()))
    tally = _tally(criteria)
    if counts.unjudged and run.pins.request.may_have(MET):
        tally = replace(tally or Tally(), errored=(tally or Tally()).errored + counts.unjudged)
    return Summary(run=run, candidates={}, graders=(), criteria=tally, rules=_tally(rules), answers=counts.answers)


def _is_rule(group: ScoreGroup) -> bool:
    return group.scope is not None and group.name == RULES


def _component(group: ScoreGroup) -> str:
    return group.scope or GENERAL


def _candidates(run: Run, numbers: Mapping[str, Mapping[Verdict, int]]) -> dict[str, Counts]:
    """In the order of what is certain. A run tries every case with every candidate, so its total is shared equally
    among them."""
    share, rest = divmod(run.counts.total, len(run.pins.request.candidates) or 1)
    planned = set() if rest else set(run.pins.request.candidates)
    names = dict.fromkeys((*run.pins.request.candidates, *sorted(numbers)))
    counts = {name: count_verdicts(share if name in planned else 0, numbers.get(name, {})) for name in names}
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1].certain_rate, pair[0])))


def _grader(groups: Sequence[ScoreGroup]) -> GraderSummary:
    first, count = groups[0], _numbers(groups)
    # Marks and scales may differ from case to case (profiles do that): what was really scored decides.
    shown = [group for group in groups if group.scored] or list(groups)
    scored = sum(count[outcome] for outcome in SCORED)
    directions = {group.direction for group in shown if group.direction}
    return GraderSummary(
        name=first.name,
        candidate=first.candidate,
        scored=scored,
        passed=count["passed"],
        failed=count["failed"],
        errored=count[UnscoredReason.ERROR.value],
        not_applicable=count[UnscoredReason.NOT_APPLICABLE.value],
        no_judge=count[UnscoredReason.NO_JUDGE.value],
        mean=sum(group.value_sum or 0.0 for group in groups) / scored if scored else None,
        scale=_scale(shown),
        direction=Direction(min(directions)) if directions else Direction.HIGHER,
        pass_mark=_mark(shown),
    )


def _scale(groups: Sequence[ScoreGroup]) -> Scale:
    """The widest of the scales used; open where one is."""
    low = min(group.scale_low for group in groups)
    if any(group.bounded < group.number for group in groups):
        return Scale(low, None)
    return Scale(low, max(group.scale_high for group in groups if group.scale_high is not None))


def _mark(groups: Sequence[ScoreGroup]) -> float | None:
    """The pass mark, when all have the same."""
    marks = {mark for group in groups for mark in (group.lowest_mark, group.highest_mark)}
    same = len(marks) == 1 and all(group.marked == group.number for group in groups)
    return marks.pop() if same else None


def _tally(groups: Sequence[ScoreGroup]) -> Tally | None:
    if not groups:
        return None
    count = _numbers(groups)
    # A part that was measured without a mark decided nothing: it is neither passed nor failed.
    skipped = count[UnscoredReason.NOT_APPLICABLE.value] + count[UnscoredReason.NO_JUDGE.value] + count["unmarked"]
    return Tally(
        passed=count["passed"], failed=count["failed"], errored=count[UnscoredReason.ERROR.value], skipped=skipped
    )


def _numbers(groups: Iterable[ScoreGroup]) -> dict[str, int]:
    count: dict[str, int] = defaultdict(int)
    for group in groups:
        count[group.outcome] += group.number
    return count
