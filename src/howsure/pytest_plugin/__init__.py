"""The pytest plug-in: a dataset as tests, one for each case, and a `howsure_run` fixture. What is here is only what
pytest must know of; everything else is loaded when a test uses it, so that other tests pay nothing."""

from __future__ import annotations

from collections.abc import Callable, Generator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DATASET = "howsure_dataset"
MARKS = (
    f"{DATASET}(path, target=…, repeat=…, threshold=…, judge=…, gates=…, name=…, **options): one test for each case of"
    " a dataset",
    "howsure_repeat(n): independent conversations for each case",
    "howsure_threshold(share, inconclusive=…): hold the pass rate of the whole dataset to this; a case alone may fail",
    "howsure_gate(expression, …): hold the whole dataset to these gates",
)
SETTINGS: tuple[tuple[str, str, Any, Any], ...] = (
    ("howsure_datasets", "files (glob patterns, from the rootdir) whose cases are tests", "args", []),
    ("howsure_target", "who answers, where a mark does not say", "string", ""),
    ("howsure_judge", "who judges, where a mark does not say", "string", ""),
    ("howsure_repeat", "conversations for each case of howsure_datasets", "string", "1"),
    ("howsure_threshold", "the pass rate that howsure_datasets are held to", "string", ""),
    ("howsure_inconclusive", "what an undecided threshold is: fail or skip", "string", "fail"),
    ("howsure_database", "where runs are kept", "string", ""),
)
OUTCOME: pytest.StashKey[Any] = pytest.StashKey()
"""What came of a test's case."""
NOTED: pytest.StashKey[Any] = pytest.StashKey()
"""The runs that were made: set by whoever makes the first."""


def part(name: str) -> ModuleType:
    """The one place where the rest is loaded."""
    return import_module(f"howsure.pytest_plugin.{name}")


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, about, kind, default in SETTINGS:
        parser.addini(name, about, type=kind, default=default)


def pytest_configure(config: pytest.Config) -> None:
    for mark in MARKS:
        config.addinivalue_line("markers", mark)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.get_closest_marker(DATASET) is not None:
        part("case_runner").parametrize(metafunc)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The case is tried whether or not the test asks for what came of it."""
    for test in items:
        names = getattr(test, "fixturenames", None)
        if names is not None and "howsure_result" not in names and test.get_closest_marker(DATASET) is not None:
            names.append("howsure_result")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    patterns = parent.config.getini("howsure_datasets")
    if not patterns or not any(file_path.match(pattern) for pattern in patterns):
        return None
    collected: pytest.Collector = part("case_runner").DatasetFile.from_parent(parent, path=file_path)
    return collected


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """After the test's own asserts, the verdict on its case counts."""
    done = yield
    if (outcome := pyfuncitem.stash.get(OUTCOME, None)) is not None:
        outcome.settle()
    return done


@pytest.fixture
def howsure_target(request: pytest.FixtureRequest) -> Any:
    """Who answers: what the mark says. Override it to hand over an agent that is made by fixtures."""
    return part("case_runner").target_of(request.node)


@pytest.fixture
def howsure_case(request: pytest.FixtureRequest) -> Any:
    """The Case of this test."""
    if not hasattr(request, "param"):
        pytest.fail(f"howsure_case needs the mark {DATASET} on the test", pytrace=False)
    return request.param.case


@pytest.fixture
def howsure_result(request: pytest.FixtureRequest, howsure_case: Any, howsure_target: Any) -> Any:
    """What came of this test's case: `answer`, `results`, `passed`, `reasons`. A case that broke is an error of the
    test, one that could not be judged is skipped, and one that failed fails the test after its own asserts."""
    outcome = part("case_runner").runner_of(request.config).attempt(request.node, howsure_target)
    request.node.stash[OUTCOME] = outcome
    outcome.settle_early()
    return outcome


@pytest.fixture
def howsure_run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`run = howsure_run("cases.jsonl", my_bot, repeat=3)`: a whole dataset in one test, as `howsure.evaluate` runs
    it."""
    evaluate: Callable[..., Any] = part("case_runner").runner_of(request.config).evaluating(request.node)
    return evaluate


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """On the controller of xdist: what a worker made."""
    if made := getattr(node, "workeroutput", {}).get("howsure"):
        part("session_end").add_worker_notes(node.config, made)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.stash.get(NOTED, None) is not None:
        part("session_end").finish_session(session)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.stash.get(NOTED, None) is not None:
        part("session_end").write_summary(terminalreporter, config)
