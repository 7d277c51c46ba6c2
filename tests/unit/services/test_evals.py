"""Evals of a user's own enter the kit: new names from YAML, definitions also in the place of built-in ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from howsure.config import Settings
from howsure.errors import ConfigInvalid, Conflict, DatasetInvalid
from howsure.kit import Kit
from howsure.kit.plugins import builtin_kit
from howsure.policies.verdicts import builtin_profiles
from howsure.services.workspace import Workspace, add_evals

YAML = """\
evals:
  - name: NAME
    instructions: Is it kind?
    inputs: {answer: answer}
    scale: {min: 0, max: 1}
"""


@pytest.fixture
def kit() -> Kit:
    return builtin_kit(builtin_profiles())


def yaml(folder: Path, name: str, file: str = "evals.yaml") -> Path:
    path = folder / file
    path.write_text(YAML.replace("NAME", name), encoding="utf-8")
    return path


def definitions(folder: Path, *names: str) -> Path:
    path = folder / "definitions.json"
    made = {"metric_type": "llm", "score_range": {"min": 0, "max": 5}, "template": "Rate {response} to {prompt}."}
    path.write_text(json.dumps({"metrics": dict.fromkeys(names, made)}), encoding="utf-8")
    return path


@pytest.mark.parametrize("file", ["evals.yaml", "evals.yml", "evals"])
def test_evals_of_a_yaml_file_are_added_by_name(tmp_path: Path, kit: Kit, file: str) -> None:
    assert add_evals(yaml(tmp_path, "tone", file), kit) == ("tone",)
    assert "tone" in kit.graders


def test_a_name_that_is_taken_is_a_problem_of_the_file(tmp_path: Path, kit: Kit) -> None:
    before = kit.graders["choice"]
    with pytest.raises(DatasetInvalid) as caught:
        add_evals(yaml(tmp_path, "choice"), kit)
    (problem,) = caught.value.problems
    assert "choice" in problem.message + problem.found
    assert kit.graders["choice"] is before


def test_definitions_may_take_the_place_of_built_in_graders(tmp_path: Path, kit: Kit) -> None:
    count, before = len(kit.graders.names()), kit.graders["response_correctness"]
    names = add_evals(definitions(tmp_path, "response_correctness", "warmth"), kit)
    assert names == ("response_correctness", "warmth")
    assert len(kit.graders.names()) == count + 1
    assert kit.graders["response_correctness"] is not before


@pytest.mark.parametrize("name", ["choice", "criteria", "RelevanceExplain"])
def test_a_definition_takes_no_other_graders_place(tmp_path: Path, kit: Kit, name: str) -> None:
    before = kit.graders[name]
    with pytest.raises(Conflict) as caught:
        add_evals(definitions(tmp_path, "warmth", name), kit)
    assert f"definitions.json: there are graders of these names already: {name!r} (" in str(caught.value)
    assert "response_correctness" in str(caught.value)
    assert kit.graders[name] is before
    assert "warmth" not in kit.graders


def test_a_second_file_does_not_silently_take_the_place_of_the_first(tmp_path: Path, kit: Kit) -> None:
    add_evals(definitions(tmp_path, "response_correctness"), kit)
    with pytest.raises(Conflict, match="'response_correctness'"):
        add_evals(definitions(tmp_path, "response_correctness"), kit)


def test_a_file_that_is_not_there_is_named(tmp_path: Path, kit: Kit) -> None:
    for path in (tmp_path / "nowhere.yaml", tmp_path):
        with pytest.raises(ConfigInvalid, match="no such file of evals"):
            add_evals(path, kit)


@pytest.mark.parametrize(("file", "content"), [("e.yaml", "evals: [1"), ("e.json", "{"), ("e.yaml", "")])
def test_a_broken_file_adds_nothing(tmp_path: Path, kit: Kit, file: str, content: str) -> None:
    before = kit.graders.names()
    (tmp_path / file).write_text(content, encoding="utf-8")
    with pytest.raises(DatasetInvalid):
        add_evals(tmp_path / file, kit)
    assert kit.graders.names() == before


def test_the_evals_of_one_run_are_not_those_of_the_next(tmp_path: Path, kit: Kit) -> None:
    before = kit.graders.names()
    work = Workspace(Settings(), kit, tmp_path)
    own = work.with_evals([str(yaml(tmp_path, "tone"))]).kit
    assert own.graders.names() == [*before, "tone"]
    assert kit.graders.names() == before
    assert own.dialects is kit.dialects
    assert work.with_evals([]) is work


def test_two_files_of_one_run_may_not_share_a_name(tmp_path: Path, kit: Kit) -> None:
    files = [str(yaml(tmp_path, "tone")), str(yaml(tmp_path, "tone", "more.yaml"))]
    with pytest.raises(DatasetInvalid, match=r"more\.yaml: 1 problem"):
        Workspace(Settings(), kit, tmp_path).with_evals(files)
