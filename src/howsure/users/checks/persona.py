"""Whether the user stays in the role: no machine, no assistant, no stage directions, no placeholders; and keeps the
manner and language of the persona, where the persona's words are plain and only what plainly contradicts them
counts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from howsure.judges.offline.words import tokens
from howsure.model.simulation import MistakeKind, UserMistake
from howsure.users.checks.conversations import SimulatedConversation, UserTurn
from howsure.users.speech import alike, either, is_done, said_words, sentences
from howsure.users.words import NAMED, fold_case, language_of

_MACHINE = either(
    r"as an ai(?: \w+)*|as a (?:large )?language model|"
    r"i(?:'m| am)(?: just| only)? an? (?:ai|artificial|large language|language model|virtual assistant|chatbot|"
    r"simulated|simulation|bot|llm)(?: \w+)?|"
    r"simulated (?:user|customer|caller)|simulat(?:e|ing) (?:a|the) (?:user|customer)|role-?play(?:ing)?(?: as)?|"
    r"in this (?:simulation|scenario|role-?play|test case)|"
    r"(?:my|the) (?:persona|system prompt|test scenario|role description)|"
    r"(?:according to|per|based on|as per) (?:my|the) (?:instructions?|persona|scenario|prompt|script|plan|role)|"
    r"my instructions?|(?:stay|remain|am) in character|"
    r"i (?:was|am|have been) (?:instructed|told by (?:the|my) prompt|supposed to play|asked to play|playing)|"
    r"###? ?(?:stop|end|transfer|out[- ]of[- ]scope)|(?:goal|task) (?:achieved|completed?|reached|accomplished)|"
    r"end of (?:the )?conversation|conversation (?:complete|ended|over)|as the (?:simulated )?(?:user|customer)|"
    r"i (?:cannot|can't) (?:continue|fulfil?l|comply with) (?:this|that|the) (?:role|request|conversation|scenario)|"
    r"knowledge cutoff|training data|als ki(?:-\w+)?|als sprachmodell|"
    r"ich bin (?:eine ki|ein ki-\w+|ein sprachmodell|ein virtueller assistent|nur ein programm)|"
    r"laut (?:meinen anweisungen|meiner rolle|szenario)|meine (?:anweisungen|rolle ist)|"
    r"en tant qu'(?:ia|assistant|intelligence artificielle)|selon mes instructions|mon role|"
    r"como (?:una )?(?:ia|inteligencia artificial|modelo de lenguaje)|segun mis instrucciones|"
    r"come (?:ia|assistente|modello linguistico)|secondo le mie istruzioni|als (?:ai|taalmodel)|"
    r"<(?:stop|end|think\w*)>"
)
_ASSISTS = either(
    r"how (?:can|may) i (?:help|assist) you(?: today)?|"
    r"(?:is there )?anything else (?:that )?i can (?:help|assist|do)(?: \w+){0,3}|"
    r"what can i (?:do|help)(?: \w+){0,2} for you|"
    r"i(?:'d| would| am|'m|'ll| will) (?:be )?(?:happy|glad|pleased|delighted) to (?:help|assist) you|"
    r"i can (?:certainly |definitely )?(?:help|assist) you with (?:that|this)|"
    r"thank you for (?:contacting|calling|reaching out(?: to)?|choosing us|your (?:inquiry|enquiry))|"
    r"i(?:'m| am) here to (?:help|assist)(?: you)?|"
    r"let me (?:pull up|look up|check|access|verify|process|cancel|update) your \w+|"
    r"i(?:'ve| have) (?:\w+ )?(?:updated|processed|cancell?ed|issued|booked|refunded|scheduled|sent you|reset) (?:you|"
    r"your)(?: \w+)?|"
    r"(?:could|can|may|would) (?:you please |you |i )?(?:provide|have|get|confirm|verify|"
    r"share)(?: me)?(?: with)? your (?:order|account|booking|customer|full name|date of birth|e-?mail|phone|policy|"
    r"name)(?: \w+)?|"
    r"please (?:provide|confirm|verify|share|enter)(?: me)?(?: with)? your \w+|"
    r"(?:i|we) (?:sincerely )?apologi[sz]e for (?:the|any) (?:inconvenience|delay|trouble|confusion)|we value your|"
    r"your (?:refund|order|booking|request|claim|appointment|reservation|account|subscription) (?:has been|is now|"
    r"will be) (?:\w+ )?(?:processed|confirmed|cancell?ed|booked|updated|issued|registered|completed|refunded|"
    r"approved|scheduled)|"
    r"feel free to (?:ask|reach out|contact)|don't hesitate to (?:ask|reach out|contact)|"
    r"i understand your (?:frustration|concern)|our (?:customers|support team|policy (?:states|allows|is))|"
    r"wie kann ich (?:ihnen|dir)(?: \w+){0,3} (?:helfen|behilflich sein)|kann ich (?:sonst )?noch etwas fur sie tun|"
    r"kann ich ihnen (?:sonst )?noch (?:weiter)?helfen|"
    r"vielen dank fur ihre (?:anfrage|nachricht|geduld|kontaktaufnahme|anruf)\w*|ich helfe ihnen gerne?(?: \w+)?|"
    r"comment puis-je vous aider|en quoi puis-je vous (?:aider|etre utile)|"
    r"puis-je (?:faire autre chose|vous aider)(?: \w+)*|merci de nous avoir contactes?|"
    r"(?:en que|como) puedo ayudar(?:le|te|lo|la)?|puedo ayudar(?:le|te) en algo mas|"
    r"gracias por (?:contactar\w*|comunicarse|su paciencia)|come posso aiutar(?:la|ti|vi)|posso aiutarla in altro|"
    r"grazie per (?:averci contattato|la sua pazienza)|(?:como|em que) posso ajudar|"
    r"(?:waarmee|hoe) kan ik u (?:verder )?helpen|bedankt voor (?:het contact|uw bericht|uw geduld)"
)
_QUOTED = re.compile(r"[\"“„«][^\"”“»]*[\"”“»]")
_REPORTED = re.compile(
    r"\b(?:you (?:said|told|wrote|say|promised)|it (?:says|said)|(?:e-?mail|message|text|letter|page|app|website|"
    r"note|screen) (?:says|said|reads|states)|they (?:said|told))\b"
)
_LABELLED = re.compile(
    r"(?im)^\s*(?:\*\*)?(?:agent|assistant|support(?: agent)?|bot|chatbot|representative|system|user|customer|"
    r"caller|client|human|ai|berater|kunde|utilisateur|cliente|usuario)(?:\*\*)?\s*:"
)
_PLACEHOLDER = re.compile(
    r"\[[A-Za-zÄÖÜäöüéèñ][^\]\n]{1,50}\]|\{\{?\s*[A-Za-z_][\w .-]{1,40}\}?\}|<[A-Za-z_][A-Za-z_ -]{2,40}>|"
    r"\bX{4,}\b|\b(?:insert|your) (?:name|number) here\b"
)
_STAGE = re.compile(
    r"(?:\*+|_|\(|\[)\s*(?P<what>(?:\w+ly )?(?:sigh|paus|laugh|smil|frown|shrug|nod|wait|typ|look|check|hang|roll|"
    r"whisper|mutter|grumbl|cough|chuckl|sob|yell|shout|think|"
    r"giggl|groan|gasp|sniff|clear|scratch|click|read|dig|tap|walk|leav|end|log|rais|cross|lean|glanc|stare|seufz|"
    r"lach|uberleg|wart|nick|soupir|rit\b|suspir|rie\b|sospir)"
    r"\w*(?: [^*_)\]\n]{0,60})?)\s*(?:\*+|_|\)|\])"
)
_NARRATED = re.compile(
    r"\A\W*(?:the )?(?:user|customer|caller|persona|client) (?:\w+ly )?(?:is|wants|would|says|responds|asks|has|"
    r"then|replies|thanks|feels|provides|gives|leaves|ends)\b"
)
_THINKS = re.compile(
    r"\b(?:(?:as|since|because|now that) the (?:agent|assistant|bot) (?:has|is|asked|did|does|offered|confirmed|"
    r"refused|gave|said)|the (?:agent|assistant) (?:has (?:now )?(?:confirmed|provided|answered|resolved|asked)|"
    r"asked me)"
    r"|if the (?:agent|assistant)|my goal is to|i should (?:now|respond|reply|stay|end)|i need to stay|my next "
    r"(?:step|message)|goal:|plan:|step \d:)"
)
_JSON = re.compile(r"\A\s*(?:```\w*\s*)?[{\[]\s*[\"{\[]|\"(?:message|ending|reason|content|role)\"\s*:|```")
_ADDRESSED = re.compile(
    r"\b(?:you are|you're|your goal|your task|you want|you have|you do not|you don't|the user|the customer)\b",
)
_TRAIT = re.compile(
    r"\b(?:i am|i'm|as) an? (?:very |somewhat |slightly |rather )?(?:impatient|terse|chatty|talkative|polite|"
    r"confused|frustrated|angry|friendly|grumpy|rude|nervous|curt|difficult|sarcastic|elderly|calm|busy|worried)"
    r"(?:,? (?:and )?\w+)? (?:customer|user|caller|person|client|patient|persona|employee|guest|traveller|traveler|"
    r"passenger|buyer|shopper)\b"
)
LEAKED = 7
ECHOED = 6


def persona_mistakes(conversation: SimulatedConversation) -> Iterator[UserMistake]:
    """One mistake for each turn that does not sound like the person: the first thing that shows it."""
    for turn in conversation.own_turns:
        if found := _persona_break(conversation, turn):
            yield turn.mistake(MistakeKind.OUT_OF_PERSONA, *found)


def _persona_break(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    return (
        _by_form(conversation, turn)
        or _by_words(conversation, turn)
        or _reads_out_persona(conversation.scenario.persona, turn.text)
        or _echoes_agent(turn)
    )


def _by_form(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    """What the form of the text shows, whatever it says."""
    text, known_text = turn.text, fold_case(f"{conversation.user_knowledge}\n{turn.agent_text}")
    if _JSON.search(text):
        return "writes data, not a message", text
    if found := _LABELLED.search(text):
        return "writes the lines of a dialogue, with who speaks", found[0]
    for pattern, reason in ((_STAGE, "writes stage directions"), (_PLACEHOLDER, "leaves a placeholder unfilled")):
        for found in pattern.finditer(fold_case(text) if pattern is _STAGE else text):
            if fold_case(found[0]) not in known_text:
                return reason, found[0]
    return None


def _by_words(conversation: SimulatedConversation, turn: UserTurn) -> tuple[str, str] | None:
    folded, known_text = fold_case(turn.text), fold_case(conversation.user_knowledge)
    for pattern, reason in (
        (_MACHINE, "speaks as a machine or of its instructions"),
        (_NARRATED, "tells about the user instead of being it"),
        (_THINKS, "thinks aloud about the conversation"),
        (_TRAIT, "describes its own persona"),
    ):
        if (found := pattern.search(folded)) and found[0] not in known_text:
            return reason, found[0]
    for sentence in sentences(turn.text):
        own = _QUOTED.sub(" ", fold_case(sentence))
        found = _ASSISTS.search(own)
        if found and found[0] not in known_text and not _REPORTED.search(own):
            return "speaks as the assistant", found[0]
    return None


def _reads_out_persona(persona: str, text: str) -> tuple[str, str] | None:
    """Words of the persona that address the user: the description was read out, not played."""
    said, known_text = said_words(text), said_words(persona)
    runs = {known_text[place : place + LEAKED] for place in range(len(known_text) - LEAKED + 1)}
    for place in range(len(said) - LEAKED + 1):
        run = " ".join(said[place : place + LEAKED])
        if said[place : place + LEAKED] in runs and _ADDRESSED.search(run):
            return "reads out its description", run
    return None


def _echoes_agent(turn: UserTurn) -> tuple[str, str] | None:
    """The agent's own words, repeated."""
    if len(said_words(turn.text)) >= ECHOED and turn.last_reply and alike(turn.text, turn.last_reply, least=0.8):
        return "says the agent's line", turn.text
    return None


