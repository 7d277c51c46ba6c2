"""The part of an answer that answers: people and models say the question again and add what nobody asked. What is left
of the first clause that brings something new is the bare answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from howsure.judges.offline.families import same_family
from howsure.judges.offline.passages import Passage, Words, comparable
from howsure.judges.offline.vocabulary import STOPWORDS, word_set

_CLAUSE_END = re.compile(
    r"\s*[,;(\u2013\u2014]\s*|\s+-\s+|:\s+|\s+(?:which|who|whom|whose|because|although|though|while|whereas|after|when|"
    r"where|but|until)\s+",
    re.IGNORECASE,
)
_FRAMING = word_set(
    "answer answers called known named located found played sung written performed made took takes take place began "
    "started occurred happened held refers means stands includes include became become based set directed voiced "
    "portrayed currently originally typically usually generally commonly actually officially primarily mainly mostly "
    "probably likely between during since circa around about approximately believed considered said think would "
    "according"
)


def bare_answer(question: Words, sentences: Sequence[Passage]) -> Words:
    """The words of the first clause that says something the question does not; () when no clause does."""
    for sentence in sentences[:2]:
        for clause in _CLAUSE_END.split(sentence.text):
            if words := tuple(word for word in comparable(clause) if not _is_frame(word, question)):
                return words
    return ()


def _is_frame(word: str, question: Words) -> bool:
    return word in STOPWORDS or word in _FRAMING or any(same_family(word, other) for other in question)
