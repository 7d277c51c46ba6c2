"""The choice grader: what a reading is worth."""

from __future__ import annotations

import time

import pytest

from howsure.graders.choice import ChoiceGrader, read_choice, search_choice
from howsure.graders.choice_options import CONTRADICTORY, NO_CHOICE, ChoiceOptions, ChosenOptions, UnclearChoice
from howsure.model.expectation import Choice, CorrectChoice
from howsure.model.score import Score
from howsure.testing import a_case, a_transcript

CHOICES = tuple(
    Choice(id=letter, text=f"option number {word}")
    for letter, word in zip("ABCD", ("one", "two", "three", "four"), strict=True)
)


@pytest.mark.parametrize(
    ("correct", "answer", "value", "reason"),
    [
        ("B", "B", 1.0, "chose B, which is correct"),
        ("B", "Answer: b", 1.0, "chose B, which is correct"),
        ("B", "C", 0.0, "chose C; correct is B"),
        ("B", "", 0.0, "the answer is empty"),
        ("B", "<think>B</think>", 0.0, "the answer is empty"),
        ("B", "A and B", 0.0, "chose A and B; correct is B"),
        ("AC", "A and C", 1.0, "chose A and C, which is correct"),
        ("AC", '{"answer": ["C", "A"]}', 1.0, "chose A and C, which is correct"),
        ("AC", "A", 0.0, "chose A; correct is A and C"),
        ("AC", "A, B, C", 0.0, "chose A and B and C; correct is A and C"),
        ("AC", '{"answer": []}', 0.0, "chose nothing; correct is A and C"),
        ("CA", "AC", 1.0, "chose A and C, which is correct"),
    ],
)
async def test_only_the_exact_set_is_correct(correct: str, answer: str, value: float, reason: str) -> None:
    case = a_case(CorrectChoice(choices=CHOICES, correct=tuple(correct)))
    (grade,) = await ChoiceGrader().grade(case, a_transcript(answer))
    assert isinstance(grade, Score)
    assert (grade.value, grade.passed, grade.reason) == (value, value == 1.0, reason)
    assert grade.details["correct"] == list(correct)


@pytest.mark.parametrize(
    ("answer", "flag", "reason"),
    [
        ("I cannot answer.", "no_choice", "no choice could be read"),
        ("A contract is void.", "no_choice", "no choice could be read"),
        ("Answer: E", "no_choice", "no choice could be read: 'E' is not one of the choices (A, B, C, D)"),
        ('{"answer": ["B", null]}', "no_choice", "no choice could be read: None names none"),
        ("A or B", "several_choices", "the answer is A or B"),
        ("I would say A or B.", "several_choices", "several choices are named (A, B) and none is stated"),
        (
            "B. option number two\nC. option number three\nBoth fit.",
            "several_choices",
            "several choices are set out (B, C) and none is stated",
        ),
        ("B. option number three", "contradictory_choice", "the answer names B, but has the text of C"),
        ('{"answer": "B", "final_answer": "C"}', "contradictory_choice", "the JSON gives two different answers"),
        (
            "Answer: B\nAnswer: C",
            "contradictory_choice",
            "the answer ends in two different statements, one right after the other",
        ),
    ],
)
async def test_an_answer_whose_choice_is_unclear_fails_with_a_flag_of_its_own(
    answer: str, flag: str, reason: str
) -> None:
    case = a_case(CorrectChoice(choices=CHOICES, correct=("B",)))
    (grade,) = await ChoiceGrader().grade(case, a_transcript(answer))
    assert isinstance(grade, Score)
    assert (grade.value, grade.passed, grade.flag, grade.reason) == (0.0, False, flag, reason)
    assert grade.details == {"chosen": [], "correct": ["B"], "answer": answer}


@pytest.mark.parametrize("answer", ["", "<think>B</think>", '{"answer": []}'])
async def test_an_answer_that_names_nothing_at_all_has_the_flag_too(answer: str) -> None:
    (grade,) = await ChoiceGrader().grade(a_case(CorrectChoice(choices=CHOICES, correct=("B",))), a_transcript(answer))
    assert isinstance(grade, Score)
    assert (grade.value, grade.flag) == (0.0, "no_choice")


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("D. v", "D"),
        ("Answer: D. v", "D"),
        ("D) a", "?"),
        ("V. x", "V"),
        ("A. d", "A"),
        ("**D: v.**", "D"),
        ("V. v", "?"),
    ],
)
def test_an_id_with_its_own_text_is_that_choice_though_the_text_is_another_id(answer: str, chosen: str) -> None:
    choices = [Choice(id=id, text=text) for id, text in {"A": "d", "B": "a", "D": "v", "V": "x"}.items()]
    reading = read_choice(answer, choices)
    assert isinstance(reading, UnclearChoice) if chosen == "?" else reading == ChosenOptions((chosen,))


