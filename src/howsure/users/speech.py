"""What a message does: ask, refuse, report something done, thank, take leave; and which facts an agent asks for. By
patterns over plain text (no case, no accents) in English, German, French, Spanish, Italian, Portuguese and Dutch; what
is not recognised counts as nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from howsure.judges.offline.lexicon import word_set
from howsure.judges.offline.words import tokens
from howsure.model.case import Fact
from howsure.users.words import GENERIC, content_words, fold_case, meanings, means


def either(*patterns: str) -> re.Pattern[str]:
    """One pattern that matches whole words of any of these."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)")


REQUEST = either(
    r"(?:could|can|would|will|may|might) (?:you|i (?:have|get|ask))",
    r"please (?:provide|share|tell|give|enter|confirm|send|state|specify|let|type|name|indicate|describe|choose|"
    r"select)",
    r"(?:i|we)(?:'ll| will|'d| would)?(?: also| just)? need (?:your|the|to know|some|a few)",
    r"let me know", r"tell me", r"provide (?:me|us|your)",  r"may i (?:have|ask|know)",
    r"bitte (?:nennen|geben|teilen|senden|schicken|bestatigen|sagen|schreiben|beschreiben|wahlen)",
    r"(?:ich|wir) (?:brauche|benotige|brauchen|benotigen)", r"(?:konnten|konnen|wurden) sie",
    r"(?:nennen|sagen) sie mir",
    r"veuillez", r"(?:pouvez|pourriez)-vous",
    r"merci de (?:me |nous )?(?:donner|communiquer|indiquer|preciser|fournir)",
    r"j'ai besoin d", r"indiquez",
    r"por favor,? (?:indique|proporcione|facilite|digame|confirme|envie|escriba)", r"podria",
    r"puede (?:darme|decirme)",
    r"necesito (?:su|el|la|saber)", r"(?:digame|indiqueme)",
    r"(?:puo|potrebbe) (?:dirmi|darmi|fornir\w+|indicar\w+|confermar\w+)", r"mi (?:dica|serve|servono)",
    r"poderia", r"preciso d", r"(?:informe|confirme|diga)(?:-me)?",
    r"(?:kunt|wilt) u", r"ik heb (?:uw|het|de) \w+ nodig",
)  # fmt: skip
ASKS_FOR = either(
    r"(?:provide|share|specify|confirm|tell|give|send)(?: me| us)?(?: with)? (?:your|the|which|what|when|where|how)",
    r"tell me", r"(?:i|we)(?:'ll| will)? need (?:your|the|to know)",
    r"may i (?:have|ask|know)", r"bitte (?:nennen|geben|teilen|senden|schicken|bestatigen|sagen)",
    r"(?:ich|wir) (?:brauche|benotige|brauchen|benotigen)",
    r"veuillez (?:me )?(?:donner|indiquer|preciser|fournir)",
    r"merci de (?:me |nous )?(?:donner|communiquer|indiquer|preciser|fournir)", r"necesito (?:su|el|la|saber)",
    r"por favor,? (?:indique|proporcione|facilite|digame|confirme)", r"mi (?:dica|serve|servono)",
    r"(?:informe|confirme)(?:-me)?", r"ik heb (?:uw|het|de) \w+ nodig",
)  # fmt: skip
"""Requests that wait for an answer; `please choose "Expenses" in the menu` does not."""
MORE = either(
    r"(?:anything|something|what) else", r"any(?:thing)? (?:other|further|more)(?: \w+)? ?(?:questions?|help)?",
    r"let me know if", r"if you (?:have|need) (?:any|more|further|anything)",
    r"further (?:questions?|assistance|help)", r"help you with anything", r"sonst noch", r"noch etwas",
    r"weitere fragen",
    r"autre chose", r"d'autres questions", r"algo mas", r"otra cosa", r"(?:qualcos'|qualcosa d')?altro",
    r"mais (?:alguma coisa|algo)", r"nog iets", r"iets anders", r"how (?:else )?(?:can|may) i (?:help|assist)",
)  # fmt: skip
"""Offers of more help: questions that ask for nothing."""

