"""Attachments must lie in the dataset's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.dialects.legal import attachment_problems
from howsure.dialects.problems import Spot
from howsure.errors import Level


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a document, a link to it, a link out of the folder, and a secret beside it."""
    folder = tmp_path / "data set"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "lease.pdf").touch()
    (tmp_path / "secret.txt").touch()
    (tmp_path / "data set 2").mkdir()
    (tmp_path / "data set 2" / "x.txt").touch()
    (folder / "inside.pdf").symlink_to(folder / "docs" / "lease.pdf")
    (folder / "outside.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "elsewhere").symlink_to(tmp_path / "data set 2")
    (folder / "loop").symlink_to(folder / "loop")
    return folder


@pytest.mark.parametrize("path", ["docs/lease.pdf", "./docs/../docs/lease.pdf", "inside.pdf", "docs//lease.pdf"])
def test_a_document_in_the_folder_is_fine(path: str, folder: Path) -> None:
    assert list(attachment_problems(path, folder, Spot("f", 1))) == []


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/etc/passwd", "is absolute"),
        ("C:\\secret.txt", "is absolute"),
        ("\\\\server\\share\\x", "is absolute"),
        ("\\windows\\x", "is absolute"),
        ("../secret.txt", "leaves the dataset's folder by `..`"),
        ("..", "leaves the dataset's folder by `..`"),
        ("docs/../../secret.txt", "leaves the dataset's folder by `..`"),
        ("docs\\..\\..\\secret.txt", "leaves the dataset's folder by `..`"),
        ("outside.txt", "leads out of the dataset's folder through a link"),
        ("elsewhere/x.txt", "leads out of the dataset's folder through a link"),
        ("a\x00b", "holds a NUL character"),
    ],
)
def test_a_path_that_leads_out_is_a_problem(path: str, why: str, folder: Path) -> None:
    (problem,) = attachment_problems(path, folder, Spot("f", 1))
    assert (problem.code, problem.message, problem.level) == ("attachment-escapes", f"the path {why}", Level.ERROR)


@pytest.mark.parametrize("path", ["docs/nothing.pdf", "docs", "loop", "x" * 5000])
def test_a_path_to_nothing_is_a_warning(path: str, folder: Path) -> None:
    (problem,) = attachment_problems(path, folder, Spot("f", 1))
    assert (problem.code, problem.level) == ("attachment-missing", Level.WARNING)


def test_a_folder_that_is_itself_a_link_is_no_way_out(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert list(attachment_problems("docs/lease.pdf", tmp_path / "link", Spot("f", 1))) == []
