"""From a judge's reply, text or object, to a typed ruling, or `Unreadable`. Nothing is clamped, defaulted or guessed: a
value off its scale, a field that contradicts another, two objects that differ and a reply without a value are failures.

docs/judging.md lists every shape that is accepted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from howsure.judges.embedded import find, without_thinking
from howsure.judges.fields import NUMBERS, VERDICTS, evidence_in, fields_of, plain_key, reason_in
from howsure.judges.rulings import Check, NotApplicable, NoValue, Rating, Unreadable
from howsure.judges.values import Number, Value, Word, ends, on_scale, value_of, values_in
from howsure.model.score import UNIT, Scale

_VALUES = (*NUMBERS, *VERDICTS)
_FENCE = re.compile(r"```\w*")
# A text under these keys is no value where one is needed; under the others (`"result": "The agent …"`) it is a remark.
_NOTHING_BUT_VALUES = ("score", "rating")


def read_rating(content: Any, scale: Scale, *, whole: bool = False) -> Rating | NotApplicable:
    """A number on `scale` (an integer when `whole`). Where the scale is 0 to 1, yes and no are its ends."""
    values, prose = values_and_prose(content)
    if len(values) == 1 and not prose:
        return read_value(opened(values[0]), scale, whole=whole)
    rulings = [_plain(value, scale, whole) for value in values_in(prose) if _counts(value, scale)]
    unfit: list[str] = []
    for said in values:
        try:
            rulings.append(read_value(opened(said), scale, whole=whole))
        except NoValue as error:
            unfit.append(str(error))
    if not rulings:
        raise NoValue(unfit[-1] if unfit else "no value in the reply")
    if len(rulings) > 1 and len(meanings := dict.fromkeys(map(_meaning, rulings))) > 1:
        raise Unreadable(f"the reply contradicts itself: {' and '.join(meanings)}")
    return _explained(rulings[-1], prose)


def read_check(content: Any) -> Check | NotApplicable:
    """Yes or no: as a word, a boolean, or a score that is exactly 0 or 1."""
    ruling = read_rating(content, UNIT, whole=True)
    if isinstance(ruling, NotApplicable):
        return ruling
    return Check(passed=ruling.value == 1.0, reason=ruling.reason, evidence=ruling.evidence, details=ruling.details)


def read_value(said: Any, scale: Scale, *, whole: bool) -> Rating | NotApplicable:
    """One JSON value of a reply: an object with a value among its fields, or the value itself."""
    if isinstance(said, dict):
        return _object(said, scale, whole)
    value = value_of(said)
    if value is None:
        raise NoValue("no value in the reply")
    return _plain(value, scale, whole)


def values_and_prose(content: Any) -> tuple[list[Any], str]:
    """The JSON values of a reply, and the sentences around them."""
    if not isinstance(content, str):
        return [content], ""
    found = find(without_thinking(content))
    if len(found.values) == 1 and isinstance(found.values[0], str):
        return [], found.values[0]
    return list(found.values), _FENCE.sub("", found.prose).strip() if found.prose else ""


def opened(value: Any) -> Any:
    """The value; or the object that it does nothing but wrap, in a list or under a single key."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    if isinstance(value, dict) and len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
        return inner
    return value


class _Said(Struct, frozen=True):
    """The values among an object's fields, and the keys they stand under."""

    numbers: list[Number]
    words: list[Word]
    keys: list[str]


def _object(said: Mapping[str, Any], scale: Scale, whole: bool) -> Rating | NotApplicable:
    fields = fields_of(said)
    values = _said(fields, scale)
    reason, reason_key = reason_in(fields)
    if Word.NOT_APPLICABLE in values.words:
        if values.numbers or len(set(values.words)) > 1:
            raise Unreadable("the reply says both that it does not apply and that it does")
        return NotApplicable(reason=reason)
    evidence, evidence_key = evidence_in(fields)
    used = {reason_key, evidence_key, *values.keys}
    return Rating(
        value=_one_value(values, scale, whole),
        reason=reason,
        evidence=evidence,
        details={key: value for key, value in said.items() if plain_key(key) not in used},
    )


def _said(fields: Mapping[str, Any], scale: Scale) -> _Said:
    numbers: dict[str, Number] = {}
    words: dict[str, Word] = {}
    for key in _VALUES:
        if (said := fields.get(key)) is None:
            continue
        value = value_of(said)
        if isinstance(value, Number):
            numbers[key] = value
        elif value is not None:
            words[key] = value
            if value is not Word.NOT_APPLICABLE and key in _NOTHING_BUT_VALUES:
                ends(value, scale)
        elif key in _NOTHING_BUT_VALUES:
            raise NoValue(f"`{key}` is {_short(said)}")
    if not numbers and not words:
        raise NoValue(f"no value among the fields {', '.join(map(repr, fields)) or '(none)'}")
    # Beside a number, a verdict is a remark that must not contradict it; it stays among the details.
    return _Said([*numbers.values()], [*words.values()], [*(numbers or words)])


def _one_value(said: _Said, scale: Scale, whole: bool) -> float:
    """The number, when the fields agree; words alone only where they are values themselves."""
    numbers = {on_scale(number, scale, whole=whole) for number in said.numbers}
    word = said.words[0] if said.words else None
    wrong = None if word is None else scale.low if word is Word.YES else scale.high
    if len(numbers) > 1 or wrong in numbers or any(other is not word for other in said.words):
        words = sorted({word.value for word in said.words})
        listed = [*(f"{number:g}" for number in sorted(numbers)), *words]
        raise Unreadable(f"the fields contradict each other: {' and '.join(listed)}")
    return ends(word, scale) if word is not None and not numbers else numbers.pop()


def _plain(value: Value, scale: Scale, whole: bool) -> Rating | NotApplicable:
    if value is Word.NOT_APPLICABLE:
        return NotApplicable()
    return Rating(value=ends(value, scale) if isinstance(value, Word) else on_scale(value, scale, whole=whole))


def _counts(value: Value, scale: Scale) -> bool:
    """`Yes, it is coherent. Score: 4`: where a number is needed, a yes in the sentences is not a second value."""
    return scale == UNIT or isinstance(value, Number) or value is Word.NOT_APPLICABLE


def _explained(ruling: Rating | NotApplicable, prose: str) -> Rating | NotApplicable:
    """Where the ruling brings no reason of its own, the sentences around it are the reason; a bare word is none."""
    if ruling.reason or not prose or value_of(prose) is not None:
        return ruling
    return replace(ruling, reason=prose)


def _meaning(ruling: Rating | NotApplicable) -> str:
    return "not applicable" if isinstance(ruling, NotApplicable) else f"{ruling.value:g}"


def _short(said: Any) -> str:
    text = repr(said)
    return text if len(text) <= 60 else f"{text[:60]}…"
