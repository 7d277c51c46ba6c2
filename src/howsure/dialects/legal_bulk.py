"""Whether many typed `legal_eval_v1` rows are sound, asked of all of them at once, column by column: the heart of the
fast path. A file is read in pieces of some hundred rows, and going down the columns of a piece costs much less than
going from row to row. A piece that fails anything is looked at again line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, methodcaller
from typing import Any

import msgspec
from msgspec import UNSET

from howsure.dialects import extras
from howsure.dialects.legal_rows import AnyRow, McqRow, ReferenceRow, RubricRow
from howsure.dialects.legal_schema import FORBIDDEN
from howsure.dialects.strict_json import CONTAINERS, count_keys, duplicate_free
from howsure.model.case import Attachment
from howsure.model.transcript import Message

_ID, _DATASET, _PROMPT = attrgetter("id"), attrgetter("dataset"), attrgetter("prompt")
_CHOICES, _CORRECT = attrgetter("choices"), attrgetter("correct_choice_ids")
_RUBRIC, _ANSWERS = attrgetter("rubric"), attrgetter("reference_answers")
_TITLE, _DESCRIPTION, _WEIGHT = attrgetter("title"), attrgetter("description"), attrgetter("weight")
_OPENS, _CLOSES = methodcaller("startswith", b"{"), methodcaller("endswith", (b"}\n", b"}\r\n", b"}"))
_RESERVED = methodcaller("__contains__", extras.KEY)
_NEVER = -(1 << 60)
"""Added to a count, it fits no text."""
_decode = msgspec.json.Decoder(AnyRow).decode_lines
_encode = msgspec.json.Encoder().encode_lines


def sound_rows(lines: Sequence[bytes]) -> list[AnyRow]:
    """A row for each of these lines; none at all, where something may be wrong with one of them."""
    piece = b"".join(lines)
    try:
        rows: list[AnyRow] = _decode(piece)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    return rows if _one_each(lines, rows) and _nothing_lost(piece, rows) else []


def valid_row(value: Mapping[str, Any]) -> AnyRow | None:
    """The row that a decoded object stands for, where it fulfils the schema; fields nobody knows do not matter."""
    try:
        row: AnyRow = msgspec.convert(value, AnyRow)
    except msgspec.ValidationError:
        return None
    return row if sure_keys([row]) > 0 and FORBIDDEN[row.task].isdisjoint(value) else None


def _one_each(lines: Sequence[bytes], rows: Sequence[AnyRow]) -> bool:
    """Whether each line holds one value: inside of a value, `}`, a line break and `{` never follow one another."""
    return len(lines) == len(rows) and all(map(_OPENS, lines)) and all(map(_CLOSES, lines))


def _nothing_lost(piece: bytes, rows: Sequence[AnyRow]) -> bool:
    """Whether the rows are sound, and all that was written is in them: no key stands twice and none is unknown. A key
    that was lost leaves its colon behind. Where there are more colons than keys and known texts account for, the rows
    are written anew to see how many there should be; a single line is then looked at more closely."""
    keys = sure_keys(rows)
    if keys <= 0:
        return False
    texts = chain(map(_ID, rows), map(_PROMPT, rows))
    colons = sum([text.count(":") for text in texts if ":" in text])
    if len(rows) == 1:
        return duplicate_free(piece, keys, colons)
    # A colon may also be written as an escape, and make up for the colon of a lost key.
    if piece.find(b"\\u003") >= 0:
        return False
    written = piece.count(b":")
    return written == keys + colons or written == _encode(rows).count(b":")


def sure_keys(rows: Sequence[AnyRow]) -> int:
    """How many keys the lines of these rows have, if they are to have neither unknown fields nor repeated ones; below
    zero where something is wrong with a row that the types do not say."""
    return (
        _shared_keys(rows)
        + _mcq_keys([row for row in rows if type(row) is McqRow])
        + _rubric_keys([row for row in rows if type(row) is RubricRow])
        + _reference_keys([row for row in rows if type(row) is ReferenceRow])
    )


def sure_parts(mcq: Sequence[Any], rubric: Sequence[Any], reference: Sequence[Any], metadata: Sequence[Any]) -> bool:
    """As `sure_keys`, of what decides a row and of its metadata, and of anything that has the fields of rows."""
    return min(_mcq_keys(mcq), _rubric_keys(rubric), _reference_keys(reference), _metadata_keys(metadata)) >= 0


def _shared_keys(rows: Sequence[AnyRow]) -> int:
    if not all(_filled(map(column, rows)) for column in (_ID, _DATASET, _PROMPT)):
        return _NEVER
    contexts = sum([row.context is not UNSET for row in rows])
    messages = [row.messages for row in rows if row.messages is not UNSET]
    attachments = [row.attachments for row in rows if row.attachments is not UNSET]
    metadata = [row.metadata for row in rows if row.metadata is not UNSET]
    return (
        5 * len(rows)
        + contexts
        + len(messages)
        + sum(map(_message_keys, chain.from_iterable(messages)))
        + len(attachments)
        + sum(map(_attachment_keys, chain.from_iterable(attachments)))
        + len(metadata)
        + _metadata_keys(metadata)
    )


def _message_keys(message: Message) -> int:
    """The model's messages can hold more than those of the file."""
    return 2 if message.content.strip() and not message.agent and not message.tool_calls else _NEVER


def _attachment_keys(attachment: Attachment) -> int:
    return 1 + (attachment.kind != "") + (attachment.title != "") if attachment.path.strip() else _NEVER


def _metadata_keys(metadata: Sequence[dict[str, Any]]) -> int:
    if any(map(_RESERVED, metadata)):
        return _NEVER
    values = chain.from_iterable(map(dict.values, metadata))
    return sum(map(len, metadata)) + sum([count_keys(value, 3) for value in values if type(value) in CONTAINERS])


def _mcq_keys(rows: Sequence[McqRow]) -> int:
    choices, correct = list(map(_CHOICES, rows)), list(map(_CORRECT, rows))
    ids = [set(map(_ID, each)) for each in choices]
    counts = list(map(len, choices))
    if counts != list(map(len, ids)) or min(counts, default=2) < 2 or not _filled(chain.from_iterable(ids)):
        return _NEVER
    if not _distinct(correct) or not all(map(set.issuperset, ids, correct)):
        return _NEVER
    return 2 * len(rows) + 2 * sum(counts)


def _rubric_keys(rows: Sequence[RubricRow]) -> int:
    rubrics = list(map(_RUBRIC, rows))
    ids = [list(map(_ID, each)) for each in rubrics]
    criteria = list(chain.from_iterable(rubrics))
    answers = [row.reference_answers for row in rows if row.reference_answers is not UNSET]
    if not _distinct(ids) or not _filled(chain(*ids, map(_TITLE, criteria), *answers)):
        return _NEVER
    absent = list(map(_DESCRIPTION, criteria)).count(UNSET) + list(map(_WEIGHT, criteria)).count(UNSET)
    return len(rows) + len(answers) + 4 * len(criteria) - absent


def _reference_keys(rows: Sequence[ReferenceRow]) -> int:
    answers = list(map(_ANSWERS, rows))
    return len(rows) if all(answers) and _filled(chain.from_iterable(answers)) else _NEVER


def _filled(texts: Iterable[str]) -> bool:
    """Whether none of them is blank."""
    return all(map(str.strip, texts))


def _distinct(groups: Sequence[Sequence[str]]) -> bool:
    """Whether each of them has something in it, and nothing twice."""
    return all(groups) and list(map(len, map(set, groups))) == list(map(len, groups))
