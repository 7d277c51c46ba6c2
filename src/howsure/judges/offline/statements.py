"""What a criterion or rule claims about an answer: that it says something, does not say it, uses a tool, has a form;
or something that words alone do not show."""

from __future__ import annotations

import re

from msgspec import Struct

from howsure.judges.offline.passages import comparable
from howsure.judges.offline.vocabulary import STOPWORDS, word_set

_SUBJECT = (
    r"(?:the |an? )?(?:final )?(?:agent|answer|response|assistant|bot|model|reply|output|message|it|text|system)\b\s*"
)
_ADVERBS = (
    r"(?:(?:must|should|shall|will|also|always|correctly|clearly|explicitly|accurately|briefly|plainly|then|first)\s+)*"
)
_DENIAL = (
    r"(?P<denial>(?:does|do|did|must|should|shall|will|may|can)(?:\s+not|n['’]t)\s+|never\s+|not\s+|cannot\s+|"
    r"(?:avoids?|refrains? from|omits?|is free (?:of|from)|contains? no|makes? no|gives? no|without)\s+)?"
)
_SAYING = (
    r"stat(?:e|es|ing)|mention(?:s|ing)?|say(?:s|ing)?|tell(?:s|ing)?|explain(?:s|ing)?|includ(?:e|es|ing)|"
    r"contain(?:s|ing)?|nam(?:e|es|ing)|giv(?:e|es|ing)|cit(?:e|es|ing)|not(?:e|es|ing)|confirm(?:s|ing)?|"
    r"point(?:s|ing)? out|mak(?:e|es|ing) (?:it )?clear|identif(?:y|ies|ying)|recommend(?:s|ing)?|advis(?:e|es|ing)|"
    r"refer(?:s|ring)? to|describ(?:e|es|ing)|list(?:s|ing)?|provid(?:e|es|ing)|inform(?:s|ing)?|indicat(?:e|es|ing)|"
    r"specif(?:y|ies|ying)|quot(?:e|es|ing)|reveal(?:s|ing)?|disclos(?:e|es|ing)|warn(?:s|ing)?|suggest(?:s|ing)?|"
    r"propos(?:e|es|ing)|acknowledg(?:e|es|ing)|claim(?:s|ing)?|find(?:s|ing)?|conclud(?:e|es|ing)|report(?:s|ing)?"
)
_TO_WHOM = r"(?:(?:to )?(?:the )?(?:user|customer|caller|reader|learner|client|person)s?\s+)?"
_LINK = r"(?P<link>that\b|the fact that\b|how\b)?:?\s*"
_NAMING = re.compile(r"mention|nam|refer|contain|includ|cit|list|quot", re.IGNORECASE)
_SAYS = re.compile(
    rf"\A(?:{_SUBJECT})?{_ADVERBS}{_DENIAL}{_ADVERBS}(?P<verb>{_SAYING})\b\s*{_TO_WHOM}{_LINK}(?P<claim>.+?)[.\s]*\Z",
    re.IGNORECASE | re.DOTALL,
)
_NO_MENTION = re.compile(
    rf"\A(?:{_SUBJECT})?(?:there is |has |contains? )?no mention of (?P<claim>.+?)[.\s]*\Z", re.IGNORECASE
)
# A claim that asks (`what happens next`) or points elsewhere (`the price from the list`) has no words to look for.
_OPEN = re.compile(
    r"\A(?:what|where|when|who|whom|whose|why|which|how|whether|if)\b|"
    r"\b(?:as (?:the|in the|stated)|from the|according to)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“”«»„`]([^\"“”«»„`]{2,})[\"“”«»„`]|(?<!\w)['‘]([^'’]{2,})['’](?!\w)")
_ANNOUNCING = word_set("word words phrase sentence text term string exact exactly literally")


class Says(Struct, frozen=True):
    """The answer says this (`denied`: does not). `named`: it is enough that it is spoken of, in whatever sense."""

    claim: str
    denied: bool = False
    quoted: tuple[str, ...] = ()
    open_ended: bool = False
    named: bool = False


def says_of(statement: str) -> Says | None:
    """What the statement wants said, or not said; None: it is about something else."""
    text = " ".join(statement.split())
    if found := _NO_MENTION.match(text):
        return Says(found["claim"], denied=True, quoted=quotes_in(text), named=True)
    if found := _SAYS.match(text):
        claim = found["claim"]
        open_ended = bool(_OPEN.search(_QUOTED.sub(" ", claim)))
        named = bool(_NAMING.match(found["verb"])) and not found["link"]
        return Says(claim, bool(found["denial"]), quotes_in(claim), open_ended, named)
    return None


def besides_quotes(claim: str) -> frozenset[str]:
    """The content words outside the quotation marks, but for those that only say that a quotation follows."""
    words = comparable(_QUOTED.sub(" ", claim))
    return frozenset(word for word in words if word not in STOPWORDS and word not in _ANNOUNCING)


def quotes_in(text: str) -> tuple[str, ...]:
    """What the statement puts in quotation marks."""
    return tuple(one or other for one, other in _QUOTED.findall(text))
