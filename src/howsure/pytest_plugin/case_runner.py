"""What marks and settings ask for, and the desk of one process: the cases of a dataset as the tests of a function, or
of a file of their own; where tests have them tried, and what came of it. It holds one event loop, and each run open
until the session ends; with xdist every worker has one, and all of them write into the same runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid4, uuid5

import pytest
from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from howsure.errors import DatasetInvalid, InputError
from howsure.model.case import Case, opening
from howsure.model.result import Result
from howsure.model.run import ModelSpending
from howsure.model.run_request import RunRequest
from howsure.model.summary import Summary
from howsure.model.verdict import Verdict
from howsure.pytest_plugin import DATASET, NOTED
from howsure.reports.safe_text import one_line
from howsure.services.python.background_loop import BackgroundLoop
from howsure.services.python.evaluate import WorkspaceOptions, evaluate, open_workspace, request_for
from howsure.services.python.finished_run import FinishedRun
from howsure.services.python.shared_runs import CaseByCaseRun, SelectedCase, open_shared_run, select_cases
from howsure.services.workspace import Workspace

SHOWN_PROBLEMS = 20
INCONCLUSIVE = ("fail", "skip")


class DatasetMark(Struct, frozen=True, kw_only=True):
    """One dataset as tests. `lenient`: the whole is held to something, so a case alone may fail."""

    dataset: Any
    target: Any = None
    options: dict[str, Any]
    inconclusive: str = "fail"
    lenient: bool = False


def read_marks(node: pytest.Item | pytest.Collector) -> DatasetMark:
    """What the marks on a test ask for."""
    mark = node.get_closest_marker(DATASET)
    if mark is None or len(mark.args) != 1:
        pytest.fail(f"@pytest.mark.{DATASET} expects one dataset: its path, or a list of cases", pytrace=False)
    said = dict(mark.kwargs)
    target, threshold = said.pop("target", None), said.pop("threshold", None)
    inconclusive = said.pop("inconclusive", None) or node.config.getini("howsure_inconclusive")
    if (own := node.get_closest_marker("howsure_repeat")) is not None:
        said["repeat"] = own.args[0]
    if (own := node.get_closest_marker("howsure_threshold")) is not None:
        threshold, inconclusive = own.args[0], own.kwargs.get("inconclusive", inconclusive)
    gates = _gates(said.pop("gates", ()), threshold)
    gates += [text for mark in node.iter_markers("howsure_gate") for text in mark.args]
    return DatasetMark(
        dataset=find_path(mark.args[0], node),
        target=target,
        options=_options({**said, "gates": gates}, node),
        inconclusive=_known(inconclusive),
        lenient=bool(gates),
    )


def _known(inconclusive: str) -> str:
    if inconclusive not in INCONCLUSIVE:
        pytest.fail(f"inconclusive: expected {' or '.join(INCONCLUSIVE)}, found {inconclusive!r}", pytrace=False)
    return inconclusive


def _gates(given: Any, threshold: float | str | None) -> list[str]:
    own = [] if threshold in (None, "") else [f"pass_rate >= {threshold}"]
    return [*own, *([given] if isinstance(given, str) else given)]


def _options(said: dict[str, Any], node: pytest.Item | pytest.Collector) -> dict[str, Any]:
    if judge := said.get("judge") or node.config.getini("howsure_judge"):
        said["judge"] = judge
    for name in ("responses", "rubric", "agent"):
        if name in said:
            said[name] = find_path(said[name], node)
    return said


def find_path(given: Any, node: pytest.Item | pytest.Collector) -> Any:
    """A path beside the test's file, else from the rootdir; what is no path stays as it is."""
    if isinstance(given, list | tuple):
        return [find_path(each, node) for each in given]
    if not isinstance(given, str | Path) or str(given).startswith("run:"):
        return given
    beside = node.path.parent / given
    return str(beside if beside.exists() else node.config.rootpath / given)


def read_file_settings(node: pytest.File) -> DatasetMark:
    """What the settings ask of a file of `howsure_datasets`."""
    ini = node.config.getini
    gates = _gates((), ini("howsure_threshold"))
    repeat = ini("howsure_repeat")
    if not repeat.isdecimal():
        pytest.fail(f"howsure_repeat: expected a number from 1, found {repeat!r}", pytrace=False)
    return DatasetMark(
        dataset=str(node.path),
        target=ini("howsure_target") or None,
        options=_options({"gates": gates, "repeat": int(repeat)}, node),
        inconclusive=_known(ini("howsure_inconclusive")),
        lenient=bool(gates),
    )


def target_of(node: pytest.Item) -> Any:
    wanted = read_marks(node)
    return wanted.target if wanted.target is not None else node.config.getini("howsure_target") or None


def error_text(error: InputError) -> str:
    """The error with every problem it has."""
    problems = error.problems if isinstance(error, DatasetInvalid) else ()
    more = len(problems) - SHOWN_PROBLEMS
    lines = [str(problem) for problem in problems[:SHOWN_PROBLEMS]]
    return "\n".join([str(error), *lines, *([f"… and {more} more"] if more > 0 else [])])


LONGEST = 500
GRAVEST_FIRST = (Verdict.FAILED, Verdict.ERRORED, Verdict.DAMAGED, Verdict.SKIPPED)


