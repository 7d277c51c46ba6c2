"""Agreement with a reference answer, from 0 to 1. A short reference is matched by the functions of matches.py: the
first that has something to say decides. A long one is covered statement by statement, words weighted by how telling
they are. Overlap cannot see a wrong conclusion in the right words, so the middle of the scale is `cannot tell`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from howsure.judges.offline.dates import DateFit, compare_dates, find_dates
from howsure.judges.offline.lexicon import Words, phrase, word_list
from howsure.judges.offline.matches import (
    Match,
    MatchKind,
    ShortAnswer,
    match_acronym,
    match_contained,
    match_date,
    match_equal,
    match_last_name,
    match_name,
    match_number,
    match_overlap,
    match_place,
    match_shorter,
    match_shorter_thing,
    read_short_answer,
)
from howsure.judges.offline.opinions import Judgment, NoOpinion, OfflineOpinion
from howsure.judges.offline.places import PlaceRelation, find_place, relate_places
from howsure.judges.offline.sentences import (
    Sentence,
    comparable_words,
    content_words,
    denies,
    refuses,
    split_sentences,
    text_after_correction,
)
from howsure.judges.offline.word_forms import is_proper
from howsure.judges.offline.words import is_number, root

LONG = 6
"""A reference with more content words than this is long."""
NOTHING, EVERYTHING = 0.25, 0.8
"""Weighted overlap at and below which nothing is covered, and at and above which everything is: two texts on one
subject share a quarter of their words whatever they say."""
UNSURE = (0.25, 0.75)
IN_LINE = 0.7
"""The share of an answer's own words in the reference at which it may be a summary of it."""
TELLING, COMMON = 2.0, 0.25


class ReferenceStatement(Struct, frozen=True):
    """A sentence of the reference, its weight, and the share of it that the answer covers."""

    text: str
    weight: float
    share: float


def is_long(reference: str) -> bool:
    return len(content_words(comparable_words(reference))) > LONG


def judge_coverage(question: str, reference: str, answer: str) -> Judgment:
    """The share of the reference that the answer covers, as an opinion where it is clear."""
    question_roots = {root(word) for word in comparable_words(question)}
    statements = list(_statements(split_sentences(reference), split_sentences(answer), question_roots))
    total = sum(statement.weight for statement in statements)
    if not total:
        return NoOpinion("the reference says nothing beyond the question")
    share = sum(statement.weight * _rescale(statement.share) for statement in statements) / total
    if _says_the_opposite(reference, answer):
        return THE_OPPOSITE
    if UNSURE[0] < share < UNSURE[1]:
        return NoOpinion(f"the answer covers {share:.0%} of a long reference by its words, which decides nothing")
    # Nearly all of the answer's own words stand in the reference: it may be a summary.
    own = _roots(content_words(comparable_words(answer))) - question_roots
    shared = own & _roots(comparable_words(reference))
    if share <= UNSURE[0] and own and len(shared) >= IN_LINE * len(own):
        return NoOpinion("the answer says little, all of it in the words of the reference")
    best = max(statements, key=lambda statement: statement.weight * statement.share)
    return OfflineOpinion(
        value=round(share, 3),
        confidence=0.7,
        reason=f"The answer covers {share:.0%} of the reference's statements by their telling words.",
        evidence=(best.text,) if best.share > NOTHING else (),
        details={"statements": len(statements)},
    )


def _statements(
    reference: Sequence[Sentence], answer: Sequence[Sentence], question_roots: set[str]
) -> Iterable[ReferenceStatement]:
    windows = [
        _roots([*one.words, *other.words]) for one, other in zip(answer, (*answer[1:], *answer[-1:]), strict=True)
    ]
    for sentence in reference:
        weights = {root(word): _weight(word, question_roots) for word in content_words(sentence.words)}
        total = sum(weights.values())
        found = max(
            (sum(weight for each, weight in weights.items() if each in window) for window in windows), default=0.0
        )
        if total > 1:
            yield ReferenceStatement(sentence.text, total, found / total)


