"""Shared parts of the results readers: `SampleRecord`, which a reader fills with a record in the tool's own shapes;
messages, tool calls and score values in the shapes of tools; and records that cannot be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from math import isfinite, nan
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from howsure.dialects.problems import OTHER_SHAPE, shape_fault
from howsure.dialects.strict_json import Json
from howsure.dialects.tool_results.base import ResultsRecord, SampleResult, UnreadableRecord
from howsure.dialects.tool_results.streams import container_fault, json_value
from howsure.model.case import Case, Input, Script, SingleTurn
from howsure.model.expectation import Choice, CorrectChoice, Expectation, ReferenceAnswer
from howsure.model.score import OPEN, UNIT, Direction, Grade, Scale, Score, Unscored, UnscoredReason
from howsure.model.transcript import Message, Role, ToolCall, ToolResult, Transcript, Usage

QUESTIONS = ("input", "question", "query", "prompt", "user_input", "messages", "inputs", "request", "text")
REFERENCES = (
    "expected", "expected_output", "expected_answer", "expected_response", "answer", "ideal", "target", "targets",
    "reference", "ground_truth", "correct_answer", "label", "output", "response", "outputs",
)  # fmt: skip
ANSWERS = ("output", "response", "actual_output", "answer", "completion", "prediction", "content", "text", "outputs")
WORDS = {"yes": 1.0, "true": 1.0, "pass": 1.0, "correct": 1.0, "no": 0.0, "false": 0.0, "fail": 0.0, "incorrect": 0.0}
_ROLES = {
    "user": Role.USER, "human": Role.USER,
    "assistant": Role.ASSISTANT, "ai": Role.ASSISTANT, "model": Role.ASSISTANT,
    "system": Role.SYSTEM, "developer": Role.SYSTEM,
}  # fmt: skip
_TOOL = ("tool", "function")
_EMPTY: tuple[Any, ...] = (None, "", {}, [], ())


class SampleRecord(Struct, kw_only=True):
    """One sample in the tool's own shapes. `asked`, `said` and `expected` are texts, messages of a chat, or objects
    that have one of them under a usual name; where a reader knows more, `asked` is an Input and `expected` a tuple of
    Expectations. Nothing said and no messages: there was no answer. Without `id`, a hash of what was asked names the
    case; without `repeat`, the same case again is its next repeat."""

    asked: Any
    said: Any = None
    expected: Any = None
    id: Any = None
    name: str = ""
    messages: tuple[Message, ...] = ()
    grades: Iterable[Grade] = ()
    passed: bool | None = None
    reason: str = ""
    error: Any = None
    candidate: str = ""
    repeat: int = 0
    seconds: float | None = None
    usage: Usage | None = None
    state: Json | None = None
    metadata: Json = field(default_factory=dict)

    def result(self, tries: Counter[tuple[str, str]]) -> SampleResult:
        """The sample as a result of ours; `tries` counts the cases so far."""
        id = content_id(self.asked) if self.id in (None, "") else str(self.id)
        if not self.repeat:
            tries[id, self.candidate] += 1
        known, seconds = self.said is not None or self.messages, float(nan if self.seconds is None else self.seconds)
        transcript = Transcript(
            answer=last_answer(self.messages) if self.said is None else read_answer(self.said),
            messages=self.messages,
            state=self.state,
            usage=self.usage,
            duration_ms=seconds * 1000 if isfinite(seconds) else None,
        )
        expected = self.expected if isinstance(self.expected, tuple) else read_reference(self.expected)
        asked = self.asked if isinstance(self.asked, SingleTurn | Script) else read_question(self.asked)
        return SampleResult(
            case=Case(id=id, name=self.name, input=asked, expectations=expected, metadata=self.metadata),
            transcript=transcript if known else None,
            grades=tuple(self.grades),
            passed=self.passed,
            reason=self.reason,
            error=error_text(self.error),
            candidate=self.candidate,
            repeat=self.repeat or tries[id, self.candidate],
        )


def read_records(
    records: Iterable[tuple[str, Any]], build: Callable[[Any], SampleRecord | SampleResult | None]
) -> Iterator[SampleResult | UnreadableRecord]:
    """What `build` makes of every record (its place and its value); None is left out. One that it cannot read becomes
    an UnreadableRecord, and so does a ValueError in place of a value."""
    tries: Counter[tuple[str, str]] = Counter()
    for place, record in records:
        try:
            if isinstance(record, ValueError):
                raise record
            built = build(record)
            made = built.result(tries) if isinstance(built, SampleRecord) else built
            names: list[Any] = [each.name for each in made.grades] if made else []
            if odd := [name for name in names if not isinstance(name, str)]:
                raise TypeError(f"a score has the name {odd[0]!r}")
        except OTHER_SHAPE as error:
            id = record.get("id") if isinstance(record, dict) else None
            known = str(id) if isinstance(id, str | int) else ""
            yield UnreadableRecord(place=place, reason=shape_fault(error), id=known)
        else:
            if made:
                yield made


def checked_records(path: Path, records: Iterator[ResultsRecord]) -> Iterator[ResultsRecord]:
    """The records; where what is said of the whole has not the shape that its tool gives it, a fault of the file."""
    try:
        yield from records
    except OTHER_SHAPE as error:
        hint, message = "another version of the tool may have written it", "the file is not as its tool writes it"
        raise container_fault(path, "wrong-shape", f"{message}: {shape_fault(error)}", hint=hint) from error


def read_messages(raw: Sequence[Any], text_of: Callable[[Any], str] | None = None) -> tuple[Message, ...]:
    """Messages of a chat, in the shapes of OpenAI and Inspect; the result of a tool goes to its call. `text_of` gives
    the text of a content."""
    text_of = text_of or plain_text
    results = {
        each.get("tool_call_id") or each.get("name"): ToolResult(
            content=text_of(each.get("content")), failed=bool(each.get("error"))
        )
        for each in raw
        if each.get("role") in _TOOL
    }
    return tuple(
        Message(
            role=_ROLES[each["role"]],
            content=text_of(each.get("content")),
            tool_calls=tuple([_call(call, results) for call in each.get("tool_calls") or ()]),
        )
        for each in raw
        if each["role"] not in _TOOL
    )


def _call(call: Json, results: Mapping[Any, ToolResult]) -> ToolCall:
    function = call.get("function")
    named: Json = function if isinstance(function, dict) else {**call, "name": function or call.get("name")}
    name, id = str(named["name"]), str(call.get("id") or "")
    given = named.get("arguments")
    if isinstance(given, str):
        with suppress(ValueError):
            given = json_value(given.encode())
    return ToolCall(name=name, arguments=read_arguments(given), id=id, result=results.get(id) or results.get(name))


def read_arguments(given: Any) -> Json:
    """The arguments of a call by name; those that have no names, under an empty one."""
    return given if isinstance(given, dict) else {} if given is None else {"": given}


def read_chat(value: Any) -> tuple[Message, ...]:
    """The messages, where a value is a list of them, or the JSON text of one; else none."""
    if isinstance(value, str) and value.lstrip()[:1] == "[" and '"role"' in value:
        with suppress(*OTHER_SHAPE):
            return read_chat(json_value(value.encode()))
    listed = isinstance(value, list) and value and all(isinstance(each, dict) and "role" in each for each in value)
    return read_messages(value) if listed else ()


def plain_text(content: Any) -> str:
    """The text of a message's content: itself, or the text of its parts. Parts of other kinds are named: `[image]`."""
    if not isinstance(content, list):
        return show_value(content)
    texts = []
    for part in content:
        kind = part.get("type", "text") if isinstance(part, dict) else ""
        if not kind:
            texts.append(str(part))
        elif kind in ("text", "input_text", "output_text"):
            texts.append(str(part.get("text") or ""))
        elif kind not in ("reasoning", "thinking"):
            texts.append(f"[{kind}]")
    return "\n".join(texts)


