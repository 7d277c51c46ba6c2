"""The map of the code names files that exist, and the layers that are really held."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_file_that_the_map_names_exists() -> None:
    named = re.findall(r"`((?:src|docs|tests)/[^`]+)`", PAGE)
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_map_shows_the_layers_that_the_linter_holds() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contract = tomllib.load(file)["tool"]["importlinter"]["contracts"][0]
    held = {name.strip() for layer in contract["layers"] for name in layer.split("|")}
    written = {name for name in held if not name.startswith("(")}
    drawn = PAGE.split("```")[1]
    shown = {name.strip() for line in drawn.splitlines() for name in line[:41].split("|") if name.strip()}
    assert shown == written


def test_every_package_of_the_source_is_on_the_map() -> None:
    drawn = PAGE.split("```")[1]
    source = ROOT / "src" / "howsure"
    packages = {path.parent.name for path in source.glob("*/__init__.py")}
    assert [name for name in sorted(packages) if name not in drawn] == []
