"""What a message does: ask, refuse, report something done, thank, take leave; and which facts an agent asks for. By
patterns over plain text (no case, no accents) in English, German, French, Spanish, Italian, Portuguese and Dutch; what
is not recognised counts as nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from howsure.judges.offline.words import is_number, tokens
from howsure.model.case import Fact
from howsure.users.words import content_words, fold_case, listed_words, meanings, means, phrase

_BREAK = re.compile(r"(?<=[.!?…])[\"'”’)*]*\s+|(?<=[。？！])|\s{0,50}\n\s*")
_QUESTION = re.compile(r"[?？؟]")
_LISTED = re.compile(r"\A\s*(?:[-*•–]|\d+[.)])\s+\S")


@lru_cache(maxsize=2048)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences and lines of a text as they are written."""
    return tuple(piece for part in _BREAK.split(text) if (piece := part.strip()))


@lru_cache(maxsize=2048)
def requests(text: str) -> tuple[str, ...]:
    """The sentences that ask for something, folded; offers of more help ask for nothing."""
    asking: list[tuple[str, bool]] = []
    for sentence in sentences(text):
        folded = fold_case(sentence)
        asks = bool(_QUESTION.search(folded) or phrase("request").search(folded))
        asking.append((sentence, asks and not phrase("more_help").search(folded)))
    if not any(asks for _, asks in asking):
        return ()
    return tuple(fold_case(sentence) for sentence, asks in asking if asks or _LISTED.match(sentence))


def waits_for(text: str) -> tuple[str, ...]:
    """The requests that the agent waits for, without what it tells the user to do elsewhere."""
    return tuple(
        one
        for one in requests(text)
        if _QUESTION.search(one) or phrase("request_for_answer").search(one) or _LISTED.match(one)
    )


def is_question(text: str) -> bool:
    return bool(_QUESTION.search(text))


def offers_more(text: str) -> bool:
    """`Anything else?`"""
    return bool(phrase("more_help").search(fold_case(text)))


GREETING = 20
"""A greeting has at most this many words."""


@lru_cache(maxsize=2048)
def only_greets(text: str) -> bool:
    """`Hello! How can I help you?`: an offer to begin with, and nothing was said or done yet."""
    words = said_words(text)
    if len(words) > GREETING or any(map(is_number, words)) or is_done(text) or refuses(text):
        return False
    return bool(phrase("opening_offer").search(fold_case(text)))


def offers(text: str) -> bool:
    return bool(phrase("offer").search(fold_case(text)))


def refuses(text: str) -> bool:
    """The agent says no, that it cannot, or that something failed."""
    return bool(phrase("refusal").search(fold_case(text)))


def waits(text: str) -> bool:
    """The agent asks for patience."""
    return bool(phrase("pending").search(fold_case(text)))


@lru_cache(maxsize=2048)
def is_done(text: str) -> bool:
    """Whether a sentence that is not a question reports something done."""
    return any(_reports_done(fold_case(one)) for one in sentences(text))


def _reports_done(sentence: str) -> bool:
    """`It was shipped, so I cannot cancel it` reports the opposite."""
    opposite = phrase("undone").search(sentence) or phrase("refusal").search(sentence) or _QUESTION.search(sentence)
    return bool(phrase("done").search(sentence)) and not opposite


def thanks(text: str) -> bool:
    return bool(phrase("thanks").search(fold_case(text)))


def takes_leave(text: str) -> bool:
    """The user says goodbye, or that this was all."""
    return bool(phrase("goodbye").search(fold_case(text))) and not is_question(text)


def is_closing(text: str) -> bool:
    """Thanks and goodbyes, and nothing else."""
    if is_question(text) or not (thanks(text) or takes_leave(text)):
        return False
    left = content_words(phrase("thanks").sub(" ", phrase("goodbye").sub(" ", fold_case(text))))
    return all(word in listed_words("small_talk") for word in left)


def lacks(text: str) -> bool:
    """The user does not know it, does not have it or does not want to tell."""
    return bool(phrase("unknown_to_user").search(fold_case(text)))


@lru_cache(maxsize=2048)
def said_words(text: str) -> tuple[str, ...]:
    """All words in one spelling, to recognise repetitions."""
    return tokens(text)


def alike(one: str, other: str, least: float = 0.9) -> bool:
    """Almost the same words in the same number."""
    first, second = said_words(one), said_words(other)
    if first == second:
        return True
    if not first or not second or not 0.8 <= len(first) / len(second) <= 1.25:
        return False
    left, right = set(first), set(second)
    return len(left & right) / len(left | right) >= least


LONG_NAME = 3
MOST = 0.6
"""The share of the words of a long name that must be asked for."""

_YES_NO = re.compile(r"(?<!\w)(?:do|does|did|have|has|are|is|was|were|would|could|can|shall|should)(?!\w)")


@lru_cache(maxsize=4096)
def asks_for_fact(fact: Fact, text: str) -> bool:
    """Whether the agent asks for this fact by its name, or for `the code` where the fact is a code."""
    return any(_names(fact, sentence) or _bare_kind(fact, sentence) for sentence in requests(text))


def _bare_kind(fact: Fact, sentence: str) -> bool:
    """`the code`, where the fact is a game code; `the order code` is another fact."""
    kinds = [word for word in content_words(fact.name) if word in listed_words("generic")]
    return any(found in kinds for found in phrase("bare_kind").findall(sentence))


def _names(fact: Fact, sentence: str) -> bool:
    there = meanings(sentence)
    return any(_covered(words, there) for words in phrasings(fact))


@lru_cache(maxsize=4096)
def phrasings(fact: Fact) -> tuple[tuple[str, ...], ...]:
    """The words of the fact's name and of each other phrase that asks for it."""
    named = (content_words(wording) or tuple(fold_case(wording).split()) for wording in (fact.name, *fact.asked_by))
    return tuple(words for words in named if words)


def _covered(words: tuple[str, ...], there: frozenset[str]) -> bool:
    found = [word for word in words if means(word, there)]
    if len(words) >= LONG_NAME:
        return len(found) / len(words) >= MOST
    telling = [word for word in words if word not in listed_words("generic")]
    if telling:
        return all(word in found for word in telling)
    return bool(found) and words[-1] in found


def may_concern_fact(fact: Fact, text: str) -> bool:
    """Whether anything in the text may be about this fact; much more lenient than `asks_for_fact`."""
    there = meanings(text)
    if _bare_kind(fact, fold_case(text)):
        return True
    words = {word for wording in phrasings(fact) for word in wording}
    telling = {word for word in words if word not in listed_words("generic")} or words
    return any(means(word, there) for word in telling)


def wants_details(text: str) -> bool:
    """The agent asks for information without saying which."""
    return any(phrase("vague_request").search(sentence) for sentence in requests(text))


def requested_facts(facts: Iterable[Fact], text: str) -> tuple[Fact, ...]:
    """The facts asked for, in the order the scenario lists them."""
    return tuple(fact for fact in facts if asks_for_fact(fact, text))


def unanswerable_requests(facts: Iterable[Fact], text: str) -> tuple[str, ...]:
    """The requests that none of the facts answers."""
    user_facts = tuple(facts)
    return tuple(
        one for one in requests(text) if not any(_names(fact, one) or _bare_kind(fact, one) for fact in user_facts)
    )


def is_yes_or_no(text: str) -> bool:
    """Whether the last question can be answered with yes: `Shall I go ahead?`"""
    questions = [fold_case(one) for one in sentences(text) if "?" in one]
    return bool(questions) and bool(_YES_NO.match(questions[-1].lstrip("\"'( "))) and " or " not in questions[-1]
