"""A text in sentences, each with its comparable words; where one run of words stands in another; and what negates a
statement or takes it back: `not X`, `X is not`, `rather than X`, `X or Y`, refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from howsure.judges.offline.lexicon import Words, aliases, phrase, postal_states, word_list, word_set
from howsure.judges.offline.word_forms import LONG_WORD, same_word
from howsure.judges.offline.words import is_number, join_words, tokens

_SENTENCE_END = phrase("sentence_end")
_NUMBERED_NOUNS = word_set("season episode chapter book volume grade act scene verse amendment round")
# Without its capitals it is a pronoun, unless it is the whole text.
_US = re.compile(r"\bUS\b")
_POSTAL = re.compile(r"(\w,) ([A-Z]{2})\b(?!\.\w)")


class Sentence(Struct, frozen=True):
    """One sentence as it is written, and its comparable words."""

    text: str
    words: Words


@lru_cache(maxsize=256)
def split_sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences, lines and list items of a text that have words."""
    pieces = (piece.strip() for piece in _SENTENCE_END.split(text))
    return tuple(Sentence(piece, words) for piece in pieces if (words := comparable_words(piece)))


@lru_cache(maxsize=4096)
def comparable_words(text: str) -> Words:
    """The words in one spelling, with one name for things that have several."""
    words = _number_after_noun(tuple(_rename(tokens(_POSTAL.sub(_spell_out_state, _US.sub("USA", text))))))
    return ("usa",) if words == ("us",) else words


def _number_after_noun(words: Words) -> Words:
    """`the third season` is season 3."""
    if _NUMBERED_NOUNS.isdisjoint(words):
        return words
    turned = list(words)
    for at, (one, other) in enumerate(pairwise(words)):
        if is_number(one) and other in _NUMBERED_NOUNS and (at == 0 or turned[at - 1] not in _NUMBERED_NOUNS):
            turned[at : at + 2] = other, one
    return tuple(turned)


def _spell_out_state(found: re.Match[str]) -> str:
    """`Pittsburgh, PA` is in Pennsylvania; other capitals stay as they are."""
    return f"{found[1]} {postal_states().get(found[2], found[2])}"


def content_words(words: Sequence[str]) -> Words:
    """The words that carry meaning; all words when none does (`The Who`)."""
    small = word_list("stopwords")
    return tuple([word for word in words if word not in small]) or tuple(words)


def find_run(run: Sequence[str], words: Sequence[str]) -> tuple[int, int] | None:
    """Where `wanted` stands as one run in `words`, ignoring plurals, a mistyped letter and word breaks."""
    if not run:
        return None
    size = len(run)
    for start in range(len(words) - size + 1):
        if all(map(same_word, run, words[start : start + size])):
            return start, start + size
    return _unbroken(join_words(tuple(run)), words)


def _unbroken(wanted: str, words: Sequence[str]) -> tuple[int, int] | None:
    """`spiderman` in `spider man`."""
    if len(wanted) < LONG_WORD:
        return None
    for start in range(len(words)):
        run = ""
        for end in range(start, len(words)):
            run += words[end]
            if run == wanted:
                return start, end + 1
            if not wanted.startswith(run):
                break
    return None


def _rename(words: Words) -> Iterator[str]:
    table = aliases()
    place = 0
    while place < len(words):
        for size in range(min(table.longest, len(words) - place), 0, -1):
            if (known := table.names.get(words[place : place + size])) is not None:
                yield from known
                place += size
                break
        else:
            yield words[place]
            place += 1


REACH = 5
"""How many words a negation reaches ahead."""

_RESETS = frozenset({"but", "however", "although", "though", "instead", "actually"})
_COPULAS = frozenset(
    {"is", "was", "are", "were", "be", "been", "does", "did", "do", "has", "had", "can", "could", "will"}
)
_CONTRACTED = frozenset({"isnt", "wasnt", "arent", "werent"})
_OR_SO = word_set("more less so fewer older younger later earlier above below higher greater over")
_PAIRS = {("rather", "than"), ("instead", "of"), ("other", "than"), ("as", "opposed"), ("far", "from")}
_REFUSAL = phrase("refusal")
_TAKEN_BACK = phrase("taken_back")


def is_negated(words: Sequence[str], start: int, end: int) -> bool:
    """Whether the words around those from `start` to `end` deny them."""
    before = list(words[max(0, start - REACH) : start])
    for place in range(len(before) - 1, -1, -1):
        pair = (before[place], before[place + 1] if place + 1 < len(before) else "")
        if pair in _PAIRS or (before[place] in word_list("negators") and pair != ("not", "only")):
            return True
        if before[place] in _RESETS:
            break
    if before and before[-1] == "no":
        return True
    # `Paris is not …`.
    after = words[end : end + 2]
    if after and after[0] in _CONTRACTED:
        return True
    return len(after) == 2 and after[0] in _COPULAS and after[1] == "not"


def denies(words: Sequence[str]) -> bool:
    """Whether a sentence denies anything."""
    return "no" in words or not word_list("negators").isdisjoint(words)


def offered_with_another(words: Sequence[str], start: int, end: int) -> bool:
    """One of several guesses: `X or Y`, `either Y or X`."""
    before, after = words[max(0, start - 1) : start], words[end : end + 2]
    return "or" in before or (list(after[:1]) == ["or"] and _OR_SO.isdisjoint(after[1:]))


def refuses(text: str) -> bool:
    """The text says that it does not answer."""
    return _REFUSAL.search(text) is not None


def text_after_correction(text: str) -> str:
    """The text after its last correction (`Paris. No wait, London`); the whole text without one."""
    return _TAKEN_BACK.split(text)[-1] or text
