"""The page of contracts is made from the code, and names every extension point of the kit."""

from __future__ import annotations

from pathlib import Path

from howsure.kit import Kit, Registry
from howsure.kit.contracts import CONTRACTS, contracts_page

PAGE = Path(__file__).parents[2] / "docs" / "contracts.md"
NOT_FROM_OUTSIDE = {"importers", "profiles"}
"""Importers are dialects that only read, by their contract; profiles come from howsure.yaml."""


def test_the_page_is_as_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == contracts_page(), "`make contracts-docs` writes it anew"


def test_every_registry_of_the_kit_has_its_contract_there() -> None:
    registries = {name for name, value in vars(Kit()).items() if isinstance(value, Registry)}
    assert {place.removeprefix("kit.") for place, *_ in CONTRACTS.values()} == registries - NOT_FROM_OUTSIDE