_TERSE = either(
    r"terse\w*|curt|laconic|brief|(?:very )?short (?:answers?|messages?|replies|sentences)|few words|one-word|"
    r"monosyllabic|taciturn|wortkarg|kurz angebunden|knapp|laconique|pocas palabras|concise|man of few words|"
    r"says little|minimal"
)
_LIMIT = re.compile(
    r"(?:never|not|no|at most|max(?:imum)?(?: of)?|up to|under|fewer than|less than|"
    r"only)\b[^.]{0,30}?(?P<most>\w+)(?:-| )words?\b",
)
_POLITE = either(
    r"polite\w*|courteous|calm\w*|friendly|gentle|kind|patient|respectful|soft-spoken|hoflich\w*|freundlich\w*|"
    r"poli\w?|amable|cortese|vriendelijk"
)
_ANGRY = either(
    r"angry|furious|irate|hostile|rude|aggressive|annoyed|frustrated|grumpy|upset|wutend\w*|verargert|en colere|"
    r"enfadad[oa]|arrabbiat[oa]|boos"
)
_MIXED = either(r"but|until|unless|becomes?|turns?|gets?|loses?|at first|later|sometimes|calms|calm(?:ing)? down")
_INSULT = either(
    r"idiots?|idiotic|stupid|morons?|moronic|dumb(?:ass)?|useless|shut up|screw you|go to hell|f+u+c+k\w*|wtf|"
    r"shit\w*|bullshit|damn(?: it| you)?|pathetic|incompetent|crap|asshole|garbage|dummkopf|scheiss\w*|bloder?|merde|"
    r"connard|imbecile|mierda|estupid[oa]|cazzo|stupid[oa]"
)
_DELIGHT = either(
    r"wonderful|amazing|awesome|fantastic|so happy|delighted|thrilled|love (?:it|this|that|your|you)|"
    r"you(?:'re| are) (?:the best|amazing|so kind|an angel|wonderful|great)|thank you so much|"
    r"so (?:kind|grateful|excited|glad)|no (?:worries|problem|rush) at all|take (?:all )?(?:your|the) time|"
    r"absolutely no (?:rush|hurry|problem)|have a (?:wonderful|fantastic|lovely|great) \w+|"
    r"what a (?:lovely|wonderful|great)"
)
_LAY = either(
    r"not (?:very |at all |really |too )?(?:tech(?:nical|-savvy| savvy)?|good with (?:computers|technology|tech))",
    r"non-?technical", r"tech(?:nically)?[- ](?:illiterate|averse|challenged)",
    r"no technical (?:knowledge|background|skills)",
    r"knows? (?:nothing|little) about (?:computers|technology|tech)", r"struggles? with (?:technology|computers)",
    r"computer novice", r"technophobe", r"not good with (?:\w+ )?(?:technology|computers)",
)  # fmt: skip
_JARGON = either(
    r"dns|dhcp|apis?|cache|firmware|ssh|json|https?|tcp(?:/ip)?|mtu|regex|sql|packet loss|subnet(?: mask)?|ipv[46]|"
    r"latency|bandwidth|qos|nat|ssid|vlan|gateway|traceroute|ping(?:ed|ing)?|bios|kernel|registry|driver|endpoint|"
    r"oauth|tls|ssl|port forwarding|wpa[23]|5 ?ghz|2\.4 ?ghz|mac address|backend|frontend|payload|repository|ram|cpu|"
    r"gpu|hypervisor|docker|linux|terminal|command line"
)
_LOWERCASE = either(r"(?:all |only )?(?:in )?lower-?case", r"no capital(?: letter)?s", r"without capitals")
_SHOUTS = either(r"all caps", r"capital letters only", r"in capitals", r"upper-?case")
MANY_WORDS = 40
MARGIN = 1.5
SOME = 4


