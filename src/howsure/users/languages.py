"""In which language a text is written: by script, else by its small words. None where that cannot be told."""

from __future__ import annotations

import re
from functools import lru_cache

from howsure.users.words import plain

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
"""Small words of one language that make a text one of it."""
NAMED = re.compile(
    r"(?<!\w)(?:english|german|french|spanish|italian|portuguese|dutch|russian|chinese|japanese|korean|arabic|"
    r"hindi|polish|"
    r"turkish|bilingual|languages?|deutsch|englisch|franzosisch|anglais|ingles|inglese|francais|espanol|italiano|"
    r"engels)(?!\w)"
)


@lru_cache(maxsize=2048)
def language_of(text: str) -> str | None:
    """A code such as `de`, when the text makes it plain."""
    letters = sum(mark.isalpha() for mark in text)
    for language, script in _SCRIPTS.items():
        if letters and len(script.findall(text)) / letters > 0.3:
            return language
    words = _WORD.findall(plain(text))
    counts = sorted(
        ((sum(word in small for word in words), language) for language, small in SMALL.items()), reverse=True
    )
    (most, language), (second, _) = counts[:2]
    return language if most >= LEAST and most >= second + 2 and most >= 0.2 * len(words) else None
