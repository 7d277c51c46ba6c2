"""What the ways of comparing a short answer give and take: the way, the match, the answer with its question."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from howsure.judges.offline.clauses import bare_answer
from howsure.judges.offline.passages import Passage, Words, comparable, passages
from howsure.judges.offline.polarity import negated, offered_with_another


class Way(Enum):
    """How the answer agrees with the expected one, or how it fails to."""

    EQUAL = "the same"
    CONTAINED = "the same words"
    NAME = "the same name in another form"
    LAST_NAME = "the last name"
    ACRONYM = "its abbreviation"
    DATE = "the same date"
    COARSER_DATE = "the date, less exact"
    NUMBER = "the same number"
    WITHIN = "a place that lies in it"
    AROUND = "a place that it lies in"
    SHORTER = "a shorter form of it"
    OVERLAP = "mostly the same words"
    DENIED = "it is denied"
    ONE_OF_SEVERAL = "one of several guesses"
    OTHER_DATE = "another date"
    OTHER_NUMBER = "another number"
    OTHER = "something else"


class Match(Struct, frozen=True):
    """How they agree, how much of the expected answer is there, and the sentence that shows it."""

    way: Way
    share: float = 0.0
    quote: str = ""


class Asked(Struct, frozen=True):
    """An answer and the question it was given to; `bare` is what the answer says beyond the question."""

    question: Words
    answer: str
    sentences: tuple[Passage, ...]
    words: Words
    bare: Words


def asked(question: str, answer: str) -> Asked:
    wanted, sentences = comparable(question), passages(answer)
    return Asked(wanted, answer, sentences, comparable(answer), bare_answer(wanted, sentences))


def spoken(way: Way, sentence: Passage, start: int, end: int) -> Match:
    """The match, unless the words around it deny it or offer another beside it."""
    if negated(sentence.words, start, end):
        return Match(Way.DENIED, 0.0, sentence.text)
    if offered_with_another(sentence.words, start, end):
        return Match(Way.ONE_OF_SEVERAL, 0.5, sentence.text)
    return Match(way, 1.0, sentence.text)
