"""Agreement with a reference answer, from 0 to 1: short ones by matching.py, long ones by the share of their statements
that the answer covers (coverage.py)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from howsure.judges.offline.coverage import covered, is_long
from howsure.judges.offline.matches import Asked, Match, Way, asked
from howsure.judges.offline.matching import best_match
from howsure.judges.offline.opinions import CannotTell, Opinion, View
from howsure.judges.offline.passages import Words, comparable, content
from howsure.judges.offline.polarity import last_word_on_it, refuses

YES, NO = frozenset({"yes", "true", "correct"}), frozenset({"no", "false", "incorrect"})
PASSES = 0.7

#: What each way of agreeing is worth, and roughly how often people agreed with it on the half of `openqa_eval` that was
#: looked at; what finds nothing in common is stated lower, for it failed more often on the other half.
WORTH: dict[Way, tuple[float, float]] = {
    Way.EQUAL: (1.0, 0.95),
    Way.CONTAINED: (1.0, 0.95),
    Way.NAME: (1.0, 0.95),
    Way.LAST_NAME: (0.9, 0.8),
    Way.ACRONYM: (1.0, 0.85),
    Way.DATE: (1.0, 0.9),
    Way.COARSER_DATE: (0.8, 0.75),
    Way.NUMBER: (1.0, 0.8),
    Way.WITHIN: (0.9, 0.8),
    Way.AROUND: (0.8, 0.65),
    Way.DENIED: (0.0, 0.8),
    Way.ONE_OF_SEVERAL: (0.5, 0.6),
    Way.OTHER_DATE: (0.0, 0.7),
    Way.OTHER_NUMBER: (0.0, 0.75),
    Way.OTHER: (0.0, 0.75),
}
_LATIN = re.compile(r"[A-Za-z]")
_LETTER = re.compile(r"[^\W\d_]")


def reference_view(question: str, references: Sequence[str], answer: str) -> View:
    """How far the answer agrees with the reference it agrees with best."""
    references = [reference for reference in references if comparable(reference)]
    if not references:
        return CannotTell("the reference has no words to compare")
    short = [reference for reference in references if not is_long(reference)]
    long = [reference for reference in references if is_long(reference)]
    views = [_short(question, short, answer)] if short else []
    views += [covered(question, reference, answer) for reference in long]
    opinions = [view for view in views if isinstance(view, Opinion)]
    return max(opinions, key=lambda view: view.value) if opinions else views[0]


def _short(question: str, references: Sequence[str], answer: str) -> View:
    given = asked(question, last_word_on_it(answer))
    polar = [reference for reference in references if _is_polar(comparable(reference))]
    if polar and (polar == references or _first_word(given) in YES | NO):
        return _yes_or_no(polar, given)
    if _echoes(given) and not any(comparable(reference) == given.words for reference in references):
        return Opinion(value=0.0, confidence=0.9, reason="The answer only repeats the question.", evidence=(answer,))
    found = best_match(references, given)
    if not found.share and refuses(answer):
        return Opinion(value=0.0, confidence=0.9, reason="The answer declines to answer.", evidence=(answer,))
    if not found.share and all(_other_script(reference, answer) for reference in references):
        return CannotTell("the reference and the answer are written in different scripts")
    return _opinion(found, references)


def _opinion(found: Match, references: Sequence[str]) -> Opinion:
    value, confidence = _worth(found)
    expected = " or ".join(f"“{reference}”" for reference in references[:3])
    return Opinion(
        value=value,
        confidence=confidence,
        reason=f"Expected: {expected}. In the answer: {found.way.value}.",
        evidence=(found.quote,) if found.quote else (),
        details={"way": found.way.name.lower()},
    )


def _worth(found: Match) -> tuple[float, float]:
    if found.way is Way.SHORTER:
        return 0.7 + 0.3 * found.share, 0.8
    if found.way is Way.OVERLAP:
        return (0.85 * found.share, 0.75) if found.share > 0.8 else (0.85 * found.share, 0.65)
    return WORTH[found.way]


def _echoes(given: Asked) -> bool:
    """Everything said stands in the question already, and the question is (nearly) all said again."""
    said, wanted = set(content(given.words)), set(content(given.question))
    return len(wanted) > 2 and said <= wanted and len(said) >= 0.8 * len(wanted)


def _other_script(reference: str, answer: str) -> bool:
    if not (_LETTER.search(reference) and _LETTER.search(answer)):
        return False
    return bool(_LATIN.search(reference)) != bool(_LATIN.search(answer))


def _is_polar(words: Words) -> bool:
    return len(words) <= 2 and words[0] in YES | NO


def _first_word(given: Asked) -> str:
    return given.words[0] if given.words else ""


def _yes_or_no(references: Sequence[str], given: Asked) -> View:
    first = _first_word(given)
    if first not in YES | NO:
        return CannotTell("yes or no is expected, and the answer does not begin with either")
    wanted = {comparable(reference)[0] in YES for reference in references}
    right = (first in YES) in wanted
    return Opinion(
        value=float(right),
        confidence=0.9,
        reason=f"Expected {references[0]!r}: the answer says {first!r}.",
        evidence=(given.answer,),
    )