def _weight(word: str, question_roots: set[str]) -> float:
    """Figures and long words tell more than short ones; words of the question tell almost nothing."""
    if root(word) in question_roots:
        return COMMON
    return TELLING if is_number(word) else min(len(word), 10) / 8


def _roots(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(root, words))


def _rescale(share: float) -> float:
    return min(1.0, max(0.0, (share - NOTHING) / (EVERYTHING - NOTHING)))


def _opening(text: str) -> str:
    """`yes` or `no`, where the text begins with it; but `No. 5` is a name."""
    words: Words = comparable_words(text[:80])
    return words[0] if words and words[0] in ("yes", "no") and not any(map(is_number, words[1:2])) else ""


def _says_the_opposite(reference: str, answer: str) -> bool:
    return {_opening(reference), _opening(answer)} == {"yes", "no"}


THE_OPPOSITE = OfflineOpinion(
    value=0.0, confidence=0.7, reason="The reference begins with yes and the answer with no, or the other way round."
)


_MATCHERS = (
    match_equal,
    match_date,
    match_number,
    match_contained,
    match_name,
    match_acronym,
    match_place,
    match_shorter,
    match_overlap,
)
_NAME_MATCHERS = (*_MATCHERS[:5], match_last_name, *_MATCHERS[5:])
_THING_MATCHERS = tuple(
    match_shorter_thing if each is match_shorter else each for each in _MATCHERS if each is not match_name
)
_ASKS_WHO = frozenset({"who", "whose", "whom"})
_BRACKETS = re.compile(r"\s{0,50}\(([^()]*)\)\s*")
_TURNED_NAME = re.compile(r"\A\s*([^\W\d]+), ([^\W\d]+(?: [^\W\d]+)?)\s*\Z")
_ALSO = phrase("also_called")
_DESCRIBED = re.compile(r".*?\b([a-z][a-z-]{1,40}) ([A-Z][\w.'’-]*(?: (?:de|da|di|van|von|the|of|[A-Z][\w.'’-]*))*)\Z")
"""`Spanish explorer Hernando de Soto`; not `the king of Spain`, nor `Alice paid Bob`."""
_OF = re.compile(r"\A(?:the )?([\w ]+) of (?:the )?([\w .]+)\Z", re.IGNORECASE)
_COMMA = re.compile(r",\s+(?:and\s+)?")
_TITLE_PART = re.compile(r":\s+|\s{1,50}[\u2013\u2014-]\s+")


def best_match(references: Sequence[str], short: ShortAnswer) -> Match:
    """The match of the reference that the answer agrees with best. A day inside an expected year is still wrong when
    another reference names the day."""
    matches = [(match_reference(expected, short), expected) for expected in references]
    best, reference = max(matches, key=lambda pair: pair[0].share, default=(Match(MatchKind.OTHER), ""))
    conflicting = [other for match, other in matches if match.kind is MatchKind.OTHER_DATE]
    if best.kind is MatchKind.DATE and any(_more_exact(reference, other) for other in conflicting):
        return Match(MatchKind.OTHER_DATE)
    return best


def _more_exact(reference: str, other: str) -> bool:
    days, others = find_dates(comparable_words(reference)), find_dates(comparable_words(other))
    return any(compare_dates(day, each) is DateFit.FINER for day in days for each in others)


def match_reference(expected: str, short: ShortAnswer) -> Match:
    """The best match over every form of the expected answer; the first matcher with something to say decides for a
    form."""
    forms = (form for form in _forms(expected) if not _is_elsewhere(expected, form, short.text))
    matches = [match for form in forms if (match := _match_form(form, short)) is not None]
    return max(matches, key=lambda match: match.share, default=Match(MatchKind.OTHER))


def _match_form(form: str, short: ShortAnswer) -> Match | None:
    if not (words := comparable_words(form)):
        return None
    matchers = _matchers(form, not _ASKS_WHO.isdisjoint(short.question))
    return next((match for matcher in matchers if (match := matcher(words, short)) is not None), None)


