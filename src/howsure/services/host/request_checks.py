"""Checks of a run request before it is planned: all reasons to refuse it together, each with its field; whether its
agent and cases exist; and whether the cases bring answers of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from howsure.dialects.datasets import detect, read_cases
from howsure.dialects.plain_columns import TableOptions
from howsure.errors import (
    ConfigInvalid,
    Conflict,
    DatasetInvalid,
    InputError,
    NotFound,
    Problem,
    RequestRefused,
    StorageFault,
    UnknownName,
)
from howsure.model.access_scope import AccessScope
from howsure.model.case import Case, finished_transcript_of
from howsure.model.document import Document, DocumentKind
from howsure.model.run_request import RunRequest
from howsure.services.host.document_files import write_documents
from howsure.services.run.preflight import matches
from howsure.services.workspace import Host

CODES = {NotFound: "not-found", UnknownName: "unknown-name"}


class RequestFaults:
    """Collects what is wrong with a request. Documents that are not there stay NotFound, and what cannot be done with a
    run a Conflict, where nothing else is wrong. `names`: fields that have another name in this body."""

    def __init__(self) -> None:
        self._found: list[tuple[str, InputError]] = []
        self.names: Mapping[str, str] = {}

    @contextmanager
    def of(self, field: str) -> Iterator[None]:
        """Errors inside that the user can fix become faults of this field."""
        try:
            yield
        except StorageFault:
            raise
        except InputError as error:
            self._found.append((field, error))

    def refuse(self) -> None:
        if len(self._found) == 1 and isinstance(error := self._found[0][1], NotFound | Conflict):
            raise error
        if self._found and all(isinstance(error, NotFound) for _, error in self._found):
            raise NotFound("; ".join(dict.fromkeys(str(error) for _, error in self._found)))
        if self._found:
            raise RequestRefused(self.problems())

    def problems(self) -> list[Problem]:
        found = [problem for field, error in self._found for problem in _problems(field, error)]
        return [replace(each, field=self.names.get(each.field, each.field)) for each in found]


def _problems(field: str, error: InputError) -> Sequence[Problem]:
    if isinstance(error, RequestRefused | DatasetInvalid):
        return [replace(each, field=each.field or field) for each in error.problems]
    return [Problem(code=CODES.get(type(error), "refused"), field=field, message=str(error))]


@contextmanager
def permanent_faults() -> Iterator[None]:
    """RequestRefused for what the settings or the environment lack (a key, a price, a variable): retrying the request
    does not help."""
    try:
        yield
    except StorageFault:
        raise
    except ConfigInvalid as error:
        raise RequestRefused([Problem(code="not-configured", message=str(error))]) from error


def check_agent_known(host: Host, agent_id: str, described: Document | None, cases_of: str = "") -> None:
    """NotFound for an agent that nobody has described or listed, and that the cases are not for: it may be
    misspelled."""
    if agent_id and described is None and not host.rules.unknown_bots and agent_id not in (*host.rules.bots, cases_of):
        raise RequestRefused(
            [
                Problem(
                    code="unknown-bot",
                    field="bot_id",
                    message=f"there is no agent {agent_id!r}: describe it first, or let the operator allow unknown "
                    "ones (service.unknown_bots)",
                )
            ]
        )


async def check_items(host: Host, request: RunRequest, scope: AccessScope) -> None:
    """RequestRefused for ids of cases that the dataset does not have."""
    wanted = dict.fromkeys(request.filters.get("id", ()))
    if not wanted:
        return
    read = await _reader(host, request, scope)
    try:
        found = await asyncio.to_thread(lambda: {case.id for case in read()})
    except InputError:
        return  # what cannot be read is refused when the run is planned
    problems = [
        Problem(code="unknown-item", field="item_ids", message=f"the cases have no {name!r}", found=name)
        for name in wanted
        if name not in found
    ]
    if problems:
        raise RequestRefused(problems)


async def brings_answers(host: Host, request: RunRequest, source: Document, scope: AccessScope) -> bool:
    """Whether any of the chosen cases brings its answer, or all are finished conversations. (Items of the types
    `transcript` and `voice_simulation` are sent to nobody, whatever the target.)"""
    if source.kind not in (DocumentKind.DATASET, DocumentKind.TEST_SET):
        return False
    read = await _reader(host, request, scope)

    def look() -> bool:
        chosen = islice((case for case in read() if matches(case, request.filters)), request.limit)
        all_finished = True
        for case in chosen:
            finished = finished_transcript_of(case) is not None
            if case.recorded is not None and not finished:
                return True
            all_finished = all_finished and finished
        return all_finished

    try:
        return await asyncio.to_thread(look)
    except InputError:
        return False  # what cannot be read is refused when the run is planned


async def _reader(host: Host, request: RunRequest, scope: AccessScope) -> Callable[[], Iterator[Case]]:
    """Reads the cases that the request names."""
    named = replace(RunRequest(datasets=request.datasets), map=request.map, match=request.match)
    files, _ = await write_documents(host.store, named, host.work.data_folder / "documents", scope)
    options = TableOptions(map=request.map, match=request.match)
    kit, path = host.work.kit, Path(files.datasets[0])
    kit = kit.with_tables(options) if request.map or request.match else kit

    def read() -> Iterator[Case]:
        return read_cases(path, kit.reader(files.dialect) if files.dialect else detect(path, kit.dialects))

    return read
