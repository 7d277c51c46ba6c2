"""Names that differ in form only: initials, titles, middle names, short forms, acronyms, a letter mistyped."""

from __future__ import annotations

from collections.abc import Sequence

from assay.judges.offline.folding import is_code, is_number, singular
from assay.judges.offline.vocabulary import STOPWORDS, TITLES

_SHORT_FORMS: dict[str, str] = {
    "bill": "william", "will": "william", "bob": "robert", "rob": "robert", "jim": "james", "jimmy": "james",
    "tom": "thomas", "mike": "michael", "dick": "richard", "rick": "richard", "joe": "joseph", "dave": "david",
    "tony": "anthony", "ted": "theodore", "liz": "elizabeth", "kate": "katherine", "beth": "elizabeth",
    "alex": "alexander", "ben": "benjamin", "dan": "daniel", "sam": "samuel", "chris": "christopher",
    "nick": "nicholas", "steve": "steven", "andy": "andrew", "tim": "timothy", "timmy": "timothy", "matt": "matthew",
    "greg": "gregory", "jeff": "jeffrey", "ken": "kenneth", "ron": "ronald", "don": "donald", "ed": "edward",
    "fred": "frederick", "jack": "john", "johnny": "john", "larry": "lawrence", "pete": "peter", "ray": "raymond",
}  # fmt: skip
LONG_WORD = 5


def same_word(one: str, other: str) -> bool:
    """The same word but for a plural or a letter mistyped; numbers, codes and short words must be equal."""
    if is_code(one) or is_code(other):
        return one == other
    one, other = singular(one), singular(other)
    if one == other:
        return True
    if is_number(one) or is_number(other) or min(len(one), len(other)) < LONG_WORD:
        return False
    # Two letters would make hypotension of hypertension.
    return one[0] == other[0] and _edits(one, other) <= 1


def same_given_name(one: str, other: str) -> bool:
    """The same first or middle name: an initial, a short form, a beginning."""
    if one == other or (1 in (len(one), len(other)) and one[0] == other[0]):
        return True
    return _SHORT_FORMS.get(one, one) == _SHORT_FORMS.get(other, other)


def bare_name(words: Sequence[str]) -> tuple[str, ...]:
    """The name without titles; as it is when there is nothing else."""
    return tuple(word for word in words if word not in TITLES) or tuple(words)


def name_at(name: Sequence[str], words: Sequence[str]) -> int | None:
    """Where a person's name stands among `words` in some form: the last name, and before it given names that fit. The
    last name alone is taken when nothing before it speaks against it."""
    name = bare_name(name)
    if len(name) < 2 or any(map(is_number, name)) or len(name) > 5:
        return None
    for place, word in enumerate(words):
        if same_word(word, name[-1]) and (start := _given_names(name[:-1], words, place)) is not None:
            return start
    return None


def _given_names(given: Sequence[str], words: Sequence[str], surname: int) -> int | None:
    """Where the given names begin that stand before the last name, first one first: `Bhimrao Ramji` fits `B. R.`."""
    for start in range(max(0, surname - len(given) - 2), surname):
        stated = [word for word in words[start:surname] if word not in TITLES]
        if stated and same_given_name(stated[0], given[0]) and _middle_fits(given[1:], stated[1:]):
            return start
    return None


def _middle_fits(given: Sequence[str], stated: Sequence[str]) -> bool:
    shorter, longer = sorted((given, stated), key=len)
    return all(any(same_given_name(one, other) for other in longer) for one in shorter)


def acronym_of(words: Sequence[str]) -> set[str]:
    """The initials, with and without the small words: Department of Motor Vehicles is DMV."""
    if len(words) < 2:
        return set()
    return {"".join(word[0] for word in words), "".join(word[0] for word in words if word not in STOPWORDS)}


def is_acronym_of(short: Sequence[str], long: Sequence[str]) -> bool:
    letters = "".join(short)
    return 2 <= len(letters) <= 7 and len(long) >= 2 and letters in acronym_of(long)


def spelled_out(short: str, words: Sequence[str]) -> tuple[int, int] | None:
    """Where the words stand whose initials are `short`."""
    for start, first in enumerate(words):
        if first in STOPWORDS or first[0] != short[0]:
            continue
        for end in range(start + 2, min(start + 7, len(words)) + 1):
            if is_acronym_of((short,), words[start:end]):
                return start, end
    return None


def _edits(one: str, other: str) -> int:
    """How many letters must change (a swap of neighbours counts as two); more than one is as good as many."""
    if abs(len(one) - len(other)) > 1:
        return 2
    before = list(range(len(other) + 1))
    for place, letter in enumerate(one, start=1):
        now = [place]
        for at, against in enumerate(other, start=1):
            now.append(min(before[at] + 1, now[-1] + 1, before[at - 1] + (letter != against)))
        before = now
    return before[-1]