def _is_elsewhere(expected: str, form: str, answer: str) -> bool:
    """`Portland` stands for `Portland, Maine`, unless the answer puts it in Oregon."""
    if form is expected or not expected.startswith(f"{form}, "):
        return False
    after = re.search(re.escape(form) + r",? +(\w+)( \w+)?", answer, re.IGNORECASE)
    target = comparable_words(expected[len(form) :])
    stated = [comparable_words(after[1]), comparable_words(after[0][len(form) :])] if after else []
    return any(relate_places(target, place) is PlaceRelation.ELSEWHERE for place in stated)


def _matchers(form: str, who: bool) -> Sequence[Callable[[Words, ShortAnswer], Match | None]]:
    """Names have forms that other words do not have."""
    if is_proper(form):
        return _NAME_MATCHERS if who else _MATCHERS
    return _MATCHERS if who else _THING_MATCHERS


@lru_cache(maxsize=4096)
def _forms(expected: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reference_forms(expected)))


def reference_forms(expected: str) -> Iterator[str]:
    """The answer as it is written, and the forms it stands for: brackets are additions or other names, `Chamberlain,
    Wilt` is `Wilt Chamberlain`, `Seattle` stands for `Seattle, Washington`, one half of a long title for both."""
    yield expected
    if inside := _BRACKETS.findall(expected):
        yield _BRACKETS.sub(" ", expected)
        yield from (form for form in inside if not form.strip().isdigit())
    if turned := _TURNED_NAME.match(expected):
        yield f"{turned[2]} {turned[1]}"
    yield from _alternatives(expected)
    if (described := _DESCRIBED.match(expected)) and described[1] in word_list("roles"):
        yield described[2]
    first, comma, rest = expected.partition(", ")
    if comma and find_place(comparable_words(rest)):
        yield first
    if turned := _OF.match(expected):
        yield f"{turned[2]} {turned[1]}"
    if expected.count(", ") > 1:
        yield _COMMA.sub(" and ", expected)
    yield from (part for part in _TITLE_PART.split(expected) if part != expected and _is_title(part))


def _alternatives(expected: str) -> Iterator[str]:
    """`Rheims or Reims`, `Reims / Rheims`; but `trick or treat`, `AC/DC` and `9/11` are one name."""
    parts = _ALSO.split(expected)
    if len(parts) > 1 and all(is_proper(part) or len(content_words(comparable_words(part))) > 1 for part in parts):
        yield from parts


def _is_title(part: str) -> bool:
    """Two words that mean something, and no figure: `Mission` alone is not `Mission: Impossible`."""
    words = content_words(comparable_words(part))
    return len(words) > 1 and all(word.isalpha() for word in words)


YES, NO = frozenset({"yes", "true", "correct"}), frozenset({"no", "false", "incorrect"})
PASSES = 0.7

# The value of each kind of match, and roughly how often people agreed with it on the half of `openqa_eval` that was
# looked at. Kinds that find nothing in common are stated lower, because they failed more often on the other half.
VALUES: dict[MatchKind, tuple[float, float]] = {
    MatchKind.EQUAL: (1.0, 0.95),
    MatchKind.CONTAINED: (1.0, 0.95),
    MatchKind.NAME: (1.0, 0.95),
    MatchKind.LAST_NAME: (0.9, 0.8),
    MatchKind.ACRONYM: (1.0, 0.85),
    MatchKind.DATE: (1.0, 0.9),
    MatchKind.COARSER_DATE: (0.8, 0.75),
    MatchKind.NUMBER: (1.0, 0.8),
    MatchKind.WITHIN: (0.9, 0.8),
    MatchKind.AROUND: (0.8, 0.65),
    MatchKind.DENIED: (0.0, 0.8),
    MatchKind.ONE_OF_SEVERAL: (0.5, 0.6),
    MatchKind.OTHER_DATE: (0.0, 0.7),
    MatchKind.OTHER_NUMBER: (0.0, 0.75),
    MatchKind.OTHER: (0.0, 0.75),
}
_NO_SUCH = frozenset({"none", "nothing", "nobody", "nowhere", "unknown"})
_LATIN = re.compile(r"[A-Za-z]")
_LETTER = re.compile(r"[^\W\d_]")


