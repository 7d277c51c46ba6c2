"""Replies that rule on a rubric the judge wrote itself: a list of verdicts; the share of them that passed is the value.
The managed evals of the golden world give these; a plain share from 0 to 1 is taken too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from howsure.judges.fields import NUMBERS, VERDICTS, evidence_in, fields_of, reason_in
from howsure.judges.reading import opened, read_rating, read_value, values_and_prose
from howsure.judges.rulings import NotApplicable, Rating, RubricVerdict, RubricVerdicts, Unreadable
from howsure.judges.values import Number, on_scale, value_of
from howsure.model.score import UNIT

_LISTS = ("rubricverdicts", "verdicts", "rubrics", "criteria", "checks")
_TEXTS = ("content", "criterion", "text", "rubric", "description", "evaluatedrubric", "property")
_ROUNDING = 0.005
"""How far a stated share may lie from the verdicts: judges round it."""


def read_share(content: Any) -> Rating | RubricVerdicts | NotApplicable:
    """The verdicts, or the share of them that passed."""
    values, _ = values_and_prose(content)
    said = [value if _is_list_of_verdicts(value) else opened(value) for value in values]
    lists = [(entries, each) for each in said if (entries := _entries(each)) is not None]
    if len(lists) > 1:
        raise Unreadable(f"the reply has {len(lists)} lists of verdicts")
    return _share(*lists[0]) if lists else read_rating(content, UNIT)


def _entries(said: Any) -> list[dict[str, Any]] | None:
    if isinstance(said, dict):
        fields = fields_of(said)
        return next((fields[key] for key in _LISTS if _is_list_of_verdicts(fields.get(key))), None)
    return said if _is_list_of_verdicts(said) else None


def _is_list_of_verdicts(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, dict) and _is_entry(fields_of(each)) for each in value)
    )


def _is_entry(fields: Mapping[str, Any]) -> bool:
    """It has a verdict, and says on what."""
    return any(key in fields for key in (*VERDICTS, *NUMBERS)) and any(key in fields for key in _TEXTS)


def _share(entries: Sequence[dict[str, Any]], said: Any) -> RubricVerdicts | NotApplicable:
    verdicts = tuple(_verdict(entry) for entry in entries)
    texts = [verdict.text for verdict in verdicts if verdict.text]
    if len(set(texts)) < len(texts):
        raise Unreadable("the reply rules on the same criterion twice")
    fields = fields_of(said) if isinstance(said, dict) else {}
    reason, _ = reason_in(fields)
    if all(verdict.passed is None for verdict in verdicts):
        return NotApplicable(reason=reason or "none of the judge's own criteria applies")
    evidence, _ = evidence_in(fields)
    ruling = RubricVerdicts(verdicts=verdicts, reason=reason, evidence=evidence)
    stated = value_of(fields.get("score"))
    if isinstance(stated, Number) and abs(on_scale(stated, UNIT, whole=False) - ruling.value) > _ROUNDING:
        raise Unreadable(f"the score {stated.value:g} contradicts the verdicts, of which {ruling.value:.3f} passed")
    return ruling


def _verdict(entry: dict[str, Any]) -> RubricVerdict:
    ruling = read_value(entry, UNIT, whole=True)
    fields = fields_of(entry)
    about = fields.get("evaluatedrubric")
    importance = fields.get("importance") or (about.get("importance") if isinstance(about, dict) else "")
    return RubricVerdict(
        text=_text(entry),
        passed=None if isinstance(ruling, NotApplicable) else ruling.value == 1.0,
        reason=ruling.reason,
        importance=str(importance or ""),
    )


def _text(entry: Any) -> str:
    """The words of a criterion, however deep the judge wraps them."""
    if isinstance(entry, str):
        return entry.strip()
    fields = fields_of(entry) if isinstance(entry, dict) else {}
    return next((text for key in _TEXTS if key in fields and (text := _text(fields[key]))), "")
