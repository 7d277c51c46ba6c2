"""From a judge's reply, text or object, to a typed ruling or `UnparsableReply`, and how often a judge is asked until
its reply can be read. Nothing is clamped, defaulted or guessed: a value off its scale, a field that contradicts
another, two objects that differ and a reply without a value are failures.

docs/judging.md lists every shape that is accepted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from howsure.errors import JudgeFailed, boundary
from howsure.judges.base import Judge, JudgeReply, Question
from howsure.judges.conversations import one_line
from howsure.judges.embedded_json import find_json, replace_lone_surrogates, strip_thinking
from howsure.judges.quotations import cut_middle
from howsure.judges.reply_fields import (
    NUMBERS,
    VERDICTS,
    StatedNumber,
    Value,
    VerdictWord,
    find_evidence,
    find_reason,
    find_values,
    normalize_fields,
    normalize_key,
    parse_value,
    require_on_scale,
    scale_end,
)
from howsure.judges.rulings import Check, NotApplicable, NoValue, Rating, RubricVerdict, RubricVerdicts, UnparsableReply
from howsure.llm.messages import FinishReason
from howsure.model.score import UNIT, Scale

_VALUES = (*NUMBERS, *VERDICTS)
_FENCE = re.compile(r"```\w*")
# Under these keys a text is a wrong value; under the others (`"result": "The agent …"`) it is a remark.
_NOTHING_BUT_VALUES = ("score", "rating")


def read_rating(content: Any, scale: Scale, *, whole: bool = False) -> Rating | NotApplicable:
    """A number on `scale` (an integer when `whole`). Where the scale is 0 to 1, yes and no are its ends."""
    values, prose = split_json_and_prose(content)
    if len(values) == 1 and not prose:
        return read_value(unwrap(values[0]), scale, whole=whole)
    rulings = [_plain(value, scale, whole) for value in find_values(prose) if _counts(value, scale)]
    unfit: list[str] = []
    for raw in values:
        try:
            rulings.append(read_value(unwrap(raw), scale, whole=whole))
        except NoValue as error:
            unfit.append(str(error))
    if not rulings:
        raise NoValue(unfit[-1] if unfit else "no value in the reply")
    meanings = ["not applicable" if isinstance(each, NotApplicable) else f"{each.value:g}" for each in rulings]
    if len(set(meanings)) > 1:
        raise UnparsableReply(f"the reply contradicts itself: {' and '.join(dict.fromkeys(meanings))}")
    if len({each.stated_pass for each in rulings if isinstance(each, Rating)} - {None}) > 1:
        raise UnparsableReply("the reply contradicts itself: it says both pass and fail")
    # Without a reason of its own, a ruling takes the sentences around it; a bare word is no reason.
    ruling = rulings[-1]
    if ruling.reason or not prose or parse_value(prose) is not None:
        return ruling
    return replace(ruling, reason=prose)


def read_check(content: Any) -> Check | NotApplicable:
    """Yes or no: as a word, a boolean, or a score that is exactly 0 or 1."""
    ruling = read_rating(content, UNIT, whole=True)
    if isinstance(ruling, NotApplicable):
        return ruling
    if ruling.stated_pass not in (None, ruling.value == 1.0):
        word = VerdictWord.YES if ruling.stated_pass else VerdictWord.NO
        raise UnparsableReply(f"the fields contradict each other: {ruling.value:g} and {word.value}")
    return Check(passed=ruling.value == 1.0, reason=ruling.reason, evidence=ruling.evidence, details=ruling.details)


def read_value(raw: Any, scale: Scale, *, whole: bool) -> Rating | NotApplicable:
    """One JSON value of a reply: an object with a value among its fields, or the value itself."""
    if isinstance(raw, dict):
        return _object(raw, scale, whole)
    value = parse_value(raw)
    if value is None:
        raise NoValue("no value in the reply")
    return _plain(value, scale, whole)


def split_json_and_prose(content: Any) -> tuple[list[Any], str]:
    """The JSON values of a reply, and the sentences around them."""
    if not isinstance(content, str):
        return [content], ""
    found = find_json(strip_thinking(content))
    if len(found.values) == 1 and isinstance(found.values[0], str):
        return [], found.values[0]
    return list(found.values), _FENCE.sub("", found.prose).strip() if found.prose else ""


def unwrap(value: Any) -> Any:
    """The value, or the one object that it wraps in a list or under a single key."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    if isinstance(value, dict) and len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
        return inner
    return value


