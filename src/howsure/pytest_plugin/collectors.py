"""Collecting: the cases of a dataset as the tests of a function, or as the tests of a file of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from howsure.errors import InputError
from howsure.pytest_plugin.case_runner import CASE, runner_of
from howsure.pytest_plugin.marks import DatasetMark, error_text, read_file_settings, read_marks
from howsure.pytest_plugin.outcome import CaseOutcome
from howsure.services.python.shared_runs import SelectedCase


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
