"""One record of a plain table becomes a Case, or a problem; and a Case becomes a record again. The readers of single
values (what is asked, choices, calls, a recording) serve the dialects of other tools, too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import msgspec
from msgspec.structs import replace

from howsure.dialects.lines import Row
from howsure.dialects.plain_columns import EXPECTED, ID, INPUT, METADATA, NESTED, RESPONSE, TableColumns, plain_name
from howsure.dialects.strict_json import parse_json
from howsure.matching.numbers import read_number
from howsure.matching.patterns import pattern_fault
from howsure.matching.text import words
from howsure.model import expectation as expect
from howsure.model.case import Case, Script, SingleTurn
from howsure.model.expectation import AnswerMatch, Choice, Criterion, Expectation, ExpectedCall
from howsure.model.transcript import BrokenRecording, Message, Role, Tool, Transcript

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
RETRIEVED = "retrieved_contexts"
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_LABEL = re.compile(r"\(?([A-Za-z]|\d{1,2})[).:]\s+")
_MESSAGE = {"role", "content", "messages", "parts", "contents", "choices"}
_SPEAKERS = {role.value: role for role in (Role.USER, Role.ASSISTANT, Role.SYSTEM)}
_TEXTS, _WEIGHTS = ("text", "criterion", "title", "name", "description"), ("weight", "points", "score")
_ARGUMENTS = ("arguments", "args", "input_parameters", "parameters")
_LONGEST_PRINTED = 100_000
_LONGEST_LABEL = 64
_LARGEST_WEIGHT = 1_000_000
_FRACTION = re.compile(r"\s*[-+]?[\d,]*[.,]\d+(?:[eE][-+]?\d+)?\s*").fullmatch


class CellFault(ValueError):
    """Why the value that has a role in a row cannot be used."""

    def __init__(self, role: str, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.role, self.code, self.hint = role, code, hint


@cache
def _chats() -> Any:
    """Loaded by name: only tables with whole conversations need the readers of messages."""
    return import_module("howsure.dialects.importers.chat_messages")


def flatten(row: Row) -> Row:
    """Objects under `inputs`, `outputs` and the like become columns: `inputs.question`. Messages stay whole."""
    nested = [
        name
        for name, value in row.items()
        if (type(value) is dict or (type(value) is str and value[:1] == "{")) and plain_name(name) in NESTED
    ]
    if not nested:
        return row
    flat: Row = {}
    for name, raw in row.items():
        value = structured(raw) if name in nested else raw
        if name in nested and isinstance(value, dict) and not _MESSAGE & value.keys():
            flat |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            flat[name] = value
    return flat


def case_of(row: Row, columns: TableColumns, match: AnswerMatch | None = None) -> Case:
    """The case, with the id of the row or "". CellFault, where it holds what cannot be used."""
    values = {role: row[column] for role, column in columns.roles.items()}
    if columns.options:
        values["choices"] = {id: row[column] for id, column in columns.options.items() if row[column] not in (None, "")}
    metadata = metadata_in(row, columns)
    given, found = structured(values.get(METADATA)), structured(values.get(RETRIEVED))
    metadata |= given if isinstance(given, dict) else {} if given is None else {METADATA: given}
    recorded: Transcript | BrokenRecording | None
    chat = plain_name(columns.roles[INPUT]) == "messages"
    asked, recorded = input_of(values[INPUT], text_of(values.get("context"), "\n\n"), chat=chat)
    if RESPONSE in values:
        missing = f"there is no answer in the column {columns.roles[RESPONSE]!r}"
        recorded = recording_of(values[RESPONSE]) or BrokenRecording(reason=missing)
    if found is not None and isinstance(recorded, Transcript):
        recorded = replace(recorded, metadata={RETRIEVED: found})
    elif found is not None:
        metadata[RETRIEVED] = found
    return Case(
        id=text_of(values.get(ID)).strip(),
        input=asked,
        expectations=_expectations(values, match),
        tags=tuple(texts_of(values.get("tags"), "[,;|\n]")),
        labels=short_labels(metadata) if metadata else {},
        metadata=metadata,
        tools=_tools(values.get("tools")),
        recorded=recorded,
    )


def metadata_in(row: Row, columns: TableColumns) -> dict[str, Any]:
    """The cells that have no role."""
    return {name.removeprefix("metadata."): row[name] for name in columns.rest if row[name] is not None}


def short_labels(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The labels among the metadata: texts of one line with at most 64 characters, whole numbers, true and false. What
    has a fraction is measured, not named."""
    labels: dict[str, str] = {}
    for name, value in metadata.items():
        kind = type(value)
        if kind is str:
            text = value.strip()
        elif kind is bool or (kind is int and value.bit_length() <= 64):
            text = str(value).lower()
        else:
            continue
        unnamed = name.startswith(("column ", "Unnamed: "))  # an index, most often
        if 0 < len(text) <= _LONGEST_LABEL and text.isprintable() and not _FRACTION(text) and not unnamed:
            labels[str(name)] = text
    return labels


