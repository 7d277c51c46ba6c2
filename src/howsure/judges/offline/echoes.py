"""What an answer says of its own, and what it merely hands back: the question or the goal said again, in order or
shuffled, and rows of figures. Only the former takes anything up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from howsure.judges.offline.folding import is_code, is_number, root
from howsure.judges.offline.passages import Passage, Words, comparable, content

RUN = 5
"""Words in a row that stand in the question as they are: fewer may be chance."""
COPIED = 0.75
"""The share of a sentence in such runs at which it is no sentence of its own: a good one often begins with the
question's words and goes on."""
SHORT, HANDED_BACK = 3, 0.7
"""A text of no more telling words cannot be shuffled; and the share of the others' that is handed back."""
FIGURES = 3
"""More figures than this, with hardly a word between them, are a row of figures."""


def own_sentences(sentences: Sequence[Passage], given: Iterable[str]) -> tuple[Passage, ...]:
    """The sentences that do not just say one of the given texts again."""
    own = [sentence for sentence in sentences if not _is_string_of_figures(sentence.words)]
    for text in given:
        words = comparable(text)
        own = _not_shuffled([sentence for sentence in own if not _is_copied(sentence.words, words)], words)
    return tuple(own)


def taken_up(text: frozenset[str], own: Sequence[Passage]) -> set[str]:
    """The roots of a text that an answer has. A figure counts beside a word of the text: alone it may be any figure,
    unless it is the whole answer."""
    words = {each for each in text if not is_number(each)}
    told = [roots_of(sentence.words) for sentence in own]
    if not words or (len(told) == 1 and all(map(is_number, told[0]))):
        return {each for sentence in told for each in sentence & text}
    return {each for sentence in told if not words.isdisjoint(sentence) for each in sentence & text}


@lru_cache(maxsize=4096)
def roots_of(words: Words) -> frozenset[str]:
    """The roots of the telling words."""
    return frozenset(map(root, content(words)))


def _is_string_of_figures(words: Words) -> bool:
    figures = sum(is_number(word) or is_code(word) for word in words)
    return figures > FIGURES and figures > len(words) / 2


def _is_copied(sentence: Words, given: Words) -> bool:
    if len(sentence) < RUN:
        return False
    runs = {given[start : start + RUN] for start in range(len(given) - RUN + 1)}
    copied: set[int] = set()
    for start in range(len(sentence) - RUN + 1):
        if sentence[start : start + RUN] in runs:
            copied.update(range(start, start + RUN))
    return len(copied) >= COPIED * len(sentence)


def _not_shuffled(sentences: list[Passage], given: Words) -> list[Passage]:
    """Without those that have no word but the given ones, where together they hand back most of these."""
    asked = roots_of(given)
    told = (roots_of(sentence.words) for sentence in sentences)
    back = {each for roots in told if roots <= asked for each in roots}
    if len(asked) < SHORT or len(back) < HANDED_BACK * len(asked):
        return sentences
    return [sentence for sentence in sentences if not roots_of(sentence.words) <= asked]
