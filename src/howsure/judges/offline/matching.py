"""One expected short answer against what was said: which way they agree, if any, and where. Every way is a function
that gives a Match or None (figures.py, wordings.py); the first that speaks decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from howsure.judges.offline.dates import Fit, dates_in, fit
from howsure.judges.offline.figures import by_date, by_number
from howsure.judges.offline.matches import Asked, Match, Way
from howsure.judges.offline.names import is_proper
from howsure.judges.offline.passages import Words, comparable, content
from howsure.judges.offline.places import Lies, lies, place_of
from howsure.judges.offline.vocabulary import ROLES
from howsure.judges.offline.wordings import (
    abbreviated,
    by_last_name,
    contained,
    equal,
    named,
    overlapping,
    placed,
    shorter,
    shorter_thing,
)

_WAYS = (equal, by_date, by_number, contained, named, abbreviated, placed, shorter, overlapping)
_WAYS_OF_NAMES = (*_WAYS[:5], by_last_name, *_WAYS[5:])
_WAYS_OF_THINGS = tuple(shorter_thing if way is shorter else way for way in _WAYS if way is not named)
_ASKS_WHO = frozenset({"who", "whose", "whom"})
_BRACKETS = re.compile(r"\s*\(([^()]*)\)\s*")
_TURNED_NAME = re.compile(r"\A\s*([^\W\d]+), ([^\W\d]+(?: [^\W\d]+)?)\s*\Z")
_ALSO = re.compile(
    r"\s*(?:\ba\.?k\.?a\.?|\b(?:also|better|formerly) (?:known|called) as|\bor)\s+|\s+/\s+", re.IGNORECASE
)
_DESCRIBED = re.compile(r"\A.*?\b([a-z][a-z-]+) ([A-Z][\w.'’-]*(?: (?:de|da|di|van|von|the|of|[A-Z][\w.'’-]*))*)\Z")
"""`Spanish explorer Hernando de Soto`; not `the king of Spain`, nor `Alice paid Bob`."""
_OF = re.compile(r"\A(?:the )?([\w ]+) of (?:the )?([\w .]+)\Z", re.IGNORECASE)
_COMMA = re.compile(r",\s+(?:and\s+)?")
_TITLE_PART = re.compile(r":\s+|\s+[\u2013\u2014-]\s+")


def best_match(references: Sequence[str], given: Asked) -> Match:
    """The match of the reference that the answer agrees with best. A day inside an expected year is still wrong when
    another reference names the day."""
    matches = [(match(expected, given), expected) for expected in references]
    best, by = max(matches, key=lambda pair: pair[0].share, default=(Match(Way.OTHER), ""))
    if best.way is Way.DATE and any(_more_exact(by, other) for one, other in matches if one.way is Way.OTHER_DATE):
        return Match(Way.OTHER_DATE)
    return best


def _more_exact(reference: str, other: str) -> bool:
    days, others = dates_in(comparable(reference)), dates_in(comparable(other))
    return any(fit(day, each) is Fit.FINER for day in days for each in others)


def match(expected: str, given: Asked) -> Match:
    """The first way that speaks, over every form of the expected answer."""
    forms = (form for form in _forms(expected) if not _elsewhere(expected, form, given.answer))
    found = [way for form in forms if (way := _first(form, given)) is not None]
    return max(found, key=lambda way: way.share, default=Match(Way.OTHER))


def _first(form: str, given: Asked) -> Match | None:
    words = comparable(form)
    ways = _ways(form, not _ASKS_WHO.isdisjoint(given.question))
    return next((found for way in ways if (found := way(words, given)) is not None), None) if words else None


def _elsewhere(expected: str, form: str, answer: str) -> bool:
    """`Portland` stands for `Portland, Maine`, unless the answer puts it in Oregon."""
    if form is expected or not expected.startswith(f"{form}, "):
        return False
    after = re.search(re.escape(form) + r",? +(\w+)( \w+)?", answer, re.IGNORECASE)
    wanted = comparable(expected[len(form) :])
    stated = [comparable(after[1]), comparable(after[0][len(form) :])] if after else []
    return any(lies(wanted, place) is Lies.ELSEWHERE for place in stated)


def _ways(form: str, who: bool) -> Sequence[Callable[[Words, Asked], Match | None]]:
    """Names have forms that other words do not have."""
    if is_proper(form):
        return _WAYS_OF_NAMES if who else _WAYS
    return _WAYS if who else _WAYS_OF_THINGS


@lru_cache(maxsize=4096)
def _forms(expected: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(forms_of(expected)))


def forms_of(expected: str) -> Iterator[str]:
    """The answer as it is written, and the forms it stands for: brackets are additions or other names, `Wilt` may
    stand before `Chamberlain`, `Seattle` for `Seattle, Washington`, one half of a long title for both."""
    yield expected
    if inside := _BRACKETS.findall(expected):
        yield _BRACKETS.sub(" ", expected)
        yield from (form for form in inside if not form.strip().isdigit())
    if turned := _TURNED_NAME.match(expected):
        yield f"{turned[2]} {turned[1]}"
    yield from _alternatives(expected)
    if (described := _DESCRIBED.match(expected)) and described[1] in ROLES:
        yield described[2]
    first, comma, rest = expected.partition(", ")
    if comma and place_of(comparable(rest)):
        yield first
    if turned := _OF.match(expected):
        yield f"{turned[2]} {turned[1]}"
    if expected.count(", ") > 1:
        yield _COMMA.sub(" and ", expected)
    yield from (part for part in _TITLE_PART.split(expected) if part != expected and _is_title(part))


def _alternatives(expected: str) -> Iterator[str]:
    """`Rheims or Reims`, `Reims / Rheims`; but `trick or treat`, `AC/DC` and `9/11` are one."""
    parts = _ALSO.split(expected)
    if len(parts) > 1 and all(is_proper(part) or len(content(comparable(part))) > 1 for part in parts):
        yield from parts


def _is_title(part: str) -> bool:
    """Two words that mean something, and no figure: `Mission` alone is not `Mission: Impossible`."""
    words = content(comparable(part))
    return len(words) > 1 and all(word.isalpha() for word in words)
