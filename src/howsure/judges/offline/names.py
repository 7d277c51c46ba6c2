"""Names that differ in form only: initials, titles, middle names, short forms, acronyms, a letter mistyped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from howsure.judges.offline.folding import is_code, is_number, singular
from howsure.judges.offline.vocabulary import STOPWORDS, TITLES

#: Short forms that are no beginnings of the name; the others are seen by `_is_short_for`.
_SHORT_FORMS = {
    (short, name)
    for name, shorts in (
        ("william", "bill billy will willy liam"), ("robert", "bob bobby rob"), ("james", "jim jimmy jamie"),
        ("richard", "dick rick ricky"), ("michael", "mike mick mickey"), ("edward", "ted ed eddie ned teddy"),
        ("theodore", "ted teddy"), ("elizabeth", "liz beth betty lizzie eliza bess bessie libby"),
        ("katherine", "kate kathy cathy catherine kathryn katie kitty"), ("margaret", "maggie meg peggy greta rita"),
        ("john", "jack johnny jon"), ("henry", "harry hank"), ("lawrence", "larry laurence"), ("charles", "chuck chas"),
        ("anthony", "tony"), ("joseph", "joe joey"), ("david", "dave"), ("stephen", "steve steven stevie"),
        ("alexander", "sandy sasha alec"), ("thomas", "tommy"), ("francis", "frank"), ("franklin", "frank"),
        ("gerald", "jerry"), ("jerome", "jerry"), ("louis", "lewis lou"), ("ronald", "ronnie"), ("donald", "donnie"),
        ("mary", "molly polly"), ("martha", "patty"), ("patricia", "patty trish"), ("patrick", "paddy"),
        ("deborah", "debbie debra"), ("susan", "sue suzy"), ("barbara", "babs"), ("dorothy", "dolly dot"),
        ("abigail", "gail"), ("albert", "bert"), ("herbert", "bert"), ("eugene", "gene"), ("geoffrey", "jeff"),
        ("jeffrey", "jeff geoff"), ("timothy", "timmy"), ("vincent", "vinny"), ("george", "georgie"),
        ("andrew", "andy drew"), ("ivan", "vanya"), ("dmitry", "dmitri dimitri"),
        ("muhammad", "mohammed mohamed mohammad muhammed"),
    )
    for short in shorts.split()
}  # fmt: skip
_AFTER_NAMES = frozenset({"jr", "sr", "phd", "md", "esq"})
_FULL_NAMES = {short: frozenset(name for each, name in _SHORT_FORMS if each == short) for short, _ in _SHORT_FORMS}
_SPECIES = re.compile(r"[A-Z]\. [a-z]+\Z")
_INITIALS = {"usa": "a", "uk": "b", "netherlands": "d"}
_FEMININE = frozenset({"ina", "ine", "ette", "etta", "elle", "ella", "ene", "lyn"})
PARTICLES = frozenset({"de", "la", "le", "du", "di", "da", "del", "van", "von", "der", "den", "bin", "ibn", "al", "el"})
_VOWELS = frozenset("aeiouy")
_ALIKE = ({"c", "k"}, {"s", "z"}, {"v", "w"}, {"s", "c"}, {"i", "j"}, {"u", "w"})
_PET_ENDINGS = ("ie", "y")
LONG_WORD = 5
SURE_WORD = 8
"""Any one letter may be wrong in words as long as this; in shorter ones only a letter that hardly matters."""
SWAPPED_WORD = 8
"""A swap of neighbours is forgiven in words as long as this: `angel` is no `angle`, `martial` no `marital`."""


def same_word(one: str, other: str) -> bool:
    """The same word but for a plural or a letter mistyped; numbers, codes and short words must be equal."""
    if one == other:
        return True
    if one[0] != other[0] or is_code(one):
        return False
    one, other = singular(one), singular(other)
    if one == other:
        return True
    if is_number(one) or is_number(other) or min(len(one), len(other)) < LONG_WORD:
        return False
    # Two letters would make hypotension of hypertension.
    if _edits(one, other) > 1:
        return _swapped(one, other)
    return min(len(one), len(other)) >= SURE_WORD or _sounds_alike(one, other)


def _sounds_alike(one: str, other: str) -> bool:
    """The letter that differs in a short word hardly matters: a vowel for a vowel, a letter doubled, `Claire` and
    `Clair`, `honour` and `honor`. A horse is no house, Martin not Marvin."""
    at = next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), None)
    longer = max(one, other, key=len)
    if at is None:
        return longer[-1] in _VOWELS or longer[-1] == longer[-2]
    if len(one) == len(other):
        return {one[at], other[at]} <= _VOWELS or {one[at], other[at]} in _ALIKE
    return longer[at] in (longer[at - 1], longer[at + 1]) or {longer[at], longer[at - 1]} <= _VOWELS


def _swapped(one: str, other: str) -> bool:
    if len(one) != len(other) or len(one) < SWAPPED_WORD:
        return False
    apart = [at for at, (left, right) in enumerate(zip(one, other, strict=True)) if left != right]
    return len(apart) == 2 and apart[1] == apart[0] + 1 and one[apart[0]] == other[apart[1]]


def same_given_name(one: str, other: str) -> bool:
    """The same first or middle name: an initial, a short form, a beginning."""
    if one == other or (1 in (len(one), len(other)) and one[0] == other[0]):
        return True
    if not _full_names(one).isdisjoint(_full_names(other)):
        return True
    return _is_short_for(one, other) or _is_short_for(other, one)


def _full_names(name: str) -> frozenset[str]:
    return _FULL_NAMES.get(name, frozenset()) | {name}


def _is_short_for(short: str, name: str) -> bool:
    """`Alex` for Alexander, `Danny` for Daniel; Paul is not Paula, nor George Georgina."""
    ending = next((ending for ending in _PET_ENDINGS if short.endswith(ending) and len(short) > 4), "")
    stem = short.removesuffix(ending)
    if ending and stem[-1] == stem[-2] and not name.startswith(stem):
        stem = stem[:-1]
    rest = name[len(stem) :]
    if len(stem) < 3 or not name.startswith(stem) or rest in _FEMININE:
        return False
    return bool(ending) or len(rest) > 2 or (len(rest) == 2 and len(stem) > 3)


def bare_name(words: Sequence[str]) -> tuple[str, ...]:
    """The name without the titles around it (Martin Luther King keeps his name); as it is when nothing else is left."""
    first = next((at for at, word in enumerate(words) if word not in TITLES), 0)
    last = next((at for at in range(len(words), 0, -1) if words[at - 1] not in _AFTER_NAMES), len(words))
    return tuple(words[first:last]) or tuple(words)


def is_proper(text: str) -> bool:
    """Written like a name: every word that counts has a capital, or a figure."""
    words = [word for word in re.findall(r"[^\W_]+", text) if word.lower() not in PARTICLES | STOPWORDS]
    return bool(words) and (_SPECIES.match(text) is not None or not any(word[0].islower() for word in words))


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
        if not stated:
            continue
        if same_given_name(stated[0], given[0]) and _middle_fits(given[1:], stated[1:]):
            return start
        # Many are known by a later name: James Paul McCartney, or Mimi for Greta "Mimi" Halvorsen.
        if len(stated) == 1 and len(stated[0]) > 2 and stated[0] in given[1:]:
            return start
    return None


def _middle_fits(given: Sequence[str], stated: Sequence[str]) -> bool:
    shorter, longer = sorted((given, stated), key=len)
    return all(any(same_given_name(one, other) for other in longer) for one in shorter)


def acronym_of(words: Sequence[str]) -> set[str]:
    """The initials, with and without the small words: Department of Motor Vehicles is DMV. Countries may stand for
    what belongs to them: British is B."""
    if len(words) < 2:
        return set()
    letters = [_INITIALS.get(word, word[0]) for word in words]
    telling = "".join(letter for letter, word in zip(letters, words, strict=True) if word not in STOPWORDS)
    return {"".join(letters), telling, "".join(word[0] for word in words if word not in STOPWORDS)}


def is_acronym_of(short: Sequence[str], long: Sequence[str]) -> bool:
    letters = "".join(word for word in short if len(short) == 1 or word not in STOPWORDS)
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