def _expectations(values: Mapping[str, Any], match: AnswerMatch | None) -> tuple[Expectation, ...]:
    raw = values.get(EXPECTED)
    if isinstance(raw, dict):
        said = recording_of(raw) if _MESSAGE & raw.keys() else None
        raw = said.answer if said else raw.get("text", raw)
    answers = tuple(text for each in (raw if isinstance(raw, list) else [raw]) if (text := text_of(each)).strip())
    found: list[Expectation] = []
    if choices := structured(values.get("choices")):
        found.append(_correct_choice(choices, answers))
    elif answers:
        found.append(_compared(answers, match))
    if criteria := [each for role in ("criteria", "rubric") for each in _criteria(values.get(role), role)]:
        unique = tuple({each.id: each for each in criteria}.values())
        weighted = any(each.weight is not None for each in unique)
        found.append((expect.WeightedCriteria if weighted else expect.Criteria)(criteria=unique))
    if (calls := values.get("expected_tools")) is not None:
        found.append(expect.ToolCalls(expected=tuple(_calls(calls))))
    return tuple(found)


def input_of(asked: Any, context: str = "", *, chat: bool = False) -> tuple[SingleTurn | Script, Transcript | None]:
    """What the user says, and what was answered where a whole conversation stands there. `chat`: a text is read as one
    of its messages."""
    if type(asked) is str and not chat and asked[:1] not in ("[", "{"):
        if not asked.strip():
            raise CellFault(INPUT, "empty", "must not be blank")
        return SingleTurn(message=asked, context=context), None
    value = _with_roles(structured(asked))
    if value in (None, "", [], {}):
        hint = "if it is no case (a total, a note), take it out"
        raise CellFault(INPUT, "empty", "must not be empty: this is what the user asks", hint)
    if isinstance(value, list) and all(isinstance(each, str) and each.strip() for each in value):
        return (Script(turns=tuple(value)) if len(value) > 1 else SingleTurn(message=value[0], context=context)), None
    if not is_chat(value):
        return SingleTurn(message=text_of(asked), context=context), None
    messages = chat_messages(value)
    last = max((place for place, each in enumerate(messages) if each.role is Role.USER), default=None)
    if last is None:
        hint = 'a list such as [{"role": "user", "content": "Hello"}]'
        raise CellFault(INPUT, "no-user-input", "holds no message of the user", hint)
    turn = SingleTurn(message=messages[last].content, context=context, history=messages[:last])
    return turn, _transcript(messages[last + 1 :]) if messages[last + 1 :] else None


def _with_roles(value: Any) -> Any:
    """The messages of a conversation as fine-tuning data has them: `from` and `value` in place of role and content."""
    listed = isinstance(value, list) and value and all(isinstance(each, dict) and "from" in each for each in value)
    if not listed:
        return value
    names = {"human": "user", "gpt": "assistant", "chatgpt": "assistant", "bot": "assistant", "model": "assistant"}
    pairs = ((str(each["from"]).lower(), each.get("value")) for each in value)
    return [{"role": names.get(said_by, said_by), "content": text} for said_by, text in pairs]


def lost_parts(asked: Any) -> list[str]:
    """The kinds of what stands in messages and is no text, such as images: only texts are asked."""
    value = structured(asked) if type(asked) is str and '"type"' in asked else asked
    messages = value if isinstance(value, list) else [value]
    parts = [part for each in messages if isinstance(each, dict) for part in [each.get("content")]]
    inner = [part for listed in parts if isinstance(listed, list) for part in listed if isinstance(part, dict)]
    kinds = [str(part.get("type") or "text") for part in inner]
    return [
        kind
        for kind in kinds
        if kind.partition("_")[0] in ("image", "audio", "video", "file", "document")
        or kind in ("input_image", "input_audio", "input_file")
    ]


def recording_of(raw: Any) -> Transcript | None:
    """What was answered, as a text or as messages; None where nothing was."""
    value = structured(raw) if type(raw) is not str or raw[:1] in ("[", "{") else raw
    if is_chat(value) and (messages := chat_messages(value, "assistant")):
        return _transcript(messages)
    return None if value is None else Transcript(answer=text_of(raw))


def _transcript(messages: tuple[Message, ...]) -> Transcript:
    said = [each.content for each in messages if each.role is Role.ASSISTANT and each.content]
    return Transcript(answer=said[-1] if said else "", messages=messages)


def is_chat(value: Any) -> bool:
    several = value if isinstance(value, list) else [value]
    return bool(several) and all(isinstance(each, dict) and _MESSAGE & each.keys() for each in several)