async def test_two_questions_in_one_case_are_two_parts() -> None:
    two = (CorrectChoice(choices=CHOICES, correct=("A",)), CorrectChoice(choices=CHOICES, correct=("B",)))
    grades = await ChoiceGrader().grade(a_case(*two), a_transcript("A"))
    assert [(grade.part.id if grade.part else "", getattr(grade, "value", None)) for grade in grades] == [
        ("1", 1.0),
        ("2", 0.0),
    ]


FOUR = (
    Choice(id="A", text="larceny."),
    Choice(id="B", text="larceny by trick."),
    Choice(id="C", text="Yes, because the contract was void."),
    Choice(id="D", text="no crime"),
)
LETTERS = tuple(Choice(id=letter, text=f"text of {letter.lower()}{letter.lower()}") for letter in "ABCDEFGHIJ")
NUMBERS = tuple(
    Choice(id=number, text=f"statement {word}")
    for number, word in zip("1234", ("one", "two", "three", "four"), strict=True)
)
ROMAN = tuple(Choice(id=roman, text=f"rule {n}") for n, roman in enumerate(("i", "ii", "iii", "iv")))
NAMED = tuple(Choice(id=f"CHOICE_{n}", text=f"law {n}") for n in (2, 26, 3))
BOTH_CASES = (Choice(id="a", text="small"), Choice(id="A", text="capital"))

