"""What turns a statement round or takes it back: `not X`, `X is not`, `rather than X`, `X or Y`, refusals."""

from __future__ import annotations

import re
from collections.abc import Sequence

from howsure.judges.offline.vocabulary import NEGATORS, word_set

REACH = 5
"""How many words before a statement a negation reaches."""

_RESETS = frozenset({"but", "however", "although", "though", "instead", "actually"})
_COPULAS = frozenset(
    {"is", "was", "are", "were", "be", "been", "does", "did", "do", "has", "had", "can", "could", "will"}
)
_CONTRACTED = frozenset({"isnt", "wasnt", "arent", "werent"})
_OR_SO = word_set("more less so fewer older younger later earlier above below higher greater over")
_PAIRS = {("rather", "than"), ("instead", "of"), ("other", "than"), ("as", "opposed"), ("far", "from")}
_REFUSAL = re.compile(
    r"\b(?:i|we)\s+(?:do not|don['’]?t|cannot|can['’]?t|can not|could not|couldn['’]?t|am unable|are unable|"
    r"am not able|am not sure|am not certain|have no|won['’]?t|will not)\b|"
    r"\bi['’]m\s+(?:not sure|unable|not able|sorry)\b|"
    r"\b(?:unable|impossible) to (?:say|tell|determine|answer|provide)\b|\bas an ai\b|\bi apologi[sz]e\b|"
    r"\b(?:no|not enough|insufficient) (?:information|data|answer)\b|"
    r"\b(?:it is|it['’]s) (?:unclear|unknown|not known)\b|"
    r"\bthere is no (?:one|single|definitive|clear) answer\b",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(r"\b(?:no,? wait|actually,? no|scratch that|correction:|i mean,)[:,]?", re.IGNORECASE)


def negated(words: Sequence[str], start: int, end: int) -> bool:
    """Whether the words from `start` to `end` are denied by those around them."""
    before = list(words[max(0, start - REACH) : start])
    for place in range(len(before) - 1, -1, -1):
        pair = (before[place], before[place + 1] if place + 1 < len(before) else "")
        if pair in _PAIRS or (before[place] in NEGATORS and pair != ("not", "only")):
            return True
        if before[place] in _RESETS:
            break
    if before and before[-1] == "no":
        return True
    return _denied_after(words[end : end + 2])


def _denied_after(after: Sequence[str]) -> bool:
    """`Paris is not …`."""
    if after and after[0] in _CONTRACTED:
        return True
    return len(after) == 2 and after[0] in _COPULAS and after[1] == "not"


def denies(words: Sequence[str]) -> bool:
    """Whether anything in a sentence is denied."""
    return any(word in NEGATORS or word == "no" for word in words)


def offered_with_another(words: Sequence[str], start: int, end: int) -> bool:
    """One of several guesses: `X or Y`, `either Y or X`."""
    before, after = words[max(0, start - 1) : start], words[end : end + 2]
    return "or" in before or (list(after[:1]) == ["or"] and _OR_SO.isdisjoint(after[1:]))


def refuses(text: str) -> bool:
    """The text says that it does not answer."""
    return _REFUSAL.search(text) is not None


def last_word_on_it(text: str) -> str:
    """What stands after the last correction (`Paris. No wait, London`); the whole text without one."""
    return _TAKEN_BACK.split(text)[-1] or text
