"""`howsure ci`: the branch that a change is to be merged into is run as it was, then the change itself; the two are
compared, the gates decided, the comment and the report written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from howsure.config import DATABASE
from howsure.errors import ConfigInvalid, InputError, NotFound
from howsure.model.comparison import Comparison
from howsure.model.gate import GateRuling
from howsure.model.run import Run
from howsure.model.summary import Summary
from howsure.reports.compare_sentence import sentence as compared_sentence
from howsure.reports.pull_request import pull_request
from howsure.reports.sentence import sentence
from howsure.reports.whole_file import whole_text
from howsure.services.ci.commits import checked_out, commit_of, head_name, program
from howsure.services.ci.forges import Forge, comment
from howsure.services.comparing import Wanted, compared
from howsure.services.gating import gated
from howsure.services.reporting import check_outputs, write_reports
from howsure.services.workspace import Workspace
from howsure.store.store import Store

ENDED = (0, 3, 100, 101)
"""Exit codes of a run that ran to its end."""
MARGIN = "5%"

Say = Callable[[str], None]


class Asked(Struct, frozen=True, kw_only=True):
    """What to check. `words` are those of `howsure run`; `base` is a branch or commit, `base_run` a stored run to take
    in its place; `key` tells several comments on one change apart."""

    words: tuple[str, ...]
    base: str = ""
    base_run: str = ""
    gates: tuple[str, ...] = ()
    comment: str = "howsure-comment.md"
    report: str = "howsure-report.html"
    post: bool = False
    key: str = "howsure"


class Checked(Struct, frozen=True, kw_only=True):
    """What came of it. `code` is that of the head's run. `sentence`: against the base, or of the run alone."""

    code: int
    run: Run
    base: Run | None
    sentence: str
    gates: tuple[GateRuling, ...]
    comment: str
    report: str
    posted: str = ""


class Stopped(InputError):
    """A run did not come to its end; it has said why itself."""

    def __init__(self, who: str, code: int) -> None:
        super().__init__(f"{who} ended with {code}: see above. Nothing was compared.")
        self.code = code


async def check_change(work: Workspace, asked: Asked, forge: Forge | None, say: Say) -> Checked:
    """Run both, compare, write and post. `Stopped` where the change itself cannot be run."""
    check_outputs((asked.report,))
    base = await _base(work, asked, forge, say)
    gates = asked.gates or work.settings.gates or ((_regression(base, asked),) if base else ())
    name = (forge.head if forge else "") or await head_name(work.folder)
    say(f"howsure ci: {name} runs")
    code = await _run(
        work, work.folder, [*asked.words, "--name", name, *[word for value in gates for word in ("--gate", value)]]
    )
    if code not in ENDED:
        raise Stopped(f"the run of {name}", code)
    async with await work.store(read_only=True) as store:
        run = await store.find_run(name)
        done = await _written(store, asked, run, base, say)
    await write_reports(work, run.id, [asked.report], baseline=base.id if base and done.comparison else "")
    posted = await _posted(asked, forge, done.text, say)
    return Checked(
        code=code,
        run=run,
        base=base,
        sentence=done.sentence,
        gates=done.summary.gates,
        comment=asked.comment,
        report=asked.report,
        posted=posted,
    )


def _regression(base: Run, asked: Asked) -> str:
    """What a change is held to where nobody says: it makes nothing worse."""
    name = asked.base_run or base.name
    quoted = f'"{name}"' if " " in name and '"' not in name else name
    return f"no_regression vs {quoted} by {MARGIN}"


async def _base(work: Workspace, asked: Asked, forge: Forge | None, say: Say) -> Run | None:
    """The run to compare with: the stored one that was named, or the base branch run now."""
    ref = asked.base or (forge.base if forge else "")
    if asked.base_run:
        try:
            return await _stored(work, asked.base_run)
        except NotFound as error:
            if not ref:
                raise
            say(f"howsure ci: {error}; the base is run instead")
    if not ref:
        say("howsure ci: there is no base to compare with (--base, or --base-run)")
        return None
    commit = await commit_of(work.folder, ref)
    name = ref.removeprefix("refs/heads/").removeprefix("origin/")
    async with checked_out(work.folder, commit) as folder:
        say(f"howsure ci: the base {name} ({commit[:12]}) runs")
        code = await _run(work, folder, [*asked.words, "--name", name])
    if code not in ENDED:
        say(f"howsure ci: the base could not be run (it ended with {code}): there is nothing to compare with")
        return None
    return await _stored(work, name)


async def _stored(work: Workspace, name: str) -> Run:
    async with await work.store(read_only=True) as store:
        return await store.find_run(name)


async def _run(work: Workspace, folder: Path, words: Sequence[str]) -> int:
    """`howsure run` in a process of its own: each side imports its own code. Both write into the database of the
    head."""
    database = work.settings.database or DATABASE
    where = database if "://" in database else str((work.folder / database).absolute())
    # By the environment, for an address may hold a password, and everybody sees the words of a program.
    environ = {**os.environ, "HOWSURE_DATABASE_URL": where}
    return await program([sys.executable, "-m", "howsure", "run", *words], folder, environ)


class Written(Struct, frozen=True):
    """The comment, and what it says."""

    text: str
    sentence: str
    summary: Summary
    comparison: Comparison | None


async def _written(store: Store, asked: Asked, run: Run, base: Run | None, say: Say) -> Written:
    comparison: Comparison | None = None
    if base is not None:
        try:
            comparison = await compared(store, Wanted(runs=(base.id, run.id)))
        except InputError as error:
            say(f"howsure ci: not compared: {error}")
    summary = await gated(store, await store.summary(run.id))
    told = [compared_sentence(pair, comparison.unit) for pair in comparison.pairs] if comparison else []
    text = await pull_request(summary, store.iterate(run.id), comparison)
    try:
        with whole_text(Path(asked.comment)) as file:
            file.write(text)
    except OSError as error:
        raise ConfigInvalid(f"--comment {asked.comment}: cannot be written: {error.strerror}") from error
    return Written(text, " ".join(told) or sentence(summary), summary, comparison)


async def _posted(asked: Asked, forge: Forge | None, text: str, say: Say) -> str:
    """A comment that cannot be posted is told, and changes nothing: the verdict stands in the exit code."""
    if not asked.post:
        return ""
    if forge is None or not forge.comments:
        say("howsure ci: no comment was posted: this is no proposed change, or there is no token to post with")
        return ""
    try:
        return await comment(forge, f"<!-- howsure: {asked.key} -->", text)
    except ConfigInvalid as error:
        say(f"howsure ci: no comment was posted: {error}")
        return ""


def outputs(checked: Checked, environ: Mapping[str, str]) -> None:
    """What later steps of a GitHub workflow read, and the page that it shows."""
    if path := environ.get("GITHUB_OUTPUT"):
        told: dict[str, Any] = {"exit-code": checked.code, "run": checked.run.id, "comment": checked.comment}
        told |= {"report": checked.report, "sentence": " ".join(checked.sentence.split())}
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in told.items())
    if path := environ.get("GITHUB_STEP_SUMMARY"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(Path(checked.comment).read_text(encoding="utf-8"))