class CaseOutcome(Struct, frozen=True, kw_only=True, dict=True):
    """The results of one case: one for each repeat and candidate. `lenient`: a failed case does not fail its test, for
    the whole dataset is held to something."""

    case: Case
    results: tuple[Result, ...]
    run_id: str
    lenient: bool = False

    @cached_property
    def verdict(self) -> Verdict:
        """One failed repeat is a failed case; else one that broke is an errored one."""
        found = {result.verdict for result in self.results}
        return next((verdict for verdict in GRAVEST_FIRST if verdict in found), Verdict.PASSED)

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASSED

    @property
    def result(self) -> Result:
        """The first that did not pass; the first of all where every one did."""
        return next((each for each in self.results if each.verdict is self.verdict), self.results[0])

    @property
    def answer(self) -> str:
        """What the agent said in `result`."""
        said = self.result.transcript
        return said.answer if said else ""

    @property
    def reasons(self) -> tuple[str, ...]:
        return self.result.reasons

    def __repr__(self) -> str:
        return f"<case {self.case.id!r}: {self.verdict.value}>"

    def settle_early(self) -> None:
        """Before the test's own asserts: what broke is an error, not a failure, and what nobody could judge neither."""
        if self.verdict in (Verdict.ERRORED, Verdict.DAMAGED):
            pytest.fail("\n".join(self._lines()), pytrace=False)
        if self.verdict is Verdict.SKIPPED:
            pytest.skip("; ".join(one_line(reason, LONGEST) for reason in self.reasons))

    def settle(self) -> None:
        """After them."""
        if self.verdict is Verdict.FAILED:
            if self.lenient:
                pytest.xfail("; ".join(one_line(reason, LONGEST) for reason in self.reasons))
            pytest.fail("\n".join(self._lines()), pytrace=False)

    def _lines(self) -> Iterator[str]:
        passed = sum(result.verdict is Verdict.PASSED for result in self.results)
        several = f" ({passed} of {len(self.results)} attempts passed)" if len(self.results) > 1 else ""
        yield f"case {one_line(self.case.id)} {self.verdict.value}{several}"
        yield f"asked: {one_line(opening(self.case.input), LONGEST)}"
        if self.result.transcript is not None:
            yield f"said:  {one_line(self.answer, LONGEST)}"
        yield from (f"why:   {one_line(reason, LONGEST)}" for reason in self.reasons)
        yield f"more:  howsure show {self.run_id[:8]} {one_line(self.case.id)}"


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


class CaseRunner:
    """Tries cases for tests."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # The same in every worker of one xdist session: so they agree on the ids of runs.
        shared = getattr(config, "workerinput", {}).get("testrunuid")
        self._session = uuid5(NAMESPACE_URL, f"howsure:{shared}") if shared else uuid4()
        self._loop = BackgroundLoop().__enter__()
        self._stack = AsyncExitStack()
        self._open: dict[str, tuple[CaseByCaseRun, Any]] = {}
        """The runs that are being made, each with whom its plan asks."""
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
            run, planned = self._opened(node, wanted, target)
            results = self._loop.run(run.attempt(chosen, None if bot is planned else bot))
        except InputError as error:
            pytest.fail(error_text(error), pytrace=False)
        return CaseOutcome(case=chosen.case, results=tuple(results), run_id=run.run_id, lenient=wanted.lenient)

    def _opened(self, node: pytest.Item, wanted: DatasetMark, target: Any) -> tuple[CaseByCaseRun, Any]:
        key = run_key(node)
        if key not in self._open:
            work, options = self.options(wanted, target)
            total = sum(run_key(each) == key for each in node.session.items)
            options = replace(options, name=options.name or key.rpartition("::")[2])
            opening_run = open_shared_run(work, options, str(uuid5(self._session, key)), total)
            run = self._loop.run(self._stack.enter_async_context(opening_run))
            self._open[key] = run, None if isinstance(target, str) else target
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
        spent = {run.run_id: run.spent for run, _ in self._open.values()}
        self._loop.run(self._stack.aclose())
        self._loop.__exit__()
        noted = self._config.stash[NOTED]
        noted.notes = [replace(note, spent=spent.get(note.run_id)) for note in noted.notes]
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["howsure"] = to_builtins(noted.notes)


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


def parametrize(metafunc: pytest.Metafunc) -> None:
    """One test for each case, called by the case's id."""
    chosen = cases_of(metafunc.config, read_marks(metafunc.definition))
    if CASE not in metafunc.fixturenames:
        metafunc.fixturenames.append(CASE)
    metafunc.parametrize(CASE, [pytest.param(each, id=each.case.id) for each in chosen], indirect=True)


def cases_of(config: pytest.Config, wanted: DatasetMark) -> list[SelectedCase]:
    """Every case, or a failed collection that tells every problem."""
    try:
        return runner_of(config).cases(wanted)
    except InputError as error:
        pytest.fail(error_text(error), pytrace=False)


class DatasetFile(pytest.File):
    """A dataset that `howsure_datasets` names."""

    def collect(self) -> Iterable[pytest.Item]:
        self.wanted = read_file_settings(self)
        return [
            CaseTest.from_parent(self, name=each.case.id, chosen=each) for each in cases_of(self.config, self.wanted)
        ]


class CaseTest(pytest.Item):
    """One of its cases."""

    def __init__(self, *, chosen: SelectedCase, **rest: Any) -> None:
        super().__init__(**rest)
        self.chosen = chosen

    def setup(self) -> None:
        """What broke is an error of the test, not a failure: so the case is tried before it begins."""
        assert isinstance(self.parent, DatasetFile)
        wanted = self.parent.wanted
        self.outcome: CaseOutcome = runner_of(self.config).attempt(self, wanted.target, wanted)
        self.outcome.settle_early()

    def runtest(self) -> None:
        self.outcome.settle()

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, f"case {self.name}"
