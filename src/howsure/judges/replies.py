"""From a judge's reply, text or object, to a typed ruling or `UnparsableReply`, and how often a judge is asked until
its reply can be read. Nothing is clamped, defaulted or guessed: a value off its scale, a field that contradicts
another, two objects that differ and a reply without a value are failures.

docs/judging.md lists every shape that is accepted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar

from msgspec.structs import replace

from howsure.errors import JudgeFailed, boundary
from howsure.judges import verdict_sentences
from howsure.judges.base import Judge, JudgeReply, Question
from howsure.judges.conversations import one_line
from howsure.judges.embedded_json import find_json, replace_lone_surrogates, strip_thinking
from howsure.judges.quotations import cut_middle
from howsure.judges.rulings import (
    OFF_SCALE,
    Check,
    NotApplicable,
    NoValue,
    Rating,
    RubricVerdict,
    RubricVerdicts,
    UnparsableReply,
)
from howsure.judges.verdict_sentences import HEDGE, NUMBER, StatedNumber, as_number
from howsure.llm.messages import FinishReason
from howsure.model.flag import UnreadableKind
from howsure.model.score import UNIT, Scale

NUMBERS = ("score", "rating", "grade", "result", "overall")
VERDICTS = ("verdict", "passed", "pass", "met", "criteriamet", "criterionmet", "satisfied", "decision", "judgment")
REASONS = ("explanation", "rationale", "reasoning", "reason", "thoughtchain")
EVIDENCE = ("evidence", "quotes", "quote")

_NOT_PLAIN = re.compile(r"[^a-z0-9]")
_FINAL = re.compile(r"^(?:overall|final)(?=(?:score|rating|grade|verdict|result)$)")


@lru_cache(maxsize=4096)
def normalize_key(key: str) -> str:
    return _FINAL.sub("", _NOT_PLAIN.sub("", key.lower()))


def normalize_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The fields by normalized key; two values under one key cannot be read."""
    fields: dict[str, Any] = {}
    for key, value in raw.items():
        plain = normalize_key(key)
        if plain in fields and fields[plain] != value:
            raise UnparsableReply(f"the reply says two things under the key {key!r}")
        fields[plain] = value
    return fields


def find_reason(fields: Mapping[str, Any]) -> tuple[str, str]:
    """The reason and its key."""
    for key in REASONS:
        raw = fields.get(key)
        if isinstance(raw, str) and raw.strip():
            return raw.strip(), key
    return "", ""


