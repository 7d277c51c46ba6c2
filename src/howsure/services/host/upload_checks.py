"""The check of an uploaded file, as `howsure validate` checks it: a large file in a process of its own, at low priority
and with limits of memory and time, because reading it keeps the interpreter busy for as long as it takes."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct

from howsure.dialects.base import Importer
from howsure.dialects.datasets import detect, validate
from howsure.dialects.explain import ExplainDialect
from howsure.dialects.golden import GoldenDialect
from howsure.dialects.legal import LegalDialect
from howsure.dialects.plain import PlainDialect
from howsure.dialects.simulation import SimulationDialect
from howsure.dialects.test_set import TestSetDialect
from howsure.dialects.tool_datasets.tables import tool_tables
from howsure.errors import DatasetInvalid, InputError, Problem
from howsure.model.dataset_policy import DatasetPolicy
from howsure.services.processes import limit_memory

if TYPE_CHECKING:
    from howsure.kit import Kit

log = logging.getLogger("howsure.uploads")

LARGE_UPLOAD = 1024 * 1024
"""Files of this many bytes or more are checked in a process of their own."""
CHECK_SECONDS = 300.0
CHECK_MEGABYTES = 512
CHECKS_AT_A_TIME = 2
NICENESS = 15
BUILTIN = (ExplainDialect, GoldenDialect, SimulationDialect, TestSetDialect, LegalDialect, PlainDialect)
ENDINGS = (".jsonl", ".json", ".csv")
LISTS = ("golden_questions", "questions", "items")
"""The fields that hold the cases in whole-file dialects."""
TOO_MUCH = (
    f"this file cannot be checked within {CHECK_MEGABYTES} MB and {CHECK_SECONDS:.0f} seconds: "
    "send it in parts, or as JSON lines, which are read one by one"
)

_free = asyncio.Semaphore(CHECKS_AT_A_TIME)
_turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


class UploadCheck(Struct, frozen=True, kw_only=True):
    """The result: the file's name with a fitting ending, its dialect and the ids of its cases; or problems, and `more`
    that are not listed; or `refusal`, the reason why it was not read at all."""

    file: str = ""
    dialect: str = ""
    case_ids: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    more: int = 0
    refusal: str = ""


async def check_file(path: Path, name: str, readers: Sequence[Importer], kit: Kit) -> UploadCheck:
    """Check the file, which is renamed so that its ending fits the content: dialects are detected by it. What a dialect
    of a plug-in reads is checked here: another process would have to run the plug-in again."""
    if path.stat().st_size < LARGE_UPLOAD or not all(isinstance(each, BUILTIN) for each in readers):
        return await asyncio.to_thread(check_here, path, name, readers)
    dialects = [each.name for each in readers]
    # Dialects detect the last two by these names.
    request = [str(path), name, dialects, list(kit.profiles.names()), list(kit.dataset_policies)]
    return await _check_apart(msgspec.json.encode(request))


@asynccontextmanager
async def turn_of(organization_id: str | None) -> AsyncIterator[None]:
    """Wait until a large upload of this organisation may be checked: one of each at a time, so that no organisation
    keeps the others waiting; None: at once."""
    if organization_id is None:
        yield
        return
    turn = _turns.get(organization_id)
    if turn is None:
        turn = _turns[organization_id] = asyncio.Lock()
    async with turn, _free:
        yield


async def _check_apart(request: bytes) -> UploadCheck:
    command = (sys.executable, "-P", "-m", __name__)
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            answer, said = await process.communicate(request)
    except TimeoutError:
        return UploadCheck(refusal=TOO_MUCH)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        log.error("the check of an upload ended with %s: %s", process.returncode, said.decode("utf-8", "replace"))
        if process.returncode == 1 and b"MemoryError" not in said:
            raise RuntimeError("the check of an upload broke: its own words are in the log")
        return UploadCheck(refusal=TOO_MUCH)
    return msgspec.msgpack.decode(answer, type=UploadCheck)


def main() -> None:
    """The process of one check: the request is on stdin, the answer goes to stdout."""
    kind = tuple[str, str, list[str], list[str], list[str]]
    path, name, dialects, profiles, policies = msgspec.json.decode(sys.stdin.buffer.read(), type=kind)
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    limit_memory(CHECK_MEGABYTES)
    legal = LegalDialect(dict.fromkeys(policies, DatasetPolicy()))
    tables: list[PlainDialect] = [PlainDialect(), *tool_tables()]
    own: list[Importer] = [ExplainDialect(profiles), GoldenDialect(), SimulationDialect(), TestSetDialect(), legal]
    known = [*own, *tables]
    found = check_here(Path(path), name, [each for each in known if each.name in dialects])
    sys.stdout.buffer.write(msgspec.msgpack.encode(found))


def check_here(path: Path, name: str, readers: Sequence[Importer]) -> UploadCheck:
    """Check the file in this process."""
    ending = Path(name).suffix.lower()
    try:
        ending = ending if ending in ENDINGS else ending_of(path.read_bytes())
        path = path.rename(path.with_name(f"dataset{ending}"))
        reader = readers[0] if len(readers) == 1 else detect(path, readers)
        ids: list[str] = []
        report = validate(path, reader, lambda case: ids.append(case.id))
    except DatasetInvalid as error:
        return UploadCheck(problems=error.problems, more=error.more)
    except InputError as error:
        return UploadCheck(refusal=str(error))
    except MemoryError:
        return UploadCheck(refusal=TOO_MUCH)
    if report.problems:
        return UploadCheck(problems=report.problems, more=report.more_problems)
    return UploadCheck(file=path.name, dialect=reader.name, case_ids=tuple(ids))


def ending_of(content: bytes) -> str:
    """The ending that the content of a file without a known one should have."""
    text = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not text.startswith((b"{", b"[")):
        return ".csv"
    if text.startswith(b"["):
        return ".json"
    first, _, rest = text.partition(b"\n")
    try:
        msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ".json"
    return ".jsonl" if rest.strip() or not any(f'"{name}"'.encode() in first for name in LISTS) else ".json"


if __name__ == "__main__":
    main()
