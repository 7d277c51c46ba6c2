"""Names that nobody gave the user: people who introduce themselves as somebody, capital letters in the middle of a
sentence, relatives and professions that the scenario knows nothing of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from howsure.judges.offline.folding import root, singular
from howsure.judges.offline.vocabulary import word_set
from howsure.users.checks.specifics import Odd
from howsure.users.checks.talk import Talk, Turn
from howsure.users.languages import language_of
from howsure.users.phrases import either
from howsure.users.speech import lacks, requests, said_words, sentences
from howsure.users.words import all_roots, among, plain

_WORD = r"[^\W\d_][\w'’-]*"
_CAPITAL = re.compile(r"[A-ZÄÖÜÉÈÁÍÓÚÑÇÅØŠŽŁ][a-zäöüßéèêáíóúñçåøšžłãõâîôûëïà'’-]+")
_INTRODUCES = re.compile(
    r"(?i:\b(?:my (?:full )?name(?:'s| is)|name is|this is|i am|i'm|call me|it's under|under the name(?: of)?|mein "
    r"name ist|"
    r"ich hei(?:ß|ss)e|ich bin|je m'appelle|mon nom est|je suis|me llamo|mi nombre es|soy|mi chiamo|sono|meu nome "
    r"é|me chamo|"
    rf"mijn naam is|ik ben|ik heet))\s+(?P<name>{_CAPITAL.pattern}(?:\s+(?:[a-z]{{1,3}}\s+)?{_CAPITAL.pattern}){{0,3}})"
)
_COMMON = word_set(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december english german french spanish italian dutch portuguese chinese japanese "
    "european american british internet wi-fi wifi bluetooth google gmail paypal whatsapp iphone ipad android "
    "windows excel chrome safari facebook amazon apple microsoft visa mastercard youtube netflix outlook word pdf "
    "sms faq app ok okay mr mrs ms miss dr sir madam god christmas easter thanks thank hi hello hey yes no please "
    "sorry well great sure good perfect fine wow oh ah haha lol bye goodbye i i'm i'd i'll i've id ill im ive "
    "dear best regards cheers mom dad alright hmm montag dienstag mittwoch donnerstag freitag samstag sonntag "
    "lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miercoles jueves viernes sabado domingo "
    "lunedi martedi mercoledi giovedi venerdi sabato domenica asap eta vip usb hdmi tv pc vpn pin iban sim id it "
    "hr ceo atm usa uk eu us gps wlan api url"
)
_NAME_ASKED = either(
    r"(?:your|full|first|last|whose|the) (?:full |first |last )*names?", r"who am i (?:speaking|talking|chatting)",
    r"(?:on|under|in) (?:which|what) name",
    r"ihr(?:en)? (?:vollstandigen )?namen?", r"wie heissen", r"votre nom", r"vous appelez", r"su nombre", r"se llama",
    r"suo nome", r"si chiama",
    r"seu nome", r"uw naam", r"heet u", r"names?",
)  # fmt: skip
_ALLERGIC = re.compile(
    r"\ballergi(?:c|es?|sch|que|c[oa])\b(?: reaction)? (?:to|against|gegen|a|aux?|alla|al|voor) (?:the |la |le |"
    r"les |el |l')?(?P<what>\w+)",
)
_MEDICINE = re.compile(
    r"\b(?:i take|i'm taking|i am taking|i'm on|i am on|ich nehme|je prends|tomo)\s+(?P<what>\w{5,})",
)
_KIN = re.compile(
    r"\b(?:my|our|mein(?:e|en|em|er)?|mon|ma|mes|mi|mis|mio|mia|mijn|meu|minha) (?:\w+ )?(?P<who>wife|husband|son|"
    r"daughter|kids?|child|children|"
    r"baby|mother|father|mom|mum|dad|brother|sister|friend|boyfriend|girlfriend|colleague|boss|partner|roommate|"
    r"neighbou?r|"
    r"grandson|granddaughter|grandmother|grandfather|uncle|aunt|cousin|fiance\w?|dog|cat|lawyer|assistant|frau|"
    r"mann|sohn|tochter|"
    r"kinder?|mutter|vater|bruder|schwester|freund(?:in)?|hund|katze|femme|mari|fils|fille|ami[e]?|esposa|marido|"
    r"hij[oa]|moglie|figli[oa]|vrouw|zoon|dochter)\b"
)
_RELATED = {
    "wife": "husband married spouse partner couple family",
    "husband": "wife married spouse partner couple family",
    "kids": "child children kid family daughter son",
    "kid": "child children kids family daughter son",
    "child": "kid daughter son baby family parent",
    "children": "kids kid child family daughter son",
    "daughter": "child kid girl family",
    "son": "child kid boy family",
    "baby": "child newborn infant parent pregnant",
    "mother": "mom mum parent family",
    "mom": "mother parent family",
    "mum": "mother parent family",
    "father": "dad parent family",
    "dad": "father parent family",
    "partner": "wife husband couple girlfriend boyfriend",
    "boss": "manager employee work",
    "colleague": "work office team coworker employee",
    "friend": "friends together",
    "dog": "pet pets",
    "cat": "pet pets",
    "brother": "sibling family",
    "sister": "sibling family",
}
_TALKATIVE = either(
    r"chatty",
    r"talkative",
    r"rambl\w+",
    r"small talk",
    r"stor(?:y|ies)",
    r"gossip\w*",
    r"verbose",
    r"digress\w*",
    r"gesprachig\w*",
    r"bavard\w*",
)
_PROFESSION = re.compile(
    r"\b(?:i am|i'm|i work as|as) an? (?:\w+ )?(?P<what>doctor|physician|lawyer|attorney|nurse|teacher|professor|"
    r"student|engineer|developer|programmer|"
    r"pilot|police officer|journalist|accountant|manager|pensioner|retiree|freelancer|chef|driver|architect|"
    r"dentist|pharmacist|soldier|actor|banker|electrician)\b"
)
_STATUS = re.compile(
    r"\b(?:gold|silver|platinum|premium|vip|diamond|elite) (?:member|customer|status|card|account|subscriber|tier)\w*"
)
SHORT_ANSWER = 4


def odd_names(turn: Turn, known: str, talk: Talk) -> Iterator[Odd]:
    """Every name, relative, profession or allergy of a turn that is not known."""
    text, before = turn.text, turn.before
    there = all_roots(known)
    yield from _introduced(text, there)
    if not _writes_nouns_large(f"{talk.scenario.initial_message}\n{text}"):
        yield from _capitals(text, there)
    yield from _short_answer(text, before, there)
    folded = plain(text)
    for kind, pattern, asked in (("allergy", _ALLERGIC, ""), ("medicine", _MEDICINE, "medi")):
        for found in pattern.finditer(folded):
            if not among(root(found["what"]), there) and asked in plain(before):
                yield Odd(kind, found[0], text)
    if not _TALKATIVE.search(plain(talk.scenario.persona)):
        yield from _relatives(folded, there)
    for found in _STATUS.finditer(folded):
        if not among(root(found[0].split()[0]), there):
            yield Odd("status", found[0], text)
    for found in _PROFESSION.finditer(folded):
        if not among(root(found["what"].split()[-1]), there):
            yield Odd("profession", found[0], text)


def _introduced(text: str, there: frozenset[str]) -> Iterator[Odd]:
    for found in _INTRODUCES.finditer(text):
        unknown = [word for word in found["name"].split() if _is_new(word, there)]
        if unknown:
            yield Odd("name", found["name"], text)


def _capitals(text: str, there: frozenset[str]) -> Iterator[Odd]:
    """Capital letters inside a sentence; German writes every noun with one, and titles and shouting do too."""
    for sentence in sentences(text):
        words = re.findall(_WORD, sentence)
        capital = [word for word in words if _CAPITAL.fullmatch(word)]
        if len(words) > SHORT_ANSWER and len(capital) > len(words) / 2:
            continue
        for found in re.finditer(_WORD, sentence):
            starts = (
                not sentence[: found.start()].strip(" \"'“‘(*-—–:…•¿¡")[-1:]
                or sentence[: found.start()].rstrip()[-1:] in ".!?:"
            )
            if not starts and _CAPITAL.fullmatch(found[0]) and _is_new(found[0], there):
                yield Odd("name", found[0], sentence)


@lru_cache(maxsize=512)
def _writes_nouns_large(text: str) -> bool:
    return language_of(text) not in ("en", "fr", "es", "it", "pt", "nl", None) or bool(re.search(r"[äöüß]", text))


def _is_new(word: str, there: frozenset[str]) -> bool:
    bare = re.sub(r"['’]s?\Z", "", word)
    folded = plain(bare)
    if folded in _COMMON or singular(folded) in _COMMON or bare.isupper() or len(folded) < 2:
        return False
    return not all(among(root(part), there) for part in said_words(bare))


def _short_answer(text: str, before: str, there: frozenset[str]) -> Iterator[Odd]:
    """`sarah mitchell`, where a name was asked for."""
    words = said_words(text)
    asked = any(_NAME_ASKED.search(one) for one in requests(before))
    if (
        not asked
        or not 1 <= len(words) <= SHORT_ANSWER
        or lacks(text)
        or "?" in text
        or not all(map(str.isalpha, words))
    ):
        return
    if all(word not in _COMMON and not among(root(word), there) for word in words):
        yield Odd("name", text, text)


def _relatives(folded: str, there: frozenset[str]) -> Iterator[Odd]:
    for found in _KIN.finditer(folded):
        who = found["who"]
        related = f"{who} {_RELATED.get(who, '')}".split()
        if not any(among(root(word), there) for word in related):
            yield Odd("person", found[0], found[0])