STATED = {
    "• B": "B",
    "=> B": "B",
    "- B": "B",
    "Response: B": "B",
    "Selection: B": "B",
    "It should be B": "B",
    "{'answer': 'B'}": "B",
    '{"response": {"answer": "B"}}': "B",
    "B—because he lied": "B",
    "B": "B",
    "b": "B",
    " B \n": "B",
    "B.": "B",
    "(b)": "B",
    "[B]": "B",
    "**B**": "B",
    "`B`": "B",
    '"B"': "B",
    "Ｂ": "B",
    "（Ｂ）": "B",
    "A": "A",
    "a": "A",
    "B. larceny by trick.": "B",
    "B) larceny by trick": "B",
    "(B) Larceny by trick": "B",
    "B: larceny by trick": "B",
    "B - larceny by trick": "B",
    "B – larceny by trick": "B",
    "**B. Larceny by trick.**": "B",
    "Option B": "B",
    "Option B, because of the trick.": "B",
    "Choice (B).": "B",
    "Letter B": "B",
    "Answer: B": "B",
    "answer: b": "B",
    "Answer : B.": "B",
    "ANSWER: (B)": "B",
    "**Answer:** B": "B",
    "**Answer: B**": "B",
    "Answer:\n\nB": "B",
    "Answer: **B. larceny by trick.**": "B",
    "Answer: Option B": "B",
    "Answer - B": "B",
    "Answer → B": "B",
    "Answer = B": "B",
    "Ans: B": "B",
    "Final Answer B": "B",
    "### Final answer\n\nB": "B",
    "The answer is B": "B",
    "The answer is (b).": "B",
    "The answer is: B": "B",
    "The answer is clearly B.": "B",
    "The answer is option B, larceny by trick.": "B",
    "The correct answer is B because he used a trick.": "B",
    "The correct option is B.": "B",
    "The correct choice: B": "B",
    "The best answer to this question is B.": "B",
    "My answer would be B": "B",
    "My choice is B.": "B",
    "I choose B.": "B",
    "I would go with B": "B",
    "I'd pick (B).": "B",
    "B is correct.": "B",
    "B is the correct answer.": "B",
    "Option B is right.": "B",
    "Therefore, B is the best answer.": "B",
    "I think that B is correct.": "B",
    "It's B.": "B",
    "So the answer must be B.": "B",
    r"\boxed{B}": "B",
    r"The result is $\boxed{\text{B}}$.": "B",
    "<answer>B</answer>": "B",
    "<final_answer>(B)</final_answer>": "B",
    '{"answer": "B"}': "B",
    '{"answer": "b"}': "B",
    '{"answer": "(B)"}': "B",
    '{"answer": "B. larceny by trick."}': "B",
    '{"answer": "larceny by trick"}': "B",
    '{"answer": ["B"]}': "B",
    '{"Answer": "B", "reason": "the answer is A only where no trick was used"}': "B",
    '{"final_answer": "B"}': "B",
    '{"correct_choice_ids": ["B"]}': "B",
    '{"answer": {"id": "B"}}': "B",
    '{"A": false, "B": true, "C": false, "D": false}': "B",
    '["B"]': "B",
    '```json\n{"answer": "B"}\n```': "B",
    "```\nB\n```": "B",
    'Here is my answer:\n```json\n{"reasoning": "x", "answer": "B"}\n```\nThank you.': "B",
    'Let me think. The answer is A? No.\n{"answer": "B"}': "B",
    '{"answer": "B", "reasoning": "cut off he': "B",
    "larceny by trick": "B",
    "Larceny by trick.": "B",
    "LARCENY  BY\nTRICK": "B",
    "Larceny by trick, because he lied.": "B",
    "The answer is larceny by trick.": "B",
    "The answer is larceny.": "A",
    "Yes, because the contract was void.": "C",
    "He lied to get it.\n\nLarceny by trick": "B",
    "No crime": "D",
}
LANGUAGES = {
    "La risposta corretta è la B.": "B",
    "Korrekt ist Antwort B.": "B",
    "La respuesta es la opción B.": "B",
    "Svaret är B.": "B",
    "正确答案：B。因为他说谎。": "B",
    "Antwort: B": "B",
    "Die Antwort ist B.": "B",
    "Die richtige Antwort lautet (b).": "B",
    "Richtig ist B.": "B",
    "Antwort B": "B",
    "Antwort B ist richtig.": "B",
    "B ist die richtige Antwort.": "B",
    "Lösung: B": "B",
    "Réponse : B": "B",
    "La bonne réponse est B.": "B",
    "La réponse est la B.": "B",
    "Respuesta: B": "B",
    "La respuesta correcta es B.": "B",
    "Risposta: B": "B",
    "La risposta è B": "B",
    "Resposta: B": "B",
    "A resposta é B.": "B",
    "Antwoord: B": "B",
    "Het antwoord is B.": "B",
    "Odpowiedź: B": "B",
    "Poprawna odpowiedź to B.": "B",
    "Svar: B": "B",
    "Vastaus: B": "B",
    "Răspuns: B": "B",
    "Cevap: B": "B",
    "Ответ: B": "B",
    "Правильный ответ: B": "B",
    "Відповідь: B": "B",
    "答案：B": "B",
    "答案是B。": "B",
    "正确答案是 B": "B",
    "选B": "B",
    "答えはBです": "B",
    "정답은 B입니다": "B",
    "الإجابة: B": "B",
    "Jawaban: B": "B",
    "Đáp án: B": "B",
}
THINKING_ALOUD = {
    "Answer: B\n\nNote: if he had not lied, the answer would be A.": "B",
    "Answer: B. If he had told the truth, A would be the answer.": "B",
    "B. If he had told the truth, the answer would be A.": "B",
    "**B**\n\n- A is incorrect because X.\n- C is incorrect since Y.": "B",
    "Let's see:\n**A.** wrong\n**B.** right\n**C.** wrong\n\nTherefore, **B** is correct.": "B",
    "Answer: A and C are both wrong; B is correct.": "B",
    "Answer: B\nConfidence: A high one": "B",
    "The answer is B.\n\nThe answer is not D, since it was no gift.": "B",
    "Answer: A\n\nOn reflection that is wrong: there was a trick.\n\nAnswer: B": "B",
    "At first the answer is A, but since there was a trick the answer is B.": "B",
    "The prompt says to write 'Answer: A' at the end.\nThere was a trick.\nAnswer: B": "B",
    "> Answer: A\n\nAnswer: B": "B",
    "A. larceny.\nB. larceny by trick.\nC. Yes, because the contract was void.\nD. no crime\n\nAnswer: B": "B",
    "A is wrong. C is wrong. D is wrong.\nThe answer is B.": "B",
    "The answer is not A. The answer is B.": "B",
    "The wrong answer is A. The answer is B.": "B",
    "Final answer: B\n\n(The answer is A only if he did not lie.)": "B",
    "<think>The answer is A. Or C?</think>B": "B",
    "<think>The answer is A.</think>\nThe answer is B.": "B",
    "The answer is A.</think>B": "B",
    "<thinking>Answer: A</thinking><answer>B</answer>": "B",
    "Let us see.\nHe lied.\n\nB": "B",
    "Let us see.\nHe lied.\n\n**B**": "B",
    "I thought of A and of C.\n\n(B)": "B",
    "The answer is A. Wait, no, it's B.": "B",
    "The answer is B. I hope this answer is helpful.": "B",
    "Option A is incorrect. Option B is correct.": "B",
    "A) is incorrect because he lied.\nAnswer: B": "B",
    "The facts favour **B**, since he lied.": "B",
    "**B** – he lied.": "B",
    "Answer: B (not A)": "B",
    "Answer: B, not A.": "B",
    "Answer: B (90% sure)": "B",
    "Answer: A because he took it.": "A",
    "The answer is A.": "A",
    "The answer is a.": "A",
    "A is correct.": "A",
    "A, because he took it.": "A",
    "A) He took it.": "A",
    "The answer is A and not B.": "A",
}
SETS = {
    "A\nC": "A C",
    "- A\n- C": "A C",
    "A and C are both correct.": "A C",
    "The correct options are: A and C.": "A C",
    "Correct: A, C": "A C",
    "A and C": "A C",
    "A, C": "A C",
    "A,C": "A C",
    "C and A": "A C",
    "A & C": "A C",
    "A; C": "A C",
    "AC": "A C",
    "A, B and D": "A B D",
    "A, B, and D": "A B D",
    "Answer: A and C": "A C",
    "Answers: A, C": "A C",
    "Answer: AC": "A C",
    "The answers are A and C.": "A C",
    "The correct answers are (A) and (C).": "A C",
    "Both A and C": "A C",
    "A and C are correct.": "A C",
    "Options A and C are correct.": "A C",
    "**A** and **C**": "A C",
    "A und C": "A C",
    "Antwort: A und C": "A C",
    "Réponses : A et C": "A C",
    "Respuestas: A y C": "A C",
    "Risposte: A e C": "A C",
    '{"answer": ["A", "C"]}': "A C",
    '{"answer": "A, C"}': "A C",
    '{"answers": ["C", "A", "A"]}': "A C",
    '["A", "C"]': "A C",
    '{"A": true, "B": false, "C": true}': "A C",
    '{"answer": []}': "",
    r"\boxed{A, C}": "A C",
    "A. larceny.\nC. Yes, because the contract was void.": "A C",
    "A, B, C and D": "A B C D",
}
UNCLEAR = [
    "The customer's answer is\n(A) larceny.\n(B) larceny by trick.\n(C) void.\n(D) no crime",
    "larceny.\nlarceny by trick.",
    "A car owner noticed something peculiar.",
    "B’s friend is abroad. B's car is at home.",
    "He raised it in his answer.\nNo crime was found in the end.",
    "That is the most equitable solution.\nii. No crime",
    "A? No. B? No. C? Yes.",
    "A–C",
    "A - C",
    "A-C",
    "A to C",
    "A B",
    "A\nB\nC\nD",
    "The correct answer is A... no, C.",
    "If he lied, the answer would be A.",
    "If he lied, the answer is A; otherwise it is C.",
    "B is right that the sale is void.",
    "B is the true owner of the car.",
    "A: wrong\nB: wrong\nC: correct\nD: wrong",
    "The answer may be C or D.",
    "Sorry, I can't choose between A and B.",
    '{"answer": "A"}{"answer": "B"}',
    '{"answer": 3}',
    "None of the above",
    "Yes",
    "A or B",
    "Answer: A or B",
    "The answer is either A or B.",
    "Answer: A/B/C/D",
    "Answer: A\nAnswer: B",
    "Final answer: A\nFinal answer: B",
    "A contract is void where there was no consideration.",
    "A. larceny.\nB. larceny by trick.\nC. Yes, because the contract was void.\nD. no crime",
    "A) might be right.\nB) might be right as well.",
    "A: 10%\nB: 70%\nC: 15%\nD: 5%",
    "Answer: A (60%), B (40%)",
    "**A** or perhaps **B**",
    "I cannot answer this question.",
    "As an AI model I am not able to give legal advice.",
    "The answer is not B.",
    "The answer isn't B.",
    "Not B",
    "B is wrong.",
    "B is not the correct answer.",
    "Answer: B is wrong",
    "Option B is incorrect.",
    "I would not choose B.",
    "Answer: E",
    '{"answer": "E"}',
    '{"answer": null}',
    '{"answer": ""}',
    '{"answer": "A", "answer": "B"}',
    '{"answer": "A", "final_answer": "B"}',
    '{"answer": ["A", "E"]}',
    '{"answer": "it depends"}',
    "{}",
    "B. larceny.",
    "Answer: A. larceny by trick.",
    "Party B is liable to party A under § 2(a).",
    "A. Smith sued B. Jones.",
    "The buyer may rely on Art. 6(1)(c).",
    "Neither of them.",
    "The answer depends on whether the buyer is a merchant.",
    "The answer is a contract between the two.",
    "Larceny. Or was it larceny by trick?",
    "???",
    "42",
    "BAD",
    "The answer is A. Wait, B fits better.",
    "The answer is A. The answer is also C.",
    "If A is correct, the sale is void.",
    "Statement A is true and statement B is false.",
    "I, the model, cannot say.",
    "Let me explain B2B sales.",
    "Answer: B-flat",
    "Answer:",
]
EMPTY = ["", "   \n", "<think>It is B.</think>", "<think>It is B, because"]


