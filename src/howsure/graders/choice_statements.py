"""Explicit statements of a choice in an answer: "Answer: B", "the answer is (c)", "C is correct", a boxed letter, an
answer tag, a JSON object. The last statement counts, because models think aloud and quote the question. Answers that
are JSON as a whole are read here too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from howsure.graders.choice_options import (
    CONTRADICTORY,
    JSON_KEYS,
    NO_CHOICE,
    NOTHING_READ,
    ChoiceOptions,
    ChoiceReading,
    ChosenOptions,
    UnclearChoice,
    choice_phrase,
)
from howsure.matching.text import words

_MOST_OBJECTS = 100
_FENCE = re.compile(r"\s*+`{3,}+[^\n]*+\n(?P<body>(?:.*[^`])?)`{3,}+\s*\Z", re.DOTALL)


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it is written: a key that occurs twice gives two answers."""


_DECODER = json.JSONDecoder(object_pairs_hook=_Pairs)


def json_objects(text: str, options: ChoiceOptions) -> Iterator[tuple[int, int, ChoiceReading]]:
    """Every JSON object in a text that names a choice, with its place."""
    at = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        reading = read_value(value, options)
        if reading is not None:
            yield at, end, reading
        at = text.find("{", end)


def read_json(text: str, options: ChoiceOptions) -> ChoiceReading | None:
    """The choice of an answer that is JSON as a whole, fenced or not. None: it is not JSON, or names no choice."""
    fenced = _FENCE.match(text)
    body = fenced["body"].rstrip() if fenced else text
    if body.strip()[:1] not in ("{", "[", '"'):
        return options.read(body, strict=True) if fenced else None
    try:
        value = json.loads(body, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None
    return read_value(value, options)


def is_json_object(text: str) -> bool:
    """Whether the whole answer is a JSON object. Its first key is then not a choice just because it comes first."""
    if not text.startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def read_value(value: Any, options: ChoiceOptions) -> ChoiceReading | None:
    """The choice that a JSON value names."""
    if isinstance(value, _Pairs):
        return _read_object(value, options)
    if isinstance(value, list):
        return _read_list(value, options)
    if isinstance(value, bool) or value is None or (isinstance(value, str) and not value.strip()):
        return None
    text = str(value)
    known = options.id_of(text.strip())
    if known is not None and options.named_by_text(text) in (None, options.chosen([known])):
        return options.chosen([known])
    return options.read(text)


def _read_list(values: list[Any], options: ChoiceOptions) -> ChoiceReading | None:
    ids: list[str] = []
    for value in values:
        reading = read_value(value, options)
        if not isinstance(reading, ChosenOptions):
            return reading or UnclearChoice(f"{NOTHING_READ}: {value!r} names none", NO_CHOICE)
        ids += reading.ids
    return options.chosen(ids)


def _read_object(pairs: _Pairs, options: ChoiceOptions) -> ChoiceReading | None:
    keyed = [("".join(filter(str.isalpha, key.casefold())), value) for key, value in pairs]
    named = [(key, value) for key, value in keyed if key in JSON_KEYS]
    if not named:
        # `{"A": true, "B": false}`, or an object with a single `id`.
        if pairs and all(isinstance(value, bool) and options.id_of(key) for key, value in pairs):
            return options.chosen(known for key, value in pairs if value and (known := options.id_of(key)))
        ids = [value for key, value in pairs if key == "id"]
        return read_value(ids[0], options) if len(ids) == 1 else None
    readings = [reading for _, value in named if (reading := read_value(value, options)) is not None]
    if len(set(readings)) > 1:
        return UnclearChoice("the JSON gives two different answers", CONTRADICTORY)
    if not readings and any(isinstance(value, _Pairs) and value for _, value in named):
        return UnclearChoice(f"{NOTHING_READ}: the object under the answer in the JSON names none", NO_CHOICE)
    return readings[0] if readings else None


_STATED = choice_phrase("stated")
_CHOOSING = choice_phrase("choosing")
_NEGATED_BEFORE = choice_phrase("negated_before")
_MARKED = re.compile(r"\\(?:boxed|fbox)\s*\{|<(?:final|(?:final[_-]?)?answer)>", re.IGNORECASE)
_LATEX_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|mbox)\s*\{")
_REPORTED_BEFORE = choice_phrase("reported_before")
_RIGHT_AFTER = choice_phrase("right_after")
_CONDITION_BEFORE = choice_phrase("condition_before")
_CONDITION_AFTER = choice_phrase("condition_after")
_NEARBY = 120
_MAY_PRECEDE = choice_phrase("may_precede")
_CORRECTION = choice_phrase("correction")
_CORRECTED = choice_phrase("corrected")
_NOTHING_BETWEEN = choice_phrase("nothing_between")
_LONGEST_LIST = 120
_FURTHER = UnclearChoice("the answer adds a further choice to an earlier one")


class ChoiceStatement(Struct, frozen=True):
    """One statement: its place, the choice it names, and whether it calls itself final."""

    start: int
    end: int
    reading: ChoiceReading
    final: bool = False


def read_statements(text: str, options: ChoiceOptions) -> ChoiceReading | None:
    """The choice of the last statement, or of the last final one if any calls itself final."""
    statements = sorted(_statements(text, options), key=lambda statement: statement.start)
    counting = [statement for statement in statements if statement.final] or statements
    if not counting:
        return None
    last = counting[-1]
    before = counting[-2] if len(counting) > 1 else last
    is_apart = before.end <= last.start
    if before.reading != last.reading and is_apart and _NOTHING_BETWEEN.fullmatch(text, before.end, last.start):
        reason = "the answer ends in two different statements, one right after the other"
        return UnclearChoice(reason, CONTRADICTORY)
    taken_back = _CORRECTION.search(text, last.start)
    if taken_back and not isinstance(last.reading, UnclearChoice):
        later = {options.id_of(match["id"]) for match in options.mentions(text[taken_back.end() :])}
        if later - set(last.reading.ids):
            return UnclearChoice("the answer takes back what it stated and does not state it anew", CONTRADICTORY)
    return last.reading


def _statements(text: str, options: ChoiceOptions) -> Iterator[ChoiceStatement]:
    yield from _worded_statements(text, options)
    yield from _marked_statements(text, options)
    yield from _options_called_right(text, options)
    for start, end, reading in json_objects(text, options):
        yield ChoiceStatement(start, end, reading, final=True)
    yield from _last_line(text, options)


def _worded_statements(text: str, options: ChoiceOptions) -> Iterator[ChoiceStatement]:
    for match in _STATED.finditer(text):
        if match["wrong"] or _is_conditional(text, match):
            continue
        # "You said the answer is A" reports somebody else's answer.
        if _REPORTED_BEFORE.search(text[max(match.start() - _NEARBY, 0) : match.start()]):
            continue
        reading = _read_after(text, match, options)
        if reading is not None:
            yield ChoiceStatement(
                match.start(), _statement_end(text, match.end(), options), reading, match["final"] is not None
            )
    for pattern in (_CHOOSING, _CORRECTED):
        for match in pattern.finditer(text):
            if _NEGATED_BEFORE.search(text[max(match.start() - 20, 0) : match.start()]) or _is_conditional(text, match):
                continue
            reading = options.read(text[match.end() : match.end() + options.reach], strict=pattern is _CORRECTED)
            if reading is not None:
                yield ChoiceStatement(match.end(), _statement_end(text, match.end(), options), reading)


def _read_after(text: str, match: re.Match[str], options: ChoiceOptions) -> ChoiceReading | None:
    """The choice named after "the answer is". Without "is" or a colon only an id counts. If the lines below list the
    options, the first of them is not the answer."""
    fragment = text[match.end() : match.end() + options.reach]
    if match["link"] is None:
        if _NEGATED_BEFORE.search(text[max(match.start() - _NEARBY, 0) : match.start()]):
            return None
        return options.read_ids(fragment, strict=True)
    if "\n" in match[0] and len(set(options.labels(text[match.end() :]))) > 1:
        return None
    return options.read(fragment)


def _is_conditional(text: str, match: re.Match[str]) -> bool:
    before = text[max(match.start() - _NEARBY, 0) : match.start()]
    return bool(_CONDITION_BEFORE.search(before) or _CONDITION_AFTER.match(text, match.end()))


def _marked_statements(text: str, options: ChoiceOptions) -> Iterator[ChoiceStatement]:
    for match in _MARKED.finditer(text):
        end = text.find("</" if match[0].startswith("<") else "}", match.end())
        inside = text[match.end() :] if end < 0 else text[match.end() : end]
        reading = options.read(_LATEX_TEXT.sub("", inside))
        if reading is not None:
            yield ChoiceStatement(match.start(), match.end() + len(inside), reading, final=True)


def _options_called_right(text: str, options: ChoiceOptions) -> Iterator[ChoiceStatement]:
    for match in _RIGHT_AFTER.finditer(text):
        start = _list_before(text, match.start(), options)
        if start is None or _is_conditional(text, match):
            continue
        reading = _FURTHER if match["also"] else options.read(text[start : match.start()])
        if reading is not None:
            yield ChoiceStatement(start, match.end(), reading)


def _list_before(text: str, end: int, options: ChoiceOptions) -> int | None:
    """Where the ids right before `end` begin. None: there are none, or the words before them show that they are not a
    choice."""
    begin = max(text.rfind("\n", 0, end) + 1, end - _LONGEST_LIST)
    line = text[begin:end]
    for match in options.id_pattern.finditer(line):
        named = options.ids_at(line, match.start())
        if named is not None and named.end == len(line):
            before = line[: match.start()].rstrip("*_`\"'([ ")
            return begin + match.start() if _MAY_PRECEDE.search(before) else None
    return None


def _last_line(text: str, options: ChoiceOptions) -> Iterator[ChoiceStatement]:
    """The last line, if it holds nothing but a choice and the line before it does not."""
    body = text.rstrip()
    start = body.rfind("\n") + 1
    before = body[:start].rstrip()
    if not start or options.nothing_but_ids(before[before.rfind("\n") + 1 :]):
        return
    reading = options.read(body[start:], strict=True)
    if reading is not None and options.nothing_but_ids(body[start:]):
        yield ChoiceStatement(start, len(body), reading)


def _statement_end(text: str, at: int, options: ChoiceOptions) -> int:
    """Where a statement ends: at the end of its line if that holds nothing but the choice (its id, its text, or both),
    else right after the id, so that the arguments after it separate it from the next statement."""
    start = at
    # The line on which a statement names its choice may be the line below its first words.
    while start < len(text) and text[start] in "\n ":
        start += 1
    newline = text.find("\n", start)
    end = len(text) if newline < 0 else newline
    rest = text[at:end]
    plain = words(rest)
    texts = ((words(choice.id), words(choice.text)) for choice in options.choices)
    if options.nothing_but_ids(rest) or any(plain in (own, f"{id} {own}") for id, own in texts):
        return end
    mentions = options.mentions(rest)
    return at + mentions[0].end() if mentions else end
