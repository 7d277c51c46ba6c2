"""`howsure gate RUN --labels`: decides the gates on pass rates by people's labels on some answers, and shows the
judge's own ruling beside. Other gates are not changed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from howsure.errors import PlanRefused
from howsure.model.calibration import PeopleVerdict
from howsure.model.summary import GateOutcome, GateRuling, Summary
from howsure.policies.gates import GateScope, PassRate, read_gate
from howsure.reports.figures import pluralize
from howsure.services.gate.decisions import NOT_SURE, GateUnit, interval_outcome, interval_text, limit_text
from howsure.services.gate.evidence import labels_key, parts_named, read_gate_columns
from howsure.services.judge.correct import judged_answers
from howsure.services.judge.people_verdicts import RunVerdicts, read_people, read_run_verdicts
from howsure.services.workspace import Workspace
from howsure.stats.rate_correction import MORE_LABELS, RateCorrection, correct_rate
from howsure.store.store import Store


async def correct_rulings(work: Workspace, store: Store, summary: Summary, sources: Sequence[str]) -> Summary:
    """The summary with the rulings on pass rates corrected by people's labels. Raises `PlanRefused` if no gate can be
    corrected."""
    gates = [read_gate(each.expression).condition for each in summary.gates]
    run = summary.run
    people = await read_people(work, store, run, sources)
    verdicts = await read_run_verdicts(store, run, {each.criterion for each in people if each.criterion})
    columns = await read_gate_columns(store, run, gates)
    rulings: list[GateRuling] = []
    reasons: list[str] = []
    for ruling, condition in zip(summary.gates, gates, strict=True):
        if not isinstance(condition, PassRate):
            rulings.append(ruling)
            continue
        candidate = ruling.candidate or condition.scope.candidate or (verdicts.candidates() or [""])[0]
        chosen = columns.chosen.get(labels_key(condition.scope.labels)) if condition.scope.labels else None
        parts = parts_named(condition.scope.part, run, columns.part_ids) if condition.scope.part else set()
        found = _correct(condition.scope, parts, chosen, (verdicts, people), candidate)
        if isinstance(found, str):
            reasons.append(found)
            rulings.append(replace(ruling, reason=f"{ruling.reason} Not corrected by labels: {found}."))
        else:
            rulings.append(_ruling(condition, ruling, found))
    if len(reasons) == len(rulings) or not any(isinstance(each, PassRate) for each in gates):
        reason = reasons[0] if reasons else "none of the gates is about a pass rate"
        raise PlanRefused(f"the labels correct nothing: {reason}")
    return replace(summary, gates=tuple(rulings))


def _correct(
    scope: GateScope,
    parts: set[str],
    chosen: frozenset[str] | None,
    sides: tuple[RunVerdicts, Sequence[PeopleVerdict]],
    candidate: str,
) -> RateCorrection | str:
    """The corrected rate, or why there is none."""
    verdicts, people = sides
    graders = list(dict.fromkeys(each.grader for each in people if not each.criterion))
    criterion = ""
    grader = scope.grader or verdicts.deciding(graders, candidate)
    if scope.part:
        named = {(each.grader, each.criterion) for each in people if each.criterion in parts}
        if len(named) != 1:
            return f"there are no labels on {scope.part!r}"
        ((grader, criterion),) = named
    elif not grader:
        said = ", ".join(graders or sorted({each.grader for each in people})) or "nothing that was judged"
        return (
            f"the labels are about {said}, which does not decide the verdicts alone: gate `pass_rate[GRADER]` instead"
        )
    judged = {
        answer: passed
        for answer, passed in verdicts.by_grade.get((grader, criterion, candidate), {}).items()
        if chosen is None or answer[0] in chosen
    }
    own = [each for each in people if (each.grader, each.criterion, each.candidate) == (grader, criterion, candidate)]
    answers, reason = judged_answers(judged, own, {})
    return reason or correct_rate(answers) or "there are too few labels"


def _ruling(condition: PassRate, judge: GateRuling, found: RateCorrection) -> GateRuling:
    bound, unit = condition.bound, GateUnit.SHARE
    outcome = interval_outcome(bound, found.interval)
    total = found.labels + found.judged
    basis = f"{pluralize(found.labels, 'label')} on {pluralize(total, 'judged answer')}"
    text = f"People would pass {unit.say(found.value)}, by {basis}; likely {interval_text(unit, found.interval)}, "
    text += f"{limit_text(unit, bound, outcome)}."
    if judge.unjudged and outcome is not GateOutcome.INCONCLUSIVE:
        share = total / (total + judge.unjudged)
        held = outcome is GateOutcome.HELD
        ends = [end * share + (0.0 if bound.sign.upward is held else 1 - share) for end in found.interval]
        if interval_outcome(bound, (ends[0], ends[1])) is not outcome:
            worst = "bad" if held else "good"
            text += f" {NOT_SURE} the {judge.unjudged:,} without a verdict, counted as {worst}, would change it."
            outcome = GateOutcome.INCONCLUSIVE
    if outcome is GateOutcome.INCONCLUSIVE and found.with_more is not None:
        now = 100 * (found.interval[1] - found.interval[0])
        text += (
            f" {MORE_LABELS} more labels would narrow it from {now:.0f} to about {100 * found.with_more:.0f} points."
        )
    text += f" The judge alone says: {judge.outcome.value}. {judge.reason}"
    return replace(
        judge,
        outcome=outcome,
        reason=text,
        value=found.value,
        interval=found.interval,
        n=total,
        needed_cases=None,
    )