def show_value(value: Any) -> str:
    """A value as text: strings as they are, others as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def last_answer(messages: Sequence[Message]) -> str:
    """What was said to the user at the end: never text beside a tool call."""
    last = messages[-1] if messages else None
    return last.content if last and last.role is Role.ASSISTANT and not last.tool_calls else ""


def question_from(messages: Sequence[Message]) -> SingleTurn:
    """The input of a case that is a list of messages: the last is what is asked, those before it are history."""
    asked = next((place for place in reversed(range(len(messages))) if messages[place].role is Role.USER), None)
    if asked is None:
        return SingleTurn(message="", history=tuple(messages))
    return SingleTurn(message=messages[asked].content, history=tuple(messages[:asked]))


def find_field(value: Any, names: Sequence[str]) -> Any:
    """The value of the first of these names that an object has, and of its only key where it has one; else itself."""
    if not isinstance(value, dict):
        return value
    name = next((name for name in names if value.get(name) not in (None, "")), None)
    if name is None and len(value) == 1:
        (name,) = value
    return value if name is None else value[name]


def read_question(value: Any) -> Input:
    """The input of a case: a text, messages of a chat, or an object that has one of them."""
    value = find_field(value, QUESTIONS)
    chat = read_chat(value.get("messages") if isinstance(value, dict) else value)
    return question_from(chat) if chat else SingleTurn(message=show_value(value))


def read_reference(value: Any) -> tuple[Expectation, ...]:
    """The reference answers, if there are any."""
    value = find_field(value, REFERENCES)
    answers = [show_value(each) for each in (value if isinstance(value, list) else [value])]
    return expect_answers([each for each in answers if each])


def expect_answers(answers: Sequence[str], options: Mapping[str, Any] | None = None) -> tuple[Expectation, ...]:
    """The answers as a choice, where each of them is the letter of an option; else as references."""
    if options and answers and all(each in options for each in answers):
        choices = tuple(Choice(id=letter, text=str(text)) for letter, text in options.items())
        return (CorrectChoice(choices=choices, correct=tuple(answers)),)
    return (ReferenceAnswer(answers=tuple(answers)),) if answers else ()


def read_answer(value: Any) -> str:
    """What was answered: a text, the last message of a chat, or an object that has one of them."""
    if isinstance(value, dict) and isinstance(value.get("choices"), list) and value["choices"]:
        value = value["choices"][0].get("message") or value["choices"][0]
    value = find_field(value, ANSWERS)
    chat = read_chat(value) if isinstance(value, list) else ()
    return chat[-1].content if chat else show_value(value)


def error_text(error: Any) -> str:
    """What an error says; empty where there is none (tables have NaN for it)."""
    if isinstance(error, dict):
        return str(error.get("message") or "it errored, and the tool does not say why")
    return "" if not error or error != error else str(error)


def call_messages(question: str, calls: Iterable[ToolCall], answer: str) -> tuple[Message, ...]:
    """The messages of one turn in which tools were called; none where none was."""
    made = tuple(calls)
    asked, said = Message(role=Role.USER, content=question), Message(role=Role.ASSISTANT, content=answer)
    return (asked, Message(role=Role.ASSISTANT, tool_calls=made), said) if made else ()


def read_score(
    name: str,
    value: Any,
    *,
    giver: str,
    words: Mapping[str, float] = WORDS,
    reason: Any = "",
    details: Mapping[str, Any] | None = None,
) -> Grade:
    """A tool's value. True and false and `words` that mean them decide, a number measures; others have no value."""
    why = str(reason or "")
    decided = float(value) if isinstance(value, bool) else None
    if isinstance(value, str):
        decided = words.get(value, words.get(value.strip().lower()))
    if decided is not None:
        return number_score(name, decided, giver=giver, pass_mark=1.0, scale=UNIT, reason=why, details=details)
    try:
        return number_score(name, float(value), giver=giver, reason=why, details=details)
    except (TypeError, ValueError):
        text = "the scorer gave no value" if value is None else f"its value is the text {show_value(value)[:80]!r}"
        return unscored(name, text, giver=giver)


