"""docs/simulation.md: its blocks work, and its figures are those that are measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from howsure.dialects.datasets import read_cases
from howsure.dialects.test_set import TestSetDialect
from howsure.model.case import Fact, PlanStep, Scenario
from howsure.model.simulation import Ending, MistakeKind, Party
from simulated_users import FILES, conversations

PAGE = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_test_set_reads_as_the_page_says(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(block("json"), encoding="utf-8")
    (case,) = read_cases(path, TestSetDialect())
    assert case.state == {"customer_tier": "basic"}
    assert case.input == Scenario(
        persona="A customer in a hurry. Polite, writes short messages.",
        initial_message="My lamp arrived broken, I want my money back.",
        goal="Get the money back",
        facts=(Fact(name="order number", value="L-5512"), Fact(name="payment", value="by Visa card")),
        plan=(
            PlanStep(say="Ask how long the refund takes."),
            PlanStep(say="say that you want the money.", when="the agent offers a voucher"),
        ),
        max_turns=6,
    )


def test_the_program_runs() -> None:
    names: dict[str, Any] = {}
    exec(compile(block("python"), "simulation.md", "exec"), names)
    assert "L-5512" in names["answer"]


def test_every_ending_slip_and_party_is_explained() -> None:
    for word in (*Ending, *MistakeKind, *Party):
        assert f"| `{word.value}` |" in PAGE


def test_the_figures_are_those_that_are_measured() -> None:
    for name in FILES:
        talks = list(conversations(name))
        caught = sum(talk.is_caught for talk in talks)
        alarms = sum(bool(talk.found) for talk in talks if not talk.planted)
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}.yaml`")]
        assert f"| {caught} of 15 |" in row
        assert (f"| {alarms} of 15 |" in row) or f"now {alarms} |" in row
