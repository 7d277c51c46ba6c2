"""Words and names that differ in form only: plurals, a letter mistyped, words of one family (`die` and `died`), titles,
initials, middle names, short forms, acronyms. Two words are of one family when they begin alike and what is left of
each is an ending."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from howsure.judges.offline.lexicon import full_names, irregular_families, word_list, word_set
from howsure.judges.offline.words import is_code, is_number, singular

_AFTER_NAMES = frozenset({"jr", "sr", "phd", "md", "esq"})
_SPECIES = re.compile(r"[A-Z]\. [a-z]+\Z")
_INITIALS = {"usa": "a", "uk": "b", "netherlands": "d"}
_FEMININE = frozenset({"ina", "ine", "ette", "etta", "elle", "ella", "ene", "lyn"})
PARTICLES = frozenset({"de", "la", "le", "du", "di", "da", "del", "van", "von", "der", "den", "bin", "ibn", "al", "el"})
_VOWELS = frozenset("aeiouy")
_SIMILAR_LETTERS = ({"c", "k"}, {"s", "z"}, {"v", "w"}, {"s", "c"}, {"i", "j"}, {"u", "w"})
_PET_ENDINGS = ("ie", "y")
LONG_WORD = 5
SURE_WORD = 8
"""Any one letter may be wrong in words as long as this; in shorter ones only a letter that hardly matters."""
SWAPPED_WORD = 8
"""A swap of neighbours is forgiven in words as long as this: `angel` is not `angle`, `martial` not `marital`."""
SHARED = 5
"""Words that are made of each other share at least this many first letters; forms of one word may share fewer."""
# The forms of one word, by what its plain form ends in: `tax`, `bake`, `carry`.
_INFLECTIONS = (
    word_set("s es ed ing") | {""},
    word_set("e es ed ing"),
    word_set("y ies ied ying ication"),
    word_set("ed ing er ers"),
    word_set("en") | {""},
    word_set("de des ded ding sion sive"),
    word_set("y tic tically"),
    *map(word_set, ("on a", "um a", "us i", "is es", "ex ices", "a ae", "f fe ves", "sis ses tic")),
)
_AFTER_DOUBLED_LETTER = word_set("ed ing er ers")
_PLAIN_ENDINGS = word_set("e y s es") | {""}
_DERIVED_ENDINGS = word_set(
    "ed d ing ings er ers or ors r rs al als ally ial ic ical ics ion ions ation ations ment ments mental ness ity ive "
    "ives ly ily iness ism ist ists ous able ible ance ence ant ent ants ents ful less en ened ening hood ship ies ied "
    "ier iest est ary ery ure ures ition itive ative ize ise ized ised izing ising ization isation"
)
# Forms of a verb that share a stem which is not a word itself: legislat-, construct-, decis-.
_VERB_ENDINGS = word_set(
    "e es ed ing ion ions ional or ors ive ives ure ures able ory s ively ically ic ical ics y ies ist ists"
)
_ACTION_ENDINGS = word_set("e es ed ing al als")


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
        if len(one) != len(other) or len(one) < SWAPPED_WORD:
            return False
        apart = [at for at, (left, right) in enumerate(zip(one, other, strict=True)) if left != right]
        return len(apart) == 2 and apart[1] == apart[0] + 1 and one[apart[0]] == other[apart[1]]
    return min(len(one), len(other)) >= SURE_WORD or _sounds_alike(one, other)


@lru_cache(maxsize=16384)
def same_family(one: str, other: str) -> bool:
    """One word in two forms. Numbers and codes have no forms; short words must share more."""
    if one == other:
        return True
    if is_number(one) or is_number(other) or is_code(one) or is_code(other):
        return False
    family = _irregular_family(one)
    if family is not None and family == _irregular_family(other):
        return True
    return one[0] == other[0] and _same_beginning(one, other)


def same_given_name(one: str, other: str) -> bool:
    """The same first or middle name: an initial, a short form, a beginning."""
    if one == other or (1 in (len(one), len(other)) and one[0] == other[0]):
        return True
    names, others = (full_names().get(name, frozenset()) | {name} for name in (one, other))
    return not names.isdisjoint(others) or _is_short_for(one, other) or _is_short_for(other, one)


def strip_titles(words: Sequence[str]) -> tuple[str, ...]:
    """The name without the titles around it (Martin Luther King keeps his name); unchanged when nothing else is
    left."""
    titles = word_list("titles")
    first = next((at for at, word in enumerate(words) if word not in titles), 0)
    last = next((at for at in range(len(words), 0, -1) if words[at - 1] not in _AFTER_NAMES), len(words))
    return tuple(words[first:last]) or tuple(words)


def is_proper(text: str) -> bool:
    """Written like a name: every word that counts has a capital, or a figure."""
    small = PARTICLES | word_list("stopwords")
    words = [word for word in re.findall(r"[^\W_]+", text) if word.lower() not in small]
    return bool(words) and (_SPECIES.match(text) is not None or not any(word[0].islower() for word in words))


def find_name(name: Sequence[str], words: Sequence[str]) -> int | None:
    """Where a person's name stands among `words` in some form: the last name after given names that fit it."""
    name = strip_titles(name)
    if len(name) < 2 or any(map(is_number, name)) or len(name) > 5:
        return None
    for place, word in enumerate(words):
        if same_word(word, name[-1]) and (start := _find_given_names(name[:-1], words, place)) is not None:
            return start
    return None