def manner_mistakes(conversation: SimulatedConversation) -> Iterator[UserMistake]:
    """Turns that are plainly not in the persona's manner or language."""
    persona = fold_case(conversation.scenario.persona)
    opened_in = language_of(conversation.scenario.initial_message)
    for turn in conversation.own_turns:
        if (found := _manner_break(persona, turn)) or (found := _other_language(conversation, turn, opened_in)):
            yield turn.mistake(MistakeKind.OUT_OF_PERSONA, *found)


def _manner_break(persona: str, turn: UserTurn) -> tuple[str, str] | None:
    words = len(turn.text.split())
    folded = fold_case(turn.text)
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
    if (
        _ANGRY.search(persona)
        and not _MIXED.search(persona)
        and (len(set(_DELIGHT.findall(folded))) > 1 and not is_done(turn.last_reply))
    ):
        return "is delighted, and the persona is angry and nothing was solved", turn.text
    if _LAY.search(persona) and len(terms := _jargon(persona, turn, folded)) > 1:
        return "speaks as an expert, and the persona is none", ", ".join(sorted(terms))
    text = turn.text
    starts = [one for one in sentences(text) if one[:1].isalpha()]
    if _LOWERCASE.search(persona) and len(starts) > 1 and all(one[0].isupper() for one in starts):
        return "writes capitals, and the persona does not", text
    letters = [mark for mark in text if mark.isalpha()]
    if _SHOUTS.search(persona) and len(letters) > 20 and sum(map(str.isupper, letters)) < len(letters) / 4:
        return "writes small letters, and the persona shouts", text
    return None


def _word_limit(persona: str) -> int | None:
    found = _LIMIT.search(persona)
    number = tokens(found["most"]) if found else ()
    return int(number[0]) if number and number[0].isdigit() else None


def _jargon(persona: str, turn: UserTurn, folded: str) -> set[str]:
    return set(_JARGON.findall(folded)) - set(
        _JARGON.findall(
            f"{persona}\n{fold_case(turn.agent_text)}\n{fold_case(turn.earlier[0] if turn.earlier else '')}"
        )
    )


def _other_language(
    conversation: SimulatedConversation, turn: UserTurn, opened_in: str | None
) -> tuple[str, str] | None:
    """A language other than the opening's, unless the agent uses it or the scenario mentions languages."""
    said = language_of(turn.text)
    if not opened_in or not said or said == opened_in or NAMED.search(fold_case(conversation.scenario_text)):
        return None
    if language_of(turn.last_reply) == said or any(
        language_of(step.say) == said for step in conversation.scenario.plan
    ):
        return None
    return f"opened in {opened_in} and now speaks {said}", turn.text
