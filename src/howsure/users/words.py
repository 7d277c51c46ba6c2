"""Comparable words of the user's side: what carries meaning in a text, which words are of one family, which mean the
same when an agent asks for something, and in which language a text is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TypeVar
from unicodedata import category, normalize

from howsure.judges.offline.lexicon import word_list, word_set
from howsure.judges.offline.words import is_number, root, tokens

T = TypeVar("T")
SHORTEST = 4
"""Words with fewer letters are of one family only when they are equal."""

_APOSTROPHES = str.maketrans("’‘`´ʼ", "'''''")
_SMALL_WORDS = word_set(
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
for _number, _synonyms in enumerate(_SAME):
    _CLASSES |= {word: (*_CLASSES.get(word, ()), f"={_number}") for word in _synonyms.split()}
GENERIC = word_set(
    "number id no nr code reference ref nummer numero name names date day time address full current exact preferred "
    "first last complete your new old my of the value email"
)
"""Words that say what kind of thing is asked for, not which one."""


@lru_cache(maxsize=4096)
def fold_case(text: str) -> str:
    """The text without case and accents, with one kind of apostrophe."""
    if text.isascii():
        return text.replace("`", "'").lower()
    text = normalize("NFKD", text.translate(_APOSTROPHES))
    return "".join(mark for mark in text if category(mark) != "Mn").casefold()


@lru_cache(maxsize=2048)
def content_words(text: str) -> tuple[str, ...]:
    """The words that carry meaning, in order."""
    empty = _empty_words()
    words = tokens(text.replace("_", " "))
    return tuple(word for word in words if word not in empty and (len(word) > 1 or is_number(word)))


@cache
def _empty_words() -> frozenset[str]:
    return _SMALL_WORDS | word_list("stopwords")


def by_line(gather: Callable[[str], frozenset[T]]) -> Callable[[str], frozenset[T]]:
    """The same function over the lines of a text, each cached: a conversation grows by a few lines in every turn, and
    only those are read."""
    remembered = lru_cache(maxsize=4096)(gather)

    def over_lines(text: str) -> frozenset[T]:
        lines = text.split("\n")
        return remembered(text) if len(lines) == 1 else frozenset().union(*map(remembered, lines))

    return over_lines


root_of = lru_cache(maxsize=8192)(root)


@by_line
def roots(text: str) -> frozenset[str]:
    """The roots of the words that carry meaning."""
    return frozenset(root_of(word) for word in content_words(text))


@by_line
def all_roots(text: str) -> frozenset[str]:
    """The roots of all words."""
    return frozenset(root_of(word) for word in tokens(text.replace("_", " ")))


def akin(one: str, other: str) -> bool:
    """Whether two roots are of one family: `arriva` (arrival) and `arriv` (arrive)."""
    if one == other:
        return True
    if is_number(one) or is_number(other) or min(len(one), len(other)) < SHORTEST:
        return False
    return one.startswith(other) or other.startswith(one)


def has_kin(word: str, others: frozenset[str]) -> bool:
    """Whether a root or one of its family is there."""
    return word in others or any(akin(word, other) for other in others)


def share(wanted: frozenset[str], there: frozenset[str]) -> float:
    """The share of the wanted roots that are there; 1 when none is wanted."""
    return sum(has_kin(word, there) for word in wanted) / len(wanted) if wanted else 1.0


@by_line
def meanings(text: str) -> frozenset[str]:
    """The roots of a text, and a mark for each group of synonyms that it has a word of."""
    words = tokens(text.replace("_", " "))
    return frozenset(root(word) for word in words) | {mark for word in words for mark in _CLASSES.get(word, ())}


def means(word: str, there: frozenset[str]) -> bool:
    """Whether a word, one of its family or one of its synonyms is among `meanings`."""
    return any(mark in there for mark in _CLASSES.get(word, ())) or has_kin(root(word), there)


_SMALL = {
    "en": "the and is are you your my i'm i'd it's it that this have has for with not what how can could would "
    "please was to of in on do does will be need want i we me an at when don't there which from they but if as "
    "so just",
    "de": "der die das und ist sind ich sie mein meine ihr ihre nicht ein eine einen zu mit fur auf von habe haben "
    "kann mochte bitte wie was wo wann es den dem im bei oder aber auch noch wird wurde guten mir mich dass",
    "fr": "le la les et est sont je vous mon ma mes votre vos ne pas un une des du pour avec dans sur que qui j'ai "
    "c'est bonjour merci quel quelle au aux ce cette s'il il elle nous mais ou donc serait voudrais",
    "es": "el la los las y es son mi mis su sus no un una para con en por que de del quiero necesito tengo como cual "
    "cuando esta hola gracias buenas me se lo pero muy mas al fue hay puedo yo usted",
    "it": "il lo la gli le e sono mio mia suo sua non un una per con in che di del della vorrei ho come quale quando "
    "buongiorno grazie mi si ma piu al qual questo posso anche stato",
    "pt": "o a os as e meu minha seu sua nao um uma para com em por que de do da quero preciso tenho como qual "
    "quando bom ola obrigado me se mas mais ao foi voce eu esta",
    "nl": "de het een en is zijn ik mijn uw niet voor met op van dat die wil heb kan hoe wat wanneer graag "
    "goedemorgen bedankt u me maar ook er bij naar om te ga",
}
SMALL = {language: frozenset(words.split()) for language, words in _SMALL.items()}
_SCRIPTS = {
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7af]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
    "th": re.compile(r"[\u0e00-\u0e7f]"),
}
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
LEAST = 3
"""A text with this many small words of a language is in that language."""
NAMED = re.compile(
    r"(?<!\w)(?:english|german|french|spanish|italian|portuguese|dutch|russian|chinese|japanese|korean|arabic|"
    r"hindi|polish|"
    r"turkish|bilingual|languages?|deutsch|englisch|franzosisch|anglais|ingles|inglese|francais|espanol|italiano|"
    r"engels)(?!\w)"
)


@lru_cache(maxsize=2048)
def language_of(text: str) -> str | None:
    """A code such as `de`, where the text makes it clear; else None."""
    letters = sum(mark.isalpha() for mark in text)
    for language, script in _SCRIPTS.items():
        if letters and len(script.findall(text)) / letters > 0.3:
            return language
    words = _WORD.findall(fold_case(text))
    counts = sorted(
        ((sum(word in small for word in words), language) for language, small in SMALL.items()), reverse=True
    )
    (most, language), (second, _) = counts[:2]
    return language if most >= LEAST and most >= second + 2 and most >= 0.2 * len(words) else None
