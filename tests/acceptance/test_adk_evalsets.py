"""ADK's own eval sets and sessions: all convert or say precisely why not, twice to the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from howsure.dialects.datasets import read_cases, validate
from howsure.errors import DatasetInvalid
from howsure.kit.plugins import builtin_kit
from howsure.policies.verdicts import builtin_profiles
from howsure.services.convert.convert import ConversionRequest, convert

KIT = builtin_kit(builtin_profiles())


def eval_sets(base: Path) -> list[Path]:
    return sorted([*base.rglob("*.test.json"), *base.rglob("*.evalset.json")])


def test_all_eval_sets_convert_to_valid_golden_questions(shared_data: Callable[..., Path], tmp_path: Path) -> None:
    files = eval_sets(shared_data("adk_evalsets"))
    assert len(files) == 26
    for number, path in enumerate(files):
        one, two = tmp_path / f"{number}.json", tmp_path / f"{number}-again.json"
        report = convert(ConversionRequest(paths=(str(path),), to="golden", output=one), KIT)
        convert(ConversionRequest(paths=(str(path),), to="golden", output=two), KIT)
        assert one.read_bytes() == two.read_bytes()
        assert (report.written, report.skipped) == (report.read, ())
        assert {each.field for each in report.lost} <= {"session_input.user_id"}
        assert validate(one, KIT.dialects["golden"]).valid
    together = convert(ConversionRequest(paths=tuple(map(str, files)), to="golden", output=tmp_path / "all.json"), KIT)
    assert (together.read, together.written) == (26, 26)


def test_all_sessions_convert_but_for_the_one_without_a_conversation(
    shared_data: Callable[..., Path], tmp_path: Path
) -> None:
    files = sorted(shared_data("adk_evalsets").rglob("*.session.json"))
    assert len(files) == 6
    silent: list[str] = []
    for path in files:
        output = tmp_path / f"{path.parent.name}-{path.stem}.jsonl"
        try:
            convert(ConversionRequest(paths=(str(path),), to="simulation", output=output), KIT)
        except DatasetInvalid as error:
            silent += [f"{path.name}: {problem.code}" for problem in error.problems]
            continue
        (case,) = read_cases(output, KIT.dialects["simulation"])
        assert "howsure_case" not in output.read_text(encoding="utf-8")
        assert case.recorded is not None
    assert silent == ["initial.session.json: no-user-inputs"]


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_a_history_of_adk_2_comes_back_from_its_columns(
    ending: str, shared_data: Callable[..., Path], tmp_path: Path
) -> None:
    path = shared_data("..", "facts", "samples", "adk_2.13_evalset_result.json")
    output = tmp_path / f"h.{ending}"
    convert(ConversionRequest(paths=(str(path),), to="simulation", output=output), KIT)
    cases = list(read_cases(output, KIT.dialects["simulation"]))
    assert cases == list(read_cases(path, KIT.importers["adk-history"]))
    assert [case.id for case in cases] == ["refund1", "order1"]
    assert all(case.tools for case in cases)