def acronyms(words: Sequence[str]) -> set[str]:
    """The initials, with and without the small words: Department of Motor Vehicles is DMV. Countries may stand for what
    belongs to them: British is B."""
    if len(words) < 2:
        return set()
    small = word_list("stopwords")
    letters = [_INITIALS.get(word, word[0]) for word in words]
    telling = "".join(letter for letter, word in zip(letters, words, strict=True) if word not in small)
    return {"".join(letters), telling, "".join(word[0] for word in words if word not in small)}


def is_acronym_of(short: Sequence[str], long: Sequence[str]) -> bool:
    letters = "".join(word for word in short if len(short) == 1 or word not in word_list("stopwords"))
    return 2 <= len(letters) <= 7 and len(long) >= 2 and letters in acronyms(long)


def find_spelled_out(short: str, words: Sequence[str]) -> tuple[int, int] | None:
    """Where the words stand whose initials are `short`."""
    small = word_list("stopwords")
    for start, first in enumerate(words):
        if first in small or first[0] != short[0]:
            continue
        for end in range(start + 2, min(start + 7, len(words)) + 1):
            if is_acronym_of((short,), words[start:end]):
                return start, end
    return None


def _sounds_alike(one: str, other: str) -> bool:
    """The letter that differs in a short word hardly matters: a vowel for a vowel, a letter doubled, `Claire` and
    `Clair`, `honour` and `honor`. A horse is not a house, Martin not Marvin."""
    at = next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), None)
    longer = max(one, other, key=len)
    if at is None:
        return longer[-1] in _VOWELS or longer[-1] == longer[-2]
    if len(one) == len(other):
        return {one[at], other[at]} <= _VOWELS or {one[at], other[at]} in _SIMILAR_LETTERS
    return longer[at] in (longer[at - 1], longer[at + 1]) or {longer[at], longer[at - 1]} <= _VOWELS


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


def _find_given_names(given_names: Sequence[str], words: Sequence[str], surname: int) -> int | None:
    """Where the given names begin that stand before the last name: `Bhimrao Ramji` fits `B. R.`."""
    titles = word_list("titles")
    for start in range(max(0, surname - len(given_names) - 2), surname):
        stated = [word for word in words[start:surname] if word not in titles]
        if not stated:
            continue
        if same_given_name(stated[0], given_names[0]) and _middle_names_fit(given_names[1:], stated[1:]):
            return start
        # Many people are known by a later name: James Paul McCartney, or Mimi for Greta "Mimi" Halvorsen.
        if len(stated) == 1 and len(stated[0]) > 2 and stated[0] in given_names[1:]:
            return start
    return None


def _middle_names_fit(given_names: Sequence[str], stated: Sequence[str]) -> bool:
    shorter, longer = sorted((given_names, stated), key=len)
    return all(any(same_given_name(one, other) for other in longer) for one in shorter)


def _irregular_family(word: str) -> int | None:
    """The family of a word that follows no rule, in its plain form or inflected (`destroyed`, `destruction`)."""
    families = irregular_families()
    if word in families:
        return families[word]
    ending = next((ending for ending in ("ed", "ing", "s") if word.endswith(ending)), "")
    return families.get(word.removesuffix(ending)) if ending else None


def _same_beginning(one: str, other: str) -> bool:
    most = min(len(one), len(other))
    shared = next((at for at in range(most) if one[at] != other[at]), most)
    # The endings may begin before the words part: `decide` and `deciding` share `decid`, `happy` and `happily` `happ`.
    return any(_endings_fit(one, other, cut) for cut in range(shared, max(shared - 2, 2), -1))


def _endings_fit(one: str, other: str, cut: int) -> bool:
    left, right = one[cut:], other[cut:]
    if any(left in forms and right in forms for forms in _INFLECTIONS) or _doubles_letter(one[:cut], left, right):
        return True
    if cut < SHARED:
        return False
    if (left in _PLAIN_ENDINGS and right in _DERIVED_ENDINGS) or (right in _PLAIN_ENDINGS and left in _DERIVED_ENDINGS):
        return True
    if left in _ACTION_ENDINGS and right in _ACTION_ENDINGS:
        return True
    return one[cut - 1] in "tsz" and left in _VERB_ENDINGS and right in _VERB_ENDINGS


def _doubles_letter(stem: str, left: str, right: str) -> bool:
    """`swim` and `swimming`."""
    bare, inflected = sorted((left, right), key=len)
    return not bare and len(inflected) > 2 and inflected[0] == stem[-1] and inflected[1:] in _AFTER_DOUBLED_LETTER
