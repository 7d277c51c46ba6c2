"""Small pieces that all targets use: how parts of a case are named in the ledger, and what becomes of leftovers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from howsure.model.expectation import Expectation
from howsure.services.conversion.ledger import Pad


def kind_name(expectation: Expectation) -> str:
    """`tool_calls`, `reference_answer` …"""
    return str(type(expectation).__struct_config__.tag)


def lose_rest(rest: Mapping[str, Any], pad: Pad, kept: Iterable[str] = ()) -> None:
    """Metadata that is no field of the target."""
    known = set(kept)
    for key in rest:
        if key not in known:
            pad.lost(f"metadata.{key}")
