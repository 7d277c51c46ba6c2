"""The grades of a case as its page shows them: each with its reason, the words it quotes, and when its rule passes and
fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from howsure.model.label import HumanLabel
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.reports.inert import inert, one_line
from howsure.web.evidence import Numbering, Quote
from howsure.web.pages.label_words import WORDS

NOBODY: Mapping[str, Sequence[tuple[str, str, str]]] = MappingProxyType({})


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
    people: tuple[tuple[str, str, str], ...] = ()
    details: str = ""
    parts: tuple[Graded, ...] = ()


Conditions = Mapping[str, tuple[tuple[str, str], ...]]
People = Mapping[str, Sequence[tuple[str, str, str]]]


def people_of(result: Result, labels: Sequence[HumanLabel]) -> People:
    """What people said of each grade (who, what, why), by its words."""
    words = {
        (grade.name, grade.part.id if grade.part else ""): inert(grade.part.text if grade.part else grade.name)
        for grade in result.grades
    }
    found: dict[str, list[tuple[str, str, str]]] = {}
    for label in labels:
        key = words.get((label.grader, label.part_id))
        if key is not None:
            said = (inert(label.labeler), WORDS[label.opinion], one_line(label.why, 300))
            found.setdefault(key, []).append(said)
    return found


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


def graded(
    shown: Mapping[str, Any], name: str, conditions: Conditions, numbering: Numbering, people: People = NOBODY
) -> Graded:
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
        people=tuple(people.get(name, ())),
        details=shown.get("details", ""),
        parts=tuple(graded(part, part["text"], conditions, numbering, people) for part in shown.get("parts", ())),
    )
