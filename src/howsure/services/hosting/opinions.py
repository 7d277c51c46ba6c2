"""What people say of grades, said from outside: a script, a spreadsheet, another labelling tool. A label is about a
grade that is there, and names its author."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from howsure.errors import PlanRefused
from howsure.model.label import HumanLabel
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.model.score import Grade
from howsure.services.hosting.labelling import Question, Said, label_of
from howsure.store.store import Store

SHOWN = 10
"""How many of the names that would do an error tells."""


class About(Struct, frozen=True, kw_only=True):
    """What a label is about. `result_id` is a result's id, or its case's where that names only one; `criterion_id` is
    that of a criterion or rule, or its exact text, and "" for what a grader gave to the case as a whole."""

    result_id: str
    grader: str
    criterion_id: str = ""


async def say(store: Store, run: Run, about: About, labeler: str, said: Said) -> HumanLabel:
    """Keep a label; what the same person said of the same grade before is replaced."""
    result = await store.result(run.id, about.result_id)
    label = label_of(run, Question(result, grade_named(result, about)), labeler, said)
    await store.labels.put(label)
    return label


def grade_named(result: Result, about: About) -> Grade:
    """The grade that is spoken about; PlanRefused names those that there are."""
    graders = list(dict.fromkeys(grade.name for grade in result.grades))
    if about.grader not in graders:
        raise PlanRefused(
            f"grader: {about.grader!r} gave nothing to case {result.case.id!r}; expected one of {_listed(graders)}"
        )
    own = [grade for grade in result.grades if grade.name == about.grader]
    found = [grade for grade in own if about.criterion_id in _names(grade)]
    if not found:
        parts = [grade.part.id for grade in own if grade.part]
        raise PlanRefused(f"criterion_id: {_expected(about, parts)}")
    return found[0]


def _names(grade: Grade) -> tuple[str, ...]:
    return (grade.part.id, grade.part.text) if grade.part else ("",)


def _expected(about: About, parts: Sequence[str]) -> str:
    if not parts:
        return f"{about.grader!r} has no criteria: leave it out"
    if not about.criterion_id:
        return f"{about.grader!r} gives grades one by one: expected one of {_listed(parts)}"
    return f"{about.grader!r} has no {about.criterion_id!r}; expected one of {_listed(parts)}"


def _listed(names: Sequence[str]) -> str:
    further = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (", ".join(names[:SHOWN]) or "none: the case was not graded") + further