def number_score(
    name: str,
    value: float,
    *,
    giver: str,
    pass_mark: float | None = None,
    scale: Scale | None = None,
    lower_is_better: bool = False,
    reason: str = "",
    details: Mapping[str, Any] | None = None,
) -> Grade:
    """A tool's number as a Score on its scale (where none is known: 0 to 1 if it lies there, else open); a number that
    is none (NaN) as Unscored. `details` that are None or empty are left out."""
    number = float(value)
    if not isfinite(number):
        return unscored(name, f"the value is {value}", giver=giver)
    fitting = UNIT if 0 <= number <= 1 else OPEN if number > 1 else Scale(number, None)
    return Score(
        name=name,
        value=number,
        scale=scale if scale is not None and number in scale else fitting,
        pass_mark=pass_mark,
        direction=Direction.LOWER if lower_is_better else Direction.HIGHER,
        reason=reason,
        judge=giver,
        details={key: each for key, each in (details or {}).items() if each not in _EMPTY},
    )


def unscored(name: str, reason: str, *, giver: str, error: bool = False, mark: float | None = None) -> Unscored:
    """A score that the tool has no value for. An error gates, so that the case cannot pass by it."""
    why = UnscoredReason.ERROR if error else UnscoredReason.NOT_APPLICABLE
    return Unscored(
        name=name, why=why, reason=reason, judge=giver, pass_mark=(1.0 if mark is None else mark) if error else None
    )


def token_usage(prompt: Any, completion: Any, **more: Any) -> Usage | None:
    """None where nothing of it is known."""
    used = Usage(prompt_tokens=prompt, completion_tokens=completion, **more)
    return None if used == Usage() else used


def content_id(*parts: Any) -> str:
    """An id from what is put to the model, for tools that give none. Equal parts give equal ids."""
    return sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()[:12]


def read_time(value: Any) -> datetime | None:
    """A time as tools write it (ISO 8601, or seconds or milliseconds since 1970); None where it is none."""
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        time = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
