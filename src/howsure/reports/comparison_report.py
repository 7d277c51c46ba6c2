"""A comparison on a terminal and as Markdown: the conclusion as a sentence, what is unlike, the cases that flipped
(those that got worse first), then every difference with its interval. The terminal shows the first of each kind and
what to do next; Markdown, for a pull request, shows them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from howsure.model.comparison import CaseFlip, Comparison, Conclusion, Difference, DifferenceKind, PairComparison
from howsure.reports.comparisons import (
    QUIET,
    change_line,
    comparison_sentence,
    difference_cells,
    difference_title,
    flip_causes,
    flip_id,
    flips_by_direction,
    noise_line,
    setup_warnings,
    side_name,
    tries_text,
    unpaired_text,
)
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
from howsure.reports.figures import pluralize
from howsure.reports.run_facts import shell_quote

SHOWN_FLIPS = 8
SHOWN_CHANGES = 6
SHOWN_FLAKY = 6
SHOWN_OF_KIND = 12
SHOWN_IN_MARKDOWN = 200
NAME_LENGTH = 44
STYLES = {
    Conclusion.BETTER: "bold green",
    Conclusion.WORSE: "bold red",
    Conclusion.EQUAL: "bold",
    Conclusion.CANNOT_TELL: "bold yellow",
    Conclusion.DIFFERENT: "bold cyan",
}


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
    yield Paragraph(comparison_sentence(compared, comparison.unit), STYLES[verdict.conclusion])
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
    rows = [
        (line(flip_id(flip), NAME_LENGTH, "bold"), tries_text(flip.first), tries_text(flip.second), flip_causes(flip))
        for flip in flips
    ]
    return Table(("case", "first", "second", "turned with it"), rows)


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
