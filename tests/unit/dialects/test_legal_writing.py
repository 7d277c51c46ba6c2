"""Which legal lines are sure to be readable before they are written, and that nothing else gets through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from howsure.dialects.datasets import read_cases
from howsure.dialects.legal import LegalDialect, LegalLine, legal_rows, sure_lines
from howsure.errors import DatasetInvalid
from howsure.model.case import Attachment, Case, SingleTurn, World
from howsure.model.expectation import Choice, CorrectChoice, Criterion, Expectation, ReferenceAnswer, WeightedCriteria
from howsure.model.transcript import Message, Role

DIALECT = LegalDialect()
CHOICES = CorrectChoice(choices=(Choice(id="A", text=""), Choice(id="B", text="no")), correct=("B",))
RUBRIC = WeightedCriteria(
    criteria=(Criterion(id="c", text="Names it", weight=-2.5), Criterion(id="d", text="Says why", description="w")),
    references=("yes",),
)


def case(expectation: Expectation, id: str = "x", **question: Any) -> Case:
    return Case(
        id=id,
        input=SingleTurn(**{"message": "Q?", **question}),
        expectations=(expectation,),
        world=World.LEGAL,
        labels={"dataset": "d", "task_type": "mcq" if isinstance(expectation, CorrectChoice) else "rubric_qa"},
        metadata={"year": 2020, "more": {"deep": [1, {"a": None}]}},
    )


def lines(*cases: Case) -> list[Any]:
    return list(legal_rows(cases, Path("x")))


def weighing(weight: Any) -> WeightedCriteria:
    return WeightedCriteria(criteria=(Criterion(id="c", text="t", weight=weight),))


def test_plain_rows_are_sure_and_come_back(tmp_path: Path) -> None:
    given = [case(CHOICES, "1", context="c"), case(RUBRIC, "2")]
    assert sure_lines(lines(*given))
    DIALECT.write(given, tmp_path / "x.jsonl")
    assert list(read_cases(tmp_path / "x.jsonl", DIALECT)) == given


def test_unknown_fields_messages_and_documents_are_looked_at_more_closely() -> None:
    odd = structs.replace(case(CHOICES), metadata={"unknown_fields": {"/extra": 1}})
    said = case(CHOICES, history=(Message(role=Role.USER, content="Hi"),))
    filed = case(CHOICES, attachments=(Attachment(path="a.txt"),))
    assert lines(odd)[0]["extra"] == 1
    assert isinstance(lines(said)[0], LegalLine)
    assert [sure_lines(lines(one)) for one in (odd, said, filed)] == [False, False, False]


@pytest.mark.parametrize(
    "wrong",
    [
        case(CHOICES, " "),
        case(CHOICES, message=" "),
        case(CHOICES, message=5),
        case(CHOICES, context=5),
        case(CorrectChoice(choices=CHOICES.choices, correct=("C",))),
        case(CorrectChoice(choices=CHOICES.choices, correct=("B", "B"))),
        case(CorrectChoice(choices=CHOICES.choices[:1], correct=("A",))),
        case(CorrectChoice(choices=(*CHOICES.choices, CHOICES.choices[0]), correct=("B",))),
        case(WeightedCriteria(criteria=())),
        case(WeightedCriteria(criteria=(*RUBRIC.criteria, RUBRIC.criteria[0]))),
        case(WeightedCriteria(criteria=(Criterion(id="c", text=" "),))),
        case(weighing("heavy")),
        case(weighing(True)),
        case(weighing(float("nan"))),
        case(weighing(10**400)),
        case(ReferenceAnswer(answers=())),
        case(ReferenceAnswer(answers=("",))),
    ],
)
def test_what_is_wrong_is_never_sure_and_never_written(wrong: Case, tmp_path: Path) -> None:
    assert not sure_lines(lines(case(CHOICES, "first"), wrong))
    with pytest.raises(DatasetInvalid):
        DIALECT.write([case(CHOICES, "first"), wrong], tmp_path / "x.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_an_id_that_stands_twice_is_found_among_sure_lines(tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid) as raised:
        DIALECT.write([case(CHOICES, f"{number % 300}") for number in range(301)], tmp_path / "x.jsonl")
    assert [(problem.code, problem.line) for problem in raised.value.problems] == [("duplicate-id", 301)]
