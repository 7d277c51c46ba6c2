"""Cases and targets that are Python objects. Cases are saved in a file beside the database, named by a hash of its
content, so that a run over them is pinned, shown and compared like any other. A function becomes a target."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct, structs

from howsure.dialects.legal_rows import VERSION
from howsure.dialects.lines import CaseLinesDialect
from howsure.dialects.plain import PlainDialect
from howsure.dialects.tables import storable_row
from howsure.errors import ConfigInvalid, DatasetInvalid, InputError, PlanRefused, Problem
from howsure.model.case import Case
from howsure.reports.headlines import parameter_words
from howsure.targets.base import Target, TargetRequest
from howsure.targets.frameworks.adk_runner import AdkAgentSettings, adk_target, is_adk_agent
from howsure.targets.function.target import FunctionKind, FunctionSettings, choose_target


class SessionOpener(Protocol):
    """An agent that opens a conversation for each case."""

    def open(self, case: Case) -> Any: ...


Record = Mapping[str, Any]
CaseInput = str | Path | Case | Record
OneTarget = str | Callable[..., Any] | SessionOpener
TargetInput = OneTarget | Sequence[OneTarget] | None

SHORT = ("id", "input", "expected", "criteria", "context", "answer", "metadata")
"""The fields of a short case, such as `{"input": "2 + 2?", "expected": "4"}`."""
PLACE = "the given cases"


class SavedCases(Struct, frozen=True, kw_only=True):
    """The files that hold the cases. `dialect` is set where only one dialect can read them. `made`: Howsure made the
    files, so their names mean nothing to the user."""

    datasets: tuple[str, ...]
    responses: tuple[str, ...] = ()
    dialect: str = ""
    made: bool = False


def save_cases(given: CaseInput | Iterable[CaseInput], folder: Path, *, as_table: bool = False) -> SavedCases:
    """Paths stay as they are; Cases and dicts are written to a file in `folder`. `as_table`: dicts are the rows of a
    plain table, whatever their fields."""
    given = _rows_of_frame(given)
    things = [given] if isinstance(given, str | Path | Case | Mapping) else list(given)
    if not things:
        raise PlanRefused("there is no case to run: the list is empty")
    if paths := [str(thing) for thing in things if isinstance(thing, str | Path)]:
        _check_kind(paths, things, "paths")
        return SavedCases(datasets=tuple(paths))
    if cases := [thing for thing in things if isinstance(thing, Case)]:
        _check_kind(cases, things, "Cases")
        return SavedCases(
            datasets=(_write_lines(map(msgspec.json.encode, cases), folder),), dialect=CaseLinesDialect.name, made=True
        )
    records = [thing for thing in things if isinstance(thing, Mapping)]
    _check_kind(records, things, "dicts")
    if as_table:
        renamed = [{"response" if name == "answer" else name: row[name] for name in row} for row in records]
        short = all(record.keys() <= set(SHORT) for record in records)
        lines = map(_json_line, renamed if short else records)
        return SavedCases(datasets=(_write_lines(lines, folder),), dialect=PlainDialect.name, made=True)
    return _save_records(records, folder)


@contextmanager
def name_what_was_given(folder: Path) -> Iterator[None]:
    """Refusals name what the caller gave, and not the files in `folder` that Howsure made of it, of which each line is
    a case; and they speak of parameters, not of options."""
    made = re.compile(rf"{re.escape(str(folder))}/\w+/\w+\.jsonl(?::(\d+))?")

    def told(text: str) -> str:
        return parameter_words(made.sub(lambda at: f"{PLACE}, number {at[1]}" if at[1] else PLACE, text))

    try:
        yield
    except InputError as error:
        error.args = tuple(told(each) if isinstance(each, str) else each for each in error.args)
        if isinstance(error, DatasetInvalid):
            error.path = told(error.path)
            error.problems = tuple(
                structs.replace(each, file=told(each.file), message=told(each.message), hint=told(each.hint))
                for each in error.problems
            )
        raise


def _rows_of_frame(given: Any) -> Any:
    """The rows of a data frame or table of polars, pyarrow or pandas; anything else as it is. (A dataset of Hugging
    Face is a list of dicts; a dict of splits is refused.)"""
    if isinstance(given, Mapping) and given and all(hasattr(each, "features") for each in given.values()):
        splits = ", ".join(map(str, given))
        raise PlanRefused(
            f"this holds several datasets ({splits}); give one of them, such as dataset[{next(iter(given))!r}]"
        )
    for method in ("to_dicts", "to_pylist"):
        if callable(getattr(given, method, None)):
            return [storable_row(row) for row in getattr(given, method)()]
    if hasattr(given, "columns") and callable(getattr(given, "to_dict", None)):
        return [storable_row(row) for row in given.to_dict("records")]
    return [storable_row(row) for row in given] if hasattr(given, "features") else given


def _check_kind(some: Sequence[object], every: Sequence[object], kind: str) -> None:
    if len(some) < len(every):
        raise PlanRefused(f"a dataset is a path, or a list of paths, of Cases or of dicts; not all of it is {kind}")


def _save_records(records: Sequence[Record], folder: Path) -> SavedCases:
    if not all(record.keys() <= set(SHORT) for record in records):
        return SavedCases(datasets=(_write_lines(map(_json_line, records), folder),), made=True)
    problems = [problem for place, record in enumerate(records, start=1) for problem in _problems(record, place)]
    ids = _ids(records)
    problems += [
        _problem(place, "id", f"the id {id!r} stands here again; ids must be unique")
        for place, id in enumerate(ids, start=1)
        if ids.index(id) < place - 1
    ]
    if problems:
        raise DatasetInvalid(PLACE, problems)
    cases = [_legal_row(record, id) for record, id in zip(records, ids, strict=True)]
    answers = [
        {"case_id": id, "response_text": record["answer"]}
        for record, id in zip(records, ids, strict=True)
        if "answer" in record
    ]
    responses = (_write_lines(map(_json_line, answers), folder, "answers"),) if answers else ()
    return SavedCases(datasets=(_write_lines(map(_json_line, cases), folder),), responses=responses, made=True)


def _problems(record: Record, place: int) -> Iterator[Problem]:
    """What is wrong with a short case."""
    message = record.get("input")
    if not isinstance(message, str) or not message.strip():
        yield _problem(place, "input", f"expected what the user says, found {message!r}")
    if bool(record.get("expected")) == bool(record.get("criteria")):
        yield _problem(
            place, "expected", "expected either `expected` (an answer, or several) or `criteria` (sentences)"
        )
    for name in ("expected", "criteria"):
        if not all(isinstance(text, str) and text.strip() for text in _texts(record.get(name))):
            yield _problem(place, name, f"expected text, or a list of texts, found {record[name]!r}")
    if not isinstance(record.get("answer", ""), str):
        yield _problem(place, "answer", f"expected what the agent said, found {record['answer']!r}")


def _problem(place: int, field: str, message: str) -> Problem:
    return Problem(code="short-case", message=message, file=PLACE, line=place, field=field)


def _texts(value: Any) -> list[Any]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _ids(records: Sequence[Record]) -> list[str]:
    """The ids of the records; where one has none, a hash of its input and its position among equal ones."""
    seen: Counter[str] = Counter()
    ids: list[str] = []
    for record in records:
        hashed = sha256(f"{record.get('input')}\x1f{record.get('context', '')}".encode()).hexdigest()[:12]
        seen[hashed] += 1
        position = f"-{seen[hashed]}" if seen[hashed] > 1 else ""
        ids.append(str(record.get("id") or f"case-{hashed}{position}"))
    return ids


def _legal_row(record: Record, id: str) -> dict[str, Any]:
    case: dict[str, Any] = {"schema_version": VERSION, "id": id, "dataset": "given", "prompt": record["input"]}
    case |= {name: record[name] for name in ("context", "metadata") if record.get(name)}
    if record.get("criteria"):
        rules = [{"id": f"c{at}", "title": text} for at, text in enumerate(_texts(record["criteria"]), start=1)]
        return {**case, "task_type": "rubric_qa", "rubric": rules}
    return {**case, "task_type": "reference_qa", "reference_answers": _texts(record["expected"])}


def _json_line(record: Record) -> bytes:
    try:
        return msgspec.json.encode(record)
    except (TypeError, ValueError) as error:
        raise ConfigInvalid(f"a given case cannot be kept as JSON: {error}") from error


def _write_lines(lines: Iterable[bytes], folder: Path, what: str = "cases") -> str:
    """The path of the file. The same content gives the same file, so that two runs over it can be compared."""
    content = b"\n".join(lines) + b"\n"
    path = folder / sha256(content).hexdigest()[:16] / f"{what}.jsonl"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise ConfigInvalid(f"the given cases cannot be kept in {folder}: {error.strerror}") from error
    return str(path)


class FunctionTargets:
    """The target kind `function`, which also knows functions that are handed over as objects."""

    name = FunctionKind.name

    def __init__(self) -> None:
        self._functions: dict[str, Any] = {}

    def add(self, bot: Any) -> str:
        """The target spec of a function. Where the function can be imported, the spec imports it in a later process
        too."""
        named = bot if hasattr(bot, "__qualname__") else type(bot)
        spec = f"{named.__module__}:{bot.name if is_adk_agent(bot) else named.__qualname__}"
        self._functions[spec] = bot
        return f"{self.name}:{spec}"

    def make(self, request: TargetRequest) -> Target:
        if is_adk_agent(bot := self._functions.get(request.rest)):
            return adk_target(request, AdkAgentSettings(object=request.rest), bot)
        if request.rest in self._functions:
            return choose_target(self._functions[request.rest], FunctionSettings(function=request.rest), request)
        return FunctionKind().make(request)
