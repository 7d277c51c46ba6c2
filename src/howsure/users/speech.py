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
    r"(?:could|can|would|will|may|might) (?:you|i (?:have|get|ask))|"
    r"please (?:provide|share|tell|give|enter|confirm|send|state|specify|let|type|name|indicate|describe|choose|"
    r"select)|"
    r"(?:i|we)(?:'ll| will|'d| would)?(?: also| just)? need (?:your|the|to know|some|a few)|let me know|tell me|"
    r"provide (?:me|us|your)|may i (?:have|ask|know)|"
    r"bitte (?:nennen|geben|teilen|senden|schicken|bestatigen|sagen|schreiben|beschreiben|wahlen)|"
    r"(?:ich|wir) (?:brauche|benotige|brauchen|benotigen)|(?:konnten|konnen|wurden) sie|(?:nennen|sagen) sie mir|"
    r"veuillez|(?:pouvez|pourriez)-vous|merci de (?:me |nous )?(?:donner|communiquer|indiquer|preciser|fournir)|"
    r"j'ai besoin d|indiquez|por favor,? (?:indique|proporcione|facilite|digame|confirme|envie|escriba)|podria|"
    r"puede (?:darme|decirme)|necesito (?:su|el|la|saber)|(?:digame|indiqueme)|"
    r"(?:puo|potrebbe) (?:dirmi|darmi|fornir\w+|indicar\w+|confermar\w+)|mi (?:dica|serve|servono)|poderia|preciso d|"
    r"(?:informe|confirme|diga)(?:-me)?|(?:kunt|wilt) u|ik heb (?:uw|het|de) \w+ nodig"
)
ASKS_FOR = either(
    r"(?:provide|share|specify|confirm|tell|give|send)(?: me| us)?(?: with)? (?:your|the|which|what|when|where|how)|"
    r"tell me|(?:i|we)(?:'ll| will)? need (?:your|the|to know)|may i (?:have|ask|know)|"
    r"bitte (?:nennen|geben|teilen|senden|schicken|bestatigen|sagen)|"
    r"(?:ich|wir) (?:brauche|benotige|brauchen|benotigen)|veuillez (?:me )?(?:donner|indiquer|preciser|fournir)|"
    r"merci de (?:me |nous )?(?:donner|communiquer|indiquer|preciser|fournir)|necesito (?:su|el|la|saber)|"
    r"por favor,? (?:indique|proporcione|facilite|digame|confirme)|mi (?:dica|serve|servono)|"
    r"(?:informe|confirme)(?:-me)?|ik heb (?:uw|het|de) \w+ nodig"
)
"""Requests that wait for an answer; `please choose "Expenses" in the menu` does not."""
MORE = either(
    r"(?:anything|something|what) else|any(?:thing)? (?:other|further|more)(?: \w+)? ?(?:questions?|help)?|"
    r"let me know if|if you (?:have|need) (?:any|more|further|anything)|further (?:questions?|assistance|help)|"
    r"help you with anything|sonst noch|noch etwas|weitere fragen|autre chose|d'autres questions|algo mas|otra cosa|"
    r"(?:qualcos'|qualcosa d')?altro|mais (?:alguma coisa|algo)|nog iets|iets anders|"
    r"how (?:else )?(?:can|may) i (?:help|assist)"
)
"""Offers of more help: questions that ask for nothing."""

