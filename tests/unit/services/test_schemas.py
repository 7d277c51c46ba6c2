"""Schemas: every dialect that can describe itself, and the responses file."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from howsure.errors import UnknownName
from howsure.kit.builtins import builtin_kit
from howsure.policies.profiles import builtin_profiles
from howsure.services.schemas import schema_of, schemas

KIT = builtin_kit(builtin_profiles())
NAMES = ["explain", "golden", "simulation", "test-set", "legal", "responses"]


def test_the_names_are_those_of_the_dialects_and_of_the_files_beside_them() -> None:
    assert list(schemas(KIT)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(schema_of(name, KIT))


def test_a_dialect_that_cannot_describe_itself_has_no_schema() -> None:
    kit = builtin_kit(builtin_profiles())
    kit.dialects.add(Mute())  # type: ignore[arg-type]
    assert "mute" not in schemas(kit)
    with pytest.raises(UnknownName, match="unknown schema 'mute'; known: explain, golden, legal, responses"):
        schema_of("mute", kit)


class Mute:
    """A dialect without a schema."""

    name = "mute"


@pytest.mark.parametrize(
    ("line", "valid"),
    [
        ({"case_id": "q1", "response_text": "A"}, True),
        ({"example_id": "q1", "candidate_name": "juno", "repeat": 2, "response_text": ""}, True),
        ({"case_id": "q1", "response_text": 3}, False),
        ({"case_id": "", "response_text": "A"}, False),
        ({"case_id": "q1", "repeat": 0, "response_text": "A"}, False),
    ],
)
def test_the_schema_of_responses_tells_right_from_wrong(line: dict[str, object], valid: bool) -> None:
    assert Draft202012Validator(schema_of("responses", KIT)).is_valid(line) is valid
