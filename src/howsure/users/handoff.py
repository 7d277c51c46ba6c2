"""Whether an agent hands the user over to a person: by the tool it calls, or by what it says. Offering to do so is not
doing it, and passing on to another agent of the same system is not a person."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from howsure.judges.offline.vocabulary import word_set
from howsure.model.agent import AgentTool
from howsure.model.transcript import Message
from howsure.users.phrases import either
from howsure.users.speech import sentences
from howsure.users.words import plain

HANDOFF_TYPES = frozenset({"human_handoff", "offline_human_handoff"})
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PART = re.compile(r"[^a-z0-9]+")
_PEOPLE = word_set(
    "human humans person people live operator representative rep staff colleague supervisor employee specialist"
)
_PASSING = word_set("handoff handover transfer escalate escalation connect route forward request talk speak call")
_ALONE = frozenset(
    {"handoff", "handover", "hand_off", "hand_over", "escalate", "escalation", "live_chat", "live_support"}
)
_ESCALATES = re.compile(r"\Aescalate_(?:to|call|chat|conversation|case|issue|user|customer)(?:_|\Z)")

_PERSON = (
    r"(?:(?:real |live |human )?(?:person|people|human(?: being)?|colleague|co-?worker|representative|operator|"
    r"supervisor|"
    r"specialist|advis[eo]r|staff member|team member|member of (?:our|the) (?:\w+ )?(?:team|staff)|human agent|"
    r"live agent|"
    r"someone (?:who|from|on|in))|(?:an|our|one of our|a (?:customer )?(?:service|support)) agents?|manager)s?"
)
_HANDS_OVER = either(
    r"(?:i'm|i am|i'll|i will|we're|we are|we'll|we will|let me|i've|i have|we've|we have|now|going to)(?: now| "
    r"just| immediately"
    r"| directly| go ahead and)* (?:\w+ )?(?:transfer(?:ring|red)?|connect(?:ing|ed)?|hand(?:ing|ed)?|escalat(?:e|"
    r"ing|ed)|put(?:ting)?|"
    rf"pass(?:ing|ed)?|forward(?:ing|ed)?|redirect(?:ing|ed)?|patch(?:ing|ed)?)(?: \w+){{0,6}}? (?:\w+ "
    rf"){{0,3}}{_PERSON}",
    rf"(?:transferring|connecting|escalating|forwarding|passing|handing)(?: \w+){{0,5}}? to (?:\w+ ){{0,3}}{_PERSON}",
    rf"you (?:are|will be|have been|'re|'ll be)(?: now)?(?: being)? (?:transferred|connected|handed over|put "
    rf"through|forwarded)"
    rf"(?: \w+){{0,2}}? (?:to|with) (?:\w+ ){{0,3}}{_PERSON}",
    rf"{_PERSON} (?:will|is going to) (?:take over|join|be with you|take it from here|assist you (?:now|shortly))",
    r"handoff triggered",
    r"(?:ich|wir) (?:verbinde|verbinden|leite|leiten|ubergebe|ubergeben|gebe|geben)(?: \w+){1,6}? (?:kolleg\w+|"
    r"mitarbeiter\w*|menschen|"
    r"berater\w*|kundenberater\w*|person|ansprechpartner\w*|spezialist\w*)",
    r"sie werden (?:jetzt |nun |gleich )?(?:mit|an) (?:\w+ ){1,4}(?:verbunden|weitergeleitet|ubergeben)",
    r"je (?:vous |te )(?:transfere|passe|mets en (?:relation|contact)|redirige)(?: \w+){0,4}? (?:conseill\w+|"
    r"collegue|humain\w*|personne|"
    r"agent humain|operat\w+|responsable)",
    r"(?:le|la|lo|te|les) (?:transfiero|paso|comunico|derivo|conecto|pongo en contacto)(?: \w+){0,4}? (?:agente|"
    r"companer[oa]|persona|"
    r"humano|asesora?|operadora?|supervisora?|colega)",
    r"(?:la|ti|vi) (?:trasferisco|passo|metto in contatto|collego)(?: \w+){0,4}? (?:operat\w+|collega|person\w*|"
    r"consulente|umano)",
    r"(?:vou|estou)(?: a)? (?:transferi\w*|encaminha\w*|conecta\w*|passa\w*)(?:-\w+)?(?: \w+){0,4}? (?:atendente|"
    r"colega|pessoa|humano|operador\w*)",
    r"ik (?:verbind|schakel|zet|draag)(?: \w+){1,5}? (?:collega|medewerker|mens|persoon|specialist)",
)  # fmt: skip
_CONDITIONAL = either(
    r"would you", r"do you want", r"shall i", r"should i", r"if (?:you|that|this|it|needed|necessary)", r"before",
    r"unless",
    r"once you", r"in case",
    r"(?:i|we) (?:can|could|may|might) (?:also |then )?(?:transfer|connect|hand|put|escalate|forward|pass)",
    r"mochten sie", r"soll ich", r"wenn sie", r"falls", r"kann ich", r"voulez-vous", r"souhaitez-vous", r"si vous",
    r"je peux",
    r"desea", r"quiere", r"puedo", r"si (?:lo )?(?:desea|quiere|prefiere)", r"vuole", r"desidera", r"posso",
    r"gostaria",
    r"se (?:quiser|preferir|vuole|desidera)", r"wilt u", r"als u", r"ik kan",
)  # fmt: skip
"""Anywhere in the sentence: it is only offered, or depends on something."""
_DENIED = either(
    r"cannot", r"can't", r"unable", r"not able", r"won't", r"will not", r"not", r"no", r"no need", r"nicht",
    r"kein\w*", r"ne",
    r"non", r"nao", r"niet", r"virtual", r"automated", r"ai", r"bot",
)  # fmt: skip
"""Between the clause's beginning and its end: it does not happen, or not to a person."""


