"""Words made comparable for the user's side: what carries meaning in a text, which words are of one family, and which
mean the same when an agent asks for something."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar
from unicodedata import category, normalize

from howsure.judges.offline.folding import is_number, root, tokens
from howsure.judges.offline.vocabulary import STOPWORDS, word_set

T = TypeVar("T")
SHORTEST = 4
"""Words with fewer letters are of one family only when they are equal."""

_APOSTROPHES = str.maketrans("’‘`´ʼ", "'''''")
_EMPTY = STOPWORDS | word_set(
    "please yes ok okay hi hello hey thanks thank hallo bonjour hola ciao bitte danke merci s'il vous plait por favor "
    "per favore un une des les du de la le et ou est sont je tu il elle nous mon ma mes votre vos que qui quoi "
    "pour avec "
    "dans sur el los las y o es son yo mi mis su sus con para en lo una uno il lo gli e di da che con per sono mio mia "
    "het een ik mijn uw is zijn van voor met op ich mein meine ihre ihren sie den die am an in um get got want wants "
    "wanted like need needs know im id ill ive youre thats dont doesnt really well now too still"
)
_SAME = (
    "number id no nr code reference ref nummer numero num pin",
    "email mail emails",
    "phone telephone mobile cell telefon telephone telefono telefone telefoon handy",
    "birth birthday birthdate born dob geburtsdatum geboren naissance nacimiento nascita nascimento geboorte",
    "address live living street deliver delivery ship send where wo ou donde dove onde waar lieferung adresse "
    "direccion "
    "indirizzo endereco adres",
    "zip postcode postal plz",
    "date when day wann datum quand cuando quando wanneer fecha data since",
    "name called named names who heissen nom nombre nome naam",
    "city where town location place wo ou donde dove onde waar leave depart departure",
    "old age aged years alter edad eta",
    "much amount sum cost price fee euro euros dollar dollars kosten betrag combien cuanto quanto hoeveel",
    "people travellers travelers passengers guests persons adults travelling traveling",
    "reason why grund warum motif raison pourquoi motivo razon perche",
    "child kid daughter son kids children",
    "arrival arrive arriving check-in",
    "quantity many packs",
    "last ending ends end final",
)
_CLASSES: dict[str, tuple[str, ...]] = {}
for _number, _namesakes in enumerate(_SAME):
    _CLASSES |= {word: (*_CLASSES.get(word, ()), f"={_number}") for word in _namesakes.split()}
GENERIC = word_set(
    "number id no nr code reference ref nummer numero name names date day time address full current exact preferred "
    "first last complete your new old my of the value email"
)
"""Words that say what kind of thing is asked for, not which."""


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """No case, no accents, one kind of apostrophe; everything else stays where it was."""
    if text.isascii():
        return text.replace("`", "'").lower()
    text = normalize("NFKD", text.translate(_APOSTROPHES))
    return "".join(mark for mark in text if category(mark) != "Mn").casefold()


@lru_cache(maxsize=2048)
def content(text: str) -> tuple[str, ...]:
    """The words that carry meaning, folded, in order."""
    return tuple(
        word for word in tokens(text.replace("_", " ")) if word not in _EMPTY and (len(word) > 1 or is_number(word))
    )


def by_line(gather: Callable[[str], frozenset[T]]) -> Callable[[str], frozenset[T]]:
    """The same over the lines of a text, each remembered: a conversation grows by a few lines in every turn, and only
    those are read."""
    remembered = lru_cache(maxsize=4096)(gather)

    def gathered(text: str) -> frozenset[T]:
        lines = text.split("\n")
        return remembered(text) if len(lines) == 1 else frozenset().union(*map(remembered, lines))

    return gathered


root_of = lru_cache(maxsize=8192)(root)


@by_line
def roots(text: str) -> frozenset[str]:
    """What the meaningful words of a text go back to."""
    return frozenset(root_of(word) for word in content(text))


@by_line
def all_roots(text: str) -> frozenset[str]:
    """As `roots`, small words included."""
    return frozenset(root_of(word) for word in tokens(text.replace("_", " ")))


def akin(one: str, other: str) -> bool:
    """Whether two roots are of one family: `arriva` (arrival) and `arriv` (arrive)."""
    if one == other:
        return True
    if is_number(one) or is_number(other) or min(len(one), len(other)) < SHORTEST:
        return False
    return one.startswith(other) or other.startswith(one)


def among(word: str, others: frozenset[str]) -> bool:
    """Whether a root or one of its family is there."""
    return word in others or any(akin(word, other) for other in others)


def share(wanted: frozenset[str], there: frozenset[str]) -> float:
    """How much of what is wanted is there; nothing wanted is there in full."""
    return sum(among(word, there) for word in wanted) / len(wanted) if wanted else 1.0


@by_line
def meanings(text: str) -> frozenset[str]:
    """The roots of a text, and for each word that has namesakes the number of what they mean."""
    words = tokens(text.replace("_", " "))
    return frozenset(root(word) for word in words) | {mark for word in words for mark in _CLASSES.get(word, ())}


def means(word: str, there: frozenset[str]) -> bool:
    """Whether a word, one of its family or of its namesakes is among `meanings`."""
    return any(mark in there for mark in _CLASSES.get(word, ())) or among(root(word), there)
