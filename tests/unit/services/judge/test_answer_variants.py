"""Harmless changes: the words change, what is said does not."""

from __future__ import annotations

import json

import pytest

from howsure.model.expectation import Criteria, Criterion, ReferenceAnswer
from howsure.model.rubric import Rubric, Rule, Severity
from howsure.model.transcript import Message, Role, ToolCall, Transcript
from howsure.services.judge.answer_variants import (
    PADDING,
    PERTURBATIONS,
    JudgeSubject,
    add_space,
    as_markdown,
    lower_case,
    pad,
    paraphrase,
    with_answer,
)
from howsure.testing import a_case, a_transcript

BY_NAME = {each.name: each for each in PERTURBATIONS}
JSON = '{"plan": "You will start on Monday.", "id": "AB-1", "hours": 3}'


def a_subject(answer: str) -> JudgeSubject:
    criteria = Criteria(criteria=(Criterion(id="a", text="A"), Criterion(id="b", text="B")))
    rules = tuple(Rule(id=id, name=id, severity=Severity.LOW) for id in ("r1", "r2"))
    return JudgeSubject(case=a_case(criteria), transcript=a_transcript(answer), rubric=Rubric(name="R", rules=rules))


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (add_space, "One.\nTwo.", "One.  \n\nTwo.  \n\n"),
        (as_markdown, "It is 5. Call us.", "- It is 5.\n- Call us."),
        (lower_case, "It IS 5.", "it is 5."),
        (pad, "It is 5.", "It is 5.\n\n" + " ".join(PADDING)),
        (
            paraphrase,
            "You will usually buy. It is not big, I am sure.",
            "You'll normally purchase. It's not large, I'm sure.",
        ),
        (paraphrase, "Nothing of it.", "Nothing of it."),
    ],
)
def test_what_each_change_does(change: object, before: str, after: str) -> None:
    assert callable(change)
    assert change(before) == after


def test_json_stays_json_and_only_its_sentences_change() -> None:
    assert json.loads(add_space(JSON) or "") == json.loads(JSON)
    assert as_markdown(JSON) == f"```json\n{JSON}\n```"
    assert json.loads(lower_case(JSON) or "") == {"plan": "you will start on monday.", "id": "AB-1", "hours": 3}
    assert json.loads(paraphrase(JSON) or "")["plan"] == "You'll start on Monday."
    assert json.loads(pad(JSON) or "")["plan"] == f"You will start on Monday. {' '.join(PADDING)}"
    assert json.loads(pad(JSON) or "")["id"] == "AB-1"


def test_the_message_that_was_the_answer_changes_with_it() -> None:
    changed = with_answer(a_transcript("old", calls=[("search", {})]), "new")
    assert changed.answer == "new"
    assert [message.content for message in changed.messages] == ["", "new"]
    assert len(changed.tool_calls) == 1


def test_a_conversation_that_does_not_say_the_answer_is_given_it() -> None:
    thinking = Message(role=Role.ASSISTANT, content="old", tool_calls=(ToolCall(name="t"),))
    changed = with_answer(Transcript(answer="old", messages=(thinking,)), "new")
    assert [message.content for message in changed.messages] == ["old", "new"]
    assert with_answer(Transcript(answer="old"), "new").messages == ()


def test_criteria_and_rules_stand_the_other_way_round() -> None:
    turned = BY_NAME["order of criteria"].apply(a_subject("x"))
    assert turned is not None
    (criteria,) = turned.case.expectations
    assert isinstance(criteria, Criteria)
    assert [each.id for each in criteria.criteria] == ["b", "a"]
    assert turned.rubric is not None
    assert [rule.id for rule in turned.rubric.rules] == ["r2", "r1"]


def test_a_change_that_changes_nothing_does_not_apply() -> None:
    plain = JudgeSubject(case=a_case(ReferenceAnswer(answers=("x",))), transcript=a_transcript(""))
    applied = [each.name for each in PERTURBATIONS if each.apply(plain) is not None]
    assert applied == ["repeat"]
    assert BY_NAME["lower case"].apply(a_subject("all low")) is None
    assert BY_NAME["paraphrase"].apply(a_subject("Nothing of it.")) is None


def test_only_the_repeat_is_asked_anew() -> None:
    assert [each.name for each in PERTURBATIONS if each.again] == ["repeat"]
    subject = a_subject("x")
    assert BY_NAME["repeat"].apply(subject) is subject


def test_every_change_gives_the_same_twice() -> None:
    subject = a_subject("You will need it. It is not big, however: do not wait.")
    assert [each.apply(subject) for each in PERTURBATIONS] == [each.apply(subject) for each in PERTURBATIONS]
