"""The file of a recording, line by line: everything in it, or every problem. docs/judging.md describes the fields."""

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

from howsure.config import PanelRule
from howsure.errors import DatasetInvalid, Level, Problem
from howsure.judges.embedded import mended
from howsure.judges.voting import Bench

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


class Seat(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
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
    def of_bench(cls, bench: Bench, name: str) -> Seat:
        number = bench.members.index(name) + 1
        return cls(rule=bench.rule, member=number, of=len(bench.members), votes=bench.votes, near=bench.near)


class Line(Struct, frozen=True, kw_only=True):
    """One reply. `candidate` and `repeat` None: any. `judge`, `draw` and `order` tell panels and pairs apart. `details`
    is what was known about the reply beside its words. `failed`: why a member of a panel gave no reply."""

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
    seat: Seat | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """What two lines may not have in common."""
        asked = (self.case_id, self.grader, self.criterion, self.candidate, self.repeat)
        return (*asked, self.attempt, self.judge, self.draw, self.order)


class _Plain(Struct, forbid_unknown_fields=True):
    """The line that most recordings are made of; whatever is not like this is read again, slowly."""

    case_id: str
    grader: str
    reply: msgspec.Raw
    candidate: str | None = None
    repeat: int | None = None
    criterion_id: str | None = None
    judge: str | None = None
    attempt: int | None = None
    details: dict[str, Any] | None = None
    draw: int | None = msgspec.field(name="sample", default=None)
    order: str | None = None
    panel: Seat | None = None


_PLAIN = msgspec.json.Decoder(_Plain)
_SPACED_KEY = re.compile(rb'"\s+:')
_ONCE = tuple(b'"%b"' % name.encode() for name in _Plain.__struct_encode_fields__)


def read_lines(path: Path) -> tuple[list[Line], list[Problem]]:
    """Every line and the warnings; or `DatasetInvalid` with every problem of the file."""
    found: list[Problem] = []
    kept: dict[tuple[Any, ...], tuple[int, Line]] = {}
    for number, raw in _numbered(path):
        line = _fast(raw)
        if line is None:
            line, problems = _slow(raw)
            found += [msgspec.structs.replace(problem, file=str(path), line=number) for problem in problems]
        if line is None:
            continue
        # A run that was tried again has written its reply after the failure: that one counts.
        if (earlier := kept.get(line.key)) is not None and not earlier[1].failed:
            found.append(_repeated(line, path, number, earlier[0]))
        kept[line.key] = number, line
    if not kept and not found:
        found.append(Problem(code="empty-file", message="the recording has no replies", file=str(path)))
    if any(problem.level is Level.ERROR for problem in found):
        raise DatasetInvalid(str(path), found)
    return [line for _, line in kept.values()], found


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            if text := (raw.removeprefix(BOM) if number == 1 else raw).strip():
                yield number, text


def _fast(raw: bytes) -> Line | None:
    """The line; None when it must be looked at closely."""
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
    # A text cannot repeat a key, an object can, and the decoder would silently take the last.
    if not isinstance(reply, str) and not _says_each_key_once(bytes(plain.reply), reply):
        return None
    return Line(
        case_id=plain.case_id,
        grader=plain.grader,
        reply=reply,
        candidate=plain.candidate,
        repeat=plain.repeat,
        criterion=plain.criterion_id or "",
        judge=plain.judge or "",
        draw="" if plain.draw is None else str(plain.draw),
        attempt=plain.attempt or 1,
        order=plain.order or "",
        details=plain.details,
        seat=plain.panel,
    )


def _says_each_key_once(raw: bytes, value: Any) -> bool:
    """Sure, or not known: as many keys were decoded as `":` was written."""
    return raw.count(b'":') == _keys(value) and _SPACED_KEY.search(raw) is None


def _keys(value: Any) -> int:
    """How many keys an object or list holds in all; -1 for what cannot be a reply."""
    if isinstance(value, dict):
        return len(value) + sum(_keys(each) for each in value.values() if isinstance(each, dict | list))
    if isinstance(value, list):
        return sum(_keys(each) for each in value if isinstance(each, dict | list))
    return -1


def _slow(raw: bytes) -> tuple[Line | None, list[Problem]]:
    """The line again, for every problem in it."""
    twice: list[str] = []
    try:
        said = json.loads(mended(raw.decode("utf-8")), object_pairs_hook=lambda pairs: _pairs(pairs, twice))
    except UnicodeDecodeError as error:
        hint = "save the file as UTF-8"
        return None, [Problem(code="encoding", message="not UTF-8", column=error.start + 1, hint=hint)]
    except json.JSONDecodeError as error:
        hint = "each line is one JSON object"
        return None, [Problem(code="json-syntax", message=error.msg, column=error.colno, hint=hint)]
    except RecursionError:
        return None, [Problem(code="json-depth", message="nested too deeply")]
    if not isinstance(said, dict):
        return None, [Problem(code="wrong-type", message="not an object", expected="an object", found=_shown(said))]
    problems = [*_twice(twice, said), *_missing(said), *_wrong(said), *_unseated(said), *_unknown(said)]
    if any(problem.level is Level.ERROR for problem in problems):
        return None, problems
    return _line(said), problems


def _pairs(pairs: Sequence[tuple[str, Any]], twice: list[str]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice += [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    return made


def _twice(keys: Sequence[str], said: dict[str, Any]) -> Iterator[Problem]:
    for key in dict.fromkeys(keys):
        where = "the line" if key in said else "an object of the line"
        yield Problem(code="duplicate-key", message=f"{where} says `{key}` twice", field=key)


def _missing(said: dict[str, Any]) -> Iterator[Problem]:
    for field in _REQUIRED:
        if field not in said or (said[field] is None) or (field != "reply" and said[field] == ""):
            yield Problem(
                code="missing-field",
                message=f"`{field}` is missing",
                field=field,
                expected=_TYPES[field][1],
                found=_shown(said[field]) if field in said else "",
            )


def _wrong(said: dict[str, Any]) -> Iterator[Problem]:
    for field, (kinds, expected) in _TYPES.items():
        value = said.get(field)
        if value is None:
            continue
        fits = isinstance(value, kinds) and not isinstance(value, bool)
        if not fits or (isinstance(value, int) and field in (*_COUNTED, "criterion_id") and value < 1):
            message = f"`{field}` must be {expected}"
            yield Problem(code="wrong-type", message=message, field=field, expected=expected, found=_shown(value))


def _unseated(said: dict[str, Any]) -> Iterator[Problem]:
    if isinstance(panel := said.get("panel"), dict):
        try:
            msgspec.convert(panel, Seat)
        except msgspec.ValidationError as error:
            message = f"`panel` must say rule, member and of: {error}"
            yield Problem(code="wrong-type", message=message, field="panel", found=_shown(panel))


def _unknown(said: dict[str, Any]) -> Iterator[Problem]:
    for field in said:
        if field not in _TYPES:
            close = get_close_matches(field, _TYPES, n=1)
            yield Problem(
                code="unknown-field",
                message=f"`{field}` is not a field of a recording; it is not read",
                field=field,
                hint=f"did you mean `{close[0]}`?" if close else "",
                level=Level.WARNING,
            )


def _line(said: dict[str, Any]) -> Line:
    return Line(
        case_id=said["case_id"],
        grader=said["grader"],
        reply=said["reply"],
        candidate=said.get("candidate"),
        repeat=said.get("repeat"),
        criterion=_as_text(said.get("criterion_id")),
        judge=said.get("judge") or "",
        draw=_as_text(said.get("sample")),
        attempt=said.get("attempt") or 1,
        order=_as_text(said.get("order")),
        details=said.get("details"),
        failed=said.get("failed") or "",
        seat=None if said.get("panel") is None else msgspec.convert(said["panel"], Seat),
    )


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _repeated(line: Line, path: Path, number: int, earlier: int) -> Problem:
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
