"""`howsure ci`: run the base branch as it was, then the change itself; compare the two, decide the gates, and write the
comment and the report. The base commit is checked out beside the working tree for as long as it is needed."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from howsure.config import DATABASE
from howsure.errors import ConfigInvalid, InputError, NotFound
from howsure.model.comparison import Comparison
from howsure.model.run import Run
from howsure.model.summary import GateRuling
from howsure.reports.atomic_files import atomic_text
from howsure.reports.comparisons import comparison_sentence as compared_sentence
from howsure.reports.pull_request import pull_request
from howsure.reports.run_facts import run_sentence
from howsure.services.ci.forges import TOKENS, Forge
from howsure.services.compare.compare import CompareRequest, compare_stored
from howsure.services.gate.gate import rule_on_gates
from howsure.services.report import check_outputs, write_reports
from howsure.services.trust import ALLOW
from howsure.services.workspace import Workspace


class FinishedProcess(Struct, frozen=True):
    """The exit code and the output of a program."""

    code: int
    out: str
    err: str


async def git(folder: Path, *words: str) -> FinishedProcess:
    """Run git, with messages in English."""
    environ = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
    try:
        process = await asyncio.create_subprocess_exec(
            "git", *words, cwd=folder, env=environ, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
    except FileNotFoundError as error:
        raise ConfigInvalid("git is not installed, or not on the PATH") from error
    out, err = await process.communicate()
    return FinishedProcess(
        process.returncode or 0, out.decode("utf-8", "replace").strip(), err.decode("utf-8", "replace").strip()
    )


async def base_commit(folder: Path, ref: str) -> str:
    """The commit where HEAD left the branch `ref`; where the history is too short to tell, the branch itself."""
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
    error = f" ({fetched.err.splitlines()[-1]})" if fetched.err else ""
    raise NotFound(f"there is no branch or commit {ref!r} here{error}; check out the whole history (fetch-depth: 0)")


async def head_name(folder: Path) -> str:
    """The branch, or the short id of the commit."""
    branch = await git(folder, "symbolic-ref", "--short", "--quiet", "HEAD")
    if branch.code == 0:
        return branch.out
    commit = await git(folder, "rev-parse", "--short", "HEAD")
    return commit.out if commit.code == 0 else "head"


@asynccontextmanager
async def check_out(folder: Path, commit: str) -> AsyncIterator[Path]:
    """The same folder as it was in that commit. The data folder is shared, so that neither side asks a model twice."""
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
            ours = (folder / DATABASE).parent
            with suppress(OSError):  # without links (or where it is under version control) the base keeps its own
                ours.mkdir(exist_ok=True)
                (inside / ours.name).symlink_to(ours, target_is_directory=True)
            yield inside
        finally:
            await git(folder, "worktree", "remove", "--force", str(tree))


async def run_program(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> int:
    """Run a program with its output on our stderr; returns its exit code."""
    process = await asyncio.create_subprocess_exec(*words, cwd=folder, env=dict(environ), stdout=2)
    try:
        return await process.wait()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
        raise


ENDED = (0, 3, 100, 101)
"""Exit codes of a run that reached its end."""
MARGIN = "5%"

Say = Callable[[str], None]


class CiRequest(Struct, frozen=True, kw_only=True):
    """What to check. `words` are the arguments of `howsure run`; `base` is a branch or commit, `base_run` a stored run
    to use instead."""

    words: tuple[str, ...]
    base: str = ""
    base_run: str = ""
    gates: tuple[str, ...] = ()
    comment: str = "howsure-comment.md"
    report: str = "howsure-report.html"


class CiResult(Struct, frozen=True, kw_only=True):
    """The result. `code` is the exit code of the head's run; `sentence` compares it with the base, or sums it up
    alone."""

    code: int
    run: Run
    base: Run | None
    sentence: str
    gates: tuple[GateRuling, ...]
    comment: str
    report: str


class RunStopped(InputError):
    """A run did not reach its end; its own output says why."""

    def __init__(self, who: str, code: int) -> None:
        super().__init__(f"{who} ended with {code}: see above. Nothing was compared.")
        self.code = code


async def check_change(work: Workspace, request: CiRequest, forge: Forge | None, say: Say) -> CiResult:
    """Run both, compare and write. `RunStopped` where the change itself cannot be run."""
    check_outputs(work.kit, (request.report,))
    base = await _base(work, request, forge, say)
    gates = request.gates or work.settings.gates
    if not gates and base:  # by default, the change must make nothing worse
        before = request.base_run or base.name
        quoted = f'"{before}"' if " " in before and '"' not in before else before
        gates = (f"no_regression vs {quoted} by {MARGIN}",)
    name = (forge.head if forge else "") or await head_name(work.folder)
    say(f"howsure ci: {name} runs")
    code = await _run(
        work, work.folder, [*request.words, "--name", name, *[word for value in gates for word in ("--gate", value)]]
    )
    if code not in ENDED:
        raise RunStopped(f"the run of {name}", code)
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        comparison: Comparison | None = None
        if base is not None:
            try:
                comparison = await compare_stored(store, CompareRequest(runs=(base.id, run.id)))
            except InputError as error:
                say(f"howsure ci: not compared: {error}")
        summary = await rule_on_gates(store, await store.summary(run.id))
        sentences = [compared_sentence(pair, comparison.unit) for pair in comparison.pairs] if comparison else []
        text = await pull_request(summary, store.iterate(run.id), comparison)
        try:
            with atomic_text(Path(request.comment)) as file:
                file.write(text)
        except OSError as error:
            raise ConfigInvalid(f"--comment {request.comment}: cannot be written: {error.strerror}") from error
    await write_reports(work, run.id, [request.report], baseline=base.id if base and comparison else "")
    return CiResult(
        code=code,
        run=run,
        base=base,
        sentence=" ".join(sentences) or run_sentence(summary),
        gates=summary.gates,
        comment=request.comment,
        report=request.report,
    )


async def _base(work: Workspace, request: CiRequest, forge: Forge | None, say: Say) -> Run | None:
    """The run to compare with: the stored one that was named, or the base branch run now."""
    ref = request.base or (forge.base if forge else "")
    if request.base_run:
        try:
            return await _stored(work, request.base_run)
        except NotFound as error:
            if not ref:
                raise
            say(f"howsure ci: {error}; the base is run instead")
    if not ref:
        say("howsure ci: there is no base to compare with (--base, or --base-run)")
        return None
    commit = await base_commit(work.folder, ref)
    name = ref.removeprefix("refs/heads/").removeprefix("origin/")
    async with check_out(work.folder, commit) as folder:
        say(f"howsure ci: the base {name} ({commit[:12]}) runs")
        code = await _run(work, folder, [*request.words, "--name", name])
    if code not in ENDED:
        say(f"howsure ci: the base could not be run (it ended with {code}): there is nothing to compare with")
        return None
    return await _stored(work, name)


async def _stored(work: Workspace, name: str) -> Run:
    async with await work.store(read_only=True) as store:
        return await store.find_run(name)


async def _run(work: Workspace, folder: Path, words: Sequence[str]) -> int:
    """`howsure run` in a process of its own, because each side imports its own code. Both write to the head's
    database."""
    database = work.settings.database or DATABASE
    where = database if "://" in database else str((work.folder / database).absolute())
    # In the environment: the address may hold a password, and the arguments of a program are visible to everybody.
    # The change was checked for trust before, and trusting it includes the base that it is compared with. Neither
    # gets a variable with write access to the repository.
    given = {name: value for name, value in os.environ.items() if name not in TOKENS}
    environ = {**given, "HOWSURE_DATABASE_URL": where, ALLOW: "1"}
    return await run_program([sys.executable, "-m", "howsure", "run", *words], folder, environ)


def write_outputs(checked: CiResult, environ: Mapping[str, str]) -> None:
    """Write the outputs that later steps of a GitHub workflow read, and its summary page."""
    if path := environ.get("GITHUB_OUTPUT"):
        outputs: dict[str, Any] = {"exit-code": checked.code, "run": checked.run.id, "comment": checked.comment}
        outputs |= {"report": checked.report, "sentence": " ".join(checked.sentence.split())}
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in outputs.items())
    if path := environ.get("GITHUB_STEP_SUMMARY"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(Path(checked.comment).read_text(encoding="utf-8"))
