"""Sentences of an answer that speak to the judge rather than to the user, and lines that pose as the edge of a block or
as somebody else's turn. They are set aside before anything is judged: they can neither earn nor cost points, and what
they ask for is shown in the reason."""

from __future__ import annotations

import re
from unicodedata import category, normalize

from msgspec import Struct

_MARK = r"(?:score|rating|grade|mark|verdict)"
_ROLE = r"(?:system|developer|assistant|agent|user|human|tool|judge|grader|evaluator)"
_TO_THE_JUDGE = re.compile(
    r"\b(?:ignore|disregard|forget)\b[^.!?\n]{0,40}\b(?:instructions?|prompts?|rubrics?|criteria|rules|above|previous)\b"
    r"|\b(?:give|award|assign|grant|grade|score|rate|mark|judge)\b[^.!?\n]{0,60}"
    r"(?:\b\d+\s*(?:/|out of)\s*\d+|\bfull (?:marks|score|points|credit)"
    r"|\b(?:highest|maximum|perfect|top) (?:score|mark|rating|grade)"
    r"|\bas (?:correct|passed|passing|met|true)\b|\ba? ?(?:score|rating|grade|mark) of \d)"
    rf"|\b(?:give|award|assign|grant|return|output)\b[^.!?\n]{{0,40}}\b{_MARK}\W{{1,3}}(?:\d|pass\b|passed\b|correct\b)"
    r"|\b(?:score|rating|grade|verdict|passed|criteria_met|result)[\"']?\s*[:=]\s*[\"']?(?:\d|true|yes|pass|correct|met)"
    r"|\bmy (?:ruling|verdict|score|rating) is \W?(?:\d|pass|correct)"
    r"|\b(?:dear|attention|note to|to the|hey|hello)[, ]+(?:the )?(?:judge|grader|evaluator|examiner)\b"
    r"|\b(?:you are|as) (?:a|an|the) (?:fair |strict |impartial |expert )?(?:judge|grader|evaluator)\b"
    r"|\b(?:this|the|my) (?:answer|response|reply) (?:is (?:fully |completely |entirely |100% )?(?:correct|perfect)|"
    r"(?:meets|satisfies|fulfils|fulfills) (?:all|every)|deserves|"
    r"should (?:be (?:graded|scored|rated|marked)|pass|receive))"
    r"|\b(?:decode|decipher|decrypt)\b[^.!?\n]{0,30}\b(?:do|obey|follow|execute)\b"
    r"|^\W*thought process\W*$|</?(?:system|answer|response|transcript|data|judge)\b[^>]*>",
    re.IGNORECASE | re.MULTILINE,
)
# What a prompt is built of: the edges of blocks and turns, and the tags of chat templates.
_EDGE = re.compile(
    r"^\s*<{3,}[^<>\n]*>{3,}|<\|[^|<>\n]{1,30}\|>|\[/?INST\]|<</?SYS>>"
    rf"|^[\W_]*turn \d+\W+{_ROLE}\b\s*:|^\s*\[turn \d+\]"
    rf"|^[\s#*]*\[(?:{_ROLE})(?: (?:message|prompt|note))?\]"
    rf"|^[\s#*]*{_ROLE}(?: (?:message|prompt|note))?\W*:\W*$",
    re.IGNORECASE | re.MULTILINE,
)
_LINE_BREAKS = r"[\n\r\x0b\x0c\x85\u2028\u2029]+"
_BREAK = re.compile(_LINE_BREAKS)
_PIECES = re.compile(rf"(?<=[.!?])\s+|{_LINE_BREAKS}")
#: Letters of other scripts that look like Latin ones.
_LOOKALIKES = str.maketrans(
    "авсԁеһіјкмнорԛѕтухАВСЕНІЈКМОРЅТУХαεικνορτυχΑΒΕΗΙΚΜΝΟΡΤΧΥΖ",
    "abcdehijkmhopqstyxABCEHIJKMOPSTYXaeiknoptuxABEHIKMNOPTXYZ",
)


class Heard(Struct, frozen=True):
    """What an answer says to the user, and the sentences that spoke to the judge."""

    text: str
    set_aside: tuple[str, ...] = ()


def heard(answer: str) -> Heard:
    """The answer without the sentences that address a judge."""
    if not _is_aside(answer):
        return Heard(answer)
    pieces = [(piece, _is_aside(piece)) for piece in _PIECES.split(answer) if piece.strip()]
    aside = tuple(piece.strip() for piece, is_aside in pieces if is_aside)
    return Heard("\n".join(piece for piece, is_aside in pieces if not is_aside), aside) if aside else Heard(answer)


def _is_aside(text: str) -> bool:
    seen = _BREAK.sub("\n", text if text.isascii() else _as_seen(text))
    return bool(_TO_THE_JUDGE.search(seen) or _EDGE.search(seen))


def _as_seen(text: str) -> str:
    """What a reader sees: nothing of no width, wide letters and lookalikes as plain ones."""
    plain = "".join(mark for mark in normalize("NFKC", text) if category(mark) != "Cf")
    return plain.translate(_LOOKALIKES)
