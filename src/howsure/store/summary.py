"""The summary of a run, made of what the database counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace
from sqlalchemy import Connection

from howsure.model.run import Counts, Run
from howsure.model.score import Direction, Scale, Why
from howsure.model.summary import GraderSummary, Summary, Tally
from howsure.model.verdict import Verdict
from howsure.store.counting import RULES, SCORED, Counted, Group, counted, kept_count
from howsure.store.queries.runs import one, tally

Numbers = Mapping[str, Mapping[Verdict, int]]
"""How many results of each verdict, by candidate."""

CRITERIA = ("criteria", "weighted_criteria")
GENERAL = "general"


def summarise(connection: Connection, run_id: str, now: datetime) -> Summary:
    run = one(connection, run_id, now)
    return summary_from(run, kept_count(connection, run_id) or counted(connection, run_id))


def summary_from(run: Run, found: Counted) -> Summary:
    return replace(summary_of(run, found.numbers, found.groups), faults=found.faults)


def brief_summary(run: Run, found: Counted) -> Summary:
    """With criteria and rules, without candidates, graders and components: what a list of runs needs."""
    parts = [group for group in found.groups if group.scope is not None]
    return Summary(
        run=run,
        candidates={},
        graders=(),
        criteria=_tally([group for group in parts if group.name in CRITERIA]),
        rules=_tally([group for group in parts if group.name == RULES]),
    )


def summary_of(run: Run, numbers: Numbers, groups: Sequence[Group]) -> Summary:
    """Pure: the summary that follows from verdict numbers by candidate and from groups of scores."""
    whole = sorted((group for group in groups if group.scope is None), key=lambda group: (group.candidate, group.name))
    parts = [group for group in groups if group.scope is not None]
    rules = [group for group in parts if group.name == RULES]
    return Summary(
        run=run,
        candidates=_candidates(run, numbers),
        graders=tuple(_grader(alike) for alike in _split(whole, lambda group: (group.candidate, group.name)).values()),
        criteria=_tally([group for group in parts if group.name in CRITERIA]),
        rules=_tally(rules),
        components={
            scope: counted
            for (scope,), alike in sorted(_split(rules, lambda group: (group.scope or GENERAL,)).items())
            if (counted := _tally(alike))
        },
    )


def _candidates(run: Run, numbers: Numbers) -> dict[str, Counts]:
    """A run tries every case with every candidate, so its total is shared equally among them."""
    share, rest = divmod(run.counts.total, len(run.pins.candidates) or 1)
    planned = set() if rest else set(run.pins.candidates)
    names = dict.fromkeys((*run.pins.candidates, *sorted(numbers)))
    return {name: tally(share if name in planned else 0, numbers.get(name, {})) for name in names}


def _grader(groups: Sequence[Group]) -> GraderSummary:
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
        errored=count[Why.ERROR.value],
        not_applicable=count[Why.NOT_APPLICABLE.value],
        no_judge=count[Why.NO_JUDGE.value],
        mean=sum(group.value_sum or 0.0 for group in groups) / scored if scored else None,
        scale=_scale(shown),
        direction=Direction(min(directions)) if directions else Direction.HIGHER,
        pass_mark=_mark(shown),
    )


def _scale(groups: Sequence[Group]) -> Scale:
    """The widest of the scales used; open where one is."""
    low = min(group.scale_low for group in groups)
    if any(group.bounded < group.number for group in groups):
        return Scale(low, None)
    return Scale(low, max(group.scale_high for group in groups if group.scale_high is not None))


def _mark(groups: Sequence[Group]) -> float | None:
    """The pass mark, when all have the same."""
    marks = {mark for group in groups for mark in (group.lowest_mark, group.highest_mark)}
    same = len(marks) == 1 and all(group.marked == group.number for group in groups)
    return marks.pop() if same else None


def _tally(groups: Sequence[Group]) -> Tally | None:
    if not groups:
        return None
    count = _numbers(groups)
    # A part that was measured without a mark decided nothing: it is neither passed nor failed.
    skipped = count[Why.NOT_APPLICABLE.value] + count[Why.NO_JUDGE.value] + count["unmarked"]
    return Tally(passed=count["passed"], failed=count["failed"], errored=count[Why.ERROR.value], skipped=skipped)


def _numbers(groups: Iterable[Group]) -> dict[str, int]:
    count: dict[str, int] = defaultdict(int)
    for group in groups:
        count[group.outcome] += group.number
    return count


def _split(groups: Iterable[Group], key: Callable[[Group], tuple[str, ...]]) -> dict[tuple[str, ...], list[Group]]:
    split: dict[tuple[str, ...], list[Group]] = defaultdict(list)
    for group in groups:
        split[key(group)].append(group)
    return split