REFUSAL = either(
    r"cannot", r"can't", r"can not", r"(?:am|are|is|was|were|'m|'re) (?:un|not )able", r"unable", r"not possible",
    r"impossible", r"not (?:allowed|permitted|eligible|available|authori[sz]ed)", r"won't be able", r"unfortunately",
    r"(?:i'm|i am|we're|we are) afraid", r"(?:could not|couldn't) (?:find|process|complete|be|do|book|verify|locate)",
    r"don't have (?:access|the ability|that)", r"do not have (?:access|the ability|that)", r"not (?:placed|processed)",
    r"failed", r"something went wrong", r"an error", r"denied", r"rejected", r"not something i", r"no record",
    r"can only", r"only (?:say|offer)", r"against (?:our|the) policy", r"outside (?:of )?my", r"don't know",
    r"not sure",
    r"didn't (?:understand|catch|get)", r"did not understand", r"we don't", r"we do not", r"there is no",
    r"leider", r"nicht moglich", r"kann (?:ich|das|man)?(?: \w+){0,3} nicht", r"konnen wir(?: \w+){0,3} nicht",
    r"weiss ich nicht", r"malheureusement", r"ne (?:peux|peut|pouvons) pas", r"pas possible", r"desole",
    r"lamentablemente", r"no (?:puedo|podemos|es posible|se puede)", r"lo siento",
    r"purtroppo", r"non (?:posso|possiamo|e possibile|si puo)", r"infelizmente", r"nao (?:posso|podemos|e possivel)",
    r"helaas", r"kan (?:ik|dat|niet)(?: \w+){0,3} niet", r"niet mogelijk",
)  # fmt: skip
PENDING = either(
    r"(?:one|just a|a) (?:moment|second|minute|sec)", r"please (?:hold|wait|bear with)", r"hold on",
    r"let me (?:check|look|see|find|pull|verify)", r"(?:i'll|i will|i'm going to) (?:check|look into|find out|see)",
    r"einen (?:moment|augenblick)", r"ich (?:prufe|schaue)", r"un (?:instant|moment)", r"je verifie",
    r"un momento", r"momento por favor", r"een moment", r"attenda",
)  # fmt: skip
_STATES = (
    r"(?:booked|confirmed|cancell?ed|blocked|done|completed?|registered|scheduled|activat?e?d?|reset|ready|fixed|"
    r"resolved|unlocked|refunded|updated|approved|placed|extended|switched|closed|arranged|issued|sent|set|enrolled|"
    r"on (?:its|the|their) way|settled|submitted|rescheduled|changed|moved|restored|ordered|reserved|shipped|in place)"
)
DONE = either(
    r"(?:has|have) (?:now |already |just |successfully )?been (?:now |successfully )?\w+",
    rf"(?:is|are|'s|'re) (?:now |all |already |successfully |both )*{_STATES}",
    rf"(?:i|we)(?:'ve| have) (?:now |just |already |gone ahead and |successfully )*(?:\w+ed|{_STATES}|sent|made|"
    rf"put|taken)",
    rf"(?:was|were) (?:successfully )?{_STATES}", r"all set", r"all done", r"done", r"successfully", r"it's done",
    r"you(?:'ll| will) (?:receive|get) (?:a|an|your|the)? ?(?:confirmation|refund|e-?mail|replacement)",
    r"wurden? (?:\w+ ){0,6}\w+(?:t|en)",
    r"(?:ist|sind) (?:\w+ ){0,5}(?:ge\w+(?:t|en)|\w+iert|bestatigt|erledigt|bestellt)",
    r"habe (?:ich )?(?:\w+ ){0,6}(?:ge\w+|be\w+t|ver\w+t|\w+iert|erledigt|an\w+|auf\w+)", r"erledigt",
    r"(?:a|ont) (?:bien )?ete \w+",
    r"(?:est|sont) (?:bien |maintenant )?(?:confirme|annule|reserve|enregistre|valide|bloque)\w*",
    r"c'est fait", r"j'ai (?:bien )?\w+e",
    r"(?:ha|han) sido \w+", r"quedara?n?(?: \w+)?", r"(?:he|hemos) \w+[ai]do",
    r"esta(?:n)? (?:confirmad|reservad|cancelad|bloquead)\w+",
    r"(?:e|sono) stat[oaie] \w+", r"ho \w+[aiu]to", r"fatto",
    r"(?:foi|foram) \w+[ai]d[oa]s?", r"esta (?:confirmad|reservad|cancelad|bloquead)\w+",
    r"(?:is|zijn|heb|hebben|wordt) (?:\w+ ){0,6}(?:\w*ge\w+(?:d|t|en)|bevestigd|besteld|verlengd)",
)  # fmt: skip
UNDONE = either(
    r"(?:has|have|is|was|were|are) not (?:yet )?(?:been )?\w+", r"(?:hasn't|haven't|isn't|wasn't|weren't) \w+",
    r"(?:could|can|will) ?not be \w+", r"(?:couldn't|can't|won't) be \w+", r"wurde(?:n)? (?:\w+ ){0,3}nicht",
    r"n'a pas ete",
    r"no ha sido", r"non e stat[oa]", r"nao foi", r"is (?:\w+ ){0,3}niet",
)  # fmt: skip
OFFER = either(
    r"(?:i|we) (?:can|could|may)(?: also| instead)? (?:\w+ly )?(?:offer|give|arrange|book|send|provide|do|refund|"
    r"credit|\w+)",
    r"would you like", r"(?:do|would) you (?:want|prefer|like|be interested)", r"shall i", r"should i", r"how about",
    r"alternatively", r"you (?:could|can|may|might) (?:\w+ )?(?:\w+)", r"(?:i|we) (?:offer|suggest|recommend|propose)",
    r"what if", r"as an alternative", r"(?:ich|wir) (?:kann|konnen|biete|bieten)", r"mochten sie", r"soll ich",
    r"je peux", r"nous pouvons", r"souhaitez-vous", r"voulez-vous", r"puedo", r"podemos", r"desea", r"quiere",
    r"le ofrezco",
    r"posso", r"possiamo", r"desidera", r"vuole", r"ik kan", r"wilt u", r"zal ik", r"gostaria",
)  # fmt: skip
THANKS = either(
    r"thank(?:s| you)?", r"thx", r"tha?nks?", r"ty(?:sm|vm)?", r"cheers", r"much appreciated", r"danke?(?:schon)?",
    r"vielen dank", r"merci", r"gracias", r"grazie", r"obrigad[oa]", r"bedankt", r"dank (?:u|je)(?: wel)?", r"tack",
)  # fmt: skip
GOODBYE = either(
    r"(?:good ?)?bye(?:-?bye)?", r"see (?:you|ya) (?:later|soon|then|tomorrow|around|again|there|next \w+)",
    r"see (?:you|ya)(?= ?(?:[.!,;)]|\Z))", r"take care(?! of)", r"farewell",
    r"have a (?:nice|good|great|lovely|wonderful|pleasant) \w+",
    r"that(?:'s| is|'ll be| will be| was)(?: really)? (?:all|it|everything)"
    r"(?! \w+ (?:can |could |will |would )?(?:do|have|get|offer)\b)",
    r"(?:all|everything) i (?:need|needed|wanted)(?: to know)?", r"nothing else", r"no (?:more|further) questions",
    r"tschuss", r"auf wiedersehen", r"(?:einen )?schonen (?:tag|abend)(?: noch)?",
    r"das (?:war's|ware? alles|ist alles)",
    r"au revoir", r"bonne (?:journee|soiree)", r"c'est tout", r"adios", r"hasta (?:luego|pronto)", r"eso es todo",
    r"buen dia", r"arrivederci", r"buona (?:giornata|serata)", r"e tutto", r"tchau", r"ate logo", r"so isso",
    r"tot ziens", r"(?:prettige|fijne) dag", r"dat was alles",
)  # fmt: skip
NOT_HELD = either(
    r"(?:i )?(?:don't|do not|dont) (?:actually |really )?(?:know|have|remember|recall|see|want to)", r"not sure",
    r"no idea",
    r"(?:i )?(?:can't|cannot|cant|couldn't) (?:find|remember|recall|tell|say|access|give|share|look)",
    r"(?:i )?(?:won't|will not|wont) (?:tell|give|say|share)", r"(?:rather|prefer) not",
    r"not (?:telling|giving|comfortable)",
    r"haven't got", r"have(?:n't)? no", r"forgot(?:ten)?", r"unknown", r"i'd have to (?:check|look)", r"no clue",
    r"never (?:got|had|received)",
    r"weiss (?:ich )?(?:das |es |leider )*nicht", r"keine ahnung",
    r"habe? (?:ich )?(?:das |die |den |leider )*(?:nicht|keine?n?)",
    r"je ne (?:sais|connais) pas", r"je n'ai pas", r"aucune idee", r"no (?:lo )?se", r"no (?:la |lo )?tengo",
    r"ni idea",
    r"non (?:lo )?so", r"non (?:ce )?l?'?ho", r"nao (?:sei|tenho)", r"weet (?:ik )?(?:het |dat )?niet",
    r"heb ik niet", r"geen idee",
)  # fmt: skip
ACCEPTS = re.compile(
    r"\A\W*(?:(?:ok(?:ay)?|well|oh|ah|great|perfect|alright|all right|hmm?)[,.! ]+)*"
    r"(?:sure|yes|yeah|yep|yup|sounds (?:good|great|fine|perfect)|that (?:works|sounds|would be|will do|is fine)|"
    r"that's (?:fine|great|perfect|ok)|i(?:'ll| will) take|i accept|deal|perfect|great|fine|wonderful|excellent|"
    r"ok(?:ay)?|let's do|go ahead|works for me|ja\b|gerne|einverstanden|oui|d'accord|volontiers|si\b|de acuerdo|vale|"
    r"va bene|certo|sim|claro|prima|goed)"
)
DECLINES = re.compile(
    r"\A\W*(?:no(?:pe)?\b|nein|non\b|nee\b|nao\b|i(?:'d| would) rather not|i(?:'m| am) not interested|i don't want)"
)
ASKS_AGAIN = either(
    r"again", r"once more", r"repeat", r"double-?check", r"rephrase", r"didn't (?:understand|catch|get)", r"confirm",
    r"did not understand", r"could not find", r"couldn't find", r"not find", r"clarify", r"nochmals?", r"noch einmal",
    r"erneut", r"wiederholen", r"encore", r"repeter", r"de nuevo", r"otra vez", r"repetir", r"di nuovo", r"ripetere",
    r"novamente", r"opnieuw", r"herhalen", r"don't see", r"invalid", r"not valid", r"no record", r"verify",
)  # fmt: skip


