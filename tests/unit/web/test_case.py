"""The page of a case: its grades, with quotes, conditions and what people said."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.model.label import HumanLabel, Opinion
from howsure.model.result import Result
from howsure.model.score import LIKERT, Part, Score
from howsure.web.conversations import QuoteNumbers
from howsure.web.pages.case import grade_view, opinions_by_grade
from store.making import NOON, RUN, a_result

KIND = Score(name="rubric", value=0.0, pass_mark=1.0, part=Part(id="KIND", text="Is kind"))
WHOLE = Score(name="RelevanceExplain", value=4.0, pass_mark=3.0, scale=LIKERT)


def the_result() -> Result:
    return a_result(0, grades=(KIND, WHOLE))


def label(grader: str = "rubric", part_id: str = "KIND", **fields: str) -> HumanLabel:
    plain: dict[str, Any] = {
        "labeler": "ana",
        "why": "",
        "candidate": "",
        "case_id": "case-0",
        "organization_id": "",
        "agent_id": "",
    }
    return HumanLabel(
        run_id=RUN,
        position=0,
        grader=grader,
        part_id=part_id,
        opinion=Opinion(fields.pop("opinion", "fail")),
        repeat=1,
        created_at=NOON,
        **{**plain, **fields},
    )


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([], {}),
        ([label()], {"Is kind": [("ana", "fail", "")]}),
        (
            [label(), label(labeler="bo", opinion="cannot_tell", why="too short")],
            {"Is kind": [("ana", "fail", ""), ("bo", "cannot tell", "too short")]},
        ),
        (
            [label("RelevanceExplain", "", opinion="not_applicable")],
            {"relevance": [("ana", "not applicable", "")]},
        ),
        ([label("rubric", "GONE"), label("criteria", "KIND")], {}),
    ],
    ids=["nobody", "one", "two people", "an eval", "of what is not there"],
)
def test_what_people_said(labels: list[HumanLabel], said: dict[str, list[tuple[str, str, str]]]) -> None:
    assert opinions_by_grade(the_result(), labels) == said


def test_names_and_reasons_are_inert() -> None:
    found = opinions_by_grade(the_result(), [label(labeler="a\u202eb", why="line\nbreak\x1b[31m")])
    ((name, _, why),) = found["Is kind"]
    assert "\u202e" not in name
    assert "\x1b" not in why and "\n" not in why


def test_a_grade_and_its_parts_each_have_their_own() -> None:
    plain = {"mark": "failed", "status": "failed", "needed": "", "reason": "", "judge": "", "evidence": ()}
    shown = {**plain, "parts": [{**plain, "text": "Is kind"}, {**plain, "text": "Is brief"}]}
    people = {"Is kind": [("ana", "pass", "")], "rubric": [("bo", "fail", "")]}
    made = grade_view(shown, "rubric", {}, QuoteNumbers([]), people)
    assert made.people == (("bo", "fail", ""),)
    assert [part.people for part in made.parts] == [(("ana", "pass", ""),), ()]
