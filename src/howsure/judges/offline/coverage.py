"""Long reference answers: the share of their statements that an answer covers, words weighed by how telling they are.
Overlap cannot see a wrong conclusion in the right words, so the middle of the scale is left as `cannot tell`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from howsure.judges.offline.folding import is_number, root
from howsure.judges.offline.opinions import CannotTell, Opinion, View
from howsure.judges.offline.passages import Passage, Words, comparable, content, passages

LONG = 6
"""More content words than this make a reference long."""
NOTHING, EVERYTHING = 0.25, 0.8
"""Weighted overlap at and below which nothing is covered, and at and above which everything is: two texts on one
subject share a quarter of their words whatever they say."""
UNSURE = (0.25, 0.75)
IN_LINE = 0.7
TELLING, COMMON = 2.0, 0.25


class Statement(Struct, frozen=True):
    """A sentence of the reference, what it weighs, and how much of it the answer has."""

    text: str
    weight: float
    share: float


def is_long(reference: str) -> bool:
    return len(content(comparable(reference))) > LONG


def covered(question: str, reference: str, answer: str) -> View:
    """The share of the reference that the answer covers, as an opinion where it is clear."""
    asked = {root(word) for word in comparable(question)}
    statements = list(_statements(passages(reference), passages(answer), asked))
    total = sum(statement.weight for statement in statements)
    if not total:
        return CannotTell("the reference says nothing beyond the question")
    share = sum(statement.weight * _stretched(statement.share) for statement in statements) / total
    if _opposed(reference, answer):
        return Opinion(
            value=0.0,
            confidence=0.7,
            reason="The reference begins with yes and the answer with no, or the other way round.",
        )
    if UNSURE[0] < share < UNSURE[1]:
        return CannotTell(f"the answer covers {share:.0%} of a long reference by its words, which decides nothing")
    if share <= UNSURE[0] and _within(answer, reference, asked):
        return CannotTell("the answer says little, all of it in the words of the reference")
    return Opinion(
        value=round(share, 3),
        confidence=0.7,
        reason=f"The answer covers {share:.0%} of the reference's statements by their telling words.",
        evidence=tuple(_evidence(statements)),
        details={"statements": len(statements)},
    )


def _within(answer: str, reference: str, asked: set[str]) -> bool:
    """Nearly all the answer's own words stand in the reference: it may be the short of it."""
    said = _roots(content(comparable(answer))) - asked
    return bool(said) and len(said & _roots(comparable(reference))) >= IN_LINE * len(said)


def _statements(reference: Sequence[Passage], answer: Sequence[Passage], asked: set[str]) -> Iterable[Statement]:
    windows = [
        _roots([*one.words, *other.words]) for one, other in zip(answer, (*answer[1:], *answer[-1:]), strict=True)
    ]
    for sentence in reference:
        weights = {root(word): _weight(word, asked) for word in content(sentence.words)}
        total = sum(weights.values())
        found = max(
            (sum(weight for each, weight in weights.items() if each in window) for window in windows), default=0.0
        )
        if total > 1:
            yield Statement(sentence.text, total, found / total)


def _weight(word: str, asked: set[str]) -> float:
    """Figures and long words tell more than short ones; words of the question tell next to nothing."""
    if root(word) in asked:
        return COMMON
    return TELLING if is_number(word) else min(len(word), 10) / 8


def _roots(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(root, words))


def _stretched(share: float) -> float:
    return min(1.0, max(0.0, (share - NOTHING) / (EVERYTHING - NOTHING)))


def _opposed(reference: str, answer: str) -> bool:
    first, second = _opening(reference), _opening(answer)
    return {first, second} == {"yes", "no"}


def _opening(text: str) -> str:
    words: Words = comparable(text[:80])
    return words[0] if words and words[0] in ("yes", "no") else ""


def _evidence(statements: Sequence[Statement]) -> Iterable[str]:
    best = max(statements, key=lambda statement: statement.weight * statement.share)
    if best.share > NOTHING:
        yield best.text
