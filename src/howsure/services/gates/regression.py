"""`no_regression vs main by 2%`: the pass rate held against that of an earlier run, on the cases both judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from howsure.model.comparison import Bearing
from howsure.model.gate import GateRuling
from howsure.policies.gates import Bound, NoRegression, Sign
from howsure.reports.figures import counted
from howsure.services.comparison.changed import Changed, changed_ids
from howsure.services.comparison.likeness import unlike
from howsure.services.gates.deciding import Question, decide, nothing
from howsure.services.gates.estimating import WHOLE, passes, value_needed
from howsure.services.gates.evidence import Evidence
from howsure.services.gates.observed import Observed, Unknown
from howsure.services.gates.wording import Unit
from howsure.stats.estimates import Estimate
from howsure.stats.paired import matched, paired_rates


def no_regression(
    asked: NoRegression, evidence: Evidence, before: Evidence, changed: Changed, candidate: str
) -> GateRuling:
    """`changed` are the cases of the same id that ask something else now: they are left out."""
    base = f"run {before.run.name!r} ({before.run.id[:8]})"
    then = passes(replace(asked.which, candidate=None), before, counterpart(before, candidate))
    left = changed_ids(changed)
    known = {case: values for case, values in then.tries().items() if case not in left}
    observed = _averaged(passes(asked.which, evidence, candidate), set(known))
    if not observed.cases:
        return nothing(f"No case was judged both here and in {base}.", len(observed.missing))
    question = Question(
        bound=Bound(Sign.AT_LEAST, -asked.by),
        unit=Unit.CHANGE,
        what="the pass rate changed by {} since " + base.replace("{", "{{").replace("}", "}}"),
        estimate=partial(_difference, known),
        extremes=WHOLE,
        needed=partial(value_needed, -asked.by),
    )
    ruling = decide(question, observed)
    return replace(ruling, reason=ruling.reason + _unlike(evidence, before, changed))


def counterpart(before: Evidence, candidate: str) -> str:
    """The candidate of the same name; the only one is meant whatever it is called."""
    names = before.columns.attempts.candidate_names
    if candidate in names:
        return candidate
    if len(names) == 1:
        return names[0]
    raise Unknown("candidate", candidate, names)


def _averaged(observed: Observed, known: set[str]) -> Observed:
    """One value for each case that the earlier run judged, too. A case that has one is not missing."""
    made, tries = Observed("case", observed.groups), observed.tries()
    for case, values in tries.items():
        if case in known:
            made.add(case, sum(values) / len(values))
    for case in dict.fromkeys(observed.missing):
        if case in known and case not in tries:
            made.miss(case)
    return made


def _difference(before: Mapping[str, Sequence[float]], after: Observed) -> Estimate | None:
    tries = after.tries()
    both = matched({case: before[case] for case in tries}, tries)
    groups = [after.groups.get(case, case) for case in tries]
    found = paired_rates(both.before, both.after, groups if len(set(groups)) < len(groups) else None)
    if found is None:
        return None
    return Estimate(value=found.difference, interval=found.interval, n=found.n, clusters=found.clusters, form=None)


def _unlike(evidence: Evidence, before: Evidence, changed: Changed) -> str:
    """What else differs between the two runs, besides who was under test."""
    flags = [
        f"{each.what.value}: {each.said}"
        for each in unlike(before.run.pins, evidence.run.pins, changed)
        if each.bearing is not Bearing.EXPECTED
    ]
    left = f" {counted(len(changed), 'changed case')} left out." if changed else ""
    return left + (f" The runs are not alike: {'; '.join(flags)}." if flags else "")
