"""Quotes that are there, and quotes that are not."""

from __future__ import annotations

import pytest

from howsure.graders.base import GraderContext
from howsure.graders.criteria import CriteriaGrader
from howsure.judges.conversations import find_missing_quotes, note_missing_quotes
from howsure.model.expectation import Criteria, Criterion
from howsure.model.score import Score
from howsure.testing import ScriptedJudge, a_case, a_transcript
from judge_questions import EXPLAIN_CASE, EXPLAIN_TRANSCRIPT, TEST_SET_CASE, TRANSCRIPT


@pytest.mark.parametrize(
    "quote",
    [
        "Your parcel ships on Friday.",
        "your PARCEL ships",
        "“ships on Friday”",
        "**ships** on\nFriday",
        "Your parcel … Friday",
        "Your parcel [...] on Friday.",
        "RAW-ROW-7731",
        "find_order",
        '{"order": "A-1"}',
        "THINKING-ALOUD about A-1",
        "Where is my order",
        "concierge",
        "turn 5",
        "Turn 1",
        "[turn 3]",
        "turns 2-4",
        "5",
        "turn 5: Your parcel ships on Friday.",
        'turn 5 (Agent): "ships on Friday"',
        "turn 2 tool call: find_order",
        "ships\u00a0on Friday",
    ],
)
def test_what_was_said_or_done_can_be_cited(quote: str) -> None:
    assert find_missing_quotes([quote], TEST_SET_CASE, TRANSCRIPT) == []


@pytest.mark.parametrize(
    "quote",
    [
        "Your parcel ships on Monday.",
        "Friday … Your parcel",
        "turn 6",
        "turn 0",
        "turns 4-9",
        "77",
        "turn 5: ships on Monday",
        "PERSONA: in a hurry, and rich",
        "cel ships",
        "…",
        "?",
        "",
    ],
)
def test_what_was_not_is_flagged(quote: str) -> None:
    assert find_missing_quotes([quote], TEST_SET_CASE, TRANSCRIPT) == [quote]


@pytest.mark.parametrize("quote", ["Concepts come first.", '"durationWeeks": 2', "CONTEXT: beginner"])
def test_an_answer_in_json_can_be_cited_by_its_texts_and_as_it_is(quote: str) -> None:
    assert find_missing_quotes([quote], EXPLAIN_CASE, EXPLAIN_TRANSCRIPT) == []


def test_hidden_characters_do_not_hide_a_quote() -> None:
    transcript = a_transcript("se\u00adcret \u202eplan")
    for quote in ("secret plan", "se⟦U+00AD⟧cret ⟦U+202E⟧plan", "se\u00adcret"):
        assert find_missing_quotes([quote], a_case(), transcript) == []


def test_nothing_cited_is_nothing_missing() -> None:
    assert find_missing_quotes([], a_case(), a_transcript("x")) == []


@pytest.mark.parametrize(
    ("reason", "lost", "noted"),
    [
        ("Bad.", ["a"], "Bad. [a quote of the judge's cannot be found in the conversation]"),
        ("", ["a", "b"], "[2 quotes of the judge's cannot be found in the conversation]"),
    ],
)
def test_the_reason_says_what_could_not_be_found(reason: str, lost: list[str], noted: str) -> None:
    assert note_missing_quotes(reason, lost) == noted


async def test_a_score_keeps_the_evidence_and_says_which_of_it_is_missing() -> None:
    reply = {"passed": True, "reason": "It does.", "evidence": ["Hello there", "Good morning"]}
    grader = CriteriaGrader().bind(GraderContext(judge=ScriptedJudge({"criteria": reply})))
    case = a_case(Criteria(criteria=(Criterion(id="c1", text="Greets"),)))
    score, _ = await grader.grade(case, a_transcript("Hello there, friend"))
    assert isinstance(score, Score)
    assert score.evidence == ("Hello there", "Good morning")
    assert score.details == {"evidence_missing": ["Good morning"]}
    assert score.reason == "It does. [a quote of the judge's cannot be found in the conversation]"


@pytest.mark.parametrize("cited", ["turn " + "9" * 5000, "turns 1-" + "9" * 5000, "9" * 5000, "turn 1000000"])
def test_a_turn_beyond_all_counting_is_not_there(cited: str) -> None:
    assert find_missing_quotes([cited], TEST_SET_CASE, TRANSCRIPT) == [cited]