def chat_messages(value: Any, role: str = "user") -> tuple[Message, ...]:
    """The messages of a chat; `role` is used where none is named. Plain texts stay as they are, to the last space."""
    plain: list[Message] = []
    for each in value if isinstance(value, list) else [value]:
        said = each.get("content") if isinstance(each, dict) and each.keys() == {"role", "content"} else None
        if type(said) is not str or not said.strip() or _SPEAKERS.get(str(each["role"])) is None:
            found: tuple[Message, ...] = _chats().transcript_messages(_chats().read_messages(value, role))
            return found
        plain.append(Message(role=_SPEAKERS[str(each["role"])], content=said))
    return tuple(plain)


def _compared(answers: tuple[str, ...], match: AnswerMatch | None) -> Expectation:
    match match:
        case None:
            return expect.ReferenceAnswer(answers=answers)
        case AnswerMatch.EXACT:
            return expect.ExactText(values=answers)
        case AnswerMatch.INCLUDES:
            return expect.IncludedText(values=answers, ignore_case=True)
        case AnswerMatch.REGEX:
            if fault := next(filter(None, map(pattern_fault, answers)), ""):
                raise CellFault(EXPECTED, "bad-pattern", fault)
            return expect.TextPattern(patterns=answers)
        case AnswerMatch.NUMERIC:
            numbers = [read_number(each) for each in answers]
            if None in numbers:
                raise CellFault(EXPECTED, "not-a-number", "--match numeric expects a number here")
            return expect.NumericAnswer(values=tuple(each for each in numbers if each is not None))


def _correct_choice(raw: Any, answers: tuple[str, ...]) -> Expectation:
    choices = tuple(_choices(raw))
    if not choices or len({each.id for each in choices}) < len(choices):
        hint = "a list of texts, or an object of ids and texts"
        raise CellFault("choices", "bad-choices", "not a list of choices", hint)
    ids = {key: each.id for each in choices for key in (words(each.text), each.id.casefold())}
    listed = answers[0].split(",") if len(answers) == 1 and words(answers[0]) not in ids else answers
    named = [ids.get(each.strip().casefold()) or ids.get(words(each)) for each in listed]
    correct = tuple(each for each in named if each is not None)
    if not correct or len(correct) < len(named):
        known = ", ".join(each.id for each in choices)
        message = f"must name the correct choice, by its id ({known}) or its text"
        raise CellFault(EXPECTED if answers else "choices", "unknown-choice", message)
    return expect.CorrectChoice(choices=choices, correct=correct)


def _choices(raw: Any) -> Iterator[Choice]:
    """Choices from an object of ids and texts, parallel lists `label` and `text`, objects with both, or texts, which
    may begin with their ids: `B) Mars`."""
    if isinstance(raw, dict):
        lists = isinstance(raw.get("text"), list) and isinstance(raw.get("label"), list)
        pairs = zip(raw["label"], raw["text"], strict=False) if lists else raw.items()
        yield from (Choice(id=text_of(id), text=text_of(text)) for id, text in pairs)
        return
    if isinstance(raw, list) and all(isinstance(each, dict) for each in raw):
        yield from (
            Choice(id=text_of(each.get("id", each.get("label"))), text=text_of(each.get("text"))) for each in raw
        )
        return
    texts = [text_of(each) for each in raw] if isinstance(raw, list) else texts_of(raw, r"[\n|;]")
    labels = [_LABEL.match(text) for text in texts]
    for letter, label, text in zip(LETTERS, labels, texts, strict=False):
        yield Choice(id=label[1], text=text[label.end() :]) if label and all(labels) else Choice(id=letter, text=text)


def _criteria(raw: Any, role: str) -> Iterator[Criterion]:
    """A list of sentences or objects; or a text with one sentence on each line."""
    value = structured(raw)
    for each in value if isinstance(value, list) else [value] if isinstance(value, dict) else texts_of(value, "\n"):
        fields = each if isinstance(each, dict) else {}
        text = next((text_of(fields[name]) for name in _TEXTS if fields.get(name)), "") if fields else text_of(each)
        text = _BULLET.sub("", text).strip()
        weight = next((fields[name] for name in _WEIGHTS if isinstance(fields.get(name), int | float)), None)
        if weight is not None and not abs(weight) <= _LARGEST_WEIGHT:
            message = f"the weight of a criterion must be between -{_LARGEST_WEIGHT:,} and {_LARGEST_WEIGHT:,}"
            raise CellFault(role, "out-of-range", message)
        if text:
            id = text_of(fields.get("id")) or expect.text_id(text)
            yield Criterion(id=id, text=text, weight=None if weight is None else float(weight))