@pytest.mark.parametrize(("answer", "ids"), [*STATED.items(), *LANGUAGES.items(), *THINKING_ALOUD.items()])
def test_one_choice_is_read(answer: str, ids: str) -> None:
    assert read_choice(answer, FOUR) == ChosenOptions((ids,))


@pytest.mark.parametrize(("answer", "ids"), SETS.items())
def test_several_choices_are_read_as_a_set(answer: str, ids: str) -> None:
    assert read_choice(answer, FOUR) == ChosenOptions(tuple(ids.split()))


@pytest.mark.parametrize("answer", UNCLEAR)
def test_what_cannot_be_read_for_sure_is_not_guessed(answer: str) -> None:
    assert isinstance(read_choice(answer, FOUR), UnclearChoice)


@pytest.mark.parametrize("answer", EMPTY)
def test_an_answer_without_a_word_is_empty(answer: str) -> None:
    assert read_choice(answer, FOUR) is None


@pytest.mark.parametrize(
    ("choices", "answer", "ids"),
    [
        (LETTERS, "I", "I"),
        (LETTERS, "Answer: I", "I"),
        (LETTERS, "I think the answer is B.", "B"),
        (LETTERS, "I would go with J.", "J"),
        (LETTERS, "The answer is I.", "I"),
        (NUMBERS, "2", "2"),
        (NUMBERS, '{"answer": 2}', "2"),
        (NUMBERS, "Answer: 2", "2"),
        (NUMBERS, "Option 2", "2"),
        (NUMBERS, "2. statement two", "2"),
        (NUMBERS, "Answer: ②", "2"),
        (ROMAN, "ii", "ii"),
        (ROMAN, "Answer: (iv)", "iv"),
        (ROMAN, "Answer: i", "i"),
        (ROMAN, "The answer is III.", "iii"),
        (NAMED, "CHOICE_26", "CHOICE_26"),
        (NAMED, "choice_2", "CHOICE_2"),
        (NAMED, "The answer is CHOICE_2.", "CHOICE_2"),
        (NAMED, '{"answer": "choice_26"}', "CHOICE_26"),
        (BOTH_CASES, "a", "a"),
        (BOTH_CASES, "Answer: A", "A"),
        (BOTH_CASES, "capital", "A"),
    ],
)
def test_ids_may_be_any_strings(choices: tuple[Choice, ...], answer: str, ids: str) -> None:
    assert read_choice(answer, choices) == ChosenOptions((ids,))


