"""The glossary explains words that are in the code: classes, functions, modules, folders."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "howsure"
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_every_word_of_the_glossary_is_in_the_code() -> None:
    words = {path.stem for path in SOURCE.rglob("*")}
    for path in SOURCE.rglob("*.py"):
        words.update(re.findall(r"\b[A-Za-z_]\w*\b", path.read_text(encoding="utf-8")))
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert len(rows) > 300
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    last = {name: re.split(r"[./]", re.sub(r"\(.*", "", name).removesuffix(".py").rstrip("/"))[-1] for name in named}
    assert sorted(name for name, word in last.items() if word not in words) == []