def _calls(raw: Any) -> Iterator[ExpectedCall]:
    value = structured(raw)
    for each in value if isinstance(value, list) else texts_of(value, "[,;\n]") if type(value) is str else [value]:
        call = each if isinstance(each, dict) else {"name": each}
        inner: Any = call["function"] if isinstance(call.get("function"), dict) else call
        arguments = structured(next((inner[name] for name in _ARGUMENTS if inner.get(name)), {}))
        if not isinstance(inner.get("name"), str) or not isinstance(arguments, dict):
            hint = 'names, or a list such as [{"name": "search", "arguments": {"query": "x"}}]'
            raise CellFault("expected_tools", "bad-call", "is no list of calls", hint)
        yield ExpectedCall(name=inner["name"].strip(), arguments=arguments)


def _tools(raw: Any) -> tuple[Tool, ...] | None:
    value = structured(raw)
    if value is None or value == []:
        return None if value is None else ()
    names = value if isinstance(value, list) else texts_of(value, "[,;\n]") if type(value) is str else []
    if names and all(isinstance(each, str) for each in names):
        return tuple(Tool(name=each) for each in dict.fromkeys(names))
    tools: tuple[Tool, ...] | None = _chats().tools_in(value)
    if tools is None:
        raise CellFault("tools", "bad-tools", "is no list of tools", "names, or tool definitions")
    return tools


def structured(value: Any) -> Any:
    """The value that a text is, where it is a list or an object as JSON or Python write it; else the value itself."""
    if type(value) is not str or value.lstrip()[:1] not in ("[", "{"):
        return value
    decoded, problems = parse_json(value.encode("utf-8", "surrogatepass"), file="", line=None)
    if not problems:
        return decoded
    try:
        printed = ast.literal_eval(value.strip()) if len(value) < _LONGEST_PRINTED else value
        return msgspec.json.decode(msgspec.json.encode(printed))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, OverflowError, msgspec.MsgspecError):
        return value


def text_of(value: Any, between: str = "") -> str:
    """A value as text; anything but a text is JSON. With `between`, the texts of a list are joined by it."""
    if type(value) is str and not (between and value[:1] == "["):
        return value
    value = structured(value) if between else value
    if type(value) is str or value is None:
        return value or ""
    if between and isinstance(value, list):
        return between.join(map(text_of, value))
    return msgspec.json.encode(value).decode()


def texts_of(value: Any, separators: str = "\n") -> list[str]:
    """The texts of a list, or of a text with separators; without empty ones."""
    value = structured(value)
    parts = value if isinstance(value, list) else re.split(separators, value) if isinstance(value, str) else [value]
    return [text for each in parts if (text := text_of(each).strip())]


def row_of(case: Case) -> Row:
    """A case as a row. What a row has no column for is left out: who converts says so."""
    row: Row = {ID: case.id}
    match case.input:
        case SingleTurn(message=message, history=history, context=context):
            row[INPUT] = [*map(_message, history), {"role": "user", "content": message}] if history else message
            row |= {"context": context} if context else {}
        case Script(turns=turns):
            row[INPUT] = list(turns) if len(turns) > 1 else turns[0]
        case _:
            raise ValueError("a table holds what the user says, not a simulated user")
    for expected in case.expectations:
        match expected:
            case (
                expect.ReferenceAnswer(answers=texts)
                | expect.ExactText(values=texts)
                | expect.IncludedText(values=texts)
            ):
                row[EXPECTED] = texts[0] if len(texts) == 1 else list(texts)
            case expect.CorrectChoice(choices=choices, correct=correct):
                lettered = "".join(each.id for each in choices) == LETTERS[: len(choices)]
                named = {each.id: each.text for each in choices}
                row |= {"choices": list(named.values()) if lettered else named, EXPECTED: ", ".join(correct)}
            case expect.Criteria(criteria=criteria) | expect.WeightedCriteria(criteria=criteria):
                row["criteria"] = [msgspec.to_builtins(each) for each in criteria]
            case expect.ToolCalls(expected=calls):
                row["expected_tools"] = [{"name": each.name, "arguments": each.arguments} for each in calls]
            case _:
                pass
    row |= {"tags": list(case.tags)} if case.tags else {}
    row |= {"tools": [msgspec.to_builtins(each) for each in case.tools]} if case.tools is not None else {}
    row |= {METADATA: case.metadata} if case.metadata else {}
    if isinstance(case.recorded, Transcript):
        messages, known = case.recorded.messages, case.recorded.metadata
        called = any(each.tool_calls for each in messages)
        row[RESPONSE] = [_message(each) for each in messages] if called else case.recorded.answer
        row |= {RETRIEVED: known[RETRIEVED]} if RETRIEVED in known else {}
    return row


def _message(said: Message) -> Row:
    """A message as chat interfaces have it."""
    made = [(each.id, {"name": each.name, "arguments": each.arguments}) for each in said.tool_calls]
    calls = [{"id": id, "type": "function", "function": function} for id, function in made]
    return {"role": said.role.value, "content": said.content, **({"tool_calls": calls} if calls else {})}