@pytest.mark.parametrize(
    ("choices", "answer"),
    [
        (LETTERS, "I think, therefore I am."),
        (LETTERS, "I cannot answer."),
        (NUMBERS, "Answer: 2%"),
        (NUMBERS, "Answer: 2.5"),
        (NUMBERS, "Answer: 2 of the 4 statements"),
        (NUMBERS, "Answer: 1,000"),
        (NUMBERS, "Answer: 7"),
        (NAMED, "CHOICE_4"),
        ((Choice(id="A", text="the same"), Choice(id="B", text="The same.")), "the same"),
        ((Choice(id="1", text="2"), Choice(id="2", text="4")), "2"),
        ((Choice(id="1", text="2"), Choice(id="2", text="4")), '{"answer": "2"}'),
        ((Choice(id="A", text="B"), Choice(id="B", text="A")), "Answer: A"),
    ],
)
def test_what_ids_and_texts_make_ambiguous_is_not_guessed(choices: tuple[Choice, ...], answer: str) -> None:
    assert isinstance(read_choice(answer, choices), UnclearChoice)


def test_word_breaks_count_in_the_text_of_a_choice() -> None:
    romans = (Choice(id="A", text="i, ii"), Choice(id="B", text="iii"), Choice(id="C", text="i"))
    assert read_choice("i, ii", romans) == ChosenOptions(("A",))
    assert read_choice("iii", romans) == ChosenOptions(("B",))
    assert read_choice("Answer: i", romans) == ChosenOptions(("C",))


