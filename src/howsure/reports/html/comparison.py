"""The comparison with a baseline run, as the page shows it: the sentence, the cases that flipped (those that got worse
first), and every difference with its interval on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace

from howsure.model.comparison import CaseFlip, Comparison, Conclusion, Difference, DifferenceKind, PairComparison
from howsure.reports import comparisons
from howsure.reports.comparisons import side_name, tries_text
from howsure.reports.figures import pluralize
from howsure.reports.headlines import grader_name
from howsure.reports.safe_text import one_line

SHOWN_FLIPS = 100
SHOWN_DIFFERENCES = 40
SHOWN_CHANGES = 20
SHOWN_FLAKY = 20
CAUSES_LENGTH = 200
AXES = (0.1, 0.25, 0.5, 1.0)
"""How far an axis may reach on both sides of zero, as a share of the scale: round numbers, whatever the data."""
CONCLUSION_CLASSES = {
    Conclusion.BETTER: "passed",
    Conclusion.WORSE: "failed",
    Conclusion.EQUAL: "quiet",
    Conclusion.CANNOT_TELL: "doubtful",
    Conclusion.DIFFERENT: "doubtful",
}
"""CSS classes."""


class IntervalStrip(Struct, frozen=True, kw_only=True):
    """An interval and its middle on the axis, in percent of its length. `told`: it allows a conclusion."""

    low: float
    width: float
    tick: float
    told: bool


class DifferenceRow(Struct, frozen=True, kw_only=True):
    """One difference."""

    title: str
    n: int
    first: str
    second: str
    apart: str
    likely: str
    word: str
    looks: str
    strip: IntervalStrip | None


class FlippedCase(Struct, frozen=True, kw_only=True):
    """One case that flipped; `link` opens it in this page."""

    id: str
    link: str
    was: str
    now: str
    graders: str


class BaselineComparison(Struct, frozen=True, kw_only=True):
    """One side of this run against one of the baseline."""

    first: str
    second: str
    sentence: str
    looks: str
    flags: list[tuple[str, list[str]]]
    axis: str
    apart: list[DifferenceRow]
    apart_left_out: str
    worse: list[FlippedCase]
    better: list[FlippedCase]
    worse_count: int
    better_count: int
    flaky: list[tuple[str, str, str, str]]
    notes: list[str]


def case_changes(comparison: Comparison | None) -> dict[tuple[str, str], str]:
    """`worse` or `better` for each case of this run that flipped, by candidate and case id."""
    return {
        (compared.second.candidate, flip.other_id or flip.case_id): "better" if flip.gained else "worse"
        for compared in (comparison.pairs if comparison else ())
        for flip in compared.flips
    }


def baseline_comparisons(comparison: Comparison | None) -> list[BaselineComparison]:
    return [_against(comparison, compared) for compared in comparison.pairs] if comparison else []


def _against(comparison: Comparison, compared: PairComparison) -> BaselineComparison:
    # The pass rate; then what could be compared, clear conclusions before others where there are too many.
    known = [each for each in compared.differences if each.n]
    chosen = sorted(known, key=lambda each: each.conclusion in comparisons.QUIET)[:SHOWN_DIFFERENCES]
    shown = [compared.verdict, *sorted(chosen, key=known.index)]
    half, left = axis_half_width(shown), 1 + len(compared.differences) - len(shown)
    (_, worse), (_, better) = comparisons.flips_by_direction(compared)
    return BaselineComparison(
        first=compared.first.name,
        second=compared.second.name,
        sentence=comparisons.comparison_sentence(compared, comparison.unit),
        looks=CONCLUSION_CLASSES[comparisons.headline_conclusion(compared)],
        flags=_flags(compared),
        axis=f"{100 * half:.0f}",
        apart=[_difference_row(each, half) for each in shown],
        apart_left_out=_left_out(left),
        worse=[_flipped_case(flip, compared) for flip in worse[:SHOWN_FLIPS]],
        better=[_flipped_case(flip, compared) for flip in better[:SHOWN_FLIPS]],
        worse_count=len(worse),
        better_count=len(better),
        flaky=[
            (each.case_id, side_name(compared, each.second), tries_text(each.tries), each.blame.value)
            for each in compared.flaky[:SHOWN_FLAKY]
        ],
        notes=_notes(comparison, compared),
    )


def _left_out(count: int) -> str:
    """`1 more difference, which could not be compared or tells nothing sure`; empty where nothing is left out."""
    verb = "tells" if count == 1 else "tell"
    return f"{pluralize(count, 'more difference')}, which could not be compared or {verb} nothing sure" if count else ""


def axis_half_width(differences: Sequence[Difference]) -> float:
    """The shortest axis that holds every interval."""
    ends = [abs(end) for each in differences for end in _shares(each) or ()]
    return next((half for half in AXES if max(ends, default=0.0) <= half), AXES[-1])


def _shares(difference: Difference) -> tuple[float, float, float] | None:
    """Low end, difference and high end as shares of the scale; an open scale has none."""
    scale, known = difference.scale, difference.difference
    span = scale.high - scale.low if scale.high is not None else 0.0
    span = 1.0 if difference.kind in comparisons.RATE_KINDS else span
    if known is None or difference.interval is None or not span:
        return None
    return difference.interval[0] / span, known / span, difference.interval[1] / span


def interval_strip(difference: Difference, half: float) -> IntervalStrip | None:
    shares = _shares(difference)
    if shares is None:
        return None
    low, middle, high = (round(50 + 50 * max(-half, min(half, share)) / half, 2) for share in shares)
    label = difference.conclusion is not Conclusion.CANNOT_TELL
    return IntervalStrip(low=low, width=round(max(high - low, 0.5), 2), tick=middle, told=label)


def _title(difference: Difference) -> str:
    is_grader = difference.kind is DifferenceKind.GRADER
    return comparisons.difference_title(
        replace(difference, name=grader_name(difference.name)) if is_grader else difference
    )


def _difference_row(difference: Difference, half: float) -> DifferenceRow:
    _, first, second, apart, likely, _, word = comparisons.difference_cells(difference)
    return DifferenceRow(
        title=_title(difference),
        n=difference.n,
        first=first,
        second=second,
        apart=apart,
        likely=likely,
        word=word,
        looks=CONCLUSION_CLASSES[difference.conclusion],
        strip=interval_strip(difference, half),
    )


def _flipped_case(flip: CaseFlip, compared: PairComparison) -> FlippedCase:
    case = flip.other_id or flip.case_id
    return FlippedCase(
        id=comparisons.flip_id(flip),
        link="#" + urlencode({"case": case, "by": compared.second.candidate}),
        was=tries_text(flip.first),
        now=tries_text(flip.second),
        graders=one_line(comparisons.flip_causes(flip), CAUSES_LENGTH),
    )


def _flags(compared: PairComparison) -> list[tuple[str, list[str]]]:
    flags = []
    for warning, each in zip(comparisons.setup_warnings(compared), compared.flags, strict=True):
        shown = [comparisons.change_line(change) for change in each.changes[:SHOWN_CHANGES]]
        left = len(each.changes) + each.changes_left_out - len(shown)
        flags.append((warning, [*shown, *([f"and {left:,} more"] if left else [])]))
    return flags


def _notes(comparison: Comparison, compared: PairComparison) -> list[str]:
    left = comparisons.unpaired_text(compared.verdict.pairing, comparison.unit)
    questions = pluralize(len(compared.differences), "question")
    holm = f"All but the pass rate allow for {questions} asked of the same data (Holm)" if compared.differences else ""
    clusters = f"Cases with the same {comparison.cluster} count as one cluster" if comparison.cluster else ""
    return [f"{note}." for note in (left, holm, clusters, *compared.notes, *comparison.left_out) if note]
