"""Reading marks: which dataset, who answers, how often, and what the whole of it is held to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from howsure.errors import DatasetInvalid, InputError
from howsure.pytest_plugin import DATASET

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
