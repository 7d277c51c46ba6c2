"""Every gate of a run, decided: one ruling for each candidate where the gate is about candidates, one for the whole run
otherwise. Totals (errors, money, tokens, rules that must always hold) are counted exactly; `no_regression` compares
with an earlier run on the cases that both judged. Loads numpy and scipy: `gate.py` imports it when there is a gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf

from msgspec.structs import replace

from howsure.errors import InputError
from howsure.model.comparison import MismatchEffect
from howsure.model.run import ModelSpending
from howsure.model.summary import GateOutcome, GateRuling, Summary
from howsure.policies.gates import (
    AllChecksPass,
    BoundSign,
    ErrorLimit,
    Gate,
    GateBound,
    GateCondition,
    GateScope,
    Latency,
    MeanGrade,
    NoRegression,
    PassRate,
    RepeatedPass,
    SpendingLimit,
    SpendingSource,
    SpendingUnit,
)
from howsure.reports.figures import pluralize
from howsure.services.compare.comparability import ChangedCases, changed_between, changed_ids, run_mismatches
from howsure.services.gate.decisions import GateQuestion, GateUnit, decide_estimate, decide_total, nothing_to_decide
from howsure.services.gate.estimates import (
    WHOLE,
    observe_passes,
    rule_latency,
    rule_mean_grade,
    rule_pass_rate,
    rule_repeats,
    rule_spending_per_case,
    value_needed,
)
from howsure.services.gate.evidence import Evidence, Observations, UnknownInRun, gate_scope, read_gate_columns
from howsure.stats.intervals import Estimate
from howsure.stats.paired_differences import pair_cases, paired_rates
from howsure.store.store import Store

RECORDED = "recorded"
CHAT = "chat"


def rule_errors(condition: ErrorLimit, evidence: Evidence) -> GateRuling:
    """Errored attempts of all that were planned; pending attempts may still err."""
    counts = evidence.run.counts
    if not counts.total:
        return nothing_to_decide("The run has no attempt.")
    text = f"{counts.errored:,} of {pluralize(counts.total, 'attempt')} errored"
    if counts.pending:
        text += f" and {counts.pending:,} are still to do"
    unit, scale = (GateUnit.CASES, 1) if condition.counted else (GateUnit.SHARE, counts.total)
    least, most = counts.errored / scale, (counts.errored + counts.pending) / scale
    return decide_total(condition.bound, unit, least, text, n=counts.total, reachable=(least, most))


def rule_spending(condition: SpendingLimit, evidence: Evidence) -> GateRuling:
    """What is known about the money or the tokens; the unknown part can only add to it."""
    money = condition.of is SpendingUnit.COST
    unit = GateUnit.DOLLARS if money else GateUnit.TOKENS
    total, unknown, parts = 0.0, [], []
    pins, spent = evidence.run.pins, evidence.run.spent or ModelSpending()
    if condition.source is not SpendingSource.AGENT:
        own = spent.usd if money else float(spent.tokens)
        total += own
        parts.append(f"{unit.say(own)} for {pluralize(spent.calls, 'call')} of models by the run")
        if money and spent.unpriced:
            unknown.append(f"{pluralize(spent.unpriced, 'call')} without a price")
    answering = list(evidence.candidates(GateScope()))
    if condition.source is SpendingSource.ALL:
        # The run itself pays for the models under test. Runs of older versions do not name these.
        old = not pins.models and pins.target_text.partition(":")[0] == CHAT
        answering = [] if old else [name for name in answering if name not in pins.models]
    if condition.source is not SpendingSource.RUN and answering:
        # What each answer took, and how many do not say.
        seen = [evidence.spent(candidate, GateScope(), money=money) for candidate in answering]
        silent = sum(len(each.missing) for each in seen) - evidence.run.counts.pending
        answers, silent = [value for each in seen for value in each.values], max(0, silent)
        # Recorded answers without a cost were paid for long ago, if at all.
        free = condition.source is SpendingSource.ALL and pins.request.target == RECORDED and not answers
        if condition.source is SpendingSource.AGENT and not answers:
            return nothing_to_decide(f"No answer says what it {'cost' if money else 'took in tokens'}.", silent)
        if not free:
            total += sum(answers)
            parts.append(f"{unit.say(sum(answers))} for {pluralize(len(answers), 'answer')} of the agent")
            if silent:
                unknown.append(f"{pluralize(silent, 'answer')} that do not say")
    text = " + ".join(parts) + (f"; not known: {', '.join(unknown)}" if unknown else "")
    reachable = (total, inf if unknown or evidence.run.counts.pending else total)
    return decide_total(condition.bound, unit, total, text, n=evidence.run.counts.completed, reachable=reachable)


def rule_all_hold(condition: AllChecksPass, evidence: Evidence, candidate: str) -> GateRuling:
    observed = evidence.checks(candidate, GateScope(part=condition.part))
    n, missing = len(observed.values), len(observed.missing)
    passed = sum(value == 1 for value in observed.values)
    text = f"{passed:,} of {pluralize(n, 'check')} passed"
    if passed < n:
        outcome = GateOutcome.FAILED
    elif missing or not n:
        outcome = GateOutcome.INCONCLUSIVE
        text += f", but {pluralize(missing, 'check')} could not be judged" if missing else ": it was never checked"
    else:
        outcome = GateOutcome.HELD
    value = passed / n if n else None
    return GateRuling(expression="", outcome=outcome, reason=f"{text}.", value=value, n=n, unjudged=missing)


def rule_no_regression(
    condition: NoRegression, evidence: Evidence, before: Evidence, changed: ChangedCases, candidate: str
) -> GateRuling:
    """Whether the pass rate fell since an earlier run. `changed` cases ask something else now: they are left out."""
    base = f"run {before.run.name!r} ({before.run.id[:8]})"
    then = observe_passes(replace(condition.scope, candidate=None), before, counterpart(before, candidate))
    left = changed_ids(changed)
    known = {case: values for case, values in then.tries().items() if case not in left}
    observed = _averaged(observe_passes(condition.scope, evidence, candidate), set(known))
    if not observed.cases:
        return nothing_to_decide(f"No case was judged both here and in {base}.", len(observed.missing))
    question = GateQuestion(
        bound=GateBound(BoundSign.AT_LEAST, -condition.by),
        unit=GateUnit.CHANGE,
        what="the pass rate changed by {} since " + base.replace("{", "{{").replace("}", "}}"),
        estimate=partial(_difference, known),
        extremes=WHOLE,
        needed=partial(value_needed, -condition.by),
    )
    ruling = decide_estimate(question, observed)
    return replace(ruling, reason=ruling.reason + _unlike(evidence, before, changed))


def counterpart(before: Evidence, candidate: str) -> str:
    """The candidate of the same name in the earlier run; if it has only one candidate, that one."""
    names = before.columns.attempts.candidate_names
    if candidate in names:
        return candidate
    if len(names) == 1:
        return names[0]
    raise UnknownInRun("candidate", candidate, names)


def _averaged(observed: Observations, known: set[str]) -> Observations:
    """One value for each case that the earlier run judged too; a case that has a value is not missing."""
    made, tries = Observations("case", observed.groups), observed.tries()
    for case, values in tries.items():
        if case in known:
            made.add(case, sum(values) / len(values))
    for case in dict.fromkeys(observed.missing):
        if case in known and case not in tries:
            made.miss(case)
    return made


def _difference(before: Mapping[str, Sequence[float]], after: Observations) -> Estimate | None:
    tries = after.tries()
    both = pair_cases({case: before[case] for case in tries}, tries)
    groups = [after.groups.get(case, case) for case in tries]
    found = paired_rates(both.before, both.after, groups if len(set(groups)) < len(groups) else None)
    if found is None:
        return None
    return Estimate(value=found.difference, interval=found.interval, n=found.n, clusters=found.clusters, form=None)


def _unlike(evidence: Evidence, before: Evidence, changed: ChangedCases) -> str:
    """What else differs between the two runs besides the agent under test."""
    flags = [
        f"{each.what.value}: {each.said}"
        for each in run_mismatches(before.run.pins, evidence.run.pins, changed)
        if each.bearing is not MismatchEffect.EXPECTED
    ]
    left = f" {pluralize(len(changed), 'changed case')} left out." if changed else ""
    return left + (f" The runs are not alike: {'; '.join(flags)}." if flags else "")


async def make_rulings(store: Store, summary: Summary, gates: Sequence[Gate]) -> tuple[GateRuling, ...]:
    """The rulings on all gates, in their order."""
    columns = await read_gate_columns(store, summary.run, [gate.condition for gate in gates])
    evidence = Evidence(summary, columns)
    found: list[GateRuling] = []
    for gate in gates:
        try:
            found += [
                replace(each, expression=gate.expression) for each in await _rulings(store, gate.condition, evidence)
            ]
        except InputError as error:
            # What the run lacks is not the agent's fault: the gate cannot be decided.
            text = f"{str(error)[:1].upper()}{str(error)[1:]}" + ("" if str(error).endswith((".", "?")) else ".")
            found.append(replace(nothing_to_decide(text), expression=gate.expression))
    return tuple(found)


async def _rulings(store: Store, condition: GateCondition, evidence: Evidence) -> list[GateRuling]:
    match condition:
        case ErrorLimit():
            return [rule_errors(condition, evidence)]
        case SpendingLimit(per_case=False):
            return [rule_spending(condition, evidence)]
        case NoRegression():
            return await _regressions(store, condition, evidence)
        case _:
            names = evidence.candidates(gate_scope(condition))
            several = len(evidence.summary.candidates) > 1
            return [replace(_of(condition, evidence, name), candidate=name if several else "") for name in names]


def _of(condition: GateCondition, evidence: Evidence, candidate: str) -> GateRuling:
    match condition:
        case PassRate():
            return rule_pass_rate(condition, evidence, candidate)
        case MeanGrade():
            return rule_mean_grade(condition, evidence, candidate)
        case RepeatedPass():
            return rule_repeats(condition, evidence, candidate)
        case Latency():
            return rule_latency(condition, evidence, candidate)
        case AllChecksPass():
            return rule_all_hold(condition, evidence, candidate)
        case SpendingLimit():
            return rule_spending_per_case(condition, evidence, candidate)
        case ErrorLimit() | NoRegression():
            raise TypeError(f"{type(condition).__name__} is not about one candidate")


async def _regressions(store: Store, condition: NoRegression, evidence: Evidence) -> list[GateRuling]:
    base = await store.earlier_run(condition.versus, evidence.run)
    before = Evidence(await store.summary(base.id), await read_gate_columns(store, base, [condition]))
    changed = await changed_between(store, base, evidence.run)
    several = len(evidence.summary.candidates) > 1
    return [
        replace(rule_no_regression(condition, evidence, before, changed, name), candidate=name if several else "")
        for name in evidence.candidates(condition.scope)
    ]
