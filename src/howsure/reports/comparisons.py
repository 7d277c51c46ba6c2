"""A comparison in words, on a terminal, as Markdown and as JSON. The words: one sentence that says better, worse, no
difference larger than X, or cannot tell yet; the names of its sides and numbers that every report uses. The report: the
sentence, what is unlike, the cases that flipped (those that got worse first), then every difference with its interval.
The terminal shows the first of each kind and what to do next; Markdown, for a pull request, shows them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from howsure.model.comparison import (
    CaseFlip,
    Comparison,
    Conclusion,
    Difference,
    DifferenceKind,
    FlakyCase,
    MissingValues,
    PairComparison,
    PairCounts,
    PartChange,
    TryCounts,
    VarianceComponents,
)
from howsure.model.expectation import text_id
from howsure.reports.document import (
    BLANK,
    Block,
    Heading,
    Notice,
    Paragraph,
    Parts,
    ReportDocument,
    Table,
    TextSpan,
    line,
    markdown,
    more_note,
)
from howsure.reports.figures import NOTHING, format_number, format_percent, pluralize
from howsure.reports.headlines import grader_name
from howsure.reports.run_facts import shell_quote
from howsure.wire import analyses as wire
from howsure.wire.base import sendable_body

CONCLUSION_WORDS = {
    Conclusion.BETTER: "better",
    Conclusion.WORSE: "worse",
    Conclusion.EQUAL: "equal",
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
SHOWN_FLIPS = 8
SHOWN_CHANGES = 6
SHOWN_FLAKY = 6
SHOWN_OF_KIND = 12
SHOWN_IN_MARKDOWN = 200
NAME_LENGTH = 44
LEAST_QUESTION = 20
ROOM_FOR_QUESTIONS = 80 - LEAST_QUESTION
"""Where the other columns need more, no question is shown."""
STYLES = {
    Conclusion.BETTER: "bold green",
    Conclusion.WORSE: "bold red",
    Conclusion.EQUAL: "bold",
    Conclusion.CANNOT_TELL: "bold yellow",
    Conclusion.DIFFERENT: "bold cyan",
}


def comparison_sentence(compared: PairComparison, unit: str = "case") -> str:
    """The conclusion, with what it rests on and what to keep in mind."""
    answer = _conclusion_sentence(compared, unit)
    if (part := compared.headline) is not None:
        answer = f"{_headline_sentence(compared, part, unit)} As a whole: {answer[:1].lower()}{answer[1:]}"
    flags = [each.what.value for each in compared.flags]
    if not flags:
        return answer
    listed = flags[0] if len(flags) == 1 else f"{', '.join(flags[:-1])} and {flags[-1]}"
    return f"{answer} Mind that the {listed} {'is' if len(flags) == 1 else 'are'} not the same on both sides."


def _headline_sentence(compared: PairComparison, part: Difference, unit: str) -> str:
    """`refunds is worse in after: …`, with how many questions its p-value allows for."""
    asked = sum(each.p_value is not None for each in compared.differences)
    passed = f"{side_value(part, part.second)} of {_paired(part.n, unit)} passed against {side_value(part, part.first)}"
    counts = f"{change_text(part)}; p = {p_value_text(part)}, allowing for {pluralize(asked, 'question')}"
    title = difference_title(part)
    return f"{title[:1].upper()}{title[1:]} is {CONCLUSION_WORDS[part.conclusion]}: {passed} ({counts})."


def headline_conclusion(compared: PairComparison) -> Conclusion:
    """The conclusion of the first sentence: about the slice it names, or about the whole."""
    return (compared.headline or compared.verdict).conclusion


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
            if not verdict.raised + verdict.lowered:
                rates = f"all {paired} came out the same, likely {interval_text(verdict)} points"
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
    # An id that is a hash of the text says nothing to people.
    named = change.kind if change.id == text_id(change.text) else f"{change.kind} {change.id}".strip()
    return f"{named}{of} {change.turn.value}{f': {change.text}' if change.text else ''}"


def flips_by_direction(compared: PairComparison) -> list[tuple[str, list[CaseFlip]]]:
    """Those that got worse first, and in each group the clearest first."""
    worse = [flip for flip in compared.flips if not flip.gained]
    gained = [flip for flip in compared.flips if flip.gained]
    better = sorted(gained, key=lambda flip: flip.first.rate - flip.second.rate)
    return [("got worse", worse), ("got better", better)]


def flip_id(flip: CaseFlip) -> str:
    return f"{flip.case_id} / {flip.other_id}" if flip.other_id else flip.case_id


def flip_causes(flip: CaseFlip) -> str:
    """What flipped with it, in words; if the case itself differs between the sides, that comes first."""
    return ", ".join((*(["the case changed"] if flip.changed else []), *map(grader_name, flip.causes)))


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


def comparison_report(comparison: Comparison, hints: bool = True) -> ReportDocument:
    blocks: list[Block] = []
    for compared in comparison.pairs:
        first, second = (line(side.name, style="bold") for side in (compared.first, compared.second))
        blocks += [*([BLANK] if blocks else []), Paragraph((first, "  against  ", second))]
        blocks += [*_blocks(comparison, compared, whole=False), *(_hint(compared) if hints else ())]
    return ReportDocument([*blocks, *_not_compared(comparison)])


def comparison_markdown(comparison: Comparison) -> str:
    blocks: list[Block] = []
    for compared in comparison.pairs:
        blocks.append(Heading(f"{compared.first.name} against {compared.second.name}", level=1))
        blocks += _blocks(comparison, compared, whole=True)
        runs = f"runs {compared.first.run_id} and {compared.second.run_id}, paired by {comparison.unit}"
        margin = f"differences up to {comparison.margin:.0%} of a scale count as none"
        blocks += [Paragraph(f"{runs}: {compared.verdict.n:,}", indent=2), Paragraph(margin, indent=2)]
    return markdown([*blocks, *_not_compared(comparison)]) + "\n"


def _not_compared(comparison: Comparison) -> list[Block]:
    return [Paragraph(f"Not compared: {text}.", "dim") for text in comparison.left_out]


def _blocks(comparison: Comparison, compared: PairComparison, *, whole: bool) -> Iterator[Block]:
    """`whole` False: the first of each kind."""
    verdict = compared.verdict
    yield Paragraph(comparison_sentence(compared, comparison.unit), STYLES[headline_conclusion(compared)])
    unpaired = unpaired_text(verdict.pairing, comparison.unit)
    if unpaired and verdict.n:
        yield Paragraph(f"{unpaired}.", "dim")
    if comparison.cluster and verdict.clusters < verdict.n:
        yield Paragraph(f"Cases with the same {comparison.cluster} count as one cluster.", "dim")
    for note in compared.notes:
        yield Paragraph(f"{note}.", "dim")
    for warning, each in zip(setup_warnings(compared), compared.flags, strict=True):
        yield Notice(warning)
        shown = each.changes if whole else each.changes[:SHOWN_CHANGES]
        for change in shown:
            yield Paragraph(TextSpan(change_line(change), limit=-4, lines=1), indent=4)
        yield from more_note(len(each.changes) + each.changes_left_out, len(shown), indent=4)
    most = SHOWN_IN_MARKDOWN if whole else SHOWN_FLIPS
    for word, flips in flips_by_direction(compared):
        yield Heading(f"{pluralize(len(flips), 'case')} {word}")
        if flips:
            yield flips_table(flips[:most])
        yield from more_note(len(flips), most)
    yield from _differences(compared, whole)
    if compared.flaky:
        most = SHOWN_IN_MARKDOWN if whole else SHOWN_FLAKY
        yield Heading(f"{pluralize(len(compared.flaky), 'case')} flaky: the repeats do not agree")
        yield _flaky_table(compared, most)
        yield from more_note(len(compared.flaky), most)
    if compared.noise:
        yield Heading("Whose noise it is, where cases were repeated and judges asked several times")
    for noise in compared.noise:
        yield Paragraph(f"{side_name(compared, noise.second)}: {noise_line(noise)}", "dim", indent=2)


def flips_table(flips: Sequence[CaseFlip]) -> Table:
    rows: list[tuple[Parts, ...]] = [
        (line(flip_id(flip), NAME_LENGTH, "bold"), tries_text(flip.first), tries_text(flip.second), flip_causes(flip))
        for flip in flips
    ]
    headings = ("case", "first", "second", "turned with it")
    words = [(flip_id(flip)[:NAME_LENGTH], tries_text(flip.first), tries_text(flip.second), flip_causes(flip))
             for flip in flips]  # fmt: skip
    used = sum(2 + max(map(len, column)) for column in zip(headings, *words, strict=True))
    if used > ROOM_FOR_QUESTIONS or not any(flip.question for flip in flips):
        return Table(headings, rows)
    asked = [TextSpan(flip.question, limit=-used, lines=1, least=LEAST_QUESTION) for flip in flips]
    return Table((*headings, "question"), [(*row, said) for row, said in zip(rows, asked, strict=True)])


def _differences(compared: PairComparison, whole: bool) -> Iterator[Block]:
    known = [each for each in compared.differences if each.n]
    shown = [compared.verdict, *(compared.differences if whole else _worth_showing(known))]
    rows: list[tuple[Parts, ...]] = []
    for difference in shown:
        *cells, word = difference_cells(difference, bare=True)
        style = STYLES[difference.conclusion] if difference.conclusion not in QUIET else "dim"
        rows.append((line(difference_title(difference), NAME_LENGTH), *cells, TextSpan(word, style)))
    columns = ("", "n:", "first:", "second:", "change:", "likely", "p:", "")
    yield Table(columns, rows, tight=True, title="Differences")
    if known:
        questions = pluralize(len(known), "question")
        yield Paragraph(f"All but the pass rate allow for {questions} asked of the same data (Holm).", "dim")
    if whole:
        return
    if hidden := len(known) + 1 - len(shown):
        yield Paragraph(f"and {hidden:,} more that tell nothing sure (--json shows all)", "dim")
    if lacking := [difference_title(each) for each in compared.differences if not each.n]:
        yield Paragraph(TextSpan(f"no value on both sides: {', '.join(lacking)}", "dim", lines=2))


def _worth_showing(differences: Sequence[Difference]) -> list[Difference]:
    """All of a kind where they are few; of many, those that tell something first."""
    shown: list[Difference] = []
    for kind in DifferenceKind:
        own = [each for each in differences if each.kind is kind]
        clear = [each for each in own if each.conclusion not in QUIET]
        rest = [each for each in own if each.conclusion in QUIET]
        chosen = own if len(own) <= SHOWN_OF_KIND else [*clear, *rest][: max(SHOWN_OF_KIND, len(clear))]
        shown += sorted(chosen, key=own.index)
    return shown


def _flaky_table(compared: PairComparison, most: int) -> Table:
    rows: list[tuple[Parts, ...]] = []
    for each in compared.flaky[:most]:
        names = (line(name, NAME_LENGTH) for name in (each.case_id, side_name(compared, each.second)))
        rows.append((*names, tries_text(each.tries), each.blame.value))
    return Table(("case", "side", "repeats", "who disagrees"), rows)


def _hint(compared: PairComparison) -> Iterator[Block]:
    if compared.flips:
        flip, side = compared.flips[0], compared.second
        who = f" --candidate {shell_quote(side.candidate)}" if side.candidate else ""
        command = f"howsure show {side.run_id[:8]} {shell_quote(flip.other_id or flip.case_id)}{who}"
        yield BLANK
        purpose = TextSpan("see why this one came out otherwise", "dim")
        yield Table(("next", ""), [(line(command, style="cyan"), purpose)], tight=True)


def comparison_shape(comparison: Comparison) -> dict[str, Any]:
    """Ready for JSON, as the API answers it."""
    answer = wire.ComparisonAnswer(
        comparisons=[_compared_sides(comparison, each) for each in comparison.pairs],
        unit=comparison.unit,
        cluster=comparison.cluster or None,
        margin=comparison.margin,
        confidence=comparison.confidence,
        not_compared=list(comparison.left_out),
    )
    shape: dict[str, Any] = sendable_body(answer)
    return shape


def _compared_sides(comparison: Comparison, compared: PairComparison) -> wire.ComparedSides:
    worse, better = ([_compared_case(flip) for flip in flips] for _, flips in flips_by_direction(compared))
    return wire.ComparedSides(
        first=compared.first,
        second=compared.second,
        conclusion=compared.verdict.conclusion,
        headline=compared.headline.name if compared.headline else None,
        sentence=comparison_sentence(compared, comparison.unit),
        alike=not compared.flags,
        unlike=list(compared.unlike),
        verdict=_compared_difference(compared.verdict),
        differences=[_compared_difference(each) for each in compared.differences],
        got_worse=worse,
        got_better=better,
        flaky=[_flaky_case(each) for each in compared.flaky],
        notes=list(compared.notes),
        noise=[_grader_noise(each) for each in compared.noise],
    )


def _compared_difference(difference: Difference) -> wire.ComparedDifference:
    shape: dict[str, Any] = structs.asdict(difference)
    named = {"p_adjusted": shape.pop("adjusted"), "needed_cases": shape.pop("needed")}
    other = {
        "text": difference.text or None,
        "method": difference.method or None,
        "scale": [difference.scale.low, difference.scale.high],
        "interval": list(difference.interval) if difference.interval else None,
        "n": difference.n,
        "pairing": _pairing_counts(difference.pairing),
    }
    return wire.ComparedDifference(**{**shape, **named, **other})


def _pairing_counts(pairing: PairCounts) -> wire.PairingCounts:
    shape: dict[str, Any] = structs.asdict(pairing)
    why = [wire.MissingReason(side=_side(each), why=each.why, count=each.count) for each in shape.pop("absences")]
    return wire.PairingCounts(total=pairing.total, without_value=shape.pop("without"), why=why, **shape)


def _compared_case(flip: CaseFlip) -> wire.ComparedCase:
    return wire.ComparedCase(
        case_id=flip.case_id,
        first=flip.first,
        second=flip.second,
        graders=list(flip.graders),
        causes=list(flip.causes),
        case_changed=flip.changed,
        second_case_id=flip.other_id,
    )


def _flaky_case(each: FlakyCase) -> wire.FlakyCaseCount:
    counts = structs.asdict(each.tries)
    return wire.FlakyCaseCount(case_id=each.case_id, side=_side(each), blame=each.blame, **counts)


def _grader_noise(noise: VarianceComponents) -> wire.GraderNoise:
    counts = {name: getattr(noise, name) for name in ("grader", "cases", "tries", "judgements", "judge_share")}
    variances = {f"variance_{name}": getattr(noise, name) for name in ("between_cases", "agent", "judge")}
    return wire.GraderNoise(side=_side(noise), **counts, **variances)


def _side(part: MissingValues | FlakyCase | VarianceComponents) -> wire.SideName:
    return "second" if part.second else "first"
