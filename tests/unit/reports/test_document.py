"""What a terminal can show."""

from __future__ import annotations

import pytest

from howsure.model.score import Direction, Grade, Score, Unscored, UnscoredReason
from howsure.model.verdict import Verdict
from howsure.reports.document import (
    AXIS,
    BLANK,
    Block,
    ConversationScript,
    Fence,
    Heading,
    Notice,
    Paragraph,
    Parts,
    Screen,
    Sign,
    Table,
    TextSpan,
    line,
    markdown,
)
from howsure.reports.figures import VERDICT_MARKS, Rate, grade_mark

UNICODE, ASCII = Screen(width=80, ascii_only=False), Screen(width=80, ascii_only=True)


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (Rate(8, 12), "·······──────●───···"),
        (Rate(0, 3), "●───────────········"),
        (Rate(12, 12), "··············─────●"),
        (Rate(0, 0), "····················"),
    ],
    ids=["some", "none", "all", "nothing judged"],
)
def test_the_strip_has_a_fixed_axis_an_interval_and_a_tick(rate: Rate, shown: str) -> None:
    strip = UNICODE.strip(rate, 20).plain
    assert len(strip) == 20
    assert strip == shown


def test_the_strip_has_a_form_in_ascii() -> None:
    assert ASCII.strip(Rate(8, 12), 20).plain == ".......------o---..."


@pytest.mark.parametrize(
    ("verdict", "shown", "in_ascii"),
    [
        (Verdict.PASSED, "● passed", "o passed"),
        (Verdict.FAILED, "■ failed", "x failed"),
        (Verdict.ERRORED, "▲ errored", "! errored"),
        (Verdict.SKIPPED, "○ skipped", "- skipped"),
    ],
)
def test_a_verdict_is_a_shape_and_a_word_also_without_colour(verdict: Verdict, shown: str, in_ascii: str) -> None:
    mark = VERDICT_MARKS[verdict]
    assert (UNICODE.mark(mark, mark.word).plain, ASCII.mark(mark, mark.word).plain) == (shown, in_ascii)


@pytest.mark.parametrize(
    ("grade", "word"),
    [
        (Score(name="s", value=1.0, pass_mark=1.0), "passed"),
        (Score(name="s", value=0.0, pass_mark=1.0), "failed"),
        (Score(name="s", value=0.5, pass_mark=0.4, direction=Direction.LOWER), "failed"),
        (Score(name="s", value=0.0), "measured"),
        (Unscored(name="s", why=UnscoredReason.ERROR, reason=""), "errored"),
        (Unscored(name="s", why=UnscoredReason.NOT_APPLICABLE, reason=""), "not applicable"),
        (Unscored(name="s", why=UnscoredReason.NO_JUDGE, reason=""), "no judge"),
    ],
)
def test_a_measure_neither_passes_nor_fails_and_what_has_no_value_is_no_failure(grade: Grade, word: str) -> None:
    assert grade_mark(grade).word == word


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (Heading("# of cases"), "## \\# of cases"),
        (Heading(("a ", line("two\nlines", 3)), level=1), "# a two lines"),
        (Notice("<b>"), "> &lt;b&gt;"),
        (Paragraph(("70.0 % [40–89]", "  ", Rate(7, 10))), "70.0 % [40–89]"),
        (Paragraph(TextSpan("*cut*", limit=2, lines=1), "bold red"), "**\\*cut\\***"),
        (Paragraph("an item", indent=4), "- an item"),
        (BLANK, ""),
        (Fence("`x`", "json"), "```json\n`x`\n```"),
        (Table(("", ""), [("target", "a|b")], header=False), "- target: a\\|b"),
        (ConversationScript([("user", "Hi\nthere")], 11), "```text\nuser: Hi\n  there\n```"),
    ],
)
def test_each_block_has_its_form_in_markdown_and_nothing_in_it_is_markup(block: Block, text: str) -> None:
    assert markdown([block]) == text


def test_a_table_is_the_same_on_a_terminal_and_in_markdown() -> None:
    rows: list[tuple[Parts, ...]] = [
        ("choice", "10", (Sign(VERDICT_MARKS[Verdict.FAILED]), " ", "<low>"), Rate(1, 2)),
        ("  part", "3", "", ""),
    ]
    shown = markdown([Table(("grader", "n:", "", AXIS), rows, title="Graders")])
    assert shown == (
        "## Graders\n\n| grader | n |  |\n| --- | ---: | --- |\n"
        "| choice | 10 | ■ failed &lt;low&gt; |\n| &nbsp;&nbsp;part | 3 |  |"
    )


def test_items_that_follow_each_other_are_one_list() -> None:
    blocks = [Paragraph("why"), Paragraph("one", indent=2), Paragraph("two", indent=2), BLANK, Paragraph("- three")]
    assert markdown(blocks) == "why\n\n- one\n- two\n\n\\- three"
    assert markdown(blocks, longest=3) == "why\n\n- one\n- two\n\n\\-…"


def test_square_brackets_are_text() -> None:
    assert UNICODE.text("[red]x[/red]").plain == "[red]x[/red]"
    assert UNICODE.line("two\nlines [b]", 11).plain == "two lines…"
