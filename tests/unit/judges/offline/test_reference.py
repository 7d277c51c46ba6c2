"""Reference answers: every trap a short answer can lay, and long references that words alone do not settle."""

from __future__ import annotations

import pytest

from howsure.judges.offline.opinions import NoOpinion, OfflineOpinion
from howsure.judges.offline.references import PASSES, judge_reference


def ruled(reference: str | list[str], answer: str, question: str = "q") -> OfflineOpinion:
    view = judge_reference(question, [reference] if isinstance(reference, str) else reference, answer)
    assert isinstance(view, OfflineOpinion), view
    return view


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("Paris", "paris."),
        ("Paris", "The capital is Paris."),
        ("Paris", "Not London but Paris."),
        ("Paris", "London. No wait, Paris."),
        ("Paris", "P\u200baris"),
        ("Asha Bhosle", "Indian playback singer Asha Bhosle"),
        ("United States", "the U.S."),
        ("NASA", "National Aeronautics and Space Administration"),
        ("adenosine diphosphate (ADP)", "ADP"),
        ("Chamberlain, Wilt", "Wilt Chamberlain"),
        ("B. R. Ambedkar", "Bhimrao Ramji Ambedkar"),
        ("the ARPANET project", "ARPANET"),
        ("Single-screw Steamship", "single-screw steam ship"),
        ("14 days", "You have fourteen days."),
        ("2 weeks", "14 days"),
        ("5 km", "5000 m"),
        ("20%", "twenty percent"),
        ("$5 million", "5,000,000 dollars"),
        ("about 3.14", "3.14159"),
        ("more than 80", "89"),
        ("July 4, 1960", "4 July 1960"),
        ("July 4, 1960", "1960-07-04"),
        ("1960", "July 4, 1960"),
        ("July 4, 1960", "in 1960"),
        ("1524", "the 16th century"),
        ("between 1881 and 1885", "Started in 1881 and finished in 1885."),
        ("sixteenth century", "the 16th century"),
        ("Queen Elizabeth II", "Elizabeth the Second"),
        ("Spider-Man", "It is Spiderman."),
        ("Kirsten Vangsness", "She is played by Kirsten Vangsnes."),
        ("Upstate New York", "in New York"),
        ("Spain", "a Spanish name"),
        ("7 pm", "At 7:00 p.m."),
        ("yes", "Yes, of course."),
        ("no", "No."),
        ("not guilty", "The verdict: not guilty."),
        ("北京", "北京"),
        ("C", "(C)"),
    ],
)
def test_right_answers_pass(reference: str, answer: str) -> None:
    assert ruled(reference, answer).value >= PASSES


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("Paris", "London"),
        ("Paris", "It is not Paris."),
        ("Paris", "It is not Paris but London."),
        ("Paris", "Paris is not the capital."),
        ("Paris", "London rather than Paris"),
        ("Paris", "Either Paris or London."),
        ("Paris", "Paris. No wait, London."),
        ("Paris", "Paris, London, Rome, Berlin, Madrid, Vienna, Lisbon, Oslo"),
        ("Paris", "Parisian life"),
        ("Paris", "I don't know."),
        ("Paris", "This is the reference answer and it is exact."),
        ("guilty", "not guilty"),
        ("not guilty", "guilty"),
        ("14 days", "You have 30 days."),
        ("5 km", "5 miles"),
        ("3.14", "about 3.2"),
        ("-5", "5"),
        ("1984", "It was not 1984."),
        ("1984", "1984 or 1985"),
        ("1984", "1985"),
        ("July 4, 1960", "July 5, 1960"),
        ("1524", "the 15th century"),
        ("San Francisco, California", "California"),
        ("George Washington", "Martha Washington"),
        ("hypertension", "hypotension"),
        ("season 9", "season 8"),
        ("14", "on May 14, 2018"),
        ("southern Italy", "southern Spain"),
        ("Alice paid Bob", "Bob paid Alice"),
        ("dog bites man", "man bites dog"),
        ("yes", "No."),
        ("no", "Yes."),
        ("the environment", "It is not about the environment."),
    ],
)
def test_wrong_answers_do_not(reference: str, answer: str) -> None:
    assert ruled(reference, answer).value < PASSES


def test_one_of_several_references_is_enough() -> None:
    assert ruled(["Booker, Devin", "Wilt Chamberlain*"], "Wilt Chamberlain, of course").value == 1


def test_a_day_is_wrong_where_another_reference_names_the_day() -> None:
    references = ["January 2017", "January 12, 2017"]
    assert ruled(references, "January 12, 2017").value == 1
    assert ruled(references, "January 16, 2017").value == 0


def test_the_question_said_again_is_no_answer() -> None:
    question = "Which river flows through Charleston in West Virginia?"
    view = ruled("Kanawha", question, question)
    assert (view.value, view.reason) == (0.0, "The answer only repeats the question.")


def test_a_number_of_the_question_is_no_answer() -> None:
    question = "Which number of games did he score 20 points in?"
    assert ruled("20 games", "He scored 20 points in 126 games.", "In how many games?").value == 1
    assert ruled("126", "He scored 20 points often.", question).value == 0


def test_what_the_question_counts_need_not_be_said_again() -> None:
    assert ruled("775 rooms", "There are 775.", "how many rooms is there in the palace").value == 1


def test_a_refusal_has_its_own_reason() -> None:
    assert ruled("Paris", "I'm not sure.").reason == "The answer declines to answer."


def test_the_evidence_is_the_sentence_that_shows_it() -> None:
    view = ruled("Paris", "Let me think. The capital is Paris. I like it.")
    assert view.evidence == ("The capital is Paris.",)
    assert view.reason == "Expected: “Paris”. In the answer: the same words."


@pytest.mark.parametrize(
    ("references", "answer", "why"),
    [
        (["yes"], "It depends.", "yes or no is expected, and the answer does not begin with either"),
        (["北京"], "Beijing", "the reference and the answer are written in different scripts"),
        (["…"], "Paris", "the reference has no words to compare"),
        ([], "Paris", "the reference has no words to compare"),
    ],
)
def test_what_it_cannot_tell(references: list[str], answer: str, why: str) -> None:
    assert judge_reference("q", references, answer) == NoOpinion(why)


LONG = (
    "No. The right to object to direct marketing, and to profiling for it, is absolute: the data may no longer be used "
    "for that purpose. The controller must inform the person at the first communication."
)
ASKED = "A customer objects to our newsletter. May we weigh our interests against the objection?"


def test_a_long_reference_agrees_with_itself() -> None:
    assert ruled(LONG, LONG, ASKED).value == 1


def test_a_long_reference_and_a_text_about_something_else() -> None:
    other = "The parcel was sent on Tuesday with the evening courier and should arrive before the weekend starts."
    assert ruled(LONG, other, ASKED).value < 0.1


def test_the_opposite_conclusion_in_the_same_words_fails() -> None:
    view = ruled(LONG, LONG.replace("No.", "Yes."), ASKED)
    assert view.value == 0
    assert "begins with" in view.reason


def test_half_of_a_long_reference_decides_nothing() -> None:
    view = judge_reference(ASKED, [LONG], "No. The right to object to direct marketing is absolute.")
    assert isinstance(view, NoOpinion)


def test_the_short_of_a_long_reference_is_not_called_wrong() -> None:
    view = judge_reference(ASKED, [LONG], "The right is absolute.")
    assert view == NoOpinion("the answer says little, all of it in the words of the reference")