class _FieldValues(Struct, frozen=True):
    """The values among an object's fields, and their keys."""

    numbers: list[StatedNumber]
    words: list[VerdictWord]
    keys: list[str]


def _object(raw: Mapping[str, Any], scale: Scale, whole: bool) -> Rating | NotApplicable:
    fields = normalize_fields(raw)
    values = _collect_values(fields, scale)
    reason, reason_key = find_reason(fields)
    if VerdictWord.NOT_APPLICABLE in values.words:
        if values.numbers or len(set(values.words)) > 1:
            raise UnparsableReply("the reply says both that it does not apply and that it does")
        return NotApplicable(reason=reason)
    evidence, evidence_key = find_evidence(fields)
    used = {reason_key, evidence_key, *values.keys}
    return Rating(
        value=_one_value(values, scale, whole),
        stated_pass=values.words[0] is VerdictWord.YES if values.numbers and values.words else None,
        reason=reason,
        evidence=evidence,
        details={key: value for key, value in raw.items() if normalize_key(key) not in used},
    )


def _collect_values(fields: Mapping[str, Any], scale: Scale) -> _FieldValues:
    numbers: dict[str, StatedNumber] = {}
    words: dict[str, VerdictWord] = {}
    for key in _VALUES:
        if (raw := fields.get(key)) is None:
            continue
        value = parse_value(raw)
        if isinstance(value, StatedNumber):
            numbers[key] = value
        elif value is not None:
            words[key] = value
            if value is not VerdictWord.NOT_APPLICABLE and key in _NOTHING_BUT_VALUES:
                scale_end(value, scale)
        elif key in _NOTHING_BUT_VALUES:
            raise NoValue(f"`{key}` is {_short(raw)}")
    if not numbers and not words:
        raise NoValue(f"no value among the fields {', '.join(map(repr, fields)) or '(none)'}")
    # Next to a number, a verdict is a remark; it stays among the details.
    return _FieldValues([*numbers.values()], [*words.values()], [*(numbers or words)])


def _one_value(values: _FieldValues, scale: Scale, whole: bool) -> float:
    """The number, when the fields agree; a word alone only where it is a value itself."""
    numbers = {require_on_scale(number, scale, whole=whole) for number in values.numbers}
    if len(numbers) > 1 or len(set(values.words)) > 1:
        words = sorted({word.value for word in values.words})
        listed = [*(f"{number:g}" for number in sorted(numbers)), *words]
        raise UnparsableReply(f"the fields contradict each other: {' and '.join(listed)}")
    return numbers.pop() if numbers else scale_end(values.words[0], scale)


def _plain(value: Value, scale: Scale, whole: bool) -> Rating | NotApplicable:
    if value is VerdictWord.NOT_APPLICABLE:
        return NotApplicable()
    return Rating(
        value=scale_end(value, scale) if isinstance(value, VerdictWord) else require_on_scale(value, scale, whole=whole)
    )


def _counts(value: Value, scale: Scale) -> bool:
    """`Yes, it is coherent. Score: 4`: where a number is needed, a yes in the sentences is not a second value."""
    return scale == UNIT or isinstance(value, StatedNumber) or value is VerdictWord.NOT_APPLICABLE


def _short(raw: Any) -> str:
    text = repr(raw)
    return text if len(text) <= 60 else f"{text[:60]}…"


_LISTS = ("rubricverdicts", "verdicts", "rubrics", "criteria", "checks")
_TEXTS = ("content", "criterion", "text", "rubric", "description", "evaluatedrubric", "property")
_ROUNDING = 0.005
"""How far a stated share may differ from the verdicts: judges round it."""


def read_share(content: Any) -> Rating | RubricVerdicts | NotApplicable:
    """The verdicts, or the share of them that passed."""
    values, _ = split_json_and_prose(content)
    raw = [value if _is_list_of_verdicts(value) else unwrap(value) for value in values]
    lists = [(entries, each) for each in raw if (entries := _entries(each)) is not None]
    if len(lists) > 1:
        raise UnparsableReply(f"the reply has {len(lists)} lists of verdicts")
    return _share(*lists[0]) if lists else read_rating(content, UNIT)


