"""Foreign text made harmless."""

from __future__ import annotations

import pytest

from howsure.reports.safe_text import make_inert, one_line, to_ascii


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nof two lines", "plain\ttext\nof two lines"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("over\rwritten", "over␍written"),
        ("two\r\nlines", "two\nlines"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("bell\x07 and \x7f", "bell␇ and ␡"),
        ("\x9b31m", "\\u009b31m"),
        ("ümlaut 🚚 中文", "ümlaut 🚚 中文"),
    ],
    ids=["as it is", "escape", "carriage return", "line ends", "direction override", "bell", "C1 control", "Unicode"],
)
def test_control_and_direction_characters_are_shown_not_obeyed(text: str, shown: str) -> None:
    assert make_inert(text) == shown


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("  a \n b\tc ", 0, "a b c"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("", 6, ""),
    ],
)
def test_one_line_is_one_line_and_says_when_it_is_cut(text: str, limit: int, shown: str) -> None:
    assert one_line(text, limit) == shown


def test_a_stream_without_unicode_gets_ascii_and_loses_nothing() -> None:
    assert to_ascii("70 % [40–89] → “ok” ü…") == '70 % [40-89] -> "ok" \\xfc...'
