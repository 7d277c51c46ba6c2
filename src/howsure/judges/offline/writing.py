"""How a text is written, whatever it says: mechanics, repetition, contradictions, variety. Each is a share from 0 to
1."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from howsure.judges.offline.folding import root
from howsure.judges.offline.passages import Passage, content, passages
from howsure.judges.offline.polarity import denies

_DOUBLED = re.compile(r"\b(\w{2,})\s+\1\b", re.IGNORECASE)
_SHOUTING = re.compile(r"[!?]{3,}|\b[A-Z]{4,}(?:\s+[A-Z]{4,})+\b")
_STRETCHED = re.compile(r"([a-zA-Z])\1{2,}")
_PLACEHOLDER = re.compile(
    r"\[(?:insert|your|name|todo)[^\]]*\]|<[a-z_ ]+>|\blorem ipsum\b|\bTODO\b|\bundefined\b|\bnull\b"
)
_ENDS = re.compile(r"[.!?:;)\]\"'”’…`*>|]\s*\Z")
LONG_SENTENCE, SHORT_SENTENCE = 45, 3
COMPARED = 60
"""How many sentences are compared with one another: the work grows with the square."""


def mechanics(text: str) -> float:
    """1 for clean writing; each kind of slip takes its share."""
    sentences = passages(text)
    if not sentences:
        return 0.0
    n = len(sentences)
    faults = 0.15 * min(3, len(_DOUBLED.findall(text)))
    faults += 0.15 * min(2, len(_SHOUTING.findall(text))) + 0.1 * min(2, len(_STRETCHED.findall(text)))
    faults += 0.3 * bool(_PLACEHOLDER.search(text)) + 0.1 * _unbalanced(text)
    faults += 0.4 * sum(len(sentence.words) > LONG_SENTENCE for sentence in sentences) / n
    faults += 0.2 * (not _ENDS.search(text)) + 0.2 * sum(_lower_start(sentence) for sentence in sentences) / n
    return max(0.0, 1.0 - faults)


def repetition(text: str) -> float:
    """The share of what is said that was said before: whole sentences, or runs of three words."""
    sentences = [sentence.words for sentence in passages(text)]
    again = 1 - len(set(sentences)) / len(sentences) if sentences else 0.0
    words = [word for sentence in sentences for word in sentence]
    threes = list(zip(words, words[1:], words[2:], strict=False))
    looped = 1 - len(set(threes)) / len(threes) if len(threes) > 10 else 0.0
    return max(again, looped)


def contradiction(text: str) -> tuple[Passage, Passage] | None:
    """Two sentences that say the same, one of them with a denial."""
    telling = [(sentence, _roots(sentence)) for sentence in passages(text)[:COMPARED]]
    for (one, first), (other, second) in combinations([pair for pair in telling if len(pair[1]) > 2], 2):
        shared = len(first & second) / min(len(first), len(second))
        if shared >= 0.8 and denies(one.words) != denies(other.words):
            return one, other
    return None


def continuity(sentences: Sequence[Passage]) -> float:
    """The share of sentences that take up a word of the two before them; a single sentence hangs together."""
    if len(sentences) < 2:
        return 1.0
    roots = [_roots(sentence) for sentence in sentences]
    taken_up = [
        bool(roots[at] & (roots[at - 1] | (roots[at - 2] if at > 1 else frozenset()))) for at in range(1, len(roots))
    ]
    return sum(taken_up) / len(taken_up)


def variety(text: str) -> float:
    """Different content words among the first hundred; short texts are not blamed."""
    words = [word for sentence in passages(text) for word in content(sentence.words)][:100]
    return len(set(words)) / len(words) if words else 0.0


def _roots(sentence: Passage) -> frozenset[str]:
    return frozenset(root(word) for word in content(sentence.words))


def _unbalanced(text: str) -> bool:
    return any(text.count(one) != text.count(other) for one, other in ("()", "[]", "{}")) or text.count('"') % 2 == 1


def _lower_start(sentence: Passage) -> bool:
    letters = sentence.text.lstrip("\"'“‘(*-•– ")
    return bool(letters) and letters[0].islower() and len(sentence.words) > SHORT_SENTENCE
