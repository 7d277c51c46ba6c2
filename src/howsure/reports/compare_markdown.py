"""A comparison as a Markdown document, for a pull request: the sentence, then the flips, then the differences. Foreign
text is escaped: it cannot become markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from howsure.model.comparison import Compared, Comparison, Difference, Flip
from howsure.reports.compare_noise import noise_line
from howsure.reports.compare_sentence import (
    WORDS,
    amount,
    bounds,
    chance,
    sentence,
    tries,
    unlike_lines,
    unpaired,
    value,
)
from howsure.reports.compare_text import changed, title, turned_with
from howsure.reports.figures import NOTHING, counted
from howsure.reports.markdown import escaped, table

SHOWN_FLIPS = 200


def comparison_markdown(comparison: Comparison) -> str:
    """The whole document."""
    blocks = [block for compared in comparison.pairs for block in _compared(comparison, compared)]
    blocks += [f"Not compared: {escaped(said)}." for said in comparison.left_out]
    return "\n\n".join(blocks) + "\n"


def _compared(comparison: Comparison, compared: Compared) -> Iterator[str]:
    first, second = compared.first.name, compared.second.name
    yield f"# {escaped(first)} against {escaped(second)}"
    yield f"**{escaped(sentence(compared, comparison.unit))}**"
    yield from _unlike(compared)
    yield from _flips(compared)
    yield from _differences(compared, first, second)
    yield from _flaky(compared, first, second)
    yield from _noise(compared)
    yield "\n".join(f"- {line}" for line in _about(comparison, compared))


def _unlike(compared: Compared) -> Iterator[str]:
    for line, each in zip(unlike_lines(compared), compared.flags, strict=True):
        yield f"> {escaped(line)}"
        if each.changes:
            more = [f"and {each.changes_left_out:,} more"] if each.changes_left_out else []
            yield "\n".join(f"- {text}" for text in [*(escaped(changed(change)) for change in each.changes), *more])


def _flips(compared: Compared) -> Iterator[str]:
    lost = [flip for flip in compared.flips if not flip.gained]
    gained = [flip for flip in reversed(compared.flips) if flip.gained]
    for word, some in (("got worse", lost), ("got better", gained)):
        yield f"## {counted(len(some), 'case')} {word}"
        if some:
            yield table(("case", "first", "second", "turned with it"), [_flip(flip) for flip in some[:SHOWN_FLIPS]])
        if len(some) > SHOWN_FLIPS:
            yield f"{len(some) - SHOWN_FLIPS:,} more are not shown here; a `.json` file has all."


def _flip(flip: Flip) -> list[str]:
    id = f"{flip.case_id} / {flip.other_id}" if flip.other_id else flip.case_id
    return [escaped(id), tries(flip.first), tries(flip.second), escaped(turned_with(flip))]


def _differences(compared: Compared, first: str, second: str) -> Iterator[str]:
    yield "## Differences"
    headings = ("", "n:", f"{escaped(first)}:", f"{escaped(second)}:", "difference:", "likely (95 %)", "p:", "")
    yield table(headings, [_cells(each) for each in (compared.verdict, *compared.differences)])
    if compared.differences:
        count = counted(len(compared.differences), "question")
        yield f"p of all but the pass rate allows for {count} asked of the same data (Holm)."


def _cells(difference: Difference) -> list[str]:
    apart = NOTHING if difference.difference is None else amount(difference, difference.difference, signed=True)
    return [
        escaped(title(difference)),
        f"{difference.n:,}",
        value(difference, difference.first),
        value(difference, difference.second),
        apart,
        bounds(difference),
        chance(difference).replace("<", "&lt;"),
        WORDS[difference.conclusion],
    ]


def _flaky(compared: Compared, first: str, second: str) -> Iterator[str]:
    if compared.flaky:
        yield f"## {counted(len(compared.flaky), 'flaky case')}"
        lines: list[Sequence[str]] = [
            [escaped(each.case_id), escaped(second if each.second else first), tries(each.tries), each.blame.value]
            for each in compared.flaky[:SHOWN_FLIPS]
        ]
        yield table(("case", "side", "repeats", "who disagrees"), lines)


def _noise(compared: Compared) -> Iterator[str]:
    if compared.noise:
        yield "## Whose noise"
        sides = {False: compared.first.name, True: compared.second.name}
        yield "\n".join(f"- {escaped(f'{sides[each.second]}: {noise_line(each)}')}" for each in compared.noise)


def _about(comparison: Comparison, compared: Compared) -> Iterator[str]:
    yield f"runs {compared.first.run_id} and {compared.second.run_id}"
    yield f"paired by {escaped(comparison.unit)}: {compared.verdict.n:,}"
    if left := unpaired(compared.verdict.pairing, comparison.unit):
        yield escaped(left)
    if comparison.cluster:
        yield f"clusters: {escaped(comparison.cluster)}"
    yield f"differences up to {comparison.margin:.0%} of a scale count as none"
    yield from map(escaped, compared.notes)
