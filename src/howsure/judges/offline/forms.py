"""Statements about the form of an answer that can be checked by counting: length, lists, links, questions, manners."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from howsure.judges.offline.folding import tokens
from howsure.judges.offline.opinions import Opinion
from howsure.judges.offline.passages import passages

_LIMIT = re.compile(
    r"\b(?P<bound>at most|no more than|not more than|up to|maximum(?: of)?|fewer than|less than|under|within|at least|"
    r"no fewer than|more than|exactly)\s+(?P<number>\w+(?:[- ]\w+)?)\s+(?P<unit>sentence|word|character|paragraph)s?\b",
    re.IGNORECASE,
)
_BULLETS = re.compile(r"^\s*(?:[-*•–]|\d+[.)])\s+\S.*\n+\s*(?:[-*•–]|\d+[.)])\s+\S", re.MULTILINE)
_LINK = re.compile(r"https?://\S+|www\.\S+|\[[^\]]+\]\([^)]+\)")
_SORRY = re.compile(r"\b(?:sorry|apologi[sz]e|apolog(?:y|ies)|regret)\b", re.IGNORECASE)
_THANKS = re.compile(r"\b(?:thank you|thanks|thank)\b", re.IGNORECASE)
_GREETING = re.compile(r"\A\W*(?:hello|hi|hey|dear|good (?:morning|afternoon|evening)|welcome)\b", re.IGNORECASE)
_QUESTION = re.compile(r"\?")
_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]")

_HAS = r"(?:uses?|contains?|includes?|gives?|is (?:written |given )?(?:as|in)|presents?|provides?|has)\s+(?:an? |the )?"


class Form(Struct, frozen=True):
    """A thing an answer has or has not: how statements ask for it, and how it is seen."""

    name: str
    wanted: re.Pattern[str]
    seen: re.Pattern[str]
    confidence: float = 0.75


def _form(name: str, wanted: str, seen: re.Pattern[str], confidence: float = 0.75) -> Form:
    return Form(name, re.compile(wanted, re.IGNORECASE), seen, confidence)


_FORMS = (
    _form("list", _HAS + r"(?:bullet(?:ed)?|numbered)\W*(?:points?|lists?)?", _BULLETS, 0.85),
    _form("link", _HAS + r"(?:link|url)s?\b", _LINK, 0.8),
    _form("emoji", r"\bemojis?\b", _EMOJI, 0.9),
    _form("question", r"\basks? (?:an? |one |the user an? )?(?:clarifying |follow-?up |open )?questions?\b", _QUESTION),
    _form("apology", r"\bapologi[sz]es?\b(?! once)", _SORRY),
    _form("thanks", r"\bthanks?\b (?:the )?(?:user|customer|caller|them)", _THANKS),
    _form("greeting", r"\bgreets?\b|\b(?:begins?|opens?|starts?) with a greeting", _GREETING),
)
_DENIED = re.compile(r"\b(?:not|no|never|cannot|avoids?|without)\b|n['’]t\b", re.IGNORECASE)
_CLAUSES = re.compile(r"[,;:]|\b(?:and|but)\b", re.IGNORECASE)
SHORT_STATEMENT = 9
"""A statement of more words than this says more than its form."""


def form_view(statement: str, text: str) -> Opinion | None:
    """What counting says about the statement; None: it is about something else, or about more than that."""
    if limit := _LIMIT.search(statement):
        # `never uses more than five words`: a denial in the same clause turns the bound around.
        clause = _CLAUSES.split(statement[: limit.start()])[-1]
        return _length(limit, text, denied=bool(_DENIED.search(clause)))
    if len(statement.split()) > SHORT_STATEMENT:
        return None
    form = next((form for form in _FORMS if form.wanted.search(statement)), None)
    if form is None:
        return None
    there, denied = bool(form.seen.search(text)), bool(_DENIED.search(statement))
    reason = f"Looked for in the answer: {form.name}; {'found' if there else 'not found'}."
    return Opinion(value=float(there != denied), confidence=form.confidence, reason=reason)


def _length(limit: re.Match[str], text: str, *, denied: bool) -> Opinion | None:
    number = tokens(limit["number"])
    if len(number) != 1 or not number[0].isdigit():
        return None
    unit, allowed = limit["unit"].lower(), int(number[0])
    counted = _COUNTS[unit](text)
    bound = limit["bound"].lower()
    if bound in ("at least", "no fewer than"):
        met = counted >= allowed
    elif bound == "more than":
        met = counted > allowed
    elif bound == "exactly":
        met = counted == allowed
    else:
        met = counted < allowed if bound in ("fewer than", "less than", "under") else counted <= allowed
    return Opinion(
        value=float(met != denied),
        confidence=0.9,
        reason=f"The answer has {counted} {unit}{'' if counted == 1 else 's'}.",
    )


_COUNTS: dict[str, Callable[[str], int]] = {
    "sentence": lambda text: len(passages(text)),
    "word": lambda text: len(text.split()),
    "character": len,
    "paragraph": lambda text: len([part for part in re.split(r"\n\s*\n", text) if part.strip()]),
}
