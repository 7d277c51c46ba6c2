"""The words of labelling: how a question is put, how opinions look, and how much agreement may be said to be."""

from __future__ import annotations

from msgspec import Struct

from howsure.model.label import Opinion
from howsure.model.run import Run
from howsure.model.score import Direction, Grade, Score
from howsure.reports.inert import inert
from howsure.reports.marks import needed

WORDS = {
    Opinion.PASS: "pass",
    Opinion.FAIL: "fail",
    Opinion.NOT_APPLICABLE: "not applicable",
    Opinion.CANNOT_TELL: "cannot tell",
}
MARKS = {
    Opinion.PASS: "passed",
    Opinion.FAIL: "failed",
    Opinion.NOT_APPLICABLE: "not applicable",
    Opinion.CANNOT_TELL: "doubtful",
}
FEWEST = 10
"""Answers below which agreement is not put into words."""


class Asked(Struct, frozen=True, kw_only=True):
    """A question, as a person reads it."""

    text: str
    kind: str
    detail: str
    conditions: tuple[tuple[str, str], ...]
    hint: str


def asked(run: Run, grade: Grade) -> Asked:
    part = grade.part
    if part is None:
        return _eval(grade)
    rules = {rule.id: rule for rule in run.pins.rubric.rules} if run.pins.rubric and grade.name == "rubric" else {}
    rule = rules.get(part.id)
    bad = part.weight is not None and part.weight < 0
    return Asked(
        text=inert(part.text),
        kind=_kind(grade.name, is_rule=bool(rule or part.severity)),
        detail=inert(rule.description) if rule else "",
        conditions=tuple(
            [("pass if", inert(text)) for text in rule.pass_conditions]
            + [("fail if", inert(text)) for text in rule.fail_conditions]
        )
        if rule
        else (),
        hint="meeting this is bad: it passes where the answer does not do it" if bad else "",
    )


def _kind(grader: str, *, is_rule: bool) -> str:
    word = "rule" if is_rule else "criterion"
    return word if grader in ("criteria", "rubric") else f"{word} of {inert(grader)}"


def _eval(grade: Grade) -> Asked:
    scale = "" if grade.scale.high is None else f" on {grade.scale.low:g} to {grade.scale.high:g}"
    direction = grade.direction if isinstance(grade, Score) else Direction.HIGHER
    hint = f"the judge gives a number{scale}; it passes at {needed(grade.pass_mark, direction)}"
    text = f"Does the answer pass on {inert(grade.name)}?"
    return Asked(text=text, kind="eval", detail="", conditions=(), hint=hint)


def kappa_words(kappa: float | None, n: int, fewest: int) -> str:
    """Cohen's kappa in words: how far agreement goes beyond chance."""
    if n < fewest:
        return f"n {n}: too few to say"
    if kappa is None:
        return "κ –: one of you always says the same"
    words = next(word for limit, word in LEVELS if kappa <= limit)
    return f"κ {kappa:.2f}: {words}"


LEVELS = (
    (0.0, "no better than chance"),
    (0.4, "little beyond chance"),
    (0.6, "moderate"),
    (0.8, "good"),
    (1.0, "very good"),
)
