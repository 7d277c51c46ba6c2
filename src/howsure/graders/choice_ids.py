"""The ids of a question's options as they stand in a text: what an id looks like there, what joins several to a list,
and which id is meant. Worked out once for each list of ids: the questions of a dataset share a few."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from howsure.graders.choice_words import AND, OPTION, OR

# Python's \w takes in Chinese and Korean signs, which may touch an id ("答案是B").
LETTER = r"0-9A-Za-z_\u00C0-\u024F\u0370-\u03FF\u0400-\u052F"
# Possessive throughout: a long run of stars or spaces is read once, not once for each way to split it.
OPENERS = (
    r"[\s*_`\"'“”‘’„«»\[({<$#>|~•→⇒=]*+(?:[-–—]+[>\s]\s*+)?+"
    r"(?:\\(?:text|mathrm|mathbf|textbf|boxed)\{|\\[(\[])?+[\s*_`\"'“(]*+"
)
CLOSERS = r"(?:[*_`\"”“»)\]}>$|~]|['’](?![^\W\d_]))*+"


class Ids(Struct, frozen=True):
    """`known`: the id by what stands for it. `one_sign_each`: all of them are single letters or digits."""

    pattern: re.Pattern[str]
    separator: re.Pattern[str]
    known: dict[str, str]
    one_sign_each: bool


@lru_cache(maxsize=512)
def worked_out(ids: tuple[str, ...]) -> Ids:
    plain = all(len(each) == 1 and each.isascii() and each.isalnum() for each in ids)
    return Ids(_pattern(ids), _separator(ids), _known(ids), plain)


def _known(ids: tuple[str, ...]) -> dict[str, str]:
    folded = [each.casefold() for each in ids]
    known = {fold: each for fold, each in zip(folded, ids, strict=True) if folded.count(fold) == 1}
    return known | {each: each for each in ids}


def _pattern(ids: tuple[str, ...]) -> re.Pattern[str]:
    """An id that touches no other letter, with what closes a quotation, emphasis or bracket after it."""
    either = "|".join(re.escape(each) for each in sorted(ids, key=len, reverse=True))
    return re.compile(rf"(?<![{LETTER}])(?P<id>{either})(?![{LETTER}]){CLOSERS}", re.IGNORECASE)


def _separator(ids: tuple[str, ...]) -> re.Pattern[str]:
    """What joins ids to a list. A word that is an id itself joins nothing ("A e C", but not with an option e)."""
    taken = {each.casefold() for each in ids}
    ands, ors = ("|".join(re.escape(word) for word in kind if word not in taken) for kind in (AND, OR))
    return re.compile(
        rf"\s*+(?:[,;]?+\s*+(?P<or>(?:{ors})(?!\w)|/)|[,;&+、]\s*+(?:(?:{ands})(?!\w))?+|(?:{ands})(?!\w)|(?<=[)\]])(?=[(\[]))\s*+"
        rf"(?:{OPTION}\s++)?+{OPENERS}",
        re.IGNORECASE,
    )
