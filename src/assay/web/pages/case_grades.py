"""The grades of a case as its page shows them: each with its reason, the words it quotes, and when its rule passes and
fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from assay.model.run import Run
from assay.reports.inert import inert
from assay.web.evidence import Numbering, Quote


class Graded(Struct, frozen=True, kw_only=True):
    """A grade, or one criterion or rule of one."""

    name: str
    mark: str
    status: str
    value: str
    needed: str
    severity: str
    reason: str
    judge: str
    conditions: tuple[tuple[str, str], ...]
    quotes: tuple[Quote, ...]
    details: str = ""
    parts: tuple[Graded, ...] = ()


Conditions = Mapping[str, tuple[tuple[str, str], ...]]


def conditions_of(run: Run) -> Conditions:
    """When each rule passes and fails, by the rule's name."""
    rules = run.pins.rubric.rules if run.pins.rubric else ()
    return {
        inert(rule.name): (
            *(("pass if", inert(text)) for text in rule.pass_conditions),
            *(("fail if", inert(text)) for text in rule.fail_conditions),
        )
        for rule in rules
    }


def graded(shown: Mapping[str, Any], name: str, conditions: Conditions, numbering: Numbering) -> Graded:
    return Graded(
        name=name,
        mark=shown["mark"],
        status=shown["status"],
        value=shown.get("value", ""),
        needed=shown["needed"],
        severity=shown.get("severity", ""),
        reason=shown["reason"],
        judge=shown["judge"],
        conditions=conditions.get(name, ()),
        quotes=tuple(numbering.quote(text) for text in shown["evidence"]),
        details=shown.get("details", ""),
        parts=tuple(graded(part, part["text"], conditions, numbering) for part in shown.get("parts", ())),
    )
