"""Every page that another page points to exists, and every command that the README shows is one of ours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from howsure.main import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_shown_exists(page: Path) -> None:
    shown = re.findall(r"^\s*howsure ([a-z]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [command for command in shown if command not in COMMANDS] == []


def test_the_readme_names_both_commands_that_do_everything() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text


def test_every_dependency_has_its_line() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^dependencies = \[(.+?)^\]", project, re.MULTILINE | re.DOTALL)
    assert block is not None
    named = re.findall(r'"([a-z0-9-]+)', block.group(1))
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    assert [name for name in named if f"| {name} |" not in text] == []
