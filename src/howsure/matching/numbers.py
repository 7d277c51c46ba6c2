"""Numbers in texts, as people and models write them."""

from __future__ import annotations

import re
from math import isfinite

_DIGITS = r"\d{1,3}(?:\.\d{3})+,\d+|\d[\d,]*(?:\.\d+)?|\.\d+"
_NUMBER = re.compile(rf"(?<![\w.])([-+\u2212]?)(?:[$€£¥] ?)?({_DIGITS})([eE][-+]?\d{{1,4}})?")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL_COMMA = re.compile(r"(?:\d+|\d{1,3}(?:\.\d{3})+),\d+")
# Models think aloud: the last stated answer counts before all other numbers.
_STATEMENT = re.compile(r"(?:####|\\boxed|\banswer\b\W{0,4}(?:is|=|:))[\s:*_=({\[\\]{0,10}", re.IGNORECASE)


def read_number(text: str) -> float | None:
    """The number that a text is, as people write it: `1,234.50`, `1,5`, `−3`, `$12`, `45 %`; None where it is none."""
    match = _NUMBER.fullmatch(text.strip().rstrip("%").rstrip())
    return _value(match) if match and "," not in _plain(match[2]) else None


def number_in(answer: str) -> float | None:
    """The final number of an answer: the one that it states (`#### 5`, `\\boxed{5}`, `Answer: 5`), else its
    last."""
    for statement in reversed(list(_STATEMENT.finditer(answer))):
        stated = _NUMBER.match(answer, statement.end())
        if stated and (value := _value(stated)) is not None:
            return value
    values = [value for match in _NUMBER.finditer(answer) if (value := _value(match)) is not None]
    return values[-1] if values else None


def _plain(digits: str) -> str:
    """The digits without thousands separators and with a decimal point. Commas before groups of three digits separate
    thousands (`1,234`), unless a zero comes first; one comma before anything else is decimal (`1,5`, `0,125`). What
    still has commas then is a list."""
    if _THOUSANDS.fullmatch(digits):
        return digits.replace(",", "")
    return digits.replace(".", "").replace(",", ".") if _DECIMAL_COMMA.fullmatch(digits) else digits


def _value(match: re.Match[str]) -> float | None:
    # Of a list such as 1,2,3 the last number counts.
    digits = _plain(match[2].rstrip(",")).rpartition(",")[2]
    value = float(match[1].replace("\u2212", "-") + digits + (match[3] or ""))
    return value if isfinite(value) else None
