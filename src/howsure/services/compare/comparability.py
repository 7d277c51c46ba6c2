"""What two runs do not share besides what is to be compared: test set, rubric, judge, simulator, policy. Every mismatch
is named, with what it means for the numbers. Nothing is concluded from cases that ask or expect something else in the
second run: they are counted, and a comparison still lists those whose verdict differs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from msgspec.structs import replace

from howsure.model.case import Case, user_turns
from howsure.model.comparison import ChangeKind, Mismatch, MismatchEffect, PartChange, PinKind
from howsure.model.expectation import Criteria, Criterion, Expectation, WeightedCriteria
from howsure.model.rubric import Rubric, Rule
from howsure.model.run import Pins, Run
from howsure.reports.figures import pluralize
from howsure.reports.run_facts import judge_name
from howsure.services.compare.pairs import PairedUnits
from howsure.services.run.model_access import RECORDED
from howsure.store.store import Store

ChangedCases = Sequence[tuple[Case, Case]]
"""Cases of the same id: as they were, and as they are."""


async def changed_between(store: Store, first: Run, second: Run) -> ChangedCases:
    """The cases that differ between two runs. Files with the same hash hold the same cases; the database is read only
    for others. Tools write expectations in different ways: between runs of different tools, cases that ask the same are
    the same."""
    ours, theirs = ([pin.sha256 for pin in run.pins.datasets] for run in (first, second))
    if first.id == second.id or (ours == theirs and first.pins.criteria_from == second.pins.criteria_from):
        return []
    changed = await store.changed_cases(first.id, second.id)
    made_by = {run.pins.imported.tool if run.pins.imported else "" for run in (first, second)}
    return changed if len(made_by) == 1 else [pair for pair in changed if not _asks_the_same(*pair)]


def _asks_the_same(before: Case, after: Case) -> bool:
    """Compares the variables if both have them: the prompt around them may then differ."""
    ones, others = before.metadata.get("vars"), after.metadata.get("vars")
    if ones is not None and others is not None:
        return bool(ones == others)
    return list(user_turns(before.input)) == list(user_turns(after.input))


def drop_changed(aligned: PairedUnits, ids: Collection[str]) -> PairedUnits:
    """Keep only the pairs whose case is the same on both sides: a difference may be concluded from these only."""
    if not ids:
        return aligned
    keys = aligned.first.keys
    same = np.fromiter((keys[place] not in ids for place in aligned.in_first.tolist()), np.bool_, len(aligned.in_first))
    return replace(
        aligned,
        in_first=aligned.in_first[same],
        in_second=aligned.in_second[same],
        changed=int(np.count_nonzero(~same)),
    )


T = TypeVar("T")
SHOWN_CHANGES = 200


def run_mismatches(first: Pins, second: Pins, changed: ChangedCases) -> tuple[Mismatch, ...]:
    """Everything that the runs do not share. `changed` are the cases of the same id that ask or expect something
    else."""
    mismatches = [_test_set(changed), _rubric(first, second), _judge(first, second), *_other_pins(first, second)]
    return tuple(
        replace(each, changes=each.changes[:SHOWN_CHANGES], changes_left_out=len(each.changes) - SHOWN_CHANGES)
        if len(each.changes) > SHOWN_CHANGES
        else each
        for each in mismatches
        if each is not None
    )


def mismatch_texts(first: Pins, second: Pins, changed: ChangedCases) -> list[str]:
    """What the runs do not share besides what is to be compared, in words."""
    found = run_mismatches(first, second, changed)
    return [f"{each.what.value}: {each.said}" for each in found if each.bearing is not MismatchEffect.EXPECTED]


def same_rules(first: Rubric | None, second: Rubric | None) -> dict[str, str]:
    """The rules that are the same on both sides, with their names: only these may be compared."""
    ones, others = _rules(first), _rules(second)
    return {id: rule.name for id, rule in ones.items() if others.get(id) == rule}


def _test_set(changed: ChangedCases) -> Mismatch | None:
    """The mismatch of the test sets. Files that differ only in recorded answers or notes are the same test set."""
    if not changed:
        return None
    changes = tuple(change for pair in changed for change in case_changes(*pair))
    count = len(changed)
    verb = "asks or expects" if count == 1 else "ask or expect"
    text = f"{pluralize(count, 'case')} of the same id {verb} something else"
    return Mismatch(what=PinKind.TEST_SET, bearing=MismatchEffect.FORBIDS, said=text, changes=changes)


def case_changes(before: Case, after: Case) -> Iterator[PartChange]:
    """The changes of one case: criterion by criterion, everything else by its name."""
    for name in ("input", "world", "profile", "tools", "state"):
        if getattr(before, name) != getattr(after, name):
            yield PartChange(turn=ChangeKind.CHANGED, kind=name, case_id=before.id)
    criteria = _criteria(before.expectations), _criteria(after.expectations)
    for id, turn, known in _changes(*criteria):
        yield PartChange(turn=turn, kind="criterion", id=id, text=known.text, case_id=before.id)
    for kind, turn, _ in _changes(_kinds(before.expectations), _kinds(after.expectations)):
        yield PartChange(turn=turn, kind=kind, case_id=before.id)


def _changes(before: Mapping[str, T], after: Mapping[str, T]) -> Iterator[tuple[str, ChangeKind, T]]:
    """Every key whose value was added, removed or changed, with the newer value."""
    for key in dict.fromkeys((*before, *after)):
        if key not in before:
            yield key, ChangeKind.ADDED, after[key]
        elif key not in after:
            yield key, ChangeKind.REMOVED, before[key]
        elif before[key] != after[key]:
            yield key, ChangeKind.CHANGED, after[key]


def _criteria(expectations: Sequence[Expectation]) -> dict[str, Criterion]:
    kinds = (Criteria, WeightedCriteria)
    return {
        each.id: each for expectation in expectations if isinstance(expectation, kinds) for each in expectation.criteria
    }


def _kinds(expectations: Sequence[Expectation]) -> dict[str, list[Expectation]]:
    """Expectations other than criteria, by their kind."""
    found: dict[str, list[Expectation]] = {}
    for expectation in expectations:
        if isinstance(expectation, Criteria):
            continue
        own = replace(expectation, criteria=()) if isinstance(expectation, WeightedCriteria) else expectation
        found.setdefault(str(expectation.__struct_config__.tag), []).append(own)
    return found


def _rubric(first: Pins, second: Pins) -> Mismatch | None:
    if first.rubric_sha256 == second.rubric_sha256:
        return None
    ones, others = _rules(first.rubric), _rules(second.rubric)
    changes = [PartChange(turn=turn, kind="rule", id=id, text=rule.name) for id, turn, rule in _changes(ones, others)]
    if not ones or not others:
        has, lacks = ("second", "first") if others else ("first", "second")
        text = f"the {has} run has a rubric and the {lacks} has none"
    else:
        text = f"{len(changes):,} of its rules are not the same: these are not compared"
    return Mismatch(what=PinKind.RUBRIC, bearing=MismatchEffect.FORBIDS, said=text, changes=tuple(changes))


def _rules(rubric: Rubric | None) -> dict[str, Rule]:
    return {rule.id: rule for rule in rubric.rules} if rubric else {}


def _judge(first: Pins, second: Pins) -> Mismatch | None:
    ours, theirs = ((pins.judge_sha256, pins.judge_prompts, pins.request.batch_criteria) for pins in (first, second))
    if ours == theirs:
        return None
    recorded = all(each.request.judge.startswith(f"{RECORDED}:") for each in (first, second))
    if recorded and first.recorded_judges == second.recorded_judges:
        # Two recordings of one judge are one judge; so are two that name no judge.
        if first.recorded_judges:
            return None
        text = "recordings that do not name their judge: taken for one (`judge` in their lines would tell)"
        return Mismatch(what=PinKind.JUDGE, bearing=MismatchEffect.EXPECTED, said=text)
    if first.request.judge != second.request.judge:
        text = f"{judge_name(first)} and {judge_name(second)}: a difference of judged grades may be the judge's"
    elif first.judge_prompts != second.judge_prompts:
        text = f"{judge_name(first)}, asked in other words: a difference of judged grades may come from that"
    else:
        text = f"{judge_name(first)}, with other settings or another recording: a difference may come from that"
    return Mismatch(what=PinKind.JUDGE, bearing=MismatchEffect.FLAGS, said=text)


def _other_pins(first: Pins, second: Pins) -> Iterator[Mismatch]:
    """Simulator, policy, graders and target."""
    ours, theirs = first.request, second.request
    if first.simulator_sha256 != second.simulator_sha256:
        names = f"{ours.simulator or 'none'} and {theirs.simulator or 'none'}"
        text = f"the user was played otherwise ({names}): the agents did not have the same conversation partner"
        yield Mismatch(what=PinKind.SIMULATOR, bearing=MismatchEffect.FLAGS, said=text)
    if (first.policy_sha256, ours.normalization) != (second.policy_sha256, theirs.normalization):
        profiles = f" ({ours.profile or 'default'} and {theirs.profile or 'default'})"
        names = profiles if ours.profile != theirs.profile else ""
        text = f"pass marks, weights or dataset policies differ{names}: a flipped verdict may come from that"
        yield Mismatch(what=PinKind.POLICY, bearing=MismatchEffect.FLAGS, said=text)
    evals = [{pin.sha256 for pin in pins.evals} for pins in (first, second)]
    if (ours.graders, evals[0], first.plugins) != (theirs.graders, evals[1], second.plugins):
        text = "other graders, evals or plug-ins took part: the verdicts may rest on other grades"
        yield Mismatch(what=PinKind.GRADERS, bearing=MismatchEffect.FLAGS, said=text)
    before, after = (
        (pins.request.target, pins.target_sha256, [pin.sha256 for pin in pins.responses], pins.agent)
        for pins in (first, second)
    )
    if before != after:
        text = f"{first.target_text} and {second.target_text}"
        yield Mismatch(what=PinKind.TARGET, bearing=MismatchEffect.EXPECTED, said=text)
