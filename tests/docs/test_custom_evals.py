"""What docs/custom-evals.md shows can be used as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

from howsure.dialects.agent_files import read_rubric
from howsure.graders.custom_eval_file import FIELDS, read_evals
from howsure.graders.judged_evals import LIBRARY_EVALS
from howsure.graders.templates import FAMILIES, SOURCES
from howsure.judges.replies import read_rating
from howsure.matching.conditions import OPERATORS
from howsure.model.score import LIKERT

PAGE = (Path(__file__).parents[2] / "docs" / "custom-evals.md").read_text(encoding="utf-8")


def shown(language: str) -> str:
    return re.findall(rf"```{language}\n(.+?)```", PAGE, re.DOTALL)[0]  # type: ignore[no-any-return]


def test_the_evals_it_shows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "evals.yaml"
    path.write_text(shown("yaml"), encoding="utf-8")
    (spec,) = read_evals(path)
    assert (spec.name, spec.scale, spec.whole, spec.mark.value) == ("cites_policy", LIKERT, True, 4)


def test_the_rule_it_shows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rubric.json"
    path.write_text(json.dumps({"name": "R", "rules": [json.loads(shown("json"))]}), encoding="utf-8")
    assert read_rubric(path).rules[0].metadata["outcome_check"]["entity_type"] == "refund"


def test_it_names_every_field_source_operator_and_library_eval() -> None:
    for name in (*FIELDS, *SOURCES, *(f"{family}.…" for family in FAMILIES), *OPERATORS, *LIBRARY_EVALS):
        assert f"`{name}`" in PAGE, name


def test_a_judge_that_says_not_applicable_is_heard() -> None:
    assert type(read_rating({"score": "N/A"}, LIKERT)).__name__ == "NotApplicable"
