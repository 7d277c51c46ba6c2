"""What two runs do not share besides what was to be compared: test set, rubric, judge, simulator, policy. Each thing
that changed is named; what it means for the numbers is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from howsure.model.case import Case
from howsure.model.comparison import Bearing, Change, Turn, Unlike, What
from howsure.model.expectation import Criteria, Criterion, Expectation, WeightedCriteria
from howsure.model.rubric import Rubric, Rule
from howsure.model.run import Pins
from howsure.reports.figures import counted
from howsure.reports.header import judged_by

SHOWN_CHANGES = 200


def unlike(first: Pins, second: Pins, changed: Sequence[tuple[Case, Case]]) -> tuple[Unlike, ...]:
    """`changed` are the cases of the same id that ask or expect something else."""
    found = (
        _test_set(first, second, changed),
        _rubric(first, second),
        _judge(first, second),
        _simulator(first, second),
        _policy(first, second),
        _graders(first, second),
        _target(first, second),
    )
    return tuple(_bounded(each) for each in found if each is not None)


def same_rules(first: Rubric | None, second: Rubric | None) -> dict[str, str]:
    """The rules that are the same on both sides, with their names: those alone may be compared."""
    ones, others = _rules(first), _rules(second)
    return {id: rule.name for id, rule in ones.items() if others.get(id) == rule}


def _bounded(each: Unlike) -> Unlike:
    left = len(each.changes) - SHOWN_CHANGES
    return each if left <= 0 else replace(each, changes=each.changes[:SHOWN_CHANGES], changes_left_out=left)


def _test_set(first: Pins, second: Pins, changed: Sequence[tuple[Case, Case]]) -> Unlike | None:
    """Files that differ in nothing that was asked (in the answers they bring, in notes) are the same test set."""
    if not changed:
        return None
    changes = tuple(change for pair in changed for change in case_changes(*pair))
    count = len(changed)
    said = (
        f"{counted(count, 'case')} of the same id {'asks or expects' if count == 1 else 'ask or expect'} something else"
    )
    return Unlike(what=What.TEST_SET, bearing=Bearing.FORBIDS, said=said, changes=changes)


def case_changes(before: Case, after: Case) -> Iterator[Change]:
    """Criterion by criterion; everything else by its name."""
    for name in ("input", "world", "profile", "tools", "state"):
        if getattr(before, name) != getattr(after, name):
            yield Change(turn=Turn.CHANGED, kind=name, case_id=before.id)
    yield from _statements(_criteria(before.expectations), _criteria(after.expectations), before.id)
    ones, others = _kinds(before.expectations), _kinds(after.expectations)
    for kind in dict.fromkeys((*ones, *others)):
        if ones.get(kind) != others.get(kind):
            turn = Turn.ADDED if kind not in ones else Turn.REMOVED if kind not in others else Turn.CHANGED
            yield Change(turn=turn, kind=kind, case_id=before.id)


def _criteria(expectations: Sequence[Expectation]) -> dict[str, Criterion]:
    kinds = (Criteria, WeightedCriteria)
    return {each.id: each for given in expectations if isinstance(given, kinds) for each in given.criteria}


def _kinds(expectations: Sequence[Expectation]) -> dict[str, list[Expectation]]:
    """Expectations other than criteria, by their kind."""
    found: dict[str, list[Expectation]] = {}
    for given in expectations:
        if isinstance(given, Criteria):
            continue
        own = replace(given, criteria=()) if isinstance(given, WeightedCriteria) else given
        found.setdefault(str(given.__struct_config__.tag), []).append(own)
    return found


def _statements(ones: Mapping[str, Criterion], others: Mapping[str, Criterion], case_id: str) -> Iterator[Change]:
    for id in dict.fromkeys((*ones, *others)):
        before, after = ones.get(id), others.get(id)
        if before != after and (known := after or before):
            turn = Turn.ADDED if before is None else Turn.REMOVED if after is None else Turn.CHANGED
            yield Change(turn=turn, kind="criterion", id=id, text=known.text, case_id=case_id)


def _rubric(first: Pins, second: Pins) -> Unlike | None:
    if first.rubric_sha256 == second.rubric_sha256:
        return None
    ones, others = _rules(first.rubric), _rules(second.rubric)
    changes: list[Change] = []
    for id in dict.fromkeys((*ones, *others)):
        before, after = ones.get(id), others.get(id)
        if before != after and (known := after or before):
            turn = Turn.ADDED if before is None else Turn.REMOVED if after is None else Turn.CHANGED
            changes.append(Change(turn=turn, kind="rule", id=id, text=known.name))
    if not ones or not others:
        has, lacks = ("second", "first") if others else ("first", "second")
        said = f"the {has} run has a rubric and the {lacks} has none"
    else:
        said = f"{len(changes):,} of its rules are not the same: these are not compared"
    return Unlike(what=What.RUBRIC, bearing=Bearing.FORBIDS, said=said, changes=tuple(changes))


def _rules(rubric: Rubric | None) -> dict[str, Rule]:
    return {rule.id: rule for rule in rubric.rules} if rubric else {}


def _judge(first: Pins, second: Pins) -> Unlike | None:
    if (first.judge_sha256, first.judge_prompts, first.batch_criteria) == (
        second.judge_sha256,
        second.judge_prompts,
        second.batch_criteria,
    ):
        return None
    if first.judge != second.judge:
        said = f"{judged_by(first)} and {judged_by(second)}: a difference of judged grades may be the judge's"
    elif first.judge_prompts != second.judge_prompts:
        said = f"{judged_by(first)}, asked in other words: a difference of judged grades may come from that"
    else:
        said = f"{judged_by(first)}, with other settings or another recording: a difference may come from that"
    return Unlike(what=What.JUDGE, bearing=Bearing.FLAGS, said=said)


def _simulator(first: Pins, second: Pins) -> Unlike | None:
    if first.simulator_sha256 == second.simulator_sha256:
        return None
    names = f"{first.simulator or 'none'} and {second.simulator or 'none'}"
    said = f"the user was played otherwise ({names}): the agents did not have the same conversation partner"
    return Unlike(what=What.SIMULATOR, bearing=Bearing.FLAGS, said=said)


def _policy(first: Pins, second: Pins) -> Unlike | None:
    if (first.policy_sha256, first.normalization) == (second.policy_sha256, second.normalization):
        return None
    names = (
        f" ({first.profile or 'default'} and {second.profile or 'default'})" if first.profile != second.profile else ""
    )
    said = f"pass marks or weights differ{names}: a flipped verdict may come from that"
    return Unlike(what=What.POLICY, bearing=Bearing.FLAGS, said=said)


def _graders(first: Pins, second: Pins) -> Unlike | None:
    ours, theirs = ({pin.sha256 for pin in pins.evals} for pins in (first, second))
    if first.graders == second.graders and ours == theirs and first.plugins == second.plugins:
        return None
    said = "other graders, evals or plug-ins took part: the verdicts may rest on other grades"
    return Unlike(what=What.GRADERS, bearing=Bearing.FLAGS, said=said)


def _target(first: Pins, second: Pins) -> Unlike | None:
    ours, theirs = ([pin.sha256 for pin in pins.responses] for pins in (first, second))
    same = (first.target, first.target_sha256, ours) == (second.target, second.target_sha256, theirs)
    if same and first.agent == second.agent:
        return None
    return Unlike(what=What.TARGET, bearing=Bearing.EXPECTED, said=f"{first.target} and {second.target}")
