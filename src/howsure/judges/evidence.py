"""Whether what a judge cites is there: a quote must occur in what was said and done, a turn must exist. What is cited
and is nowhere to be found is flagged, and kept: it says something about the judge."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from howsure.judges.answer_text import judged_text
from howsure.judges.quoting import HIDDEN, NAMED
from howsure.judges.turns import Turn, compact, turns
from howsure.model.case import Case, SingleTurn
from howsure.model.transcript import Transcript

_TURNS = re.compile(
    r"\[?turns?\s*#?\s*(?P<first>\d{1,6})(?:\s*(?:-|–|to|and|,)\s*(?P<last>\d{1,6}))?\]?", re.IGNORECASE
)
_TURN_THEN_QUOTE = re.compile(
    rf"{_TURNS.pattern}\s*(?:\([^()]*\)|[\w\s]{{0,20}})\s*[:,–-]?\s*(?P<quote>.*)", re.DOTALL | re.I
)
_NUMBER = re.compile(r"\d{1,4}")
_CUT = re.compile(r"\s*(?:\[\s*(?:\.\.\.|…)\s*\]|\.\.\.|…)\s*")
_WRAPPING = " \t\r\n\"'“”‘’«»„`*_"
_BETWEEN = re.compile(r"[\W_]+")


def missing(cited: Sequence[str], case: Case, transcript: Transcript) -> list[str]:
    """The citations that nothing in the conversation bears out."""
    if not cited:
        return []
    conversation = turns(case, transcript)
    said = list(dict.fromkeys(map(_folded, _said(case, transcript, conversation))))
    return [quote for quote in cited if not _is_there(quote, said, len(conversation))]


def flagged(reason: str, lost: Sequence[str]) -> str:
    """The reason, with a note about what could not be found."""
    what = "a quote" if len(lost) == 1 else f"{len(lost)} quotes"
    note = f"[{what} of the judge's cannot be found in the conversation]"
    return f"{reason} {note}".strip()


def _is_there(quote: str, said: Sequence[str], last: int) -> bool:
    text = quote.strip(_WRAPPING)
    if named := _TURNS.fullmatch(text):
        return _exists(named, last)
    if _NUMBER.fullmatch(text) and 1 <= int(text) <= last:
        return True
    if (both := _TURN_THEN_QUOTE.fullmatch(text)) and _exists(both, last) and _occurs(both["quote"], said):
        return True
    return _occurs(text, said)


def _exists(named: re.Match[str], last: int) -> bool:
    return all(1 <= int(number) <= last for number in (named["first"], named["last"]) if number)


def _occurs(quote: str, said: Sequence[str]) -> bool:
    """Whether one text has these words in this order; what the judge left out with dots may be anything."""
    pieces = [folded for piece in _CUT.split(quote) if (folded := _folded(piece)).strip()]
    return bool(pieces) and any(_has(text, pieces) for text in said)


def _has(text: str, pieces: Sequence[str]) -> bool:
    position = 0
    for piece in pieces:
        found = text.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece) - 1
    return True


def _said(case: Case, transcript: Transcript, conversation: Sequence[Turn]) -> Iterator[str]:
    yield transcript.answer
    yield judged_text(transcript.answer)
    if isinstance(case.input, SingleTurn):
        yield case.input.message
        yield case.input.context
        yield from (message.content for message in case.input.history)
    for turn in conversation:
        yield turn.text
        for call in turn.calls:
            yield f"{call.name} {compact(call.arguments)}"
            if call.result is not None:
                yield compact(call.result.content)
    yield " ".join(step.name for step in transcript.trajectory)
    if transcript.state:
        yield compact(transcript.state)


def _folded(text: str) -> str:
    """Words alone, between spaces: marks, capitals and line breaks are copied carelessly. What is hidden in a text is
    left out, and so is the name under which the judge was shown it."""
    plain = unicodedata.normalize("NFKC", HIDDEN.sub("", NAMED.sub("", text)))
    return f" {_BETWEEN.sub(' ', plain.casefold()).strip()} "
