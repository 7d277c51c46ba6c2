"""Graders that compare the text of the answer by program: `exact_match`, `includes`, `regex_match`, `numeric_match` and
`json_schema`. Each may be negated. An unusable expectation (a refused pattern, an invalid schema) is an error of the
grade, not a failure of the agent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from math import isclose
from typing import Any

import jsonschema_rs
from msgspec import Struct, field

from howsure.graders.expectations import ExpectationGrader
from howsure.graders.output_contract import json_in, schema_violation
from howsure.matching.numbers import number_in
from howsure.matching.patterns import PatternRefused, compile_pattern
from howsure.matching.text import words
from howsure.model import expectation as expect
from howsure.model.score import Grade, Score
from howsure.model.transcript import Transcript

NO_NUMBER, NO_JSON = "no_number", "no_json"
"""The flags of answers that have no text to compare."""
_MOST_SHOWN = 120
_MOST_STARTS = 200
"""How many `{` and `[` of an answer are tried as the beginning of JSON."""
_RELATIVE = 1e-9
_LINEAR = jsonschema_rs.RegexOptions(size_limit=1 << 20, dfa_size_limit=1 << 20)


class MatchOutcome(Struct, frozen=True):
    """Whether an answer is as expected, and why."""

    holds: bool
    reason: str
    details: dict[str, Any] = field(default_factory=dict)
    flag: str = ""


class Incomparable(ValueError):
    """Why no answer can be compared with what is expected."""


class MatchGrader(ExpectationGrader[Any]):
    """One of these graders: 1 where the answer is as expected, 0 where it is not."""

    def __init__(self, name: str, kind: type[Any], compare: Callable[[Any, str], MatchOutcome]) -> None:
        self.name, self.only_with, self._compare = name, (kind,), compare

    def grade_one(self, expected: Any, transcript: Transcript) -> Grade:
        try:
            found = self._compare(expected, transcript.answer)
        except Incomparable as error:
            return self.unknown(str(error))
        right = found.holds is not expected.negate
        reason, flag = found.reason, "" if right else found.flag
        if expected.negate:
            reason += ", as it should not" if found.holds else ", as it should be"
        value = float(right)
        return Score(name=self.name, value=value, pass_mark=1.0, reason=reason, flag=flag, details=found.details)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…")


def _exact(expected: expect.ExactText, answer: str) -> MatchOutcome:
    def form(text: str) -> str:
        if expected.form is not expect.TextForm.AS_IS:
            text = words(text) if expected.form is expect.TextForm.WORDS else text.strip()
        return text.casefold() if expected.ignore_case else text

    said = form(answer)
    equal = next((each for each in expected.values if form(each) == said), None)
    texts = " or ".join(map(_shown, expected.values[:3]))
    reason = f"the answer is {_shown(equal)}" if equal is not None else f"the answer is not {texts}"
    return MatchOutcome(equal is not None, reason, {"expected": list(expected.values)})


def _included(expected: expect.IncludedText, answer: str) -> MatchOutcome:
    fold: Callable[[str], str] = str.casefold if expected.ignore_case else str
    said, verb = fold(answer), "begin with" if expected.at_start else "include"
    holds = said.startswith if expected.at_start else said.__contains__
    found = [each for each in expected.values if holds(fold(each))]
    missing = [each for each in expected.values if each not in found]
    right = not missing if expected.every else bool(found)
    shown = ", ".join(map(_shown, (found if right else missing)[:5]))
    reason = f"the answer {'does' if right else 'does not'} {verb} {shown}"
    return MatchOutcome(right, reason, {"found": found, "missing": missing})


def _pattern(expected: expect.TextPattern, answer: str) -> MatchOutcome:
    answer = answer.strip() if expected.whole else answer
    for written in expected.patterns:
        try:
            pattern = compile_pattern(written)
            span = pattern.fullmatch(answer) if expected.whole else pattern.search(answer)
        except PatternRefused as error:
            raise Incomparable(f"the pattern cannot be used: {error}") from error
        if span is not None:
            reason = f"the pattern {_shown(written)} matches {_shown(answer[slice(*span)])}"
            return MatchOutcome(True, reason, {"pattern": written, "place": list(span)})
    shown = ", ".join(map(_shown, expected.patterns[:3]))
    return MatchOutcome(False, f"the answer does not match {shown}", {"patterns": list(expected.patterns)})


def _number(expected: expect.NumericAnswer, answer: str) -> MatchOutcome:
    number, details = number_in(answer), {"expected": list(expected.values)}
    shown = " or ".join(f"{each:.15g}" for each in expected.values)
    if number is None:
        return MatchOutcome(False, f"the answer holds no number; expected {shown}", details, NO_NUMBER)
    right = any(isclose(each, number, rel_tol=_RELATIVE, abs_tol=expected.tolerance) for each in expected.values)
    reason = f"the answer comes to {number:.15g}" + ("" if right else f"; expected {shown}")
    return MatchOutcome(right, reason, {**details, "found": number})


def _json(expected: expect.JsonOutput, answer: str) -> MatchOutcome:
    schema = expected.schema
    try:
        validator = None if schema is None else _validator(json.dumps(schema, sort_keys=True))
    except ValueError as error:
        raise Incomparable(f"the schema cannot be used: {getattr(error, 'message', error)}") from error
    try:
        anywhere, fenced = expected.place is expect.JsonPlace.ANYWHERE, expected.place is expect.JsonPlace.FENCED
        values = _json_anywhere(answer) if anywhere else [json_in(answer, fenced=fenced)]
    except ValueError as error:
        return MatchOutcome(False, str(error), flag=NO_JSON)
    contract, violations = schema if isinstance(schema, dict) else {}, list[str]()
    for value in values:
        violations = [schema_violation(each, contract) for each in (validator.iter_errors(value) if validator else ())]
        if not violations:
            break
    reason = "; ".join(violations[:5]) or ("the answer is JSON" if validator is None else "it fulfils the schema")
    return MatchOutcome(not violations, reason, {"violations": violations[:5]})


def _json_anywhere(answer: str) -> list[Any]:
    decoder, values, start = json.JSONDecoder(), list[Any](), 0
    for _ in range(_MOST_STARTS):
        found = re.compile(r"[{\[]").search(answer, start)
        if found is None:
            break
        try:
            value, start = decoder.raw_decode(answer, found.start())
            values.append(value)
        except (ValueError, RecursionError):
            start = found.end()
    if not values:
        raise ValueError("there is no JSON object or list in the answer")
    return values


@lru_cache(maxsize=128)
def _validator(schema: str) -> Any:
    """A validator that fetches no references, and matches patterns in linear time."""
    return jsonschema_rs.validator_for(
        json.loads(schema), retriever=_refuse_to_fetch, validate_formats=True, mask="this", pattern_options=_LINEAR
    )


def _refuse_to_fetch(address: str) -> Any:
    raise ValueError(f"it refers to {address!r}, and nothing is fetched")


MATCH_GRADERS = (
    MatchGrader("exact_match", expect.ExactText, _exact),
    MatchGrader("includes", expect.IncludedText, _included),
    MatchGrader("regex_match", expect.TextPattern, _pattern),
    MatchGrader("numeric_match", expect.NumericAnswer, _number),
    MatchGrader("json_schema", expect.JsonOutput, _json),
)