REFUSAL = either(
    r"cannot|can't|can not|(?:am|are|is|was|were|'m|'re) (?:un|not )able|unable|not possible|impossible|"
    r"not (?:allowed|permitted|eligible|available|authori[sz]ed)|won't be able|unfortunately|"
    r"(?:i'm|i am|we're|we are) afraid|(?:could not|couldn't) (?:find|process|complete|be|do|book|verify|locate)|"
    r"don't have (?:access|the ability|that)|do not have (?:access|the ability|that)|not (?:placed|processed)|failed|"
    r"something went wrong|an error|denied|rejected|not something i|no record|can only|only (?:say|offer)|"
    r"against (?:our|the) policy|outside (?:of )?my|don't know|not sure|didn't (?:understand|catch|get)|"
    r"did not understand|we don't|we do not|there is no|leider|nicht moglich|"
    r"kann (?:ich|das|man)?(?: \w+){0,3} nicht|konnen wir(?: \w+){0,3} nicht|weiss ich nicht|malheureusement|"
    r"ne (?:peux|peut|pouvons) pas|pas possible|desole|lamentablemente|no (?:puedo|podemos|es posible|se puede)|"
    r"lo siento|purtroppo|non (?:posso|possiamo|e possibile|si puo)|infelizmente|nao (?:posso|podemos|e possivel)|"
    r"helaas|kan (?:ik|dat|niet)(?: \w+){0,3} niet|niet mogelijk"
)
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
    r"(?:has|have|is|was|were|are) not (?:yet )?(?:been )?\w+|(?:hasn't|haven't|isn't|wasn't|weren't) \w+|"
    r"(?:could|can|will) ?not be \w+|(?:couldn't|can't|won't) be \w+|wurde(?:n)? (?:\w+ ){0,3}nicht|n'a pas ete|"
    r"no ha sido|non e stat[oa]|nao foi|is (?:\w+ ){0,3}niet"
)
OFFER = either(
    r"(?:i|we) (?:can|could|may)(?: also| instead)? (?:\w+ly )?(?:offer|give|arrange|book|send|provide|do|refund|"
    r"credit|\w+)|"
    r"would you like|(?:do|would) you (?:want|prefer|like|be interested)|shall i|should i|how about|alternatively|"
    r"you (?:could|can|may|might) (?:\w+ )?(?:\w+)|(?:i|we) (?:offer|suggest|recommend|propose)|what if|"
    r"as an alternative|(?:ich|wir) (?:kann|konnen|biete|bieten)|mochten sie|soll ich|je peux|nous pouvons|"
    r"souhaitez-vous|voulez-vous|puedo|podemos|desea|quiere|le ofrezco|posso|possiamo|desidera|vuole|ik kan|wilt u|"
    r"zal ik|gostaria"
)
THANKS = either(
    r"thank(?:s| you)?", r"thx", r"tha?nks?", r"ty(?:sm|vm)?", r"cheers", r"much appreciated", r"danke?(?:schon)?",
    r"vielen dank", r"merci", r"gracias", r"grazie", r"obrigad[oa]", r"bedankt", r"dank (?:u|je)(?: wel)?", r"tack",
)  # fmt: skip
GOODBYE = either(
    r"(?:good ?)?bye(?:-?bye)?|see (?:you|ya) (?:later|soon|then|tomorrow|around|again|there|next \w+)|"
    r"see (?:you|ya)(?= ?(?:[.!,;)]|\Z))|take care(?! of)|farewell|"
    r"have a (?:nice|good|great|lovely|wonderful|pleasant) \w+|"
    r"that(?:'s| is|'ll be| will be| was)(?: really)? (?:all|it|everything)(?! \w+ (?:can |could |will |would )?(?:do|"
    r"have|get|offer)\b)|"
    r"(?:all|everything) i (?:need|needed|wanted)(?: to know)?|nothing else|no (?:more|further) questions|tschuss|"
    r"auf wiedersehen|(?:einen )?schonen (?:tag|abend)(?: noch)?|das (?:war's|ware? alles|ist alles)|au revoir|"
    r"bonne (?:journee|soiree)|c'est tout|adios|hasta (?:luego|pronto)|eso es todo|buen dia|arrivederci|"
    r"buona (?:giornata|serata)|e tutto|tchau|ate logo|so isso|tot ziens|(?:prettige|fijne) dag|dat was alles"
)
NOT_HELD = either(
    r"(?:i )?(?:don't|do not|dont) (?:actually |really )?(?:know|have|remember|recall|see|want to)|not sure|no idea|"
    r"(?:i )?(?:can't|cannot|cant|couldn't) (?:find|remember|recall|tell|say|access|give|share|look)|"
    r"(?:i )?(?:won't|will not|wont) (?:tell|give|say|share)|(?:rather|prefer) not|"
    r"not (?:telling|giving|comfortable)|haven't got|have(?:n't)? no|forgot(?:ten)?|unknown|"
    r"i'd have to (?:check|look)|no clue|never (?:got|had|received)|weiss (?:ich )?(?:das |es |leider )*nicht|"
    r"keine ahnung|habe? (?:ich )?(?:das |die |den |leider )*(?:nicht|keine?n?)|je ne (?:sais|connais) pas|"
    r"je n'ai pas|aucune idee|no (?:lo )?se|no (?:la |lo )?tengo|ni idea|non (?:lo )?so|non (?:ce )?l?'?ho|"
    r"nao (?:sei|tenho)|weet (?:ik )?(?:het |dat )?niet|heb ik niet|geen idee"
)
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
    r"again|once more|repeat|double-?check|rephrase|didn't (?:understand|catch|get)|confirm|did not understand|"
    r"could not find|couldn't find|not find|clarify|nochmals?|noch einmal|erneut|wiederholen|encore|repeter|de nuevo|"
    r"otra vez|repetir|di nuovo|ripetere|novamente|opnieuw|herhalen|don't see|invalid|not valid|no record|verify"
)


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
