"""Numbers written as words: `nine`, `twenty-one`, `two hundred and five`, `75 million`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
_UNITS += "seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
_ORDINALS += "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"

SMALL = {word: value for value, word in enumerate(_UNITS.split())}
SMALL |= {word: value for value, word in enumerate(_ORDINALS.split())}
TENS = {word: 20 + 10 * place for place, word in enumerate(_TENS.split())}
TENS |= {word[:-1] + "ieth": value for word, value in TENS.items()}
_BEGINS = frozenset({*SMALL, *TENS, "a", "an"})
LARGE = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}


def spelled_numbers(words: Sequence[str]) -> list[str]:
    """The words, with every run of number words replaced by its figures."""
    return list(_replaced(words))


def _replaced(words: Sequence[str]) -> Iterator[str]:
    place = 0
    while place < len(words):
        if (word := words[place]) not in _BEGINS and not word[0].isdigit():  # nearly every word
            yield word
            place += 1
            continue
        value, length = _number_at(words, place)
        if length and isfinite(value):
            yield _figures(value)
            place += length
        else:
            yield words[place]
            place += 1


def _number_at(words: Sequence[str], start: int) -> tuple[float, int]:
    """The number that begins here and how many words it takes; a bare figure is left to itself."""
    total, current, place = 0.0, 0.0, start
    seen = ""
    if words[start] in ("a", "an"):  # `a hundred` is one hundred
        if words[start + 1 : start + 2] == ["dozen"] or "".join(words[start + 1 : start + 2]) in LARGE:
            place, current, seen = start + 1, 1.0, "unit"
        else:
            return 0.0, 0
    while place < len(words):
        word = words[place]
        if word in LARGE and (seen or place > start):
            current = max(current, 1) * LARGE[word]
            if LARGE[word] >= 1000:
                total, current = total + current, 0.0
            seen = "large"
        elif (value := _part(word, seen)) is not None:
            current += value
            seen = "ten" if word in TENS else "unit"
        elif not (word == "and" and seen == "large" and _goes_on(words, place + 1)):
            break
        place += 1
    if place - start == 1 and words[start][0].isdigit():
        return 0.0, 0
    return total + current, place - start


def _part(word: str, seen: str) -> float | None:
    """What a word adds, where it may follow what was seen: `twenty one` is one number, `one two` are two."""
    if word[0].isdigit():
        return float(word) if not seen else None
    if word in TENS:
        return TENS[word] if seen in ("", "large") else None
    if word in SMALL:
        return SMALL[word] if seen in ("", "large") or (seen == "ten" and 0 < SMALL[word] < 10) else None
    return None


def _goes_on(words: Sequence[str], place: int) -> bool:
    return place < len(words) and (words[place] in SMALL or words[place] in TENS)


def _figures(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
