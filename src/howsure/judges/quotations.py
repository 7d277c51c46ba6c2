"""Text that somebody else wrote, shown to a judge as data: in a block that it cannot close.

A block stands between `<<<BEGIN name · marker>>>` and `<<<END name · marker>>>`. The marker is a hash of everything
quoted, so it is the same for the same question and nobody can write it into the text that it is made from; should it
still occur there, another one is taken. Invisible characters are shown by their number, and long texts are cut in the
middle, with a note of how much is missing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256

OPENING, CLOSING = "<<<BEGIN {} · {}>>>", "<<<END {} · {}>>>"
NOT_GIVEN = "(not given)"
MARKER_LENGTH = 12
TEXT_CAP = 60_000
"""Characters of one quoted text."""

_JOINERS = "\u200c\u200d"
_NEWLINES = re.compile(r"\r\n?")
HIDDEN = re.compile(
    # Everything that is not printed, or prints as nothing; the ordinary line break and tab stay.
    r"([\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff])\1*"
)
NAMED = re.compile(r"⟦U\+[0-9A-F]{4,6}(?: ×\d+)?⟧")
_EDGE = re.compile(r"<{3,}")


def show_hidden(text: str) -> str:
    """The text with control, direction, tag and zero-width characters replaced by their numbers."""
    # Most texts are plain, and this test is much faster than a search that finds nothing.
    if text.isascii() and text.replace("\n", " ").replace("\t", " ").isprintable():
        return text
    return HIDDEN.sub(_name_hidden, _NEWLINES.sub("\n", text))


def defuse_text(text: str) -> str:
    """The visible text, without anything that looks like the edge of a block."""
    shown = show_hidden(text)
    return _EDGE.sub(lambda found: " ".join(found[0]), shown) if "<<<" in shown else shown


def cut_middle(text: str, cap: int = TEXT_CAP) -> str:
    """The text; a longer one loses its middle and says how much is missing."""
    if len(text) <= cap:
        return text
    head = cap * 2 // 3
    tail = cap - head
    gone = len(text) - cap
    return f"{text[:head]}\n⟦{gone} of {len(text)} characters were cut out here⟧\n{text[len(text) - tail :]}"


def prefix_lines(text: str) -> str:
    """Every line after a bar, so that inside a longer text its lines cannot pass for the lines around them."""
    return "\n".join(f"| {line}" for line in _NEWLINES.sub("\n", text).split("\n"))


def block_marker(texts: Iterable[str]) -> str:
    """A code that occurs in none of the texts; the same for the same texts."""
    texts = tuple(texts)
    digest = sha256("\x1f".join(texts).encode("utf-8", "surrogatepass"))
    marker = digest.hexdigest()[:MARKER_LENGTH]
    while any(marker in text.lower() for text in texts):
        digest = sha256(digest.digest())
        marker = digest.hexdigest()[:MARKER_LENGTH]
    return marker


def quote_blocks(texts: Mapping[str, str], cap: int = TEXT_CAP, whole: Collection[str] = ()) -> dict[str, str]:
    """Each text as a block under its name, all with one marker; an empty text says that it is not given. Those that are
    named in `whole` are not cut."""
    defused = {name: defuse_text(text) for name, text in texts.items()}
    shown = {name: text if name in whole else cut_middle(text, cap) for name, text in defused.items()}
    marker = block_marker(shown.values())
    blocks = dict.fromkeys(shown, NOT_GIVEN)
    for name, text in shown.items():
        if text:
            title = name.replace("_", " ")
            blocks[name] = f"{OPENING.format(title, marker)}\n{text}\n{CLOSING.format(title, marker)}"
    return blocks


def _name_hidden(found: re.Match[str]) -> str:
    character, count = found[1], len(found[0])
    if character in _JOINERS and count == 1 and _joins(found):
        return character
    return f"⟦U+{ord(character):04X}{f' ×{count}' if count > 1 else ''}⟧"


def _joins(found: re.Match[str]) -> bool:
    """Whether a joiner is needed: between letters of scripts that use it, or between the parts of an emoji."""
    before, after = found.string[found.start() - 1 : found.start()], found.string[found.end() : found.end() + 1]
    return all(near > "\u02ff" and unicodedata.category(near)[0] in "LMS" for near in (before, after) if near) and bool(
        before and after
    )