def find_evidence(fields: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """What the judge quotes, and its key. A number is the number of a turn."""
    for key in EVIDENCE:
        raw = fields.get(key)
        if isinstance(raw, str) and raw.strip():
            return (raw,), key
        if isinstance(raw, list) and all(isinstance(each, str) or type(each) is int for each in raw):
            return tuple(each if isinstance(each, str) else f"turn {each}" for each in raw), key
    return (), ""


class VerdictWord(Enum):
    """What a verdict word means."""

    YES = "yes"
    NO = "no"
    NOT_APPLICABLE = "not applicable"


Value = StatedNumber | VerdictWord

_YES = "yes|true|met|pass|passed|correct|satisfied|ja|oui|sí|да|是"
_NO = "no|false|not met|unmet|fail|failed|not passed|incorrect|not correct|not satisfied|unsatisfied|nein|non|нет|否"
_WORDS = {
    **dict.fromkeys(_YES.split("|"), VerdictWord.YES),
    **dict.fromkeys(_NO.split("|"), VerdictWord.NO),
    **dict.fromkeys(("n/a", "na", "not applicable"), VerdictWord.NOT_APPLICABLE),
}
_WORD = r"(?P<word>" + "|".join(re.escape(word).replace(r"\ ", "[ _-]") for word in sorted(_WORDS, reverse=True)) + ")"
# A word that goes on (`no doubt`) is not that word.
_WORD_ENDS = r"(?=[^\w\n?]{0,3}$|\s*[,.;:!)…\n\"'”>，。！：；—]|\s[-–])"
_ANOTHER_WORD, _SECOND_WORD = (_WORD.replace("P<word>", name) + _WORD_ENDS for name in (":", "P<second>"))
_LABELLED_WORD = re.compile(
    r"(?im)(?<![\w-])(?:verdict|decision|result|judge?ment|(?<!['’]s\s)final\sanswer|pass/fail|yes/no|(?:\w{1,20}_)?met|passed|pass|"
    rf"score|rating|grade)[\"']?\s*+(?:\([^()\n]{{0,40}}\)\s*+)?[:：=]\s*+[^\w\n?]{{0,3}}{_WORD}{_WORD_ENDS}(?!\s*[,|]\s*{_ANOTHER_WORD})"
)
# `Met: no` and `Passed: 3 of 5` open with a label; `Yes, but only partly` is hedged, `Yes and no` says two things.
_FIRST_WORD = re.compile(
    rf"(?im)(?:^|(?<=[.!?]\s))(?:[^\w\s?\"'“]{{1,3}}\s*)?{_WORD}{_WORD_ENDS}(?!(?<=correct)\s*:|\s*:\s*[\"'“]?(?:[0-9]|{_ANOTHER_WORD}))"
    rf"(?![^\w?]*(?:(?:but|though|only|just)\s+)*(?:{HEDGE})\b)"
    rf"(?:[^\w?]++(?:(?:but|or|and|hmm|well|aber|und|et|mais|y|pero)\b[^\w?]*+)*{_SECOND_WORD})?"
)
_ANSWER = re.compile(r"(?i)\A\W*(?:final\s+)?answer\s*:")
_NUMBER_ALONE = re.compile(NUMBER)
_WRAPPING = " \t\r\n\"'“”*`!_()[]"


def parse_value(raw: Any) -> Value | None:
    """The value of a field; None: it is no value."""
    if isinstance(raw, bool):
        return VerdictWord.YES if raw else VerdictWord.NO
    if isinstance(raw, int | float):
        return StatedNumber(_finite(raw))
    if isinstance(raw, str):
        return parse_word(raw) or _number_alone(raw)
    return None


def parse_word(text: str) -> VerdictWord | None:
    """The meaning of a text that is only a verdict word."""
    return _WORDS.get(re.sub(r"[\s_-]+", " ", re.sub(r"\A[^\w?]++|(?<=\w)[^\w?]+\Z", "", text).strip("_").lower()))


def find_values(prose: str, *, sentences: bool = True) -> Iterator[Value]:
    """Every value that the prose states as its own: alone on the first or last line, after a label, as a sentence (`I
    would give it a score of 4`; without `sentences` `The criterion is met`), or as a verdict word that opens the text.
    Numbers and words that are merely mentioned do not count; what the judge takes back does."""
    parts = [list(_values_of(each, sentences)) for each in verdict_sentences.plain_parts(prose)]
    if any(parts) and not parts[-1]:
        raise UnparsableReply("the reply takes its verdict back")
    for values in parts:
        yield from values


def _values_of(plain: str, sentences: bool) -> Iterator[Value]:
    alone = [_alone(line) for line in plain.splitlines()]
    # More of them are a list.
    yield from filter(None, alone if alone and (alone[0] or alone[-1]) else ())
    said = [found["word"] for found in _LABELLED_WORD.finditer(plain) if verdict_sentences.is_own(plain, found)]
    if _FIRST_WORD.match(plain):
        said += [word for found in _FIRST_WORD.finditer(plain) for word in found.group("word", "second") if word]
    yield from filter(None, map(parse_word, said))
    yield from verdict_sentences.labelled_numbers(plain)
    if sentences:
        yield from verdict_sentences.stated_numbers(plain)
    else:
        yield from (VerdictWord.YES if met else VerdictWord.NO for met in verdict_sentences.stated_rulings(plain))


def require_on_scale(number: StatedNumber, scale: Scale, *, whole: bool) -> float:
    """The number, if it is on the scale; it is never moved onto it."""
    if number.out_of is not None and number.out_of != scale.high:
        raise UnparsableReply(f"{number.value:g} out of {number.out_of:g} where the scale is {scale}", OFF_SCALE)
    if number.value not in scale:
        raise UnparsableReply(f"{number.value:g} is not on the scale {scale}", OFF_SCALE)
    if whole and not number.value.is_integer():
        raise UnparsableReply(f"{number.value:g} where a whole number is needed, {scale}", OFF_SCALE)
    return number.value


def scale_end(word: VerdictWord, scale: Scale) -> float:
    """Yes and no as the ends of 0 to 1; on any other scale a number is needed."""
    if scale != UNIT:
        raise UnparsableReply(f"a {word.value!r} where a number is needed, {scale}", OFF_SCALE)
    return 1.0 if word is VerdictWord.YES else 0.0


def _alone(line: str) -> Value | None:
    return parse_word(_ANSWER.sub("", line)) or _number_alone(line) if len(line) < 80 else None


def _number_alone(text: str) -> StatedNumber | None:
    found = _NUMBER_ALONE.fullmatch(text.strip(_WRAPPING).rstrip(_WRAPPING + "."))
    return as_number(found) if found else None


def _finite(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")


_VALUES = (*NUMBERS, *VERDICTS)
_FENCE = re.compile(r"```\w*")
# Under these keys a text is a wrong value; under the others (`"result": "The agent …"`) it is a remark.
_NOTHING_BUT_VALUES = ("score", "rating")


def read_rating(content: Any, scale: Scale, *, whole: bool = False) -> Rating | NotApplicable:
    """A number on `scale` (an integer when `whole`). Where the scale is 0 to 1, yes and no are its ends."""
    values, prose = split_json_and_prose(content)
    if len(values) == 1 and not prose:
        return read_value(unwrap(values[0]), scale, whole=whole)
    # A check is a yes or no: numbers in its sentences are about the answer.
    stated = find_values(prose, sentences=scale != UNIT or not whole)
    rulings = [_plain(value, scale, whole) for value in stated if _counts(value, scale)]
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
    found = find_json(verdict_sentences.unmark(strip_thinking(content)))
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


def _object(raw: Mapping[str, Any], scale: Scale, whole: bool) -> Rating | NotApplicable:
    fields = normalize_fields(raw)
    numbers, words = _collect_values(fields, scale)
    reason, reason_key = find_reason(fields)
    if VerdictWord.NOT_APPLICABLE in words.values():
        if numbers or len(set(words.values())) > 1:
            raise UnparsableReply("the reply says both that it does not apply and that it does")
        return NotApplicable(reason=reason)
    evidence, evidence_key = find_evidence(fields)
    # Next to a number, a verdict is a remark; it stays among the details.
    used = {reason_key, evidence_key, *(numbers or words)}
    return Rating(
        value=_one_value(numbers.values(), [*words.values()], scale, whole),
        stated_pass=next(iter(words.values())) is VerdictWord.YES if numbers and words else None,
        reason=reason,
        evidence=evidence,
        details={key: value for key, value in raw.items() if normalize_key(key) not in used},
    )


def _collect_values(fields: Mapping[str, Any], scale: Scale) -> tuple[dict[str, StatedNumber], dict[str, VerdictWord]]:
    """The numbers and the words among an object's fields, by their keys."""
    numbers: dict[str, StatedNumber] = {}
    words: dict[str, VerdictWord] = {}
    top = parse_value(fields.get("outof", fields.get("maxscore")))
    for key in _VALUES:
        if (raw := fields.get(key)) is None:
            continue
        value = parse_value(raw)
        if isinstance(value, StatedNumber):
            numbers[key] = replace(value, out_of=value.out_of or (top.value if isinstance(top, StatedNumber) else None))
        elif value is not None:
            words[key] = value
            if value is not VerdictWord.NOT_APPLICABLE and key in _NOTHING_BUT_VALUES:
                scale_end(value, scale)
        elif key in _NOTHING_BUT_VALUES:
            raise NoValue(f"`{key}` is {_short(raw)}")
    if not numbers and not words:
        raise NoValue(f"no value among the fields {', '.join(map(repr, fields)) or '(none)'}")
    return numbers, words


def _one_value(stated: Iterable[StatedNumber], words: Sequence[VerdictWord], scale: Scale, whole: bool) -> float:
    """The number, when the fields agree; a word alone only where it is a value itself."""
    numbers = {require_on_scale(number, scale, whole=whole) for number in stated}
    if len(numbers) > 1 or len(set(words)) > 1:
        listed = [*(f"{number:g}" for number in sorted(numbers)), *sorted({word.value for word in words})]
        raise UnparsableReply(f"the fields contradict each other: {' and '.join(listed)}")
    return numbers.pop() if numbers else scale_end(words[0], scale)


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
WHOLE_REPLY = "whole_reply"
"""A key in what stands for the ruling on a criterion that the reply of its batch does not rule on."""
_REFUSAL = re.compile(
    r"(?i)\W*(?:unfortunately,? )?(?:(?:i['’]m|i am|we are) (?:very |so )?(?:sorry|unable|not able)|sorry"
    r"|as an ai|i (?:apologi[sz]e|can['’]t|cannot|won['’]t|will not|must decline))\b",
)
CUT_OFF = " (the reply was cut off at its token limit)"


async def ask_until_readable(
    judge: Judge, question: Question, read: Callable[[Any], R], tries: int = 2
) -> tuple[R, JudgeReply]:
    """The first ruling that `read` can read, with its reply; or `JudgeFailed` with what was wrong each time."""
    problems: list[str] = []
    flag = ""
    for attempt in range(1, tries + 1):
        if attempt != question.attempt:
            question = replace(question, attempt=attempt)
        try:
            with boundary(JudgeFailed, f"judge {judge.name!r}"):
                reply = await judge.ask(question)
        except JudgeFailed as failure:
            if not problems:
                raise
            told = "; ".join((*problems, f"attempt {attempt}: {failure}"))
            raise JudgeFailed(told, failure.flag or flag) from failure
        try:
            return read(reply.content), reply
        except (UnparsableReply, RecursionError) as error:
            wrong = f"{error}{CUT_OFF}" if reply.details.get(FINISH) == FinishReason.LENGTH.value else str(error)
            flag = unreadable_kind(error, reply).flag
            problems.append(f"attempt {attempt}: {wrong}: {quote_reply(reply.content)}")
            question = replace(question, unreadable=wrong, replied=cut_middle(one_line(reply.content), REPEAT_CAP))
    raise JudgeFailed("; ".join(problems), flag)


def unreadable_kind(error: Exception, reply: JudgeReply) -> UnreadableKind:
    """Why this reply could not be read. Words of refusal only tell kinds apart; they never make a ruling."""
    if reply.details.get(FINISH) == FinishReason.LENGTH.value:
        return UnreadableKind.CUT_OFF
    kind = error.kind if isinstance(error, UnparsableReply) else UnreadableKind.NOT_JSON
    content = reply.content.get(WHOLE_REPLY) if isinstance(reply.content, dict) else reply.content
    if kind is not UnreadableKind.NO_GRADE or not isinstance(content, str):
        return kind
    try:
        text = strip_thinking(content).strip()
        if not text:
            return UnreadableKind.EMPTY
        if _REFUSAL.match(text):
            return UnreadableKind.REFUSED
        return UnreadableKind.NOT_JSON if "{" in text and not find_json(text).values else kind
    except UnparsableReply as broken:
        return broken.kind


def quote_reply(content: Any) -> str:
    """A reply, cut to fit in a message."""
    text = " ".join(replace_lone_surrogates(one_line(content)).split())
    return f"“{text}”" if len(text) <= QUOTE_CAP else f"“{text[:QUOTE_CAP]}…”"
