"""The commit that a change started from, checked out beside it for as long as it is needed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from howsure.config import DATABASE
from howsure.errors import ConfigInvalid, NotFound


class Ended(Struct, frozen=True):
    """A program that has ended."""

    code: int
    out: str
    err: str


async def git(folder: Path, *words: str) -> Ended:
    """What git says; its messages in English."""
    environ = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            *words,
            cwd=folder,
            env=environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError as error:
        raise ConfigInvalid("git is not installed, or not on the PATH") from error
    out, err = await process.communicate()
    return Ended(
        process.returncode or 0, out.decode("utf-8", "replace").strip(), err.decode("utf-8", "replace").strip()
    )


async def commit_of(folder: Path, ref: str) -> str:
    """The commit where HEAD left the branch `ref`; where history is too short to tell, the branch itself."""
    tip = await _tip(folder, ref)
    found = await git(folder, "merge-base", "HEAD", tip)
    return found.out if found.code == 0 and found.out else tip


async def _tip(folder: Path, ref: str) -> str:
    for name in (f"origin/{ref}", ref):
        found = await git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if found.code == 0:
            return found.out
    fetched = await git(folder, "fetch", "--no-tags", "--quiet", "origin", "--end-of-options", ref)
    if fetched.code == 0:
        return (await git(folder, "rev-parse", "FETCH_HEAD")).out
    said = f" ({fetched.err.splitlines()[-1]})" if fetched.err else ""
    raise NotFound(f"there is no branch or commit {ref!r} here{said}; check out the whole history (fetch-depth: 0)")


async def head_name(folder: Path) -> str:
    """The branch, or the beginning of the commit."""
    branch = await git(folder, "symbolic-ref", "--short", "--quiet", "HEAD")
    if branch.code == 0:
        return branch.out
    commit = await git(folder, "rev-parse", "--short", "HEAD")
    return commit.out if commit.code == 0 else "head"


@asynccontextmanager
async def checked_out(folder: Path, commit: str) -> AsyncIterator[Path]:
    """The same folder as it was in that commit. What was asked of models is shared: neither side asks it twice."""
    top = await git(folder, "rev-parse", "--show-toplevel")
    if top.code != 0:
        raise ConfigInvalid(f"{folder} is not in a git repository: name the run to compare with by --base-run")
    with TemporaryDirectory(prefix="howsure-base-") as place:
        tree = Path(place) / "base"
        made = await git(folder, "worktree", "add", "--detach", "--quiet", str(tree), commit)
        if made.code != 0:
            raise ConfigInvalid(f"the commit {commit[:12]} cannot be checked out: {made.err}")
        try:
            inside = tree / folder.resolve().relative_to(Path(top.out).resolve())
            if not inside.is_dir():
                raise NotFound(f"the base has no folder {inside.relative_to(tree)}")
            _share(folder, inside)
            yield inside
        finally:
            await git(folder, "worktree", "remove", "--force", str(tree))


def _share(folder: Path, inside: Path) -> None:
    ours = (folder / DATABASE).parent
    with suppress(OSError):  # without links (or where it is under version control) the base keeps its own
        ours.mkdir(exist_ok=True)
        (inside / ours.name).symlink_to(ours, target_is_directory=True)


async def program(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> int:
    """Run a program where everybody sees what it says, but not on our stdout; its exit code."""
    process = await asyncio.create_subprocess_exec(*words, cwd=folder, env=dict(environ), stdout=2)
    try:
        return await process.wait()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
        raise
