"""The file of a judge recording, line by line: all replies, or every problem. docs/judging.md describes the fields."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from howsure.config import PanelRule
from howsure.errors import DatasetInvalid, Level, Problem
from howsure.judges.base import VotingProcedure
from howsure.judges.embedded_json import replace_lone_surrogates

BOM = b"\xef\xbb\xbf"
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "case_id": ((str,), "a text"),
    "grader": ((str,), "a text"),
    "reply": ((str, dict, list), "a text or an object"),
    "candidate": ((str,), "a text"),
    "repeat": ((int,), "a whole number from 1"),
    "criterion_id": ((str, int), "a text, or a position from 1"),
    "judge": ((str,), "a text"),
    "sample": ((int, str), "a number or a text"),
    "attempt": ((int,), "a whole number from 1"),
    "order": ((int, str, list), "a number, a text or a list"),
    "details": ((dict,), "an object"),
    "failed": ((str,), "a text"),
    "panel": ((dict,), "an object"),
}
_REQUIRED = ("case_id", "grader", "reply")
_COUNTED = ("repeat", "attempt")


class PanelSeat(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which member of which panel gave a reply, so that a replay needs no configuration. `member` counts from 1."""

    rule: PanelRule
    member: Annotated[int, Meta(ge=1)]
    of: Annotated[int, Meta(ge=1)]
    votes: Annotated[int, Meta(ge=1)] = 1
    near: Annotated[float, Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        if self.member > self.of:
            raise ValueError(f"member {self.member} of {self.of}")

    @classmethod
    def for_member(cls, procedure: VotingProcedure, name: str) -> PanelSeat:
        number = procedure.members.index(name) + 1
        return cls(
            rule=procedure.rule, member=number, of=len(procedure.members), votes=procedure.votes, near=procedure.near
        )


class RecordedReply(Struct, frozen=True, kw_only=True):
    """One line. `candidate` and `repeat` None: any. `judge`, `draw` and `order` tell the replies of panels and pairs
    apart. `details` is what else was known about the reply. `failed`: why a member of a panel gave no reply."""

    case_id: str
    grader: str
    reply: Any
    candidate: str | None = None
    repeat: int | None = None
    criterion: str = ""
    judge: str = ""
    draw: str = ""
    attempt: int = 1
    order: str = ""
    details: dict[str, Any] | None = None
    failed: str = ""
    seat: PanelSeat | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Two lines must not share this key."""
        question = (self.case_id, self.grader, self.criterion, self.candidate, self.repeat)
        return (*question, self.attempt, self.judge, self.draw, self.order)


class _PlainLine(Struct, forbid_unknown_fields=True):
    """The usual line, decoded fast; any other line is read again, slowly."""

    case_id: str
    grader: str
    reply: msgspec.Raw
    candidate: str | None = None
    repeat: int | None = None
    criterion_id: str | None = None
    judge: str | None = None
    attempt: int | None = None
    details: dict[str, Any] | None = None
    sample: int | None = None
    order: str | None = None
    panel: PanelSeat | None = None


_PLAIN = msgspec.json.Decoder(_PlainLine)
_SPACED_KEY = re.compile(rb'"\s+:')
_ONCE = tuple(b'"%b"' % name.encode() for name in _PlainLine.__struct_encode_fields__)


def read_recording(path: Path) -> tuple[list[RecordedReply], list[Problem]]:
    """Every line and the warnings; or `DatasetInvalid` with every problem of the file."""
    problems: list[Problem] = []
    replies: dict[tuple[Any, ...], tuple[int, RecordedReply]] = {}
    for number, raw in _numbered(path):
        line = _fast(raw)
        if line is None:
            line, in_line = _slow(raw)
            problems += [msgspec.structs.replace(problem, file=str(path), line=number) for problem in in_line]
        if line is None:
            continue
        # A run that was resumed writes its reply after the failure, and that one counts.
        if (earlier := replies.get(line.key)) is not None and not earlier[1].failed:
            problems.append(_duplicate_reply(line, path, number, earlier[0]))
        replies[line.key] = number, line
    if not replies and not problems:
        problems.append(Problem(code="empty-file", message="the recording has no replies", file=str(path)))
    if any(problem.level is Level.ERROR for problem in problems):
        raise DatasetInvalid(str(path), problems)
    return [line for _, line in replies.values()], problems


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if text := (raw.removeprefix(BOM) if number == 1 else raw).strip():
                yield number, text


def _fast(raw: bytes) -> RecordedReply | None:
    """The line; None when it must be read slowly."""
    if any(raw.count(field) > 1 for field in _ONCE):
        return None
    try:
        plain = _PLAIN.decode(raw)
        reply = msgspec.json.decode(plain.reply)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    counts = [count for count in (plain.repeat, plain.attempt) if count is not None]
    if not plain.case_id or not plain.grader or min(counts, default=1) < 1:
        return None
    # An object may repeat a key, and the decoder would silently take the last value. It is certain that none does only
    # when as many keys were decoded as `":` was written.
    raw_reply = bytes(plain.reply)
    if not isinstance(reply, str) and (raw_reply.count(b'":') != _keys(reply) or _SPACED_KEY.search(raw_reply)):
        return None
    return _line({**asdict(plain), "reply": reply})


def _keys(value: Any) -> int:
    """How many keys an object or list holds in all; -1 for anything that cannot be a reply."""
    if isinstance(value, dict):
        return len(value) + sum(_keys(each) for each in value.values() if isinstance(each, dict | list))
    if isinstance(value, list):
        return sum(_keys(each) for each in value if isinstance(each, dict | list))
    return -1


def _slow(raw: bytes) -> tuple[RecordedReply | None, list[Problem]]:
    """The line read again, with every problem in it."""
    twice: list[str] = []

    def note_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return dict(pairs)

    try:
        row = json.loads(replace_lone_surrogates(raw.decode("utf-8")), object_pairs_hook=note_repeated)
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8"
        return None, [Problem(code="encoding", message="not UTF-8", column=error.start + 1, hint=hint)]
    except json.JSONDecodeError as error:
        hint = "each line is one JSON object"
        return None, [Problem(code="json-syntax", message=error.msg, column=error.colno, hint=hint)]
    except ValueError:
        return None, [Problem(code="json-number-too-long", message="a number has more digits than can be read")]
    except RecursionError:
        return None, [Problem(code="json-depth", message="nested too deeply")]
    if not isinstance(row, dict):
        return None, [Problem(code="wrong-type", message="not an object", expected="an object", found=_shown(row))]
    problems = [
        *_duplicate_keys(twice, row),
        *_missing_fields(row),
        *_wrong_types(row),
        *_seat_problems(row),
        *_unknown_fields(row),
    ]
    if any(problem.level is Level.ERROR for problem in problems):
        return None, problems
    return _line(row), problems


def _duplicate_keys(keys: Sequence[str], row: dict[str, Any]) -> Iterator[Problem]:
    for key in dict.fromkeys(keys):
        where = "the line" if key in row else "an object of the line"
        yield Problem(code="duplicate-key", message=f"{where} says `{key}` twice", field=key)


def _missing_fields(row: dict[str, Any]) -> Iterator[Problem]:
    for field in _REQUIRED:
        if field not in row or (row[field] is None) or (field != "reply" and row[field] == ""):
            yield Problem(
                code="missing-field",
                message=f"`{field}` is missing",
                field=field,
                expected=_TYPES[field][1],
                found=_shown(row[field]) if field in row else "",
            )


def _wrong_types(row: dict[str, Any]) -> Iterator[Problem]:
    for field, (kinds, expected) in _TYPES.items():
        value = row.get(field)
        if value is None:
            continue
        fits = isinstance(value, kinds) and not isinstance(value, bool)
        if not fits or (isinstance(value, int) and field in (*_COUNTED, "criterion_id") and value < 1):
            message = f"`{field}` must be {expected}"
            yield Problem(code="wrong-type", message=message, field=field, expected=expected, found=_shown(value))


def _seat_problems(row: dict[str, Any]) -> Iterator[Problem]:
    if isinstance(panel := row.get("panel"), dict):
        try:
            msgspec.convert(panel, PanelSeat)
        except msgspec.ValidationError as error:
            message = f"`panel` must say rule, member and of: {error}"
            yield Problem(code="wrong-type", message=message, field="panel", found=_shown(panel))


def _unknown_fields(row: dict[str, Any]) -> Iterator[Problem]:
    for field in row:
        if field not in _TYPES:
            close = get_close_matches(field, _TYPES, n=1)
            yield Problem(
                code="unknown-field",
                message=f"`{field}` is not a field of a recording; it is not read",
                field=field,
                hint=f"did you mean `{close[0]}`?" if close else "",
                level=Level.WARNING,
            )


def _line(row: dict[str, Any]) -> RecordedReply:
    return RecordedReply(
        case_id=row["case_id"],
        grader=row["grader"],
        reply=row["reply"],
        candidate=row.get("candidate"),
        repeat=row.get("repeat"),
        criterion=_as_text(row.get("criterion_id")),
        judge=row.get("judge") or "",
        draw=_as_text(row.get("sample")),
        attempt=row.get("attempt") or 1,
        order=_as_text(row.get("order")),
        details=row.get("details"),
        failed=row.get("failed") or "",
        seat=None if row.get("panel") is None else msgspec.convert(row["panel"], PanelSeat),
    )


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _duplicate_reply(line: RecordedReply, path: Path, number: int, earlier: int) -> Problem:
    about = f"case {line.case_id!r}, grader {line.grader!r}" + (
        f", criterion {line.criterion!r}" if line.criterion else ""
    )
    return Problem(
        code="duplicate-reply",
        message=f"a second reply for {about}; the first is on line {earlier}",
        file=str(path),
        line=number,
        hint="tell them apart by candidate, repeat, attempt or judge, or remove one",
    )


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 60 else f"{text[:60]}…"