def judge_reference(question: str, references: Sequence[str], answer: str) -> Judgment:
    """How far the answer agrees with the reference it agrees with best."""
    references = [reference for reference in references if comparable_words(reference)]
    if not references:
        return NoOpinion("the reference has no words to compare")
    short = [reference for reference in references if not is_long(reference)]
    long = [reference for reference in references if is_long(reference)]
    judgments = [_judge_short(question, short, answer)] if short else []
    judgments += [judge_coverage(question, reference, answer) for reference in long]
    opinions = [each for each in judgments if isinstance(each, OfflineOpinion)]
    return max(opinions, key=lambda opinion: opinion.value) if opinions else judgments[0]


def _judge_short(question: str, references: Sequence[str], answer: str) -> Judgment:
    short = read_short_answer(question, text_after_correction(answer))
    polar = [
        reference
        for reference in references
        if len(words := comparable_words(reference)) <= 2 and words[0] in YES | NO and not is_number(words[-1])
    ]
    if polar and (polar == references or _first_word(short) in YES | NO):
        return _judge_yes_or_no(polar, short)
    if _echoes(short) and not any(comparable_words(reference) == short.words for reference in references):
        return OfflineOpinion(
            value=0.0, confidence=0.9, reason="The answer only repeats the question.", evidence=(answer,)
        )
    if all(_says_the_opposite(reference, answer) for reference in references):
        return THE_OPPOSITE
    found = best_match(references, short)
    if found.kind is MatchKind.OTHER and _says_no(answer) and any(map(_says_no, references)):
        return NoOpinion("the reference and the answer both say no, in other words")
    if not found.share and refuses(answer):
        return OfflineOpinion(value=0.0, confidence=0.9, reason="The answer declines to answer.", evidence=(answer,))
    if not found.share and all(_other_script(reference, answer) for reference in references):
        return NoOpinion("the reference and the answer are written in different scripts")
    value, confidence = _value(found)
    expected = " or ".join(f"“{reference}”" for reference in references[:3])
    return OfflineOpinion(
        value=value,
        confidence=confidence,
        reason=f"Expected {expected}; in the answer: {found.kind.value}.",
        evidence=(found.quote,) if found.quote else (),
        details={"way": found.kind.name.lower()},
    )


def _value(found: Match) -> tuple[float, float]:
    if found.kind is MatchKind.SHORTER:
        return 0.7 + 0.3 * found.share, 0.8
    if found.kind is MatchKind.OVERLAP:
        return (0.85 * found.share, 0.75) if found.share > 0.8 else (0.85 * found.share, 0.65)
    return VALUES[found.kind]


def _echoes(short: ShortAnswer) -> bool:
    """The answer only repeats the question, and repeats nearly all of it."""
    answer_words, question_words = set(content_words(short.words)), set(content_words(short.question))
    return len(question_words) > 2 and answer_words <= question_words and len(answer_words) >= 0.8 * len(question_words)


def _other_script(reference: str, answer: str) -> bool:
    if not (_LETTER.search(reference) and _LETTER.search(answer)):
        return False
    return bool(_LATIN.search(reference)) != bool(_LATIN.search(answer))


def _says_no(text: str) -> bool:
    words = comparable_words(text)
    return denies(words) or not _NO_SUCH.isdisjoint(words)


def _first_word(short: ShortAnswer) -> str:
    return short.words[0] if short.words else ""


def _judge_yes_or_no(references: Sequence[str], short: ShortAnswer) -> Judgment:
    first = _first_word(short)
    if first not in YES | NO:
        return NoOpinion("yes or no is expected, and the answer does not begin with either")
    expected = {comparable_words(reference)[0] in YES for reference in references}
    return OfflineOpinion(
        value=float((first in YES) in expected),
        confidence=0.9,
        reason=f"Expected {references[0]!r}: the answer says {first!r}.",
        evidence=(short.text,),
    )
