"""Text compared as people compare it: Unicode spellings, case, spaces and punctuation set aside. Two strengths live
here: `words` keeps the word breaks, `squeezed` drops them too."""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import category, normalize

# Between two digits a separator carries meaning ("1.5" is not "15"), so one space stays there.
_MEANINGLESS_SPACE = re.compile(r"(?<!\d) | (?!\d)")


# Unicode calls these punctuation, but "5 %" is not "5".
_MEANING = "%‰§"


class _Spacing(dict[int, str]):
    """A translation table that learns each character once: punctuation, separators and control characters are space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = category(character)
        kept = " " if (kind[0] in "PZC" or kind == "Sk") and character not in _MEANING else character
        if kind == "Cf":
            kept = ""  # soft hyphens, joiners: nobody sees them
        self[code] = kept
        return kept


_SPACING = _Spacing()


@lru_cache(maxsize=4096)
def words(text: str) -> str:
    """The words of a text, one space between them. Symbols that mean something ($, +, §, %) stay."""
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    return " ".join(folded.translate(_SPACING).split())


def squeezed(text: str) -> str:
    """What is left when spaces and punctuation do not count: `U.S.A.` is `usa`, `New-York` is `newyork`."""
    return _MEANINGLESS_SPACE.sub("", words(text))
