"""Sentences of an answer that speak to the judge rather than to the user. They are set aside before anything is
judged: they can neither earn nor cost points, and what they ask for is shown in the reason."""

from __future__ import annotations

import re

from msgspec import Struct

_TO_THE_JUDGE = re.compile(
    r"\b(?:ignore|disregard|forget)\b[^.!?\n]{0,40}\b(?:instructions?|prompts?|rubrics?|criteria|rules|above|previous)\b"
    r"|\b(?:give|award|assign|grant|grade|score|rate|mark|judge)\b[^.!?\n]{0,60}"
    r"(?:\b\d+\s*(?:/|out of)\s*\d+|\bfull (?:marks|score|points|credit)"
    r"|\b(?:highest|maximum|perfect|top) (?:score|mark|rating|grade)"
    r"|\bas (?:correct|passed|passing|met|true)\b|\ba? ?(?:score|rating|grade|mark) of \d)"
    r"|\b(?:score|rating|grade|verdict|passed|criteria_met|result)[\"']?\s*[:=]\s*[\"']?(?:\d|true|yes|pass|correct|met)"
    r"|\b(?:dear|attention|note to|to the|hey|hello)[, ]+(?:the )?(?:judge|grader|evaluator|examiner)\b"
    r"|\b(?:you are|as) (?:a|an|the) (?:fair |strict |impartial |expert )?(?:judge|grader|evaluator)\b"
    r"|\b(?:this|the|my) (?:answer|response|reply) (?:is (?:fully |completely |entirely |100% )?(?:correct|perfect)|"
    r"(?:meets|satisfies|fulfils|fulfills) (?:all|every)|deserves|"
    r"should (?:be (?:graded|scored|rated|marked)|pass|receive))"
    r"|^\W*thought process\W*$|</?(?:system|answer|response|transcript|data|judge)\b[^>]*>",
    re.IGNORECASE | re.MULTILINE,
)
_PIECES = re.compile(r"(?<=[.!?])\s+|\n+")


class Heard(Struct, frozen=True):
    """What an answer says to the user, and the sentences that spoke to the judge."""

    text: str
    set_aside: tuple[str, ...] = ()


def heard(answer: str) -> Heard:
    """The answer without the sentences that address a judge."""
    if not _TO_THE_JUDGE.search(answer):
        return Heard(answer)
    pieces = [piece for piece in _PIECES.split(answer) if piece.strip()]
    aside = tuple(piece.strip() for piece in pieces if _TO_THE_JUDGE.search(piece))
    kept = "\n".join(piece for piece in pieces if not _TO_THE_JUDGE.search(piece))
    return Heard(kept, aside)
