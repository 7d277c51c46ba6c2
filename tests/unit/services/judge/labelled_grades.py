"""Builders for the tests of trust: labels, grades and the things that both are about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from house import lines as lines
from howsure.model.case import Case, SingleTurn
from howsure.model.result import Result
from howsure.model.score import LIKERT, Grade, Part, Scale, Score, Unscored, UnscoredReason
from howsure.model.verdict import Verdict
from howsure.services.judge.labels import GradeWithLabels, Label, LabelFile


def a_label(value: bool | float, annotator: str = "", **fields: Any) -> Label:
    return Label(**{"case_id": "c1", "grader": "criteria", "value": value, "annotator": annotator, **fields})


def labels_of(*labels: Label) -> LabelFile:
    return LabelFile(path="labels.jsonl", sha256="0" * 64, labels=labels)


def checked(passed: bool | None, part: str = "") -> Grade:
    """What a judge of criteria gave: pass, fail, or nothing."""
    about = Part(id=part, text=f"text of {part}", position=1) if part else None
    if passed is None:
        return Unscored(
            name="criteria", why=UnscoredReason.ERROR, reason="cannot tell", pass_mark=1.0, part=about, judge="j"
        )
    return Score(name="criteria", value=float(passed), pass_mark=1.0, part=about, judge="j")


def rated(
    value: float | None, mark: float | None = None, scale: Scale = LIKERT, name: str = "RelevanceExplain"
) -> Grade:
    if value is None:
        return Unscored(
            name=name, why=UnscoredReason.ERROR, reason="cannot tell", scale=scale, pass_mark=mark, judge="j"
        )
    return Score(name=name, value=value, scale=scale, pass_mark=mark, judge="j")


def verdicts(*pairs: tuple[bool | None, bool | None]) -> list[GradeWithLabels]:
    """Things with (people's verdict, the judge's); people None: split."""
    return [
        GradeWithLabels(
            case_id=f"c{number}",
            grader="criteria",
            labels=(a_label(True), a_label(False, "b")) if people is None else (a_label(people),),
            grade=checked(judge),
        )
        for number, (people, judge) in enumerate(pairs)
    ]


def ratings(
    *pairs: tuple[float, float | None], mark: float | None = None, scale: Scale = LIKERT
) -> list[GradeWithLabels]:
    return [
        GradeWithLabels(
            case_id=f"c{number}",
            grader="RelevanceExplain",
            labels=(a_label(float(people), grader="RelevanceExplain"),),
            grade=rated(judge, mark, scale),
        )
        for number, (people, judge) in enumerate(pairs)
    ]


def a_result(case: str, *grades: Grade, candidate: str = "", repeat: int = 1, **labels: Any) -> Result:
    given = Case(id=case, input=SingleTurn(message="Hi"), labels=labels)
    return Result(case=given, verdict=Verdict.PASSED, grades=grades, candidate=candidate, repeat=repeat)


async def stream(results: Sequence[Result]) -> AsyncIterator[Result]:
    for result in results:
        yield result
