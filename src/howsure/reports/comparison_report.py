"""A comparison on a terminal and as Markdown: the conclusion as a sentence, what is unlike, the cases that flipped
(those that got worse first), then every difference with its interval. The terminal shows the first of each kind and
what to do next; Markdown, for a pull request, shows them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from howsure.model.comparison import Comparison, Conclusion, Difference, DifferenceKind, PairComparison
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
    P_VALUE,
    Block,
    Paragraph,
    Parts,
    ReportDocument,
    Table,
    TextSpan,
    escaped,
    line,
    markdown_table,
)
from howsure.reports.figures import pluralize
from howsure.reports.run_facts import shell_quote

SHOWN_FLIPS = 8
SHOWN_CHANGES = 6
SHOWN_FLAKY = 6
SHOWN_OF_KIND = 12
SHOWN_IN_MARKDOWN = 200
NAME_LENGTH = 44
NARROW_NAME_LENGTH = 26
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
        blocks += [BLANK] if blocks else []
        blocks += [*_head(comparison, compared), *_unlike(compared), *_flips(compared), *_differences(compared)]
        blocks += [*_flaky(compared), *_noise(compared), *(_hint(compared) if hints else ())]
    return ReportDocument([*blocks, *(Paragraph(f"Not compared: {text}.", "dim") for text in comparison.left_out)])


def _head(comparison: Comparison, compared: PairComparison) -> Iterator[Block]:
    first, second = (line(side.name, style="bold") for side in (compared.first, compared.second))
    verdict = compared.verdict
    yield Paragraph((first, "  against  ", second))
    yield Paragraph(comparison_sentence(compared, comparison.unit), STYLES[verdict.conclusion])
    unpaired = unpaired_text(verdict.pairing, comparison.unit)
    if unpaired and verdict.n:
        yield Paragraph(f"{unpaired}.", "dim")
    if comparison.cluster and verdict.clusters < verdict.n:
        yield Paragraph(f"Cases with the same {comparison.cluster} count as one cluster.", "dim")
    for note in compared.notes:
        yield Paragraph(f"{note}.", "dim")


def _unlike(compared: PairComparison) -> Iterator[Block]:
    for warning, each in zip(setup_warnings(compared), compared.flags, strict=True):
        yield Paragraph(f"! {warning}", "yellow")
        for change in each.changes[:SHOWN_CHANGES]:
            yield Paragraph(("    ", TextSpan(change_line(change), limit=-4, lines=1)))
        hidden = len(each.changes) + each.changes_left_out - SHOWN_CHANGES
        if hidden > 0:
            yield Paragraph(f"    and {hidden:,} more (--json shows them)", "dim")


def _flips(compared: PairComparison) -> Iterator[Block]:
    for (word, flips), style in zip(flips_by_direction(compared), ("red", "green"), strict=True):
        yield BLANK
        yield Paragraph(f"{pluralize(len(flips), 'case')} {word}", style if flips else "dim")
        for flip in flips[:SHOWN_FLIPS]:
            case = line(flip_id(flip), NAME_LENGTH, "bold")
            turned = line(f"{tries_text(flip.first)} → {tries_text(flip.second)}")
            yield Paragraph(("  ", case, "  ", turned, "  ", TextSpan(flip_causes(flip), "dim", least=16)))
        if len(flips) > SHOWN_FLIPS:
            yield Paragraph(f"  and {len(flips) - SHOWN_FLIPS:,} more (--json or --output shows all)", "dim")


def _differences(compared: PairComparison) -> Iterator[Block]:
    known = [each for each in compared.differences if each.n]
    shown = [compared.verdict, *_worth_showing(known)]
    rows: list[tuple[Parts, ...]] = []
    for difference in shown:
        *cells, word = difference_cells(difference, bare=True)
        style = STYLES[difference.conclusion] if difference.conclusion not in QUIET else "dim"
        name = TextSpan(difference_title(difference), limit=NAME_LENGTH, narrow=NARROW_NAME_LENGTH)
        rows.append((name, *cells, TextSpan(word, style)))
    yield BLANK
    yield Table(("", "n:", "first:", "second:", "difference:", "likely", P_VALUE, ""), rows, tight=True)
    if known:
        questions = pluralize(len(known), "question")
        yield Paragraph(f"All but the pass rate allow for {questions} asked of the same data (Holm).", "dim")
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


def _flaky(compared: PairComparison) -> Iterator[Block]:
    if not compared.flaky:
        return
    yield BLANK
    yield Paragraph(f"{pluralize(len(compared.flaky), 'case')} flaky: the repeats do not agree", "yellow")
    for each in compared.flaky[:SHOWN_FLAKY]:
        cause = f"{each.blame.value} disagrees" if each.blame.value != "unknown" else "cause unknown"
        cells = (each.case_id, side_name(compared, each.second), tries_text(each.tries), cause)
        yield Paragraph(tuple(part for cell in cells for part in ("  ", line(cell, NAME_LENGTH))))
    if len(compared.flaky) > SHOWN_FLAKY:
        yield Paragraph(f"  and {len(compared.flaky) - SHOWN_FLAKY:,} more (--json shows all)", "dim")


def _noise(compared: PairComparison) -> Iterator[Block]:
    if compared.noise:
        yield BLANK
        yield Paragraph("Whose noise it is, where cases were repeated and judges asked several times", "dim")
    for each in compared.noise:
        yield Paragraph(("  ", TextSpan(f"{side_name(compared, each.second)}  {noise_line(each)}", "dim")))


def _hint(compared: PairComparison) -> Iterator[Block]:
    if compared.flips:
        flip, side = compared.flips[0], compared.second
        who = f" --candidate {shell_quote(side.candidate)}" if side.candidate else ""
        command = f"howsure show {side.run_id[:8]} {shell_quote(flip.other_id or flip.case_id)}{who}"
        yield BLANK
        purpose = TextSpan("see why this one came out otherwise", "dim")
        yield Table(("next", ""), [(line(command, style="cyan"), purpose)])


def comparison_markdown(comparison: Comparison) -> str:
    """The whole document. Foreign text is escaped: it cannot become markup."""
    blocks = [block for compared in comparison.pairs for block in _markdown_blocks(comparison, compared)]
    blocks += [f"Not compared: {escaped(text)}." for text in comparison.left_out]
    return "\n\n".join(blocks) + "\n"


def _markdown_blocks(comparison: Comparison, compared: PairComparison) -> Iterator[str]:
    first, second = escaped(compared.first.name), escaped(compared.second.name)
    yield f"# {first} against {second}"
    yield f"**{escaped(comparison_sentence(compared, comparison.unit))}**"
    for warning, each in zip(setup_warnings(compared), compared.flags, strict=True):
        yield f"> {escaped(warning)}"
        if each.changes:
            more = [f"and {each.changes_left_out:,} more"] if each.changes_left_out else []
            yield _items([*(escaped(change_line(change)) for change in each.changes), *more])
    yield from _markdown_flips(compared)
    yield "## Differences"
    headings = ("", "n:", f"{first}:", f"{second}:", "difference:", "likely (95 %)", "p:", "")
    yield markdown_table(headings, map(_difference_row, (compared.verdict, *compared.differences)))
    if compared.differences:
        count = pluralize(len(compared.differences), "question")
        yield f"p of all but the pass rate allows for {count} asked of the same data (Holm)."
    if compared.flaky:
        yield f"## {pluralize(len(compared.flaky), 'flaky case')}"
        rows = [
            (escaped(each.case_id), second if each.second else first, tries_text(each.tries), each.blame.value)
            for each in compared.flaky[:SHOWN_IN_MARKDOWN]
        ]
        yield markdown_table(("case", "side", "repeats", "who disagrees"), rows)
    if compared.noise:
        yield "## Whose noise"
        yield _items(escaped(f"{side_name(compared, each.second)}: {noise_line(each)}") for each in compared.noise)
    yield _items(_about(comparison, compared))


def _items(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _markdown_flips(compared: PairComparison) -> Iterator[str]:
    for word, flips in flips_by_direction(compared):
        yield f"## {pluralize(len(flips), 'case')} {word}"
        if flips:
            rows = [
                (escaped(flip_id(flip)), tries_text(flip.first), tries_text(flip.second), escaped(flip_causes(flip)))
                for flip in flips[:SHOWN_IN_MARKDOWN]
            ]
            yield markdown_table(("case", "first", "second", "turned with it"), rows)
        if len(flips) > SHOWN_IN_MARKDOWN:
            yield f"{len(flips) - SHOWN_IN_MARKDOWN:,} more are not shown here; a `.json` file has all."


def _difference_row(difference: Difference) -> list[str]:
    *cells, p_value, word = difference_cells(difference)
    return [escaped(difference_title(difference)), *cells, p_value.replace("<", "&lt;"), word]


def _about(comparison: Comparison, compared: PairComparison) -> Iterator[str]:
    yield f"runs {compared.first.run_id} and {compared.second.run_id}"
    yield f"paired by {escaped(comparison.unit)}: {compared.verdict.n:,}"
    if unpaired := unpaired_text(compared.verdict.pairing, comparison.unit):
        yield escaped(unpaired)
    if comparison.cluster:
        yield f"clusters: {escaped(comparison.cluster)}"
    yield f"differences up to {comparison.margin:.0%} of a scale count as none"
    yield from map(escaped, compared.notes)
