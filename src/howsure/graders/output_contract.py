"""The grader `output_contract`: is the answer JSON that fulfils the schema the case names? The contracts of the Explain
world are files in `contracts/`; a contract of the run wins over one of the same name."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from typing import Any

import jsonschema_rs
import msgspec

from howsure.errors import ConfigInvalid
from howsure.graders.base import GraderContext
from howsure.graders.expectations import MOST_REASONS, ExpectationGrader
from howsure.matching.patterns import pattern_fault
from howsure.model.case import Case
from howsure.model.expectation import Contract
from howsure.model.score import Grade
from howsure.model.transcript import Transcript

Schema = Mapping[str, Any]

_FENCED = re.compile(r"(?ms)^[ \t]*(`{3,}+|~{3,}+)[^\n`]*\n(?P<body>.*?)(?:^[ \t]*\1[ \t]*$|(?P<open>\Z))")
_LONGEST_VALUE = 60
_MASK = "this"
"""Stands for the value in what the validator says of it."""
_LINEAR = jsonschema_rs.RegexOptions(size_limit=1 << 20, dfa_size_limit=1 << 20)


def builtin_contracts() -> dict[str, dict[str, Any]]:
    """The contracts of the Explain world, by name."""
    folder = files("howsure.graders").joinpath("contracts")
    entries = (entry for entry in folder.iterdir() if entry.name.endswith(".json"))
    return {entry.name.removesuffix(".json"): msgspec.json.decode(entry.read_bytes()) for entry in entries}


class OutputContractGrader(ExpectationGrader[Contract]):
    """After `bind` it knows the contracts of the run beside the built-in ones."""

    name = "output_contract"
    only_with = (Contract,)

    def __init__(self, contracts: Mapping[str, Schema] | None = None) -> None:
        self._contracts: dict[str, Schema] = {**builtin_contracts(), **(contracts or {})}

    def bind(self, context: GraderContext) -> OutputContractGrader:
        bound = OutputContractGrader(context.contracts)
        bound.validators  # noqa: B018 - refuses here what is no schema
        return bound

    @cached_property
    def validators(self) -> dict[str, jsonschema_rs.Draft202012Validator]:
        """By contract. One can refer to another by its name; nothing is fetched from elsewhere."""
        validators: dict[str, jsonschema_rs.Draft202012Validator] = {}
        name = ""
        try:
            resources = [(name, dict(schema)) for name, schema in self._contracts.items()]
            registry = jsonschema_rs.Registry(resources, retriever=_refuse_to_fetch)
            for name, schema in resources:
                validators[name] = jsonschema_rs.Draft202012Validator(
                    schema,
                    registry=registry,
                    validate_formats=True,
                    formats={ISO_8601: _is_moment},
                    mask=_MASK,
                    pattern_options=_LINEAR,
                )
        except ValueError as error:
            place = ".".join(map(str, getattr(error, "instance_path", ()))) or "its root"
            which = f"the contract {name!r} is" if name else "the contracts are"
            what = getattr(error, "message", error)
            if getattr(getattr(error, "kind", None), "format", "") == "regex":
                what = pattern_fault(getattr(error, "instance", "")) or "the pattern is too large, or is malformed"
            message = f"{which} not usable as JSON Schema: {what} (at {place})"
            raise ConfigInvalid(message) from error
        return validators

    def wants(self, case: Case) -> bool:
        """A case with a contract that is known: one that nobody has is not checked, and the result says so."""
        return any(isinstance(each, Contract) and each.name in self._contracts for each in case.expectations)

    def grade_one(self, expected: Contract, transcript: Transcript) -> Grade:
        name = expected.name
        if name not in self._contracts:
            return self.unknown(f"no contract is named {name!r}; known: {', '.join(sorted(self._contracts))}")
        try:
            errors = self.validators[name].iter_errors(json_in(transcript.answer))
            violations = [schema_violation(error, self._contracts[name]) for error in errors]
        except ValueError as error:
            violations = [str(error)]
        shown = violations[:MOST_REASONS]
        details = {"contract": name, "violations": shown, "violation_count": len(violations)}
        return self.score(0.0 if violations else 1.0, violations, f"the answer fulfils {name}", details)


def _refuse_to_fetch(address: str) -> Any:
    raise ValueError(f"no contract has the name {address!r}")


ISO_8601 = "iso-8601"
"""The format of our own contracts for times: seconds and the colon of an offset may be left out."""


def _is_moment(text: str) -> bool:
    try:
        return bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def json_in(answer: str, *, fenced: bool = True) -> Any:
    """The JSON of an answer, or with `fenced` of its only fenced block. Raises ValueError if there is none."""
    text = answer.strip().removeprefix("\ufeff").strip()
    if not text:
        raise ValueError("the answer is empty, not JSON")
    blocks = [match["body"] for match in _FENCED.finditer(text) if match["open"] is None] if fenced else []
    if len(blocks) > 1:
        raise ValueError(f"the answer has {len(blocks)} fenced blocks, not one")
    body = blocks[0] if blocks else text
    try:
        value = msgspec.json.decode(body)
        # The decoder takes the last of several equal keys, and says nothing.
        json.loads(body, object_pairs_hook=_refuse_equal_keys)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise ValueError(f"the answer is not JSON: {error}") from error
    return value


def _refuse_equal_keys(pairs: Sequence[tuple[str, Any]]) -> None:
    for key, times in Counter(key for key, _ in pairs).most_common(1):
        if times > 1:
            raise ValueError(f"the key `{key}` stands {times} times in one object")


def schema_violation(error: jsonschema_rs.ValidationError, contract: Schema) -> str:
    """A violation in words: its place, the value where it is short, and what is wrong with it."""
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path).lstrip(".")
    shown = "" if isinstance(error.instance, dict) else json.dumps(error.instance, ensure_ascii=False)
    kind, message, rule = error.kind, error.message, error.schema_path[-1:]
    if forms := [each.message for form in getattr(kind, "context", ()) for each in form]:
        message = " or ".join(dict.fromkeys(forms))
    elif rule in (["pattern"], ["contains"]):
        described = _description(contract, error.schema_path)
        message = f"{_MASK} does not have the form that the contract asks for{described}"
    elif rule == ["enum"]:
        message = f"{_MASK} is none of {', '.join(map(json.dumps, getattr(kind, 'options', ())))}"
    return f"`{place or 'the answer'}`{f' ({shown})' if 0 < len(shown) <= _LONGEST_VALUE else ''}: {message}"


def _description(contract: Any, path: Sequence[str | int]) -> str:
    """What a contract says of one of its rules; "" where it says nothing, or the rule is in another contract."""
    for step in path[:-1]:
        try:
            contract = contract[step]
        except (LookupError, TypeError):
            return ""
    return f": {contract['description'].rstrip('.')}" if "description" in contract else ""