_BREAK = re.compile(r"(?<=[.!?…])[\"'”’)*]*\s+|(?<=[。？！])|\s*\n+\s*")
_QUESTION = re.compile(r"[?？؟]")
_LISTED = re.compile(r"\A\s*(?:[-*•–]|\d+[.)])\s+\S")
_SMALL_TALK = word_set(
    "thank thanks you so much very bye goodbye nice great perfect wonderful good day evening morning have take "
    "care kind help helping helped your all too same that was really quick cool awesome amazing lovely "
    "appreciated lot again lifesaver sure alright glad happy welcome youre super fantastic excellent brilliant "
    "got it no nope nothing else danke vielen dank tschuss auf wiedersehen schonen tag noch ihnen auch super gut "
    "prima nein alles merci beaucoup au revoir bonne journee parfait gracias muchas adios grazie mille buona "
    "giornata arrivederci perfetto obrigado tchau bedankt fijn heel dag prettige tot ziens cheers thx ty tysm "
    "everything anything see weekend ahead wish best"
)


@lru_cache(maxsize=2048)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences and lines of a text as they are written."""
    return tuple(piece for part in _BREAK.split(text) if (piece := part.strip()))


@lru_cache(maxsize=2048)
def requests(text: str) -> tuple[str, ...]:
    """The sentences that ask for something, folded; offers of more help ask for nothing."""
    asking = [(one, _asks(fold_case(one))) for one in sentences(text)]
    if not any(asks for _, asks in asking):
        return ()
    return tuple(fold_case(one) for one, asks in asking if asks or _LISTED.match(one))


def _asks(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence) or REQUEST.search(sentence)) and not MORE.search(sentence)


def waits_for(text: str) -> tuple[str, ...]:
    """The requests that the agent waits for, without what it tells the user to do elsewhere."""
    return tuple(one for one in requests(text) if _QUESTION.search(one) or ASKS_FOR.search(one) or _LISTED.match(one))


def is_question(text: str) -> bool:
    return bool(_QUESTION.search(text))


def offers_more(text: str) -> bool:
    """`Anything else?`"""
    return bool(MORE.search(fold_case(text)))


def offers(text: str) -> bool:
    return bool(OFFER.search(fold_case(text)))


def refuses(text: str) -> bool:
    """The agent says no, that it cannot, or that something failed."""
    return bool(REFUSAL.search(fold_case(text)))


def waits(text: str) -> bool:
    """The agent asks for patience."""
    return bool(PENDING.search(fold_case(text)))


@lru_cache(maxsize=2048)
def is_done(text: str) -> bool:
    """Whether a sentence that is not a question reports something done."""
    return any(_reports_done(fold_case(one)) for one in sentences(text))


def _reports_done(sentence: str) -> bool:
    """`It was shipped, so I cannot cancel it` reports the opposite."""
    opposite = UNDONE.search(sentence) or REFUSAL.search(sentence) or _QUESTION.search(sentence)
    return bool(DONE.search(sentence)) and not opposite


def thanks(text: str) -> bool:
    return bool(THANKS.search(fold_case(text)))


def takes_leave(text: str) -> bool:
    """The user says goodbye, or that this was all."""
    return bool(GOODBYE.search(fold_case(text))) and not is_question(text)


def is_closing(text: str) -> bool:
    """Thanks and goodbyes, and nothing else."""
    if is_question(text) or not (thanks(text) or takes_leave(text)):
        return False
    left = content_words(THANKS.sub(" ", GOODBYE.sub(" ", fold_case(text))))
    return all(word in _SMALL_TALK for word in left)


def lacks(text: str) -> bool:
    """The user does not know it, does not have it or does not want to tell."""
    return bool(NOT_HELD.search(fold_case(text)))


@lru_cache(maxsize=2048)
def said_words(text: str) -> tuple[str, ...]:
    """All words in one spelling, to recognise repetitions."""
    return tokens(text)


def alike(one: str, other: str, least: float = 0.9) -> bool:
    """Almost the same words in the same number."""
    first, second = said_words(one), said_words(other)
    if first == second:
        return True
    if not first or not second or not 0.8 <= len(first) / len(second) <= 1.25:
        return False
    left, right = set(first), set(second)
    return len(left & right) / len(left | right) >= least


LONG_NAME = 3
MOST = 0.6
"""The share of the words of a long name that must be asked for."""

DETAILS = either(
    r"(?:personal |contact |more |some |further |your |the )*details", r"(?:more |some |further )?information",
    r"(?:verify|confirm|check) (?:your )?identity", r"verification", r"identify (?:you|yourself)", r"verify you",
    r"(?:ihre )?(?:daten|angaben)", r"(?:vos )?(?:coordonnees|informations)", r"(?:sus )?datos", r"(?:i suoi )?dati",
    r"gegevens", r"authenticate",
)  # fmt: skip
"""Requests that do not say what they ask for."""
_BARE = re.compile(
    r"(?<!\w)(?:the|your|that|this|die|ihre|le|votre|el|su|il|de|uw) "
    r"(number|id|code|reference|nummer|numero|address)(?= ?(?:[?.,;:!]|and|again|please|once|for me|\Z))"
)
_YES_NO = re.compile(r"(?<!\w)(?:do|does|did|have|has|are|is|was|were|would|could|can|shall|should)(?!\w)")


@lru_cache(maxsize=4096)
def asks_for_fact(fact: Fact, text: str) -> bool:
    """Whether the agent asks for this fact by its name, or for `the code` where the fact is a code."""
    return any(_names(fact, sentence) or _bare_kind(fact, sentence) for sentence in requests(text))


def _bare_kind(fact: Fact, sentence: str) -> bool:
    """`the code`, where the fact is a game code; `the order code` is another fact."""
    kinds = [word for word in content_words(fact.name) if word in GENERIC]
    return any(found in kinds for found in _BARE.findall(sentence))


def _names(fact: Fact, sentence: str) -> bool:
    there = meanings(sentence)
    return any(_covered(words, there) for words in phrasings(fact))


@lru_cache(maxsize=4096)
def phrasings(fact: Fact) -> tuple[tuple[str, ...], ...]:
    """The words of the fact's name and of each other phrase that asks for it."""
    named = (content_words(phrase) or tuple(fold_case(phrase).split()) for phrase in (fact.name, *fact.asked_by))
    return tuple(words for words in named if words)


