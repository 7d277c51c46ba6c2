"""Finding the commit a change started from, and checking it out beside it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from howsure.errors import ConfigInvalid, NotFound
from howsure.services.ci.check import base_commit, check_out, head_name


def git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    done = subprocess.run(["git", *named, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, text: str) -> str:
    (folder / "evals").mkdir(exist_ok=True)
    (folder / "evals" / "file").write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", text)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """`change` left `main` at its first commit; `main` went on."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "first")
    git(folder, "switch", "-q", "-c", "change")
    commit(folder, "changed")
    git(folder, "switch", "-q", "main")
    commit(folder, "went on")
    git(folder, "switch", "-q", "change")
    return folder


async def test_the_commit_is_where_the_change_left_the_branch(repository: Path) -> None:
    first = git(repository, "rev-parse", "main~1")
    assert await base_commit(repository, "main") == first
    assert await base_commit(repository, first) == first


async def test_a_branch_that_only_the_remote_has_is_fetched(repository: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(
        ["git", "clone", "-q", "--single-branch", "--branch", "change", str(repository), str(clone)], check=True
    )
    assert await base_commit(clone, "main") == git(repository, "rev-parse", "main~1")


@pytest.mark.parametrize("ref", ["nowhere", "--upload-pack=touch owned", "main; touch owned"])
async def test_a_branch_that_is_not_there_is_told(repository: Path, ref: str) -> None:
    with pytest.raises(NotFound, match="check out the whole history"):
        await base_commit(repository, ref)
    assert not (repository / "owned").exists()


async def test_the_same_folder_as_it_was_and_nothing_is_left_behind(repository: Path) -> None:
    commit_id = await base_commit(repository, "main")
    async with check_out(repository / "evals", commit_id) as folder:
        assert (folder / "file").read_text(encoding="utf-8") == "first"
        assert (folder / ".howsure").resolve() == (repository / "evals" / ".howsure").resolve()
    assert (repository / "evals" / "file").read_text(encoding="utf-8") == "changed"
    assert (repository / "evals" / ".howsure").is_dir()
    assert git(repository, "worktree", "list").count("\n") == 0


async def test_it_is_put_away_also_when_something_breaks(repository: Path) -> None:
    with pytest.raises(RuntimeError):
        async with check_out(repository, "main"):
            raise RuntimeError
    assert git(repository, "worktree", "list").count("\n") == 0


async def test_a_folder_that_the_base_lacks_and_one_without_git_are_told(repository: Path, tmp_path: Path) -> None:
    (repository / "new").mkdir()
    with pytest.raises(NotFound, match="the base has no folder new"):
        async with check_out(repository / "new", "main"):
            pass
    with pytest.raises(ConfigInvalid, match="is not in a git repository"):
        async with check_out(tmp_path, "main"):
            pass


async def test_the_name_of_the_head(repository: Path, tmp_path: Path) -> None:
    assert await head_name(repository) == "change"
    git(repository, "checkout", "-q", "--detach")
    assert await head_name(repository) == git(repository, "rev-parse", "--short", "HEAD")
    assert await head_name(tmp_path) == "head"
