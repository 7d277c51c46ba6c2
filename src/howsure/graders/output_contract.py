"""The grader `output_contract`: is the answer JSON that fulfils the schema the case names? The contracts of the Explain
world are files in `contracts/`; a contract of the run wins over one of the same name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from howsure.errors import ConfigInvalid
from howsure.graders.base import GraderContext
from howsure.graders.expectations import MOST_REASONS, expects, grade_each, shorten_reasons
from howsure.model.case import Case
from howsure.model.expectation import Contract
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.model.transcript import Transcript

Schema = Mapping[str, Any]

_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(?P<body>.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_LONGEST_MESSAGE = 200


def builtin_contracts() -> dict[str, dict[str, Any]]:
    """The contracts of the Explain world, by name."""
    folder = files("howsure.graders").joinpath("contracts")
    entries = (entry for entry in folder.iterdir() if entry.name.endswith(".json"))
    return {entry.name.removesuffix(".json"): msgspec.json.decode(entry.read_bytes()) for entry in entries}


class OutputContractGrader:
    """After `bind` it knows the contracts of the run beside the built-in ones."""

    name = "output_contract"
    only_with = (Contract,)

    def __init__(self, contracts: Mapping[str, Schema] | None = None) -> None:
        self._contracts: dict[str, Schema] = {**builtin_contracts(), **(contracts or {})}
        # A contract can refer to another by name.
        resources = ((name, DRAFT202012.create_resource(schema)) for name, schema in self._contracts.items())
        self._registry = Registry[Schema | bool]().with_resources(resources)
        self._validators: dict[str, Draft202012Validator] = {}

    def bind(self, context: GraderContext) -> OutputContractGrader:
        for name, schema in context.contracts.items():
            if schema != self._contracts.get(name):
                try:
                    Draft202012Validator.check_schema(schema)
                except SchemaError as error:
                    place = ".".join(map(str, error.path)) or "its root"
                    message = f"the contract {name!r} is not a JSON Schema: {error.message} (at {place})"
                    raise ConfigInvalid(message) from error
        return OutputContractGrader(context.contracts)

    def wants(self, case: Case) -> bool:
        return expects(case, Contract)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        return grade_each(case, Contract, lambda contract: self._grade_one(contract.name, transcript.answer))

    def _grade_one(self, name: str, answer: str) -> Grade:
        if name not in self._contracts:
            known = ", ".join(sorted(self._contracts))
            return self._error(f"no contract is named {name!r}; known: {known}")
        try:
            value = json_in(answer)
            if name not in self._validators:
                self._validators[name] = Draft202012Validator(self._contracts[name], registry=self._registry)
            errors = sorted(self._validators[name].iter_errors(value), key=lambda error: [*map(str, error.path)])
            violations = [_violation(error) for error in errors]
        except ValueError as error:
            violations = [str(error)]
        except Unresolvable as error:
            return self._error(f"the contract {name!r} refers to a schema that nobody has: {error.ref}")
        return Score(
            name=self.name,
            value=0.0 if violations else 1.0,
            pass_mark=1.0,
            reason=shorten_reasons(violations) or f"the answer fulfils {name}",
            details={"contract": name, "violations": violations[:MOST_REASONS], "violation_count": len(violations)},
        )

    def _error(self, reason: str) -> Unscored:
        return Unscored(name=self.name, why=UnscoredReason.ERROR, reason=reason, pass_mark=1.0)


def json_in(answer: str) -> Any:
    """The JSON of an answer, or of its only fenced block. Raises ValueError if there is none."""
    text = answer.strip().removeprefix("\ufeff").strip()
    if not text:
        raise ValueError("the answer is empty, not JSON")
    blocks = [match["body"] for match in _FENCED.finditer(text)]
    if len(blocks) > 1:
        raise ValueError(f"the answer has {len(blocks)} fenced blocks, not one")
    try:
        return msgspec.json.decode(blocks[0] if blocks else text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise ValueError(f"the answer is not JSON: {error}") from error


def _violation(error: ValidationError) -> str:
    place = ".".join(str(step) for step in error.path) or "the answer"
    message = error.message if len(error.message) <= _LONGEST_MESSAGE else f"…{error.message[-_LONGEST_MESSAGE:]}"
    return f"`{place}`: {message}"
