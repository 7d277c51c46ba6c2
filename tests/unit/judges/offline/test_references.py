"""Reference answers: every trap a short answer can lay, and long references that words alone do not settle."""

from __future__ import annotations

import pytest

from howsure.judges.offline.matches import Match, MatchKind, bare_answer, read_short_answer
from howsure.judges.offline.opinions import NoOpinion, OfflineOpinion
from howsure.judges.offline.references import (
    PASSES,
    best_match,
    is_long,
    judge_coverage,
    judge_reference,
    match_reference,
    reference_forms,
)
from howsure.judges.offline.sentences import comparable_words, split_sentences


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
    assert view.reason == "Expected “Paris”; in the answer: the same words."


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


QUESTION = "Who pays for sending the tent to our workshop?"
REFERENCE = (
    "The seller does. Repair for lack of conformity is free of charge for the consumer. "
    "That includes postage, labour and material under Article 14."
)


@pytest.mark.parametrize(
    ("text", "long"),
    [("Paris", False), ("the seller pays for postage", False), (REFERENCE, True), ("", False)],
)
def test_what_is_long(text: str, long: bool) -> None:
    assert is_long(text) is long


@pytest.mark.parametrize(
    ("answer", "low", "high"),
    [
        (REFERENCE, 1.0, 1.0),
        (REFERENCE.upper(), 1.0, 1.0),
        (REFERENCE.replace("Repair", "A repair").replace("includes", "included"), 0.9, 1.0),
        ("\n".join(reversed(REFERENCE.split(". "))), 0.9, 1.0),
        ("Bread is baked at two hundred degrees until its crust turns brown and it sounds hollow.", 0.0, 0.05),
        ("The tent must be sent to our workshop, and somebody pays for sending it.", 0.0, 0.25),
    ],
    ids=["itself", "shouted", "reworded a little", "in another order", "another subject", "the question again"],
)
def test_the_share_that_is_covered(answer: str, low: float, high: float) -> None:
    view = judge_coverage(QUESTION, REFERENCE, answer)
    assert isinstance(view, OfflineOpinion), view
    assert low <= view.value <= high


def test_half_of_it_decides_nothing() -> None:
    view = judge_coverage(QUESTION, REFERENCE, "Repair for lack of conformity is free of charge for the consumer.")
    assert isinstance(view, NoOpinion)


@pytest.mark.parametrize(("reference", "answer"), [("Yes. ", "No. "), ("No. ", "Yes, ")])
def test_yes_against_no_is_wrong_whatever_the_words(reference: str, answer: str) -> None:
    view = judge_coverage(QUESTION, reference + REFERENCE, answer + REFERENCE)
    assert isinstance(view, OfflineOpinion)
    assert view.value == 0


def test_a_reference_that_only_repeats_the_question_has_nothing_to_compare() -> None:
    assert isinstance(judge_coverage(QUESTION, "a b", "c d"), NoOpinion)


def test_german_texts_are_compared_too() -> None:
    reference = (
        "Stimmrechtsaktien weisen einen tieferen Nennwert auf. Die Stimmkraft ist gesetzlich auf das Zehnfache "
        "beschränkt, und die Statuten müssen sie ausdrücklich vorsehen."
    )
    same = judge_coverage("Was bedeutet das?", reference, reference.replace("ä", "a\u0308"))
    other = judge_coverage(
        "Was bedeutet das?", reference, "Der Mieter haftet für Schäden, die er schuldhaft verursacht hat."
    )
    assert isinstance(same, OfflineOpinion)
    assert isinstance(other, OfflineOpinion)
    assert (same.value, other.value) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("expected", "forms"),
    [
        ("Paris", ["Paris"]),
        ("adenosine diphosphate (ADP)", ["adenosine diphosphate (ADP)", "adenosine diphosphate ", "ADP"]),
        ("Halvorsen (6)", ["Halvorsen (6)", "Halvorsen "]),
        ("Berg, Anna", ["Berg, Anna", "Anna Berg"]),
        ("Lyon, France", ["Lyon, France", "France Lyon", "Lyon"]),
        ("Rheims or Reims", ["Rheims or Reims", "Rheims", "Reims"]),
        ("trick or treat", ["trick or treat"]),
        ("AC/DC", ["AC/DC"]),
        ("9/11", ["9/11"]),
        ("Night Watch: The Long Road", ["Night Watch: The Long Road", "Night Watch", "The Long Road"]),
        ("the explorer Anna de Berg", ["the explorer Anna de Berg", "Anna de Berg"]),
        ("the king of Spain", ["the king of Spain", "Spain king"]),
        ("Alice paid Bob", ["Alice paid Bob"]),
        ("Mission: Impossible", ["Mission: Impossible"]),
        ("the Bank of England", ["the Bank of England", "England Bank"]),
        ("red, white, blue", ["red, white, blue", "red and white and blue"]),
    ],
)
def test_the_forms_of_an_expected_answer(expected: str, forms: list[str]) -> None:
    assert list(reference_forms(expected)) == forms


