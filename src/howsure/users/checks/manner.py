"""Whether the user keeps the manner and the language of the persona: only where the persona's words are plain, and only
what is plainly against them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from howsure.judges.offline.folding import tokens
from howsure.model.simulation import Slip, SlipKind
from howsure.users.checks.talk import Talk, Turn
from howsure.users.languages import NAMED, language_of
from howsure.users.phrases import either
from howsure.users.speech import is_done, sentences
from howsure.users.words import plain

_TERSE = either(
    r"terse\w*", r"curt", r"laconic", r"brief", r"(?:very )?short (?:answers?|messages?|replies|sentences)",
    r"few words", r"one-word", r"monosyllabic", r"taciturn",
    r"wortkarg", r"kurz angebunden", r"knapp", r"laconique", r"pocas palabras", r"concise", r"man of few words",
    r"says little", r"minimal",
)  # fmt: skip
_LIMIT = re.compile(
    r"(?:never|not|no|at most|max(?:imum)?(?: of)?|up to|under|fewer than|less than|"
    r"only)\b[^.]{0,30}?(?P<most>\w+)(?:-| )words?\b",
)
_POLITE = either(
    r"polite\w*",
    r"courteous",
    r"calm\w*",
    r"friendly",
    r"gentle",
    r"kind",
    r"patient",
    r"respectful",
    r"soft-spoken",
    r"hoflich\w*",
    r"freundlich\w*",
    r"poli\w?",
    r"amable",
    r"cortese",
    r"vriendelijk",
)
_ANGRY = either(
    r"angry",
    r"furious",
    r"irate",
    r"hostile",
    r"rude",
    r"aggressive",
    r"annoyed",
    r"frustrated",
    r"grumpy",
    r"upset",
    r"wutend\w*",
    r"verargert",
    r"en colere",
    r"enfadad[oa]",
    r"arrabbiat[oa]",
    r"boos",
)
_MIXED = either(
    r"but",
    r"until",
    r"unless",
    r"becomes?",
    r"turns?",
    r"gets?",
    r"loses?",
    r"at first",
    r"later",
    r"sometimes",
    r"calms",
    r"calm(?:ing)? down",
)
_INSULT = either(
    r"idiots?", r"idiotic", r"stupid", r"morons?", r"moronic", r"dumb(?:ass)?", r"useless", r"shut up", r"screw you",
    r"go to hell", r"f+u+c+k\w*", r"wtf", r"shit\w*", r"bullshit", r"damn(?: it| you)?", r"pathetic", r"incompetent",
    r"crap",
    r"asshole", r"garbage", r"dummkopf", r"scheiss\w*", r"bloder?", r"merde", r"connard", r"imbecile", r"mierda",
    r"estupid[oa]", r"cazzo", r"stupid[oa]",
)  # fmt: skip
_DELIGHT = either(
    r"wonderful", r"amazing", r"awesome", r"fantastic", r"so happy", r"delighted", r"thrilled",
    r"love (?:it|this|that|your|you)", r"you(?:'re| are) (?:the best|amazing|so kind|an angel|wonderful|great)",
    r"thank you so much",
    r"so (?:kind|grateful|excited|glad)", r"no (?:worries|problem|rush) at all", r"take (?:all )?(?:your|the) time",
    r"absolutely no (?:rush|hurry|problem)", r"have a (?:wonderful|fantastic|lovely|great) \w+",
    r"what a (?:lovely|wonderful|great)",
)  # fmt: skip
_LAY = either(
    r"not (?:very |at all |really |too )?(?:tech(?:nical|-savvy| savvy)?|good with (?:computers|technology|tech))",
    r"non-?technical", r"tech(?:nically)?[- ](?:illiterate|averse|challenged)",
    r"no technical (?:knowledge|background|skills)",
    r"knows? (?:nothing|little) about (?:computers|technology|tech)", r"struggles? with (?:technology|computers)",
    r"computer novice", r"technophobe", r"not good with (?:\w+ )?(?:technology|computers)",
)  # fmt: skip
_JARGON = either(
    r"dns", r"dhcp", r"apis?", r"cache", r"firmware", r"ssh", r"json", r"https?", r"tcp(?:/ip)?", r"mtu", r"regex",
    r"sql", r"packet loss", r"subnet(?: mask)?", r"ipv[46]", r"latency", r"bandwidth", r"qos", r"nat", r"ssid",
    r"vlan",
    r"gateway", r"traceroute", r"ping(?:ed|ing)?", r"bios", r"kernel", r"registry", r"driver", r"endpoint", r"oauth",
    r"tls", r"ssl", r"port forwarding", r"wpa[23]", r"5 ?ghz", r"2\.4 ?ghz", r"mac address", r"backend", r"frontend",
    r"payload", r"repository", r"ram", r"cpu", r"gpu", r"hypervisor", r"docker", r"linux", r"terminal", r"command line",
)  # fmt: skip
_LOWERCASE = either(r"(?:all |only )?(?:in )?lower-?case", r"no capital(?: letter)?s", r"without capitals")
_SHOUTS = either(r"all caps", r"capital letters only", r"in capitals", r"upper-?case")
MANY_WORDS = 40
MARGIN = 1.5
SOME = 4


def manner_slips(talk: Talk) -> Iterator[Slip]:
    """Turns that are plainly not in the manner, or not in the language."""
    persona = plain(talk.scenario.persona)
    opened_in = language_of(talk.scenario.initial_message)
    for turn in talk.own_words:
        if (found := _style(persona, turn)) or (found := _other_language(talk, turn, opened_in)):
            yield turn.slip(SlipKind.OUT_OF_PERSONA, *found)


def _style(persona: str, turn: Turn) -> tuple[str, str] | None:
    words = len(turn.text.split())
    folded = plain(turn.text)
    if limit := _word_limit(persona):
        if words > max(limit * MARGIN, limit + SOME):
            return f"writes {words} words; the persona allows {limit}", turn.text
    elif _TERSE.search(persona) and words > MANY_WORDS:
        return f"writes {words} words, and the persona is terse", turn.text
    if (
        _POLITE.search(persona)
        and not _ANGRY.search(persona)
        and not _MIXED.search(persona)
        and (rude := _INSULT.search(folded))
    ):
        return "insults the agent, and the persona is polite", rude[0]
    if _ANGRY.search(persona) and not _MIXED.search(persona) and _is_delighted(turn, folded):
        return "is delighted, and the persona is angry and nothing was solved", turn.text
    if _LAY.search(persona) and len(terms := _terms(persona, turn, folded)) > 1:
        return "speaks as an expert, and the persona is none", ", ".join(sorted(terms))
    return _letters(persona, turn.text)


def _word_limit(persona: str) -> int | None:
    found = _LIMIT.search(persona)
    number = tokens(found["most"]) if found else ()
    return int(number[0]) if number and number[0].isdigit() else None


def _is_delighted(turn: Turn, folded: str) -> bool:
    return len(set(_DELIGHT.findall(folded))) > 1 and not is_done(turn.before)


def _terms(persona: str, turn: Turn, folded: str) -> set[str]:
    return set(_JARGON.findall(folded)) - set(
        _JARGON.findall(f"{persona}\n{plain(turn.heard)}\n{plain(turn.own[0] if turn.own else '')}")
    )


def _letters(persona: str, text: str) -> tuple[str, str] | None:
    starts = [one for one in sentences(text) if one[:1].isalpha()]
    if _LOWERCASE.search(persona) and len(starts) > 1 and all(one[0].isupper() for one in starts):
        return "writes capitals, and the persona does not", text
    letters = [mark for mark in text if mark.isalpha()]
    if _SHOUTS.search(persona) and len(letters) > 20 and sum(map(str.isupper, letters)) < len(letters) / 4:
        return "writes small letters, and the persona shouts", text
    return None


def _other_language(talk: Talk, turn: Turn, opened_in: str | None) -> tuple[str, str] | None:
    """Another language than the opening's, unless the agent speaks it or the scenario speaks of languages."""
    said = language_of(turn.text)
    if not opened_in or not said or said == opened_in or NAMED.search(plain(talk.written)):
        return None
    if language_of(turn.before) == said or any(language_of(step.say) == said for step in talk.scenario.plan):
        return None
    return f"opened in {opened_in} and now speaks {said}", turn.text
