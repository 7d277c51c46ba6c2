"""The desk of one process: where tests have their cases tried. It holds one event loop, and each run open until the
session ends; with xdist every worker has one, and all of them write into the same runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, cast
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

import pytest
from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from howsure.errors import InputError
from howsure.model.run import ModelSpending
from howsure.model.run_request import RunRequest
from howsure.model.summary import Summary
from howsure.pytest_plugin import NOTED
from howsure.pytest_plugin.marks import DatasetMark, error_text, find_path, read_marks
from howsure.pytest_plugin.outcome import CaseOutcome
from howsure.services.python.background_loop import BackgroundLoop
from howsure.services.python.evaluate import WorkspaceOptions, evaluate, open_workspace, request_for
from howsure.services.python.finished_run import FinishedRun
from howsure.services.python.shared_runs import CaseByCaseRun, SelectedCase, SharedRun, open_shared_run, select_cases
from howsure.services.workspace import Workspace

RUNNER: pytest.StashKey[CaseRunner] = pytest.StashKey()
CASE = "howsure_case"


class RunNote(Struct, frozen=True, kw_only=True):
    """One run. `place` is the test it belongs to, without its case; `inconclusive` says what an undecided gate is.
    `left_out`: so many cases were not selected.
    `whole`: it was run by `howsure_run`, which has ended it already."""

    run_id: str
    place: str
    inconclusive: str = "fail"
    spent: ModelSpending | None = None
    left_out: int = 0
    whole: bool = False
    database: str = ""


class SessionNotes(Struct, kw_only=True):
    """All of them, and, at the end, what came of each."""

    notes: list[RunNote] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)


def runner_of(config: pytest.Config) -> CaseRunner:
    """The desk of this process; made when it is first needed."""
    if RUNNER not in config.stash:
        config.stash[RUNNER] = CaseRunner(config)
        config.stash.setdefault(NOTED, SessionNotes())
    return config.stash[RUNNER]


class OpenRun:
    """A run that is being made, and whom its plan asks."""

    def __init__(self, run: CaseByCaseRun, bot: Any) -> None:
        self.run = run
        self.bot = bot


class CaseRunner:
    """Tries cases for tests."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._session = session_id(config)
        self._loop = BackgroundLoop().__enter__()
        self._stack = AsyncExitStack()
        self._open: dict[str, OpenRun] = {}
        self._read: dict[str, list[SelectedCase]] = {}

    @property
    def place(self) -> WorkspaceOptions:
        """Where runs are kept."""
        database = self._config.getini("howsure_database")
        return WorkspaceOptions(database=database) if database else WorkspaceOptions()

    def options(self, wanted: DatasetMark, target: Any = None) -> tuple[Workspace, RunRequest]:
        work = open_workspace(self.place | cast(WorkspaceOptions, wanted.options))
        return work, request_for(work, wanted.dataset, target, wanted.options)

    def cases(self, wanted: DatasetMark) -> list[SelectedCase]:
        """Every case of a dataset, read once."""
        work, options = self.options(wanted)
        key = repr((options.datasets, options.dialect, options.filters, options.limit))
        if key not in self._read:
            self._read[key] = select_cases(work, options)
        return self._read[key]

    def attempt(self, node: pytest.Item, target: Any, wanted: DatasetMark | None = None) -> CaseOutcome:
        """The case of a test, tried and kept."""
        wanted = wanted or read_marks(node)
        chosen: SelectedCase = case_of(node)
        bot = target if callable(target) or hasattr(target, "open") else None
        try:
            opened = self._opened(node, wanted, target)
            own = None if bot is opened.bot else bot
            results = self._loop.run(opened.run.attempt(chosen, own))
        except InputError as error:
            pytest.fail(error_text(error), pytrace=False)
        return CaseOutcome(case=chosen.case, results=tuple(results), run_id=opened.run.run_id, lenient=wanted.lenient)

    def _opened(self, node: pytest.Item, wanted: DatasetMark, target: Any) -> OpenRun:
        key = run_key(node)
        if key not in self._open:
            work, options = self.options(wanted, target)
            total = sum(run_key(each) == key for each in node.session.items)
            title = options.name or key.rpartition("::")[2]
            shared = SharedRun(run_id=str(uuid5(self._session, key)), total=total, title=title)
            run = self._loop.run(self._stack.enter_async_context(open_shared_run(work, options, shared)))
            self._open[key] = OpenRun(run, None if isinstance(target, str) else target)
            self._note(
                RunNote(
                    run_id=run.run_id,
                    place=key,
                    inconclusive=wanted.inconclusive,
                    left_out=len(self.cases(wanted)) - total,
                    database=work.settings.database,
                )
            )
        return self._open[key]

    def evaluating(self, node: pytest.Item) -> Callable[..., FinishedRun]:
        """`howsure.evaluate` for one test: paths are found as in marks, and the run is called after the test."""

        def run(dataset: Any, target: Any = None, **asked: Any) -> FinishedRun:
            found = find_path(dataset, node)
            done = evaluate(found, target, **{**self.place, "name": node.name, **asked})
            self._note(RunNote(run_id=done.id, place=node.nodeid, whole=True, database=done.database))
            return done

        return run

    def _note(self, note: RunNote) -> None:
        self._config.stash[NOTED].notes.append(note)

    def close(self) -> None:
        """Let go of everything; a worker of xdist tells its controller what it made."""
        spent = {each.run.run_id: each.run.spent for each in self._open.values()}
        self._loop.run(self._stack.aclose())
        self._loop.__exit__()
        noted = self._config.stash[NOTED]
        noted.notes = [replace(note, spent=spent.get(note.run_id)) for note in noted.notes]
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["howsure"] = to_builtins(noted.notes)


def session_id(config: pytest.Config) -> UUID:
    """The same in every worker of one xdist session: so they agree on the ids of runs."""
    shared = getattr(config, "workerinput", {}).get("testrunuid")
    return uuid5(NAMESPACE_URL, f"howsure:{shared}") if shared else uuid4()


def case_of(node: pytest.Item) -> SelectedCase:
    callspec = getattr(node, "callspec", None)
    found = callspec.params[CASE] if callspec is not None else getattr(node, "chosen", None)
    assert isinstance(found, SelectedCase)
    return found


def run_key(node: pytest.Item) -> str:
    """The tests that make one run together: those that differ by nothing but their case."""
    callspec = getattr(node, "callspec", None)
    if callspec is None:
        return node.nodeid.partition("::")[0] if hasattr(node, "chosen") else node.nodeid
    others = ", ".join(f"{name}={value}" for name, value in callspec.params.items() if name != CASE)
    name = getattr(node, "originalname", node.name)
    parent = node.parent.nodeid if node.parent else ""
    return f"{parent}::{name}" + (f"[{others}]" if others else "")
