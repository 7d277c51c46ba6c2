"""A comparison in words and as JSON: one sentence that says better, worse, no difference larger than X, or cannot tell
yet; the names of its sides and numbers that every report uses; and the shape for other programs."""

from __future__ import annotations

from typing import Any

from msgspec import structs, to_builtins

from howsure.model.comparison import (
    CaseFlip,
    Comparison,
    Conclusion,
    Difference,
    DifferenceKind,
    FlakyCase,
    PairComparison,
    PairCounts,
    PartChange,
    TryCounts,
    VarianceComponents,
)
from howsure.reports.figures import NOTHING, format_number, format_percent, pluralize

CONCLUSION_WORDS = {
    Conclusion.BETTER: "better",
    Conclusion.WORSE: "worse",
    Conclusion.EQUAL: "no difference seen",
    Conclusion.CANNOT_TELL: "cannot tell",
    Conclusion.DIFFERENT: "different",
}
RATE_KINDS = (
    DifferenceKind.VERDICT,
    DifferenceKind.RULE,
    DifferenceKind.COMPONENT,
    DifferenceKind.TAG,
    DifferenceKind.SLICE,
)
"""Differences of rates, shown in percentage points."""
MINUS = "−"
MOSTLY = 2 / 3
"""From this share of the noise on, one side is worth doing something about first."""
QUIET = {Conclusion.EQUAL, Conclusion.CANNOT_TELL}
"""Conclusions that tell nothing sure."""


def comparison_sentence(compared: PairComparison, unit: str = "case") -> str:
    """The conclusion, with what it rests on and what to keep in mind."""
    answer = _conclusion_sentence(compared, unit)
    flags = [each.what.value for each in compared.flags]
    if not flags:
        return answer
    listed = flags[0] if len(flags) == 1 else f"{', '.join(flags[:-1])} and {flags[-1]}"
    return f"{answer} Mind that the {listed} {'is' if len(flags) == 1 else 'are'} not the same on both sides."


def _conclusion_sentence(compared: PairComparison, unit: str) -> str:
    verdict = compared.verdict
    first, second = compared.first.name, compared.second.name
    if verdict.first is None or verdict.second is None:
        return f"Nothing can be said: no {unit} was decided on both sides ({unpaired_text(verdict.pairing, unit)})."
    paired = _paired(verdict.n, unit)
    passed = f"{format_percent(verdict.second)} of {paired} passed against {format_percent(verdict.first)}"
    rates = f"{passed} ({change_text(verdict)})"
    match verdict.conclusion:
        case Conclusion.EQUAL:
            reach = amount_text(verdict, verdict.reach or 0.0)
            outcome = rates if verdict.raised + verdict.lowered else f"all {paired} came out the same"
            return f"No difference larger than {reach} between {first} and {second}: {outcome}."
        case Conclusion.CANNOT_TELL:
            more = _needed_sentence(verdict, unit)
            return f"Cannot tell yet whether {second} is better or worse than {first}: {rates}. {more}"
        case clear:
            return f"{second} is {CONCLUSION_WORDS[clear]} than {first}: {rates}."