@pytest.mark.parametrize(
    ("question", "expected", "answer", "way"),
    [
        ("q", "Paris", "paris", MatchKind.EQUAL),
        ("q", "Paris", "The capital is Paris.", MatchKind.CONTAINED),
        ("who was it", "Anna Maria Berg", "It was Anna Berg.", MatchKind.NAME),
        ("who was it", "Anna Berg", "It was Berg, I think.", MatchKind.LAST_NAME),
        ("q", "International Monetary Fund", "The IMF did.", MatchKind.ACRONYM),
        ("when", "4 July 1960", "1960-07-04", MatchKind.DATE),
        ("when", "4 July 1960", "in 1960", MatchKind.COARSER_DATE),
        ("when", "1914 to 1918", "in 1916", MatchKind.COARSER_DATE),
        ("when", "1916", "between 1914 and 1918", MatchKind.COARSER_DATE),
        ("when", "4 July 1960", "5 July 1960", MatchKind.OTHER_DATE),
        ("how many", "5 to 10", "7", MatchKind.NUMBER),
        ("how many", "5", "7", MatchKind.OTHER_NUMBER),
        ("where is it", "France", "Lyon", MatchKind.WITHIN),
        ("where is it", "Lyon", "France", MatchKind.AROUND),
        ("who was it", "Anna Berg", "Anna", MatchKind.SHORTER),
        ("q", "city planners", "the planning office of each city", MatchKind.OVERLAP),
        ("q", "Paris", "It is not Paris.", MatchKind.DENIED),
        ("q", "Paris", "Paris or London", MatchKind.ONE_OF_SEVERAL),
        ("q", "Paris", "London", MatchKind.OTHER),
    ],
)
def test_the_first_way_that_speaks_decides(question: str, expected: str, answer: str, way: MatchKind) -> None:
    assert match_reference(expected, read_short_answer(question, answer)).kind is way


def test_the_best_reference_counts_and_none_is_no_match() -> None:
    given = read_short_answer("where is it", "Lyon")
    assert best_match(["Rome", "Lyon"], given) == Match(MatchKind.EQUAL, 1.0, "Lyon")
    assert best_match([], given) == Match(MatchKind.OTHER)


@pytest.mark.parametrize(
    ("question", "answer", "bare"),
    [
        ("What came before the web?", "Before the web came Gopher, which was text only.", ("gopher",)),
        ("Who painted the ceiling?", "The ceiling was painted by Anna Berg (born 1950).", ("anna", "berg")),
        ("Where is the temple?", "The temple is located in Kyoto, Japan.", ("kyoto",)),
        ("Where is the temple?", "Kyoto", ("kyoto",)),
        ("Where is the temple?", "The temple. It is in Kyoto.", ("kyoto",)),
        ("Where is the temple?", "The temple is where it is.", ()),
        ("Where is the temple?", "", ()),
    ],
)
def test_the_bare_answer_is_what_the_first_telling_clause_adds(
    question: str, answer: str, bare: tuple[str, ...]
) -> None:
    assert bare_answer(comparable_words(question), split_sentences(answer)) == bare
