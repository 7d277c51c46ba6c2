"""The amounts in a gate, each with the units it is written in: shares, times, money, counts."""

from __future__ import annotations

import re

from howsure.policies.gate_scanning import Scanner

NUMBER = re.compile(r"[+-]?(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?!\d)")
PERCENT = re.compile(r"%")
TIME = re.compile(r"(ms|s|m|min)\b")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0}
DOLLAR = re.compile(r"\$")
USD = re.compile(r"USD\b", re.IGNORECASE)
THOUSANDS = re.compile(r"([kKM])\b")
TIMES = {"k": 1e3, "K": 1e3, "M": 1e6}


def plain(scanner: Scanner) -> float:
    return _number(scanner, "a number")


def share(scanner: Scanner) -> float:
    """`0.9` or `90%`."""
    begin = scanner.here
    number = _number(scanner, "a share, such as 0.9 or 90%")
    value = number / 100 if scanner.take(PERCENT) else number
    if not 0 <= value <= 1:
        hint = f"; did you mean {number:g}%?" if 1 < number <= 100 and value == number else ""
        raise scanner.wrong(f"expected a share from 0 to 1 or from 0% to 100%, found {number:g}{hint}", at=begin)
    return value


def seconds(scanner: Scanner) -> float:
    number = _positive(scanner, "a time, such as 3s or 800ms")
    return number * SECONDS[scanner.expect(TIME, "a unit of time after the number: ms, s or m")[1]]


def dollars(scanner: Scanner) -> float:
    """`2 USD` or `$2`."""
    if scanner.take(DOLLAR):
        return _positive(scanner, "an amount after the $")
    number = _positive(scanner, "an amount of money, such as 2 USD")
    scanner.expect(USD, "USD after the number")
    return number


def count(scanner: Scanner) -> float:
    """`500000`, `500k`, `1.5M`."""
    number = _positive(scanner, "a count, such as 500k")
    found = scanner.take(THOUSANDS)
    return number * TIMES[found[1]] if found else number


def errors_limit(scanner: Scanner) -> tuple[float, bool]:
    """`1%`, or `3`: then True, for it is counted."""
    begin = scanner.here
    number = _positive(scanner, "a share such as 1%, or a number of cases such as 3")
    if scanner.take(PERCENT):
        if number > 100:
            raise scanner.wrong(f"expected a share up to 100%, found {number:g}%", at=begin)
        return number / 100, False
    if number != int(number):
        told = f"expected a share such as 1%, or a whole number of cases, found {number:g}"
        raise scanner.wrong(f"{told}; did you mean {100 * number:g}%?", at=begin)
    return number, True


def _positive(scanner: Scanner, expected: str) -> float:
    begin = scanner.here
    number = _number(scanner, expected)
    if number < 0:
        raise scanner.wrong(f"expected {expected}, found the negative {number:g}", at=begin)
    return number


def _number(scanner: Scanner, expected: str) -> float:
    return float(scanner.expect(NUMBER, expected)[0].replace("_", ""))
