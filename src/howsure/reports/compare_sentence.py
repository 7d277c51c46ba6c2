"""A comparison in words: one sentence that says better, worse, no difference larger than X, or cannot tell yet; and the
same short names for its sides and numbers in every report."""

from __future__ import annotations

from howsure.model.comparison import Compared, Conclusion, Difference, Kind, Pairing, Tries
from howsure.reports.figures import NOTHING, counted, number, percent

WORDS = {
    Conclusion.BETTER: "better",
    Conclusion.WORSE: "worse",
    Conclusion.EQUAL: "no difference seen",
    Conclusion.CANNOT_TELL: "cannot tell",
    Conclusion.DIFFERENT: "different",
}
POINTS = (Kind.VERDICT, Kind.RULE, Kind.COMPONENT, Kind.TAG, Kind.SLICE)
"""Differences of rates, told in points of a hundred."""
MINUS = "−"


def sentence(compared: Compared, unit: str = "case") -> str:
    """The conclusion, with what it rests on and what to keep in mind."""
    return f"{_answer(compared, unit)}{_mind(compared)}"


def _answer(compared: Compared, unit: str) -> str:
    verdict = compared.verdict
    first, second = compared.first.name, compared.second.name
    if verdict.first is None or verdict.second is None:
        return f"Nothing can be said: no {unit} was decided on both sides ({unpaired(verdict.pairing, unit)})."
    paired = _counted(verdict.n, unit)
    rates = f"{percent(verdict.second)} of {paired} passed against {percent(verdict.first)} ({change(verdict)})"
    match verdict.conclusion:
        case Conclusion.EQUAL:
            return f"{_equal(verdict, first, second)}: {_same(verdict, paired, rates)}."
        case Conclusion.CANNOT_TELL:
            return f"Cannot tell yet whether {second} is better or worse than {first}: {rates}.{_more(verdict, unit)}"
        case told:
            return f"{second} is {WORDS[told]} than {first}: {rates}."


def _equal(verdict: Difference, first: str, second: str) -> str:
    return f"No difference larger than {amount(verdict, verdict.reach or 0.0)} between {first} and {second}"


def _same(verdict: Difference, paired: str, rates: str) -> str:
    return f"all {paired} came out the same" if not verdict.raised + verdict.lowered else rates


def _more(verdict: Difference, unit: str) -> str:
    if verdict.needed is None:
        return " There are too few to say how many would tell."
    needed = _rounded(verdict.needed)
    return f" About {_counted(needed, unit)} would tell, {needed - verdict.n:,} more than there are."


def _rounded(count: int) -> int:
    """Two digits: nobody knows the third. Upwards, so that it is enough."""
    step = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // step) * step


def _mind(compared: Compared) -> str:
    flags = [each.what.value for each in compared.flags]
    if not flags:
        return ""
    listed = flags[0] if len(flags) == 1 else f"{', '.join(flags[:-1])} and {flags[-1]}"
    verb = "is" if len(flags) == 1 else "are"
    return f" Mind that the {listed} {verb} not the same on both sides."


def change(difference: Difference) -> str:
    """`+5.0 points, likely −5.2 to +15.3`."""
    if difference.difference is None:
        return NOTHING
    said = amount(difference, difference.difference, signed=True)
    return f"{said}, likely {bounds(difference)}" if difference.interval else said


def bounds(difference: Difference) -> str:
    """`−5.2 to +15.3`; empty where there is no interval."""
    if difference.interval is None:
        return ""
    low, high = (amount(difference, end, signed=True, bare=True) for end in difference.interval)
    return f"{low} to {high}"


def amount(difference: Difference, value: float, *, signed: bool = False, bare: bool = False) -> str:
    """A difference as people say it: in points where it is one of rates, else in what the grader counts."""
    sign = (MINUS if value < 0 else "+" if signed else "") if value else ""
    if difference.kind in POINTS:
        size = f"{100 * abs(value):.1f}"
        unit = "" if bare else " point" if size == "1.0" else " points"
        return f"{_unsigned_zero(sign, size)}{size}{unit}"
    size = number(abs(value))
    return f"{_unsigned_zero(sign, size)}{size}"


def _unsigned_zero(sign: str, size: str) -> str:
    return "" if not float(size.replace(",", "")) else sign


def value(difference: Difference, known: float | None) -> str:
    """A side's mean: a percentage for rates, else a number."""
    if known is None:
        return NOTHING
    return percent(known) if difference.kind in POINTS else number(known)


def chance(difference: Difference) -> str:
    """The p-value that counts: adjusted, where there is one."""
    known = difference.p_value if difference.adjusted is None else difference.adjusted
    if known is None:
        return NOTHING
    return "<0.001" if known < 0.001 else f"{known:.3f}"


def tries(tried: Tries) -> str:
    """`passed`, `failed`, or `2 of 3 passed`."""
    if tried.judged == 1:
        return "passed" if tried.passed else "failed"
    return f"{tried.passed} of {tried.judged} passed"


def unpaired(pairing: Pairing, unit: str = "case") -> str:
    """What could not be compared, and why; empty when everything could."""
    said = [
        (pairing.only_first, "only on the first side"),
        (pairing.only_second, "only on the second side"),
        (pairing.changed, "changed between the runs"),
        *((each.count, f"{each.why} on the {'second' if each.second else 'first'} side") for each in pairing.absences),
    ]
    parts = [f"{count:,} {why}" for count, why in said if count]
    left = pairing.total - pairing.paired
    noun = unit if unit == "case" else f"{unit} value"
    return f"{counted(left, noun)} could not be compared: {', '.join(parts)}" if left else ""


def unlike_lines(compared: Compared) -> list[str]:
    """One line for each thing that must be kept in mind."""
    return [f"The {each.what.value} differs: {each.said}." for each in compared.flags]


def _counted(count: int, unit: str) -> str:
    """Labels are counted by their name: `12 scenario_id values`."""
    return counted(count, "paired case" if unit == "case" else f"paired {unit} value")