def _needed_sentence(verdict: Difference, unit: str) -> str:
    """How many cases would tell, rounded up to two digits: nobody knows the third."""
    if verdict.needed is None:
        return "There are too few to say how many would tell."
    step = int(10 ** max(0, len(str(verdict.needed)) - 2))
    needed = -(-verdict.needed // step) * step
    return f"About {_paired(needed, unit)} would tell, {needed - verdict.n:,} more than there are."


def _paired(count: int, unit: str) -> str:
    """`12 paired cases`; labels are counted by their name: `12 paired scenario_id values`."""
    return pluralize(count, "paired case" if unit == "case" else f"paired {unit} value")


def change_text(difference: Difference) -> str:
    """`+5.0 points, likely −5.2 to +15.3`."""
    if difference.difference is None:
        return NOTHING
    amount = amount_text(difference, difference.difference, signed=True)
    return f"{amount}, likely {interval_text(difference)}" if difference.interval else amount


def interval_text(difference: Difference) -> str:
    """`−5.2 to +15.3`; empty where there is no interval."""
    if difference.interval is None:
        return ""
    low, high = (amount_text(difference, end, signed=True, bare=True) for end in difference.interval)
    return f"{low} to {high}"


def amount_text(difference: Difference, value: float, *, signed: bool = False, bare: bool = False) -> str:
    """`−5.2 points` for a difference of rates, else a number in the grader's own unit. What rounds to zero has no
    sign."""
    rates = difference.kind in RATE_KINDS
    size = f"{100 * abs(value):.1f}" if rates else format_number(abs(value))
    sign = (MINUS if value < 0 else "+" if signed else "") if float(size.replace(",", "")) else ""
    unit = "" if bare or not rates else " point" if size == "1.0" else " points"
    return f"{sign}{size}{unit}"


def side_value(difference: Difference, known: float | None) -> str:
    """A side's mean: a percentage for rates, else a number."""
    if known is None:
        return NOTHING
    return format_percent(known) if difference.kind in RATE_KINDS else format_number(known)


def p_value_text(difference: Difference) -> str:
    """The p-value that counts: adjusted, where there is one."""
    known = difference.p_value if difference.adjusted is None else difference.adjusted
    if known is None:
        return NOTHING
    return "<0.001" if known < 0.001 else f"{known:.3f}"


def tries_text(tried: TryCounts) -> str:
    """`passed`, `failed`, or `2 of 3 passed`."""
    if tried.judged == 1:
        return "passed" if tried.passed else "failed"
    return f"{tried.passed} of {tried.judged} passed"


def unpaired_text(pairing: PairCounts, unit: str = "case") -> str:
    """What could not be compared, and why; empty when everything could."""
    counts = [
        (pairing.only_first, "only on the first side"),
        (pairing.only_second, "only on the second side"),
        (pairing.changed, "changed between the runs"),
        *((each.count, f"{each.why} on the {'second' if each.second else 'first'} side") for each in pairing.absences),
    ]
    parts = [f"{count:,} {why}" for count, why in counts if count]
    left = pairing.total - pairing.paired
    noun = unit if unit == "case" else f"{unit} value"
    return f"{pluralize(left, noun)} could not be compared: {', '.join(parts)}" if left else ""


def setup_warnings(compared: PairComparison) -> list[str]:
    """One line for each part of the setup that is not the same on both sides."""
    return [f"The {each.what.value} differs: {each.said}." for each in compared.flags]


def change_line(change: PartChange) -> str:
    """`criterion c1 of case q3 changed: Cites the Act`."""
    of = f" of case {change.case_id}" if change.case_id else ""
    named = f"{change.kind} {change.id}".strip()
    return f"{named}{of} {change.turn.value}{f': {change.text}' if change.text else ''}"


def flips_by_direction(compared: PairComparison) -> list[tuple[str, list[CaseFlip]]]:
    """Those that got worse first, and in each group the clearest first."""
    worse = [flip for flip in compared.flips if not flip.gained]
    better = [flip for flip in reversed(compared.flips) if flip.gained]
    return [("got worse", worse), ("got better", better)]


def flip_id(flip: CaseFlip) -> str:
    return f"{flip.case_id} / {flip.other_id}" if flip.other_id else flip.case_id


def flip_causes(flip: CaseFlip) -> str:
    """The graders that turned with it; where the case itself is not the same on both sides, that first."""
    return ", ".join(("the case changed", *flip.graders) if flip.changed else flip.graders)


def difference_title(difference: Difference) -> str:
    """`rule R-1 Asks for the order number`, `tag returns`, `difficulty=easy`."""
    plain = (DifferenceKind.VERDICT, DifferenceKind.GRADER, DifferenceKind.SLICE)
    named = difference.name if difference.kind in plain else f"{difference.kind.value} {difference.name}"
    named = "pass rate" if difference.kind is DifferenceKind.VERDICT else named
    return f"{named} {difference.text}" if difference.text else named


def difference_cells(difference: Difference, *, bare: bool = False) -> list[str]:
    """Count, both sides, the difference, its interval, p and the conclusion. `bare`: without the unit."""
    known = difference.difference
    return [
        f"{difference.n:,}",
        side_value(difference, difference.first),
        side_value(difference, difference.second),
        NOTHING if known is None else amount_text(difference, known, signed=True, bare=bare),
        interval_text(difference),
        p_value_text(difference),
        CONCLUSION_WORDS[difference.conclusion],
    ]


def side_name(compared: PairComparison, second: bool) -> str:
    return (compared.second if second else compared.first).name


def noise_line(noise: VarianceComponents) -> str:
    """`rubric: 70 % of the noise is the agent's, 30 % the judge's (…; 30 cases, …): more repeats help most`."""
    share = noise.judge_share
    basis = f"{pluralize(noise.cases, 'case')}, {noise.tries:,} tries, {noise.judgements:,} judgements"
    if share is None:
        return f"{noise.grader}: no noise, repeats and judgements always agree ({basis})"
    deviations = " and ".join(format_number(each.value**0.5) for each in (noise.agent, noise.judge))
    split = f"{100 * (1 - share):.0f} % of the noise is the agent's, {100 * share:.0f} % the judge's"
    advice = ": more repeats help most" if share <= 1 - MOSTLY else ""
    advice = ": ask the judge more often, or take a better one" if share >= MOSTLY else advice
    return f"{noise.grader}: {split} (standard deviation {deviations}; {basis}){advice}"


def noise_shape(noise: VarianceComponents) -> dict[str, Any]:
    """Variances are in the square of the grader's unit."""
    counts = {name: getattr(noise, name) for name in ("cases", "tries", "judgements")}
    parts = ("between_cases", "agent", "judge")
    variances = {f"variance_{name}": to_builtins(getattr(noise, name)) for name in parts}
    side = "second" if noise.second else "first"
    return {"grader": noise.grader, "side": side, **counts, **variances, "judge_share": noise.judge_share}


def comparison_shape(comparison: Comparison) -> dict[str, Any]:
    """Ready for JSON. `comparisons` has one entry for each side that was held against the first."""
    return {
        "comparisons": [_compared(comparison, each) for each in comparison.pairs],
        "unit": comparison.unit,
        "cluster": comparison.cluster or None,
        "margin": comparison.margin,
        "confidence": comparison.confidence,
        "not_compared": list(comparison.left_out),
    }


def _compared(comparison: Comparison, compared: PairComparison) -> dict[str, Any]:
    return {
        "first": to_builtins(compared.first),
        "second": to_builtins(compared.second),
        "conclusion": compared.verdict.conclusion.value,
        "sentence": comparison_sentence(compared, comparison.unit),
        "alike": not compared.flags,
        "unlike": to_builtins(compared.unlike),
        "verdict": _difference(compared.verdict),
        "differences": [_difference(each) for each in compared.differences],
        "got_worse": [_flip(each) for each in compared.flips if not each.gained],
        "got_better": [_flip(each) for each in reversed(compared.flips) if each.gained],
        "flaky": [_flaky(each) for each in compared.flaky],
        "notes": list(compared.notes),
        "noise": [noise_shape(each) for each in compared.noise],
    }


def _difference(difference: Difference) -> dict[str, Any]:
    shape: dict[str, Any] = structs.asdict(difference)
    named = {"p_adjusted": shape.pop("adjusted"), "needed_cases": shape.pop("needed")}
    pairing = shape.pop("pairing")
    return {
        **to_builtins(shape),
        **named,
        "text": difference.text or None,
        "method": difference.method or None,
        "scale": [difference.scale.low, difference.scale.high],
        "interval": list(difference.interval) if difference.interval else None,
        "n": difference.n,
        "pairing": _pairing(pairing),
    }


def _pairing(pairing: PairCounts) -> dict[str, Any]:
    shape: dict[str, Any] = structs.asdict(pairing)
    sides = ("first", "second")
    why = [{"side": sides[each.second], "why": each.why, "count": each.count} for each in shape.pop("absences")]
    return {"total": pairing.total, "without_value": shape.pop("without"), **shape, "why": why}


def _flip(flip: CaseFlip) -> dict[str, Any]:
    shape = {"case_id": flip.case_id, "first": to_builtins(flip.first), "second": to_builtins(flip.second)}
    other = {"second_case_id": flip.other_id} if flip.other_id else {}
    return {**shape, **other, "graders": list(flip.graders), "case_changed": flip.changed}


def _flaky(each: FlakyCase) -> dict[str, Any]:
    side = "second" if each.second else "first"
    return {"case_id": each.case_id, "side": side, **to_builtins(each.tries), "blame": each.blame.value}
