"""What a message does: ask, refuse, tell that something is done, thank, take leave. By pattern, in a few languages;
what is not recognised is nothing of the kind."""

from __future__ import annotations

import re
from functools import lru_cache

from howsure.judges.offline.folding import tokens
from howsure.judges.offline.vocabulary import word_set
from howsure.users.phrases import (
    ASKS_FOR,
    DONE,
    GOODBYE,
    MORE,
    NOT_HELD,
    OFFER,
    PENDING,
    REFUSAL,
    REQUEST,
    THANKS,
    UNDONE,
)
from howsure.users.words import content, plain

_BREAK = re.compile(r"(?<=[.!?…])[\"'”’)*]*\s+|(?<=[。？！])|\s*\n+\s*")
_QUESTION = re.compile(r"[?？؟]")
_LISTED = re.compile(r"\A\s*(?:[-*•–]|\d+[.)])\s+\S")
_SMALL_TALK = word_set(
    "thank thanks you so much very bye goodbye nice great perfect wonderful good day evening morning have take "
    "care kind help helping helped your all too same that was really quick cool awesome amazing lovely "
    "appreciated lot again lifesaver sure alright glad happy welcome youre super fantastic excellent brilliant "
    "got it no nope nothing else danke vielen dank tschuss auf wiedersehen schonen tag noch ihnen auch super gut "
    "prima nein alles merci beaucoup au revoir bonne journee parfait gracias muchas adios grazie mille buona "
    "giornata arrivederci perfetto obrigado tchau bedankt fijn heel dag prettige tot ziens cheers thx ty tysm "
    "everything anything see weekend ahead wish best"
)


@lru_cache(maxsize=2048)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences and lines of a text as they stand."""
    return tuple(piece for part in _BREAK.split(text) if (piece := part.strip()))


@lru_cache(maxsize=2048)
def requests(text: str) -> tuple[str, ...]:
    """The sentences that ask for something, plain; offers of more help ask for nothing."""
    asking = [(one, _asks(plain(one))) for one in sentences(text)]
    if not any(asks for _, asks in asking):
        return ()
    return tuple(plain(one) for one, asks in asking if asks or _LISTED.match(one))


def _asks(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence) or REQUEST.search(sentence)) and not MORE.search(sentence)


def waits_for(text: str) -> tuple[str, ...]:
    """The requests that the agent waits to have answered; what it tells the user to do elsewhere is none."""
    return tuple(one for one in requests(text) if _QUESTION.search(one) or ASKS_FOR.search(one) or _LISTED.match(one))


def is_question(text: str) -> bool:
    return bool(_QUESTION.search(text))


def offers_more(text: str) -> bool:
    """`Anything else?`"""
    return bool(MORE.search(plain(text)))


def offers(text: str) -> bool:
    return bool(OFFER.search(plain(text)))


def refuses(text: str) -> bool:
    """The agent says no, that it cannot, or that something failed."""
    return bool(REFUSAL.search(plain(text)))


def waits(text: str) -> bool:
    """The agent asks for patience."""
    return bool(PENDING.search(plain(text)))


@lru_cache(maxsize=2048)
def is_done(text: str) -> bool:
    """Some sentence, not a question, tells that something was done."""
    return any(_tells_done(plain(one)) for one in sentences(text))


def _tells_done(sentence: str) -> bool:
    """`It was shipped, so I cannot cancel it` tells the opposite."""
    opposite = UNDONE.search(sentence) or REFUSAL.search(sentence) or _QUESTION.search(sentence)
    return bool(DONE.search(sentence)) and not opposite


def thanks(text: str) -> bool:
    return bool(THANKS.search(plain(text)))


def takes_leave(text: str) -> bool:
    """The user says goodbye, or that this was all."""
    return bool(GOODBYE.search(plain(text))) and not is_question(text)


def is_closing(text: str) -> bool:
    """Thanks and goodbyes, and nothing else."""
    if is_question(text) or not (thanks(text) or takes_leave(text)):
        return False
    left = content(THANKS.sub(" ", GOODBYE.sub(" ", plain(text))))
    return all(word in _SMALL_TALK for word in left)


def lacks(text: str) -> bool:
    """The user says that they do not know, do not have or do not tell."""
    return bool(NOT_HELD.search(plain(text)))


@lru_cache(maxsize=2048)
def said_words(text: str) -> tuple[str, ...]:
    """All words, folded: what is compared when somebody repeats."""
    return tokens(text)


def alike(one: str, other: str, least: float = 0.9) -> bool:
    """Near enough the same words in the same number."""
    first, second = said_words(one), said_words(other)
    if first == second:
        return True
    if not first or not second or not 0.8 <= len(first) / len(second) <= 1.25:
        return False
    left, right = set(first), set(second)
    return len(left & right) / len(left | right) >= least