def handoff_tools(tools: Iterable[AgentTool]) -> frozenset[str]:
    """The tools of an agent whose type says that they hand over to a person."""
    return frozenset(tool.tool_name for tool in tools if tool.type in HANDOFF_TYPES)


def hands_off(reply: Sequence[Message], tools: Collection[str] = ()) -> str:
    """What shows that the agent hands over to a person in this reply; empty when nothing does."""
    calls = [call.name for message in reply for call in message.tool_calls]
    called = next((name for name in calls if name in tools or is_handoff_tool(name)), "")
    if called:
        return f"the agent called {called}"
    if any(_passes_on(name) for name in calls):
        return ""  # its words are about the agent it passes on to
    said = next((words for message in reply if (words := handoff_words(message.content))), "")
    return f"the agent said: {said}" if said else ""


def is_handoff_tool(name: str) -> bool:
    """Whether a tool's name tells of a person: `transfer_to_human`, `live_handoff`; not `transfer_to_agent`."""
    folded = _PART.sub("_", _CAMEL.sub("_", name).lower()).strip("_")
    parts = set(folded.split("_"))
    if folded in _ALONE or _ESCALATES.match(folded):
        return True
    return bool(parts & _PEOPLE) and bool(parts & _PASSING or "hand" in parts)


@lru_cache(maxsize=2048)
def handoff_words(text: str) -> str:
    """The sentence that hands over to a person. A question after it means that the agent is not gone yet."""
    said = sentences(text)
    if not said or said[-1].rstrip("\"'”’) ").endswith(("?", "？")):
        return ""
    return next((one for one in said if _hands_over(plain(one))), "")


def _hands_over(sentence: str) -> bool:
    if "?" in sentence or not (found := _HANDS_OVER.search(sentence)) or _CONDITIONAL.search(sentence):
        return False
    # `I cannot refund this, so I am transferring you to a colleague`: only the clause that hands over counts.
    start = max(sentence.rfind(mark, 0, found.start()) for mark in (",", ";", ":", "–", "—", " so ", " but "))
    return not _DENIED.search(sentence[start + 1 : found.end()])


def _passes_on(name: str) -> bool:
    folded = _PART.sub("_", _CAMEL.sub("_", name).lower())
    return folded.startswith(("transfer_to_", "handoff_to_", "delegate_to_", "route_to_"))