def _covered(words: tuple[str, ...], there: frozenset[str]) -> bool:
    found = [word for word in words if means(word, there)]
    if len(words) >= LONG_NAME:
        return len(found) / len(words) >= MOST
    telling = [word for word in words if word not in GENERIC]
    if telling:
        return all(word in found for word in telling)
    return bool(found) and words[-1] in found


def may_concern_fact(fact: Fact, text: str) -> bool:
    """Whether anything in the text may be about this fact; much more lenient than `asks_for_fact`."""
    there = meanings(text)
    if _bare_kind(fact, fold_case(text)):
        return True
    words = {word for phrase in phrasings(fact) for word in phrase}
    telling = {word for word in words if word not in GENERIC} or words
    return any(means(word, there) for word in telling)


def wants_details(text: str) -> bool:
    """The agent asks for information without saying which."""
    return any(DETAILS.search(sentence) for sentence in requests(text))


def requested_facts(facts: Iterable[Fact], text: str) -> tuple[Fact, ...]:
    """The facts asked for, in the order the scenario lists them."""
    return tuple(fact for fact in facts if asks_for_fact(fact, text))


def unanswerable_requests(facts: Iterable[Fact], text: str) -> tuple[str, ...]:
    """The requests that none of the facts answers."""
    held = tuple(facts)
    return tuple(one for one in requests(text) if not any(_names(fact, one) or _bare_kind(fact, one) for fact in held))


def is_yes_or_no(text: str) -> bool:
    """Whether the last question can be answered with yes: `Shall I go ahead?`"""
    asked = [fold_case(one) for one in sentences(text) if "?" in one]
    return bool(asked) and bool(_YES_NO.match(asked[-1].lstrip("\"'( "))) and " or " not in asked[-1]
