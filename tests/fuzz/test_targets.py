"""Every parser of outside bytes has a fuzzing target, its seeds are valid, and some changed inputs break none of them.
`make fuzz` tries many more."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import seeds
from fuzz.engines import Board, Finds, run_hypothesis
from fuzz.target import Target, attempt
from fuzz.targets import BY_NAME, KIT, TARGETS
from howsure.dialects.datasets import validate
from howsure.llm.providers import BUILTIN_PROVIDERS

EXAMPLES = 15
SECONDS = 60.0
NEEDY = ("agent-session", "openai-evals-registry", "lm-eval")


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_changed_input_breaks_a_parser(target: Target, tmp_path: Path) -> None:
    finds = Finds(tmp_path, Board())
    for data in target.seeds:
        found = attempt(target, data)
        assert found is None, found.trace
    run_hypothesis(target, finds, SECONDS, seed=1, most=EXAMPLES)
    assert not finds.known, "\n".join(path.read_text() for path in tmp_path.glob("*.txt"))


def test_everything_that_is_registered_has_a_target() -> None:
    expected = [f"dialect {each.name}" for each in KIT.dialects] + [f"importer {each.name}" for each in KIT.importers]
    missing = [name for name in expected if not any(target.startswith(f"{name} ") for target in BY_NAME)]
    missing += [each.name for each in KIT.results_readers if f"results {each.name}" not in BY_NAME]
    missing += [each.name for each in BUILTIN_PROVIDERS if f"provider {each.name}" not in BY_NAME]
    assert not missing, "give each a seed in tests/fuzz/seeds.py"


def test_names_of_targets_differ() -> None:
    assert len(BY_NAME) == len(TARGETS)


@pytest.mark.parametrize("name", [*seeds.DIALECTS, *seeds.IMPORTS])
def test_files_to_start_from_are_valid(name: str, tmp_path: Path) -> None:
    """What is refused at its first byte leads nowhere."""
    dialect = KIT.dialects[name] if name in seeds.DIALECTS else KIT.importers[name]
    for file, content in (seeds.DIALECTS | seeds.IMPORTS)[name]:
        (tmp_path / file).write_bytes(content)
        report = validate(tmp_path / file, dialect)
        # A registry and a task name a file of samples beside them.
        needs = {"missing-label", "missing-option", "missing-file"} if name in NEEDY else set()
        assert {problem.code for problem in report.problems} <= needs, report.problems


ALL_VALID = (
    "rubric",
    "agent files",
    "settings",
    "custom",
    "metric",
    "provider ",
    "gate",
    "budgets",
    "matchers",
    "cond",
)


@pytest.mark.parametrize(
    "target", [each for each in TARGETS if each.name.startswith(ALL_VALID)], ids=lambda target: target.name
)
def test_inputs_to_start_from_are_valid(target: Target) -> None:
    for data in target.seeds:
        target.parse(data)
