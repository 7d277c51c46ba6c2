"""Judge tests are kept, line by line, and read again; a line that is none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from howsure.config import Settings
from howsure.errors import DatasetInvalid, PlanRefused
from howsure.kit.builtins import builtin_kit
from howsure.model.trust import Figure, JudgePin, JudgeTest
from howsure.policies.profiles import builtin_profiles
from howsure.services.trust.judge_tests import file_of, keep_test, kept_tests
from howsure.services.workspace import Workspace

TEST = JudgeTest(judge=JudgePin(spec="offline"), cases=3, grades=9, turned=Figure(value=0.1, n=10))


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(Settings(), builtin_kit(builtin_profiles()), tmp_path)


def test_what_was_found_is_read_again_oldest_first(work: Workspace) -> None:
    assert kept_tests(work) == []
    later = JudgeTest(judge=JudgePin(spec="openai:x"), cases=1, grades=1)
    assert keep_test(work, TEST) == keep_test(work, later) == file_of(work)
    assert [each.test for each in kept_tests(work)] == [TEST, later]


def test_a_line_that_is_no_test_is_named(work: Workspace) -> None:
    keep_test(work, TEST)
    with file_of(work).open("ab") as file:
        file.write(b'\n{"at": "soon"}\n')
    with pytest.raises(DatasetInvalid) as caught:
        kept_tests(work)
    assert [(problem.code, problem.line) for problem in caught.value.problems] == [("not-a-judge-test", 3)]


def test_a_place_that_cannot_be_written_is_said(work: Workspace) -> None:
    file_of(work).mkdir(parents=True)
    with pytest.raises(PlanRefused, match="cannot be written"):
        keep_test(work, TEST)
