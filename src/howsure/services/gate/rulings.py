"""Every gate of a run, decided: one ruling for each candidate where the gate is about candidates, one for the whole run
otherwise. Pass rates, means, repeats, latencies and spending per case are decided on an interval. Totals (errors,
money, tokens, rules that must always hold) are counted exactly; `no_regression` compares with an earlier run on the
cases that both judged. Loads numpy and scipy: `gate.py` imports it when there is a gate."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from math import inf

from msgspec.structs import replace

from howsure.errors import InputError
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
from howsure.services.compare.comparability import ChangedCases, changed_between, mismatch_texts
from howsure.services.gate.decisions import (
    GateQuestion,
    GateUnit,
    decide_estimate,
    decide_total,
    nothing_to_decide,
    value_needed,
)
from howsure.services.gate.evidence import Evidence, Observations, UnknownInRun, gate_scope, read_gate_columns
from howsure.stats.estimates import estimate_mean, estimate_percentile, estimate_rate, reliability, values_needed
from howsure.stats.intervals import Estimate, Interval
from howsure.stats.paired_differences import pair_cases, paired_rates
from howsure.stats.sample_sizes import cases_for_rate
from howsure.store.store import Store

WHOLE = (0.0, 1.0)


def rule_pass_rate(condition: PassRate, evidence: Evidence, candidate: str) -> GateRuling:
    observed, bound = observe_passes(condition.scope, evidence, candidate), condition.bound
    if (bound.sign, bound.limit) in ((BoundSign.AT_LEAST, 1), (BoundSign.AT_MOST, 0)):
        # No number of cases can show that about other cases; it can only be counted for these.
        wrong = sum(not bound.good(value) for value in observed.values)
        n, missing = len(observed.values), len(observed.missing)
        if not n:
            return nothing_to_decide(f"No {observed.noun} has a verdict.", missing)
        value = sum(observed.values) / n
        text = f"{n - wrong:,} of {pluralize(n, observed.noun)} {'passed' if bound.sign.upward else 'failed'}"
        if wrong:
            outcome = GateOutcome.FAILED
        elif missing:
            outcome, text = GateOutcome.INCONCLUSIVE, f"{text}, but {missing:,} more have no verdict"
        else:
            outcome = GateOutcome.HELD
        reason = f"{text} (counted: an interval never reaches the end of the scale)."
        return GateRuling(expression="", outcome=outcome, reason=reason, value=value, n=n, unjudged=missing)
    question = GateQuestion(
        bound=condition.bound,
        unit=GateUnit.SHARE,
        what="{} passed",
        estimate=_rate,
        extremes=WHOLE,
        needed=_rate_needed,
    )
    return decide_estimate(question, observed)


def observe_passes(which: GateScope, evidence: Evidence, candidate: str) -> Observations:
    """Whether each attempt, or each check of a grader, rule or criterion, passed."""
    if which.part:
        return evidence.checks(candidate, which)
    return evidence.passes(candidate, which) if which.grader else evidence.verdicts(candidate, which)


def _rate(observed: Observations) -> Estimate | None:
    verdicts = [value == 1 for value in observed.values]
    return estimate_rate(verdicts, clusters=observed.clusters) if verdicts else None


def _rate_needed(observed: Observations, found: Estimate, limit: float) -> int | None:
    if found.interval is not None and (observed.clusters is None or found.value in WHOLE):
        return cases_for_rate(round(found.value * found.clusters), found.clusters, limit)
    return value_needed(observed, found, limit)


def rule_mean_grade(condition: MeanGrade, evidence: Evidence, candidate: str) -> GateRuling:
    observed, scale = evidence.values(candidate, condition.scope)
    question = _mean_question(condition.bound, GateUnit.POINTS, observed, scale.ends, "a value", lowest=scale.low)
    return decide_estimate(question, observed)


def _mean_question(
    bound: GateBound,
    unit: GateUnit,
    observed: Observations,
    bounds: Interval | None,
    lacking: str,
    *,
    lowest: float = 0.0,
) -> GateQuestion:
    """The question about a mean. On an open scale, from `lowest` up, a missing value counts as the best or the worst of
    those seen."""
    seen = (min(observed.values, default=0.0), max(observed.values, default=0.0))
    return GateQuestion(
        bound=bound,
        unit=unit,
        what="{} on average",
        estimate=lambda observations: _mean(observations, bounds, lowest),
        extremes=bounds or seen,
        lacking=lacking,
    )


def _mean(observed: Observations, bounds: Interval | None, lowest: float) -> Estimate | None:
    found = estimate_mean(observed.values, observed.clusters, bounds=bounds)
    if found is None or (found.interval is None and found.clusters < 2):
        return found
    # On an open scale, values that are all equal show no spread, so there is no interval.
    low, high = found.interval or (found.value, found.value)
    return replace(found, interval=(max(low, lowest), high))


def rule_spending_per_case(condition: SpendingLimit, evidence: Evidence, candidate: str) -> GateRuling:
    money = condition.of is SpendingUnit.COST
    observed = evidence.spent(candidate, GateScope(), money=money)
    unit, lacking = (GateUnit.DOLLARS, "a known cost") if money else (GateUnit.TOKENS, "a count of tokens")
    return decide_estimate(_mean_question(condition.bound, unit, observed, None, lacking), observed)


def rule_repeats(condition: RepeatedPass, evidence: Evidence, candidate: str) -> GateRuling:
    """pass@k or pass^k over the cases that were judged at least k times; missing tries count against the outcome."""
    observed = observe_passes(condition.scope, evidence, candidate)
    if evidence.run.pins.request.repeat < condition.k:
        name, made = f"pass{'^' if condition.every else '@'}{condition.k}", evidence.run.pins.request.repeat
        return nothing_to_decide(
            f"{name} needs {condition.k} tries of each case and this run made {made}: --repeat {condition.k}."
        )
    question = GateQuestion(
        bound=condition.bound,
        unit=GateUnit.SHARE,
        what=f"{{}} of cases would pass in {'every one' if condition.every else 'at least one'} of {condition.k} tries",
        estimate=lambda seen: _reliability(seen, condition),
        extremes=WHOLE,
    )
    return decide_estimate(question, observed)


def _reliability(observed: Observations, condition: RepeatedPass) -> Estimate | None:
    tries = observed.tries()
    groups = [observed.groups.get(case, case) for case in tries]
    counted_tries = [(round(sum(values)), len(values)) for values in tries.values()]
    clusters = groups if len(set(groups)) < len(groups) else None
    return reliability(counted_tries, condition.k, clusters, every=condition.every)


def rule_latency(condition: Latency, evidence: Evidence, candidate: str) -> GateRuling:
    observed, share, lacking = evidence.seconds(candidate, condition.scope), condition.share, "a known duration"
    if share is None:
        question = _mean_question(condition.bound, GateUnit.SECONDS, observed, None, lacking)
        return decide_estimate(question, observed)
    question = GateQuestion(
        bound=condition.bound,
        unit=GateUnit.SECONDS,
        what=f"{100 * share:g} % take no longer than {{}}",
        estimate=lambda seen: estimate_percentile(seen.values, share, seen.clusters),
        extremes=(0.0, inf),
        needed=lambda seen, *_: _percentile_needed(seen, share, condition.bound),
        lacking=lacking,
    )
    return decide_estimate(question, observed)


def _percentile_needed(observed: Observations, share: float, bound: GateBound) -> int | None:
    """The values needed to settle it: a percentile is below a limit if that share of the values is."""
    below = sum(value <= bound.limit for value in observed.values)
    least = values_needed(share, above=not bound.sign.upward)
    settled = cases_for_rate(below, len(observed.values), share)
    return None if settled is None else max(least, settled)


RECORDED = "recorded"
CHAT = "chat"


def rule_errors(condition: ErrorLimit, evidence: Evidence) -> GateRuling:
    """Errored attempts of all that were planned; pending attempts may still err."""
    counts = evidence.run.counts
    total = counts.total - len(evidence.columns.unasked)
    if not total:
        return nothing_to_decide("The run has no attempt.")
    text = f"{counts.errored:,} of {pluralize(total, 'attempt')} errored"
    if counts.pending:
        text += f" and {counts.pending:,} are still to do"
    unit, scale = (GateUnit.CASES, 1) if condition.counted else (GateUnit.SHARE, total)
    least, most = counts.errored / scale, (counts.errored + counts.pending) / scale
    return decide_total(condition.bound, unit, least, text, n=total, reachable=(least, most))


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
    left = {case.id for case, _ in changed}
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
    )
    ruling = decide_estimate(question, observed)
    left_out = f" {pluralize(len(changed), 'changed case')} left out." if changed else ""
    unlike = mismatch_texts(before.run.pins, evidence.run.pins, changed)
    warning = f" The runs are not alike: {'; '.join(unlike)}." if unlike else ""
    return replace(ruling, reason=ruling.reason + left_out + warning)


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
    """In a thread: of large runs this takes seconds, and the service answers others meanwhile."""
    if not isinstance(condition, NoRegression):
        return await asyncio.to_thread(_decide, condition, evidence)
    base = await store.earlier_run(condition.versus, evidence.run)
    before = Evidence(await store.summary(base.id), await read_gate_columns(store, base, [condition]))
    changed = await changed_between(store, base, evidence.run)
    return await asyncio.to_thread(_regressions, condition, evidence, before, changed)


def _decide(condition: GateCondition, evidence: Evidence) -> list[GateRuling]:
    match condition:
        case ErrorLimit():
            return [rule_errors(condition, evidence)]
        case SpendingLimit(per_case=False):
            return [rule_spending(condition, evidence)]
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


def _regressions(
    condition: NoRegression, evidence: Evidence, before: Evidence, changed: ChangedCases
) -> list[GateRuling]:
    several = len(evidence.summary.candidates) > 1
    return [
        replace(rule_no_regression(condition, evidence, before, changed, name), candidate=name if several else "")
        for name in evidence.candidates(condition.scope)
    ]