def _entries(raw: Any) -> list[dict[str, Any]] | None:
    if isinstance(raw, dict):
        fields = normalize_fields(raw)
        return next((fields[key] for key in _LISTS if _is_list_of_verdicts(fields.get(key))), None)
    return raw if _is_list_of_verdicts(raw) else None


def _is_list_of_verdicts(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, dict) and _is_entry(normalize_fields(each)) for each in value)
    )


def _is_entry(fields: Mapping[str, Any]) -> bool:
    """Whether it has a verdict and says on what."""
    return any(key in fields for key in (*VERDICTS, *NUMBERS)) and any(key in fields for key in _TEXTS)


def _share(entries: Sequence[dict[str, Any]], raw: Any) -> RubricVerdicts:
    verdicts = tuple(_verdict(entry) for entry in entries)
    texts = [verdict.text for verdict in verdicts if verdict.text]
    if len(set(texts)) < len(texts):
        raise UnparsableReply("the reply rules on the same criterion twice")
    fields = normalize_fields(raw) if isinstance(raw, dict) else {}
    reason, _ = find_reason(fields)
    evidence, _ = find_evidence(fields)
    ruling = RubricVerdicts(verdicts=verdicts, reason=reason, evidence=evidence)
    stated = parse_value(fields.get("score"))
    if isinstance(stated, StatedNumber) and abs(require_on_scale(stated, UNIT, whole=False) - ruling.value) > _ROUNDING:
        raise UnparsableReply(
            f"the score {stated.value:g} contradicts the verdicts, of which {ruling.value:.3f} passed"
        )
    return ruling


def _verdict(entry: dict[str, Any]) -> RubricVerdict:
    ruling = read_check(entry)
    if isinstance(ruling, NotApplicable):
        raise UnparsableReply("the reply says of one of its own criteria that it does not apply")
    fields = normalize_fields(entry)
    about = fields.get("evaluatedrubric")
    importance = fields.get("importance") or (about.get("importance") if isinstance(about, dict) else "")
    return RubricVerdict(
        text=_text(entry), passed=ruling.passed, reason=ruling.reason, importance=str(importance or "")
    )


def _text(entry: Any) -> str:
    """The words of a criterion, however deeply the judge nests them."""
    if isinstance(entry, str):
        return entry.strip()
    fields = normalize_fields(entry) if isinstance(entry, dict) else {}
    return next((text for key in _TEXTS if key in fields and (text := _text(fields[key]))), "")


R = TypeVar("R")
QUOTE_CAP = 200
"""Characters of an unreadable reply that the failure quotes."""
REPEAT_CAP = 4_000
"""Characters of an unreadable reply that the judge is shown again."""
FINISH = "finish_reason"
"""A key in the details of a reply that did not end by itself."""
CUT_OFF = " (the reply was cut off at its token limit)"


async def ask_until_readable(
    judge: Judge, question: Question, read: Callable[[Any], R], tries: int = 2
) -> tuple[R, JudgeReply]:
    """The first ruling that `read` can read, with its reply; or `JudgeFailed` with what was wrong each time."""
    problems: list[str] = []
    for attempt in range(1, tries + 1):
        if attempt != question.attempt:
            question = replace(question, attempt=attempt)
        try:
            with boundary(JudgeFailed, f"judge {judge.name!r}"):
                reply = await judge.ask(question)
        except JudgeFailed as failure:
            if not problems:
                raise
            raise JudgeFailed("; ".join((*problems, f"attempt {attempt}: {failure}"))) from failure
        try:
            return read(reply.content), reply
        except (UnparsableReply, RecursionError) as error:
            wrong = f"{error}{CUT_OFF}" if reply.details.get(FINISH) == FinishReason.LENGTH.value else str(error)
            problems.append(f"attempt {attempt}: {wrong}: {quote_reply(reply.content)}")
            question = replace(question, unreadable=wrong, replied=cut_middle(one_line(reply.content), REPEAT_CAP))
    raise JudgeFailed("; ".join(problems))


def quote_reply(content: Any) -> str:
    """A reply, cut to fit in a message."""
    text = " ".join(replace_lone_surrogates(one_line(content)).split())
    return f"“{text}”" if len(text) <= QUOTE_CAP else f"“{text[:QUOTE_CAP]}…”"
