"""A host with a bot of the test's own, and workers in this process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from howsure.config import ServiceSettings, Settings
from howsure.kit.plugins import builtin_kit
from howsure.model.access_scope import EVERYWHERE
from howsure.model.document import Document, DocumentKind
from howsure.model.run import Run, RunState
from howsure.model.run_request import RunRequest
from howsure.policies.verdicts import builtin_profiles
from howsure.services.host.run_requests import document as document_text
from howsure.services.host.run_requests import submit_run
from howsure.services.host.worker import Worker, WorkerPace
from howsure.services.workspace import Host, Workspace
from howsure.store.documents import DocumentDraft

QUICK = WorkerPace(look=0.02, beat=0.05)
MODULE = "host_bot"


@asynccontextmanager
async def hosted(
    folder: Path, bot: str, database: str = "", targets: dict[str, dict[str, Any]] | None = None, **rules: Any
) -> AsyncIterator[Host]:
    """`bot` is a module with a function `answer(text)`."""
    (folder / f"{MODULE}.py").write_text(bot)
    sys.modules.pop(MODULE, None)
    blocks = {"bot": {"kind": "function", "function": f"{MODULE}:answer"}, **(targets or {})}
    settings = Settings(
        database=database or str(folder / "howsure.db"),
        targets=blocks,
        service=ServiceSettings(**{"target": "bot", "unknown_bots": True, **rules}),
    )
    work = Workspace(settings, builtin_kit(builtin_profiles()), folder)
    async with await work.store() as store:
        yield Host(work, store)


def question(number: int, text: str = "") -> dict[str, Any]:
    choices = [{"id": "A", "text": "yes"}, {"id": "B", "text": "no"}]
    asked = {"prompt": text or f"question {number}", "choices": choices, "correct_choice_ids": ["A"]}
    return {"schema_version": "legal_eval_v1", "id": f"q{number}", "dataset": "d", "task_type": "mcq", **asked}


async def a_dataset(host: Host, *questions: dict[str, Any], key: str = "d1") -> Document:
    """Multiple-choice questions, so that no judge has a say."""
    body = b"".join(msgspec.json.encode(each) + b"\n" for each in questions)
    ids = tuple(each["id"] for each in questions)
    draft = DocumentDraft(body=body, name="questions.jsonl", dialect="legal", case_ids=ids)
    return await host.store.documents.create(DocumentKind.DATASET, key, draft)


def requested(case_ids: tuple[str, ...] = (), answers_of: str = "", **fields: Any) -> RunRequest:
    """A request for a run over documents of the service, which are named by their ids."""
    kinds = {"test_set_id": DocumentKind.TEST_SET, "dataset_id": DocumentKind.DATASET}
    kinds["question_set_id"] = DocumentKind.QUESTION_SET
    cases = [document_text(kind, fields.pop(name)) for name, kind in kinds.items() if name in fields]
    config = fields.pop("config_id", "")
    return RunRequest(
        datasets=tuple(cases),
        rubric=document_text(DocumentKind.RUBRIC, fields.pop("rubric_id", "")),
        agent=document_text(DocumentKind.AGENT, fields.pop("agent_id", "")),
        responses=(f"run:{answers_of}",) if answers_of else (),
        filters={"id": case_ids} if case_ids else {},
        **{"graders": (document_text(DocumentKind.GRADERS, config),) if config else None, **fields},
    )


async def ordered(host: Host, document: Document, **order: Any) -> Run:
    return (await submit_run(host, requested(dataset_id=document.id, **order), EVERYWHERE)).run


@asynccontextmanager
async def working(host: Host, pace: WorkerPace = QUICK) -> AsyncIterator[Worker]:
    stop = asyncio.Event()
    worker = Worker(host, pace)
    task = asyncio.create_task(worker.run(stop))
    try:
        yield worker
    finally:
        stop.set()
        await task


async def until(true: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not await true():
            await asyncio.sleep(0.02)


async def in_state(host: Host, run_id: str, *states: RunState) -> Run:
    async def there() -> bool:
        return (await host.store.run(run_id)).state in (states or (RunState.COMPLETED,))

    await until(there)
    return await host.store.run(run_id)


async def completed(host: Host, run_id: str, number: int) -> None:
    async def enough() -> bool:
        return (await host.store.run(run_id)).counts.completed >= number

    await until(enough)
