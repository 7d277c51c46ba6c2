"""What docs/models.md shows is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from howsure.llm.retry import Retry
from howsure.llm.specs import PLACES, Provider, parse

PAGE = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
SPECS = re.findall(r"^\| `([a-z-]+:[^`]+)` \|", PAGE, re.MULTILINE)


PROGRAMS = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS)
def test_its_programs_run(program: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(program, "docs/models.md", "exec"), names)
    assert names["completion"].text == '{"score": 4}'


def test_it_names_every_provider_and_variable() -> None:
    environ = {name: "k" for place in PLACES.values() for name in place.key_variables}
    environ["AZURE_OPENAI_ENDPOINT"] = "https://ours.openai.azure.com"
    assert {parse(spec, environ).provider for spec in SPECS} == set(Provider)
    named = {name for place in PLACES.values() for name in (*place.key_variables, *place.url_variables)}
    assert [name for name in sorted(named) if f"`{name}`" not in PAGE] == []


def test_its_numbers_are_the_real_ones() -> None:
    retry = Retry()
    assert "from 0.25 to 30 seconds, or to 2 while" in PAGE
    assert (retry.base, retry.longest, retry.longest_alone) == (0.25, 30.0, 2.0)
    assert (retry.attempts, retry.refusals, retry.unreadable) == (12, 60, 3)
    assert (retry.seconds, retry.first_contact) == (300.0, 20.0)
