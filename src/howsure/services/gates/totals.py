"""The gates that are counted over the whole run, and exact: errors, money, tokens, and rules that must always hold."""

from __future__ import annotations

from math import inf

from howsure.model.gate import GateRuling, Outcome
from howsure.model.run import Pins, Spent
from howsure.policies.gates import AllHold, Amount, Errors, Payer, Spending, Which
from howsure.reports.figures import counted
from howsure.services.gates.deciding import exactly, nothing
from howsure.services.gates.evidence import Evidence
from howsure.services.gates.wording import Unit

RECORDED = "recorded"
CHAT = "chat"


def errors(asked: Errors, evidence: Evidence) -> GateRuling:
    """Errored attempts of all that were planned; what is still to do may yet err."""
    counts = evidence.run.counts
    if not counts.total:
        return nothing("The run has no attempt.")
    told = f"{counts.errored:,} of {counted(counts.total, 'attempt')} errored"
    if counts.pending:
        told += f" and {counts.pending:,} are still to do"
    unit, scale = (Unit.CASES, 1) if asked.counted else (Unit.SHARE, counts.total)
    least, most = counts.errored / scale, (counts.errored + counts.pending) / scale
    return exactly(asked.bound, unit, least, told, n=counts.total, reachable=(least, most))


def spending(asked: Spending, evidence: Evidence) -> GateRuling:
    """What is known of the money or the tokens; what is not known can only add to it."""
    money = asked.of is Amount.COST
    unit = Unit.DOLLARS if money else Unit.TOKENS
    total, unknown, told = 0.0, [], []
    pins, spent = evidence.run.pins, evidence.run.spent or Spent()
    if asked.payer is not Payer.AGENT:
        own = spent.usd if money else float(spent.tokens)
        total += own
        told.append(f"{unit.say(own)} for {counted(spent.calls, 'call')} of models by the run")
        if money and spent.unpriced:
            unknown.append(f"{counted(spent.unpriced, 'call')} without a price")
    if asked.payer is Payer.AGENT or (asked.payer is Payer.ALL and not _through_the_door(pins)):
        answers, silent = _answers(evidence, money=money)
        # Recorded answers that say nothing of what they cost were paid for long ago, if at all.
        free = asked.payer is Payer.ALL and pins.target == RECORDED and not answers
        if asked.payer is Payer.AGENT and not answers:
            return nothing(f"No answer says what it {'cost' if money else 'took in tokens'}.", silent)
        if not free:
            total += sum(answers)
            told.append(f"{unit.say(sum(answers))} for {counted(len(answers), 'answer')} of the agent")
            if silent:
                unknown.append(f"{counted(silent, 'answer')} that do not say")
    said = " + ".join(told) + (f"; not known: {', '.join(unknown)}" if unknown else "")
    reachable = (total, inf if unknown or evidence.run.counts.pending else total)
    return exactly(asked.bound, unit, total, said, n=evidence.run.counts.completed, reachable=reachable)


def _answers(evidence: Evidence, *, money: bool) -> tuple[list[float], int]:
    """What each answer took, and how many do not say."""
    seen = [evidence.spent(candidate, Which(), money=money) for candidate in evidence.candidates(Which())]
    silent = sum(len(each.missing) for each in seen) - evidence.run.counts.pending
    return [value for each in seen for value in each.values], max(0, silent)


def _through_the_door(pins: Pins) -> bool:
    """Models under test are asked by the run itself: what they cost is among its own calls already."""
    return pins.target.partition(":")[0] == CHAT or any(":" in name for name in pins.candidates)


def all_hold(asked: AllHold, evidence: Evidence, candidate: str) -> GateRuling:
    observed = evidence.checks(candidate, Which(part=asked.part))
    n, missing = len(observed.values), len(observed.missing)
    passed = sum(value == 1 for value in observed.values)
    told = f"{passed:,} of {counted(n, 'check')} passed"
    if passed < n:
        outcome = Outcome.FAILED
    elif missing or not n:
        outcome = Outcome.INCONCLUSIVE
        told += f", but {counted(missing, 'check')} could not be judged" if missing else ": it was never checked"
    else:
        outcome = Outcome.HELD
    value = passed / n if n else None
    return GateRuling(expression="", outcome=outcome, reason=f"{told}.", value=value, n=n, unjudged=missing)
