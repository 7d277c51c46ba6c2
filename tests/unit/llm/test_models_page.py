"""What docs/models.md shows is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from howsure.llm.providers import BUILTIN_PROVIDERS
from howsure.llm.retry import RetryPolicy
from howsure.llm.specs import parse_model
from howsure.model.llm_settings import PROVIDER_NAMES

PAGE = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
SPECS = re.findall(r"^\| `([a-z-]+:[^`]+)` \|", PAGE, re.MULTILINE)


PROGRAMS = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS)
def test_its_programs_run(program: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(program, "docs/models.md", "exec"), names)
    assert names["completion"].text == '{"score": 4}'


def test_it_names_every_provider_and_variable() -> None:
    environ = {name: "k" for provider in BUILTIN_PROVIDERS for name in provider.address.key_variables}
    environ["AZURE_OPENAI_ENDPOINT"] = "https://ours.openai.azure.com"
    assert {parse_model(spec, environ).provider for spec in SPECS} == set(PROVIDER_NAMES)
    addresses = [provider.address for provider in BUILTIN_PROVIDERS]
    named = {name for address in addresses for name in (*address.key_variables, *address.url_variables)}
    assert tuple(provider.name for provider in BUILTIN_PROVIDERS) == PROVIDER_NAMES
    assert [name for name in sorted(named) if f"`{name}`" not in PAGE] == []


def test_its_numbers_are_the_real_ones() -> None:
    retry = RetryPolicy()
    assert "from 0.25 to 30 seconds, or to 2 while" in PAGE
    assert (retry.base, retry.longest, retry.longest_alone) == (0.25, 30.0, 2.0)
    assert (retry.attempts, retry.refusals, retry.unreadable) == (12, 60, 3)
    assert (retry.seconds, retry.first_contact) == (300.0, 20.0)