def test_a_choice_may_be_about_other_choices() -> None:
    about = (Choice(id="A", text="first"), Choice(id="B", text="second"), Choice(id="C", text="A and B"))
    assert read_choice("A and B", about) == ChosenOptions(("C",))
    assert read_choice("Answer: A and B", about) == ChosenOptions(("C",))
    assert read_choice("Answer: C. A and B", about) == ChosenOptions(("C",))
    assert read_choice("Answer: A", about) == ChosenOptions(("A",))


def test_the_reason_names_what_was_found() -> None:
    assert read_choice("Answer: A or B", FOUR) == UnclearChoice("the answer is A or B")
    assert read_choice("Answer: E", FOUR) == UnclearChoice(
        "no choice could be read: 'E' is not one of the choices (A, B, C, D)", NO_CHOICE
    )
    assert read_choice("Answer: A. larceny by trick", FOUR) == UnclearChoice(
        "the answer names A, but has the text of B", CONTRADICTORY
    )
    assert read_choice("A) fits.\nB) fits.", FOUR) == UnclearChoice(
        "several choices are set out (A, B) and none is stated"
    )


@pytest.mark.parametrize(
    "answer",
    [
        " " * 60_000,
        "*" * 60_000,
        "{" * 60_000,
        '{"a":' * 12_000,
        "<think>" * 10_000,
        "answer " * 3_000,
        "answer: " * 3_000,
        "A " * 30_000,
        "A is correct " * 2_500,
        "x" + " " * 60_000 + "x",
        "**" * 30_000 + "B",
        "I choose " * 3_000,
        "wait " * 5_000,
        "A, " * 20_000,
        "if " * 20_000,
    ],
    ids=lambda answer: answer[:8],
)
def test_a_hostile_answer_is_read_in_bounded_time(answer: str) -> None:
    start = time.process_time()
    read_choice(answer, FOUR)
    assert time.process_time() - start < 5


def paired(ids: str, *texts: str) -> tuple[Choice, ...]:
    return tuple(Choice(id=each, text=text) for each, text in zip(ids, texts, strict=True))


@pytest.mark.parametrize("end", ["", "\n", "  "])
@pytest.mark.parametrize(
    "choices",
    [
        *(FOUR, LETTERS, NUMBERS, ROMAN, NAMED, BOTH_CASES),
        paired("AB", "B", "A"),
        paired("AB", "Answer: B", "no"),
        paired("AB", "answer b", "Answer: A!"),
        paired("12", "2", "4"),
        paired("12", "-1", "-2"),
        paired("AB", "", ""),
        paired("ABI", "the same", "The same.", "I"),
        paired("AOE", "or", "and", "not"),
        paired("AÉ", "one", "two"),
    ],
    ids=str,
)
def test_an_answer_in_the_form_that_was_asked_for_is_read_as_a_search_would(
    choices: tuple[Choice, ...], end: str
) -> None:
    for sign in "ABCDEIJOabei1247É":
        answer = f"Answer: {sign}{end}"
        assert read_choice(answer, choices) == search_choice(answer, ChoiceOptions(choices)), answer
