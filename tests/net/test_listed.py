"""The options and keys that the code has are those that have a row and a word in the docs."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from net.elsewhere import ELSEWHERE
from net.options import CommandOption, all_options
from net.setting_keys import TABLE, TOP, SettingKey, all_keys
from net.table import ROWS
from net.test_service_rows import ROWS as SERVICE_ROWS

ROOT = Path(__file__).parents[2]
SERVED = {f"service.{name}" for name, *_ in SERVICE_ROWS}
"""Keys that have their rows in test_service_rows.py."""
OPTIONS = [option for option in all_options() if not option.hidden]
KEYS = all_keys()


@cache
def docs() -> str:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


@cache
def tables() -> dict[str, str]:
    """The table of each place on the page of settings."""
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    return {place: match[0] for match in TABLE.finditer(page) for place in match["places"].split()}


def test_the_net_has_three_hundred_rows() -> None:
    assert len(ROWS) >= 300


def test_every_row_is_of_something_that_is_there() -> None:
    known = {option.name for option in OPTIONS} | {key.path for key in KEYS}
    assert [row.of for row in ROWS if row.of not in known] == []
    assert [name for name in ELSEWHERE if name not in known] == []


def test_no_two_rows_are_called_the_same() -> None:
    names = [f"{row.of}: {row.shows}" for row in ROWS]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


@pytest.mark.parametrize("option", OPTIONS, ids=[option.name for option in OPTIONS])
def test_every_option_has_a_row_for_each_of_its_values_and_a_word_in_the_docs(option: CommandOption) -> None:
    rows = [row for row in ROWS if row.of == option.name]
    if option.name not in ELSEWHERE:
        assert rows, f"{option.name} has no row"
        given = " ".join(row.given for row in rows)
        assert [value for value in option.values if value not in given] == []
    spelled = "|".join(re.escape(each) for each in option.spellings)
    assert option.is_argument or re.search(rf"(?<![\w-])({spelled})(?![\w-])", docs()), (
        f"{option.longest} is not in the docs"
    )


@pytest.mark.parametrize("key", KEYS, ids=[key.path for key in KEYS])
def test_every_key_has_a_row_for_each_of_its_values_and_a_line_in_the_docs(key: SettingKey) -> None:
    rows = [row for row in ROWS if row.of == key.path]
    if key.path not in ELSEWHERE and key.path not in SERVED:
        assert rows, f"{key.path} has no row"
        given = " ".join(f"{row.given} {row.other}" for row in rows)
        assert [value for value in key.values if value not in given] == []
    assert f"| `{key.name}` |" in tables()[key.place or TOP]
    assert key.text, f"{key.path} has no sentence below it in the code"


@pytest.mark.parametrize(("name", "place"), ELSEWHERE.items())
def test_what_has_no_row_is_tried_where_it_says(name: str, place: str) -> None:
    file, _, word = place.partition(" ")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert (word or name.split()[-1].rpartition(".")[2]) in text
