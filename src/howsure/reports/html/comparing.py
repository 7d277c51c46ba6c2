"""The comparison with a baseline run, as the page shows it: the sentence, the cases that came out otherwise (those that
got worse first), and every difference with its interval on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from msgspec import Struct

from howsure.model.comparison import Compared, Comparison, Conclusion, Difference, Flip
from howsure.reports.compare_sentence import (
    POINTS,
    WORDS,
    amount,
    bounds,
    sentence,
    tries,
    unlike_lines,
    unpaired,
    value,
)
from howsure.reports.compare_text import QUIET, changed, title
from howsure.reports.figures import NOTHING, counted

SHOWN_FLIPS = 100
SHOWN_DIFFERENCES = 40
SHOWN_CHANGES = 20
SHOWN_FLAKY = 20
AXES = (0.1, 0.25, 0.5, 1.0)
"""How far an axis may reach to both sides of zero, in shares of a scale: round numbers, never the data's own."""
LOOKS = {
    Conclusion.BETTER: "passed",
    Conclusion.WORSE: "failed",
    Conclusion.EQUAL: "quiet",
    Conclusion.CANNOT_TELL: "doubtful",
    Conclusion.DIFFERENT: "doubtful",
}
"""The colours that a page already has, by conclusion."""


class Strip(Struct, frozen=True, kw_only=True):
    """An interval and its middle on the axis, in percent of its length. `told`: it says something."""

    low: float
    width: float
    tick: float
    told: bool


class Apart(Struct, frozen=True, kw_only=True):
    """One difference."""

    title: str
    n: int
    first: str
    second: str
    apart: str
    likely: str
    word: str
    looks: str
    strip: Strip | None


class Turned(Struct, frozen=True, kw_only=True):
    """One case that came out otherwise; `link` opens it in this page."""

    id: str
    link: str
    was: str
    now: str
    graders: str


class Against(Struct, frozen=True, kw_only=True):
    """One side of this run against one of the baseline."""

    first: str
    second: str
    sentence: str
    looks: str
    flags: list[tuple[str, list[str]]]
    axis: str
    apart: list[Apart]
    apart_left_out: str
    worse: list[Turned]
    better: list[Turned]
    worse_count: int
    better_count: int
    flaky: list[tuple[str, str, str, str]]
    notes: list[str]


def changes(comparison: Comparison | None) -> dict[tuple[str, str], str]:
    """What became of each case of this run, by candidate and case id."""
    return {
        (compared.second.candidate, flip.other_id or flip.case_id): "better" if flip.gained else "worse"
        for compared in (comparison.pairs if comparison else ())
        for flip in compared.flips
    }


def against(comparison: Comparison | None) -> list[Against]:
    return [_against(comparison, compared) for compared in comparison.pairs] if comparison else []


def _against(comparison: Comparison, compared: Compared) -> Against:
    shown = _worth_showing(compared)
    half, left = axis(shown), 1 + len(compared.differences) - len(shown)
    worse = [flip for flip in compared.flips if not flip.gained]
    better = [flip for flip in reversed(compared.flips) if flip.gained]
    return Against(
        first=compared.first.name,
        second=compared.second.name,
        sentence=sentence(compared, comparison.unit),
        looks=LOOKS[compared.verdict.conclusion],
        flags=_flags(compared),
        axis=f"{100 * half:.0f}",
        apart=[_apart(each, half) for each in shown],
        apart_left_out=counted(left, "more difference") if left else "",
        worse=[_turned(flip, compared) for flip in worse[:SHOWN_FLIPS]],
        better=[_turned(flip, compared) for flip in better[:SHOWN_FLIPS]],
        worse_count=len(worse),
        better_count=len(better),
        flaky=_flaky(compared),
        notes=_notes(comparison, compared),
    )


def _worth_showing(compared: Compared) -> list[Difference]:
    """The verdict; then what could be compared, what tells something before what does not."""
    known = [each for each in compared.differences if each.n]
    told = sorted(known, key=lambda each: each.conclusion in QUIET)[:SHOWN_DIFFERENCES]
    return [compared.verdict, *sorted(told, key=known.index)]


def axis(differences: Sequence[Difference]) -> float:
    """The shortest axis that holds every interval."""
    ends = [abs(end) for each in differences for end in _shares(each) or ()]
    return next((half for half in AXES if max(ends, default=0.0) <= half), AXES[-1])


def _shares(difference: Difference) -> tuple[float, float, float] | None:
    """Low end, difference and high end as shares of the scale; an open scale has none."""
    scale, known = difference.scale, difference.difference
    span = 1.0 if difference.kind in POINTS else (scale.high - scale.low if scale.high is not None else 0.0)
    if known is None or difference.interval is None or not span:
        return None
    return difference.interval[0] / span, known / span, difference.interval[1] / span


def strip(difference: Difference, half: float) -> Strip | None:
    shares = _shares(difference)
    if shares is None:
        return None
    low, middle, high = (round(50 + 50 * max(-half, min(half, share)) / half, 2) for share in shares)
    told = difference.conclusion is not Conclusion.CANNOT_TELL
    return Strip(low=low, width=round(max(high - low, 0.5), 2), tick=middle, told=told)


def _apart(difference: Difference, half: float) -> Apart:
    known = difference.difference
    return Apart(
        title=title(difference),
        n=difference.n,
        first=value(difference, difference.first),
        second=value(difference, difference.second),
        apart=NOTHING if known is None else amount(difference, known, signed=True),
        likely=bounds(difference),
        word=WORDS[difference.conclusion],
        looks=LOOKS[difference.conclusion],
        strip=strip(difference, half),
    )


def _turned(flip: Flip, compared: Compared) -> Turned:
    case = flip.other_id or flip.case_id
    return Turned(
        id=f"{flip.case_id} / {flip.other_id}" if flip.other_id else flip.case_id,
        link="#" + urlencode({"case": case, "by": compared.second.candidate}),
        was=tries(flip.first),
        now=tries(flip.second),
        graders=", ".join(flip.graders),
    )


def _flags(compared: Compared) -> list[tuple[str, list[str]]]:
    told = []
    for line, each in zip(unlike_lines(compared), compared.flags, strict=True):
        shown = [changed(change) for change in each.changes[:SHOWN_CHANGES]]
        left = len(each.changes) + each.changes_left_out - len(shown)
        told.append((line, [*shown, *([f"and {left:,} more"] if left else [])]))
    return told


def _flaky(compared: Compared) -> list[tuple[str, str, str, str]]:
    """Case, side, repeats and who disagrees."""
    first, second = compared.first.name, compared.second.name
    return [
        (each.case_id, second if each.second else first, tries(each.tries), each.blame.value)
        for each in compared.flaky[:SHOWN_FLAKY]
    ]


def _notes(comparison: Comparison, compared: Compared) -> list[str]:
    left = unpaired(compared.verdict.pairing, comparison.unit)
    asked = counted(len(compared.differences), "question")
    holm = f"All but the pass rate allow for {asked} asked of the same data (Holm)" if compared.differences else ""
    clusters = f"Cases with the same {comparison.cluster} count as one cluster" if comparison.cluster else ""
    return [f"{note}." for note in (left, holm, clusters, *compared.notes, *comparison.left_out) if note]
