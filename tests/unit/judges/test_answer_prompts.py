"""What models under test are sent: the question with all that belongs to it, in the way of its dataset."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.graders.choice import ChoiceGrader
from howsure.judges.answer_prompts import answer_prompts_fingerprint, case_prompt, load_answer_prompts
from howsure.judges.dataset_policies import POLICIES
from howsure.judges.documents import Documents
from howsure.model.case import Attachment, Case, SingleTurn, opening
from howsure.model.expectation import Choice, CorrectChoice
from howsure.model.score import Score
from howsure.model.transcript import Message, Role
from howsure.testing import a_case, a_transcript
from judge_questions import CRITERIA_CASE, LEGAL_INPUT, REFERENCE_CASE

CHOICES = (Choice(id="A", text="Yes"), Choice(id="B", text="No"))
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 8


def a_choice(policy: str = "", *correct: str) -> Case:
    metadata = {"policy_id": policy} if policy else {}
    return a_case(CorrectChoice(choices=CHOICES, correct=correct or ("A",)), message="May they?", metadata=metadata)


def target_messages(case: Case) -> list[Message]:
    """What a target is sent for the first turn of a case."""
    prompt = case_prompt(case)
    return [*prompt.earlier, Message(role=Role.USER, content=prompt.first_message(opening(case.input)))]


def test_a_legal_model_gets_messages_then_context_then_prompt() -> None:
    sent = target_messages(CRITERIA_CASE)
    assert [message.role for message in sent] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert sent[0].content == "HISTORY: I sell tents."
    assert sent[2].content.startswith("CONTEXT: the tent was bought ten days ago.\n\n")
    assert sent[2].content.endswith("May they withdraw?")


def test_a_prompt_that_repeats_the_last_user_turn_is_sent_once() -> None:
    history = (Message(role=Role.USER, content="May they withdraw?"),)
    case = Case(id="1", input=replace(LEGAL_INPUT, history=history, attachments=()))
    assert [message.content for message in target_messages(case)] == [
        "CONTEXT: the tent was bought ten days ago.\n\nMay they withdraw?"
    ]


def test_the_options_of_a_choice_are_sent() -> None:
    choices = (Choice(id="A", text="Yes"), Choice(id="B", text="No"))
    (message,) = target_messages(a_case(CorrectChoice(choices=choices, correct=("A",)), message="May they?"))
    assert message.content.startswith("May they?\n\nA. Yes\nB. No\n\n")
    assert "Answer:" in message.content


def test_references_are_no_secret_to_the_judge_and_unknown_to_the_model() -> None:
    assert "REFERENCE" not in "".join(message.content for message in target_messages(REFERENCE_CASE))


@pytest.mark.parametrize(
    ("policy", "first", "last"),
    [
        ("", "May they?", "all letters that are right."),
        ("from_the_future_v9", "May they?", "all letters that are right."),
        ("prbench_v1", "May they?", "all letters that are right."),
        ("lexam_mcq_v1", "The following is a multiple-choice question", "the list of all their ids."),
        ("includebase_default_v1", "May they?", "the list of all their ids."),
        ("lar_echr_mcq_v1", "The following comes from proceedings before the European Court", "list of all their ids."),
        ("lexam_oq_v1", "The following is a question from a law examination.", "all letters that are right."),
    ],
)
def test_the_policy_of_the_dataset_says_how_to_answer(policy: str, first: str, last: str) -> None:
    (message,) = target_messages(a_choice(policy))
    assert message.content.startswith(first)
    assert "May they?\n\nA. Yes\nB. No\n\n" in message.content
    assert message.content.endswith(last)


@pytest.mark.parametrize("policy", list(POLICIES))
def test_one_right_option_and_two_are_asked_for_in_the_same_words(policy: str) -> None:
    assert target_messages(a_choice(policy, "A")) == target_messages(a_choice(policy, "A", "B"))


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ('{"reasoning": "B would need a breach.", "answer": "A"}', 1.0),
        ('{"reasoning": "A fails.", "answer": "B"}', 0.0),
        ('{"reasoning": "both", "answer": ["A", "B"]}', 0.0),
    ],
)
async def test_the_json_that_a_policy_asks_for_is_what_the_grader_reads(answer: str, value: float) -> None:
    (score,) = await ChoiceGrader().grade(a_choice("lexam_mcq_v1"), a_transcript(answer))
    assert isinstance(score, Score)
    assert score.value == value


@pytest.mark.parametrize(("policy", "has"), [("apexv1_extended_v1", True), ("prbench_v1", False), ("", False)])
def test_a_system_prompt_is_the_policys_where_it_has_one(policy: str, has: bool) -> None:
    assert bool(case_prompt(a_choice(policy)).system) is has
    assert case_prompt(a_choice(policy), own_system=True).system == ""


def test_documents_and_pictures_reach_the_model(tmp_path: Path) -> None:
    (tmp_path / "lease.txt").write_text("Ends in May.", "utf-8")
    (tmp_path / "plan.png").write_bytes(PNG)
    attached = (Attachment(path="lease.txt"), Attachment(path="plan.png", title="The plan"))
    case = Case(id="1", input=SingleTurn(message="When?", context="A flat.", attachments=attached))
    prompt = case_prompt(case, Documents([tmp_path]))
    assert prompt.first_message("When?") == (
        "A flat.\n\n[document 1] lease.txt\n| Ends in May.\n\n"
        "[document 2] The plan\n| (a picture: image 1 of those that come with this message)\n\nWhen?"
    )
    assert [image.media_type for image in prompt.images] == ["image/png"]
    for_text = case_prompt(case, Documents([tmp_path]), chat=False)
    assert for_text.images == ()
    assert "[document 2] The plan\n| (a picture, and this target takes text alone)" in for_text.documents


def test_every_word_that_a_policy_names_is_there_and_pinned() -> None:
    named: set[Any] = {name for policy in POLICIES.values() for name in (policy.system, policy.guidance, policy.form)}
    assert named - {""} == set(load_answer_prompts())
    assert all(re.fullmatch(rf"{name}@1:[0-9a-f]{{8}}", words.version) for name, words in load_answer_prompts().items())
    assert re.fullmatch("[0-9a-f]{64}", answer_prompts_fingerprint())
