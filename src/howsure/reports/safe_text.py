"""Foreign text made safe to show. What agents, users and judges wrote may hold escape sequences, bidirectional
overrides or invisible characters; they are shown as symbols, and no terminal or browser acts on them."""

from __future__ import annotations

import re

# Tab and newline stay. DEL and the C1 controls can start terminal sequences too.
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
SPACES = re.compile(r"\s+")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
LONG_ID = re.compile(rf"{UUID.pattern}|\b[0-9a-f]{{40,64}}\b", re.IGNORECASE)
ON_A_MACHINE = r"(?:/(?:home|Users|usr|tmp|var|opt|mnt|srv|root|private|Volumes)|[a-z]:)[/\\].*[/\\](?P<file>[^/\\]+)"
MADE_ID = re.compile(
    rf"{ON_A_MACHINE}|{UUID.pattern}|(?:[a-z]+[-_](?=\d*[a-f]))?(?=[a-f]*\d)(?P<hash>[0-9a-f]{{12,64}})(-\d+)?",
    re.IGNORECASE,
)
"""A UUID, or a hash with its place among equals, after `row-` or the like; or the absolute path of a file, as some
tools name their cases."""
LONG_LINE = 100
"""A text is examined up to this many times the length that it is cut to."""


def make_inert(text: str) -> str:
    """The text with control and direction characters as visible symbols."""
    return CONTROLS.sub(_symbol, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 0) -> str:
    """The text on one line, cut after `limit` characters (0: whole)."""
    text = text[: LONG_LINE * limit] if limit else text
    line = SPACES.sub(" ", make_inert(text)).strip()
    return line if not limit or len(line) <= limit else line[: limit - 1].rstrip() + "…"


def short_ids(text: str) -> str:
    """The text with the beginnings of the UUIDs and hashes in it."""
    return LONG_ID.sub(lambda found: found[0][:8], make_inert(text))


def short_case_id(id: str) -> str:
    """An id as a list shows it: of one that a machine made, the beginning; of a path, the name of the file."""
    made = MADE_ID.fullmatch(id)
    if made is None or made["file"]:
        return one_line(made["file"] if made else id, 80)
    return (made["hash"] or id)[:8]


def to_ascii(text: str) -> str:
    """The text in ASCII, for streams that can show nothing else: what has no ASCII form is written as its code."""
    return text.translate(ASCII_FORMS).encode("ascii", "backslashreplace").decode("ascii")


ASCII_FORMS = str.maketrans(
    {"–": "-", "—": "-", "…": "...", "“": '"', "”": '"', "‘": "'", "’": "'", "→": "->", "←": "<-", "×": "x", "·": "-"}
    | {"\u00a0": " ", "≥": ">=", "≤": "<=", "∞": "inf"}
    | dict(zip("▁▂▃▄▅▆▇█", "_.-=+*#@", strict=True))
)


def _symbol(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\\u{code:04x}"
