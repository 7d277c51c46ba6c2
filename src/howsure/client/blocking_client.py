"""`Client`: the evaluation service for scripts and notebooks. It runs `AsyncClient` on a thread of its own; each method
is made from its asynchronous twin, with the same arguments and types."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError
from functools import wraps
from threading import Lock, Thread, current_thread
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar
from weakref import finalize

from howsure.client.async_client import RETRIES, SECONDS, URL, AsyncClient, AsyncKeys
from howsure.client.connection import Retries
from howsure.client.documents import AsyncBots, AsyncBulk, AsyncDatasets, AsyncDocuments, D
from howsure.client.pages import PagedList
from howsure.client.runs import LOOK_SECONDS, PATIENCE_SECONDS, AsyncLabels, AsyncResults, AsyncRuns, Progress
from howsure.errors import InputError
from howsure.wire.runs import Run

T = TypeVar("T")
STOP_SECONDS = 5.0
CLOSED = "this client is closed: make another"


class LoopThread:
    """Runs coroutines and waits for them. The thread begins with the first one and does not keep the program alive."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._lock = Lock()
        self._stopped = False

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        """What it comes to. Ctrl-C while waiting stops it there, too."""
        try:
            loop = self._running()
        except InputError:
            doing.close()
            raise
        future = asyncio.run_coroutine_threadsafe(doing, loop)
        try:
            return future.result()
        except CancelledError:
            raise InputError(CLOSED) from None
        finally:
            future.cancel()

    def finish(self, doing: Coroutine[Any, Any, object]) -> None:
        """Do a last thing, and stop. Where nothing was ever done, nothing is."""
        with self._lock:
            self._stopped = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            doing.close()
            return
        asyncio.run_coroutine_threadsafe(_last(doing), loop)
        # The garbage collector may call us on that very thread, which cannot wait for itself.
        if thread is not current_thread():
            thread.join(STOP_SECONDS)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._stopped:
                raise InputError(CLOSED)
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=_carry, args=(self._loop,), name="howsure-client", daemon=True)
                self._thread.start()
            return self._loop


def _carry(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_let_go())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _let_go() -> None:
    """Cancel what other threads still wait for, so that they are not left waiting."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for each in left:
        each.cancel()
    await asyncio.gather(*left, return_exceptions=True)


async def _last(doing: Coroutine[Any, Any, object]) -> None:
    try:
        await doing
    finally:
        asyncio.get_running_loop().stop()


A = TypeVar("A", covariant=True)
P = ParamSpec("P")


class BlockingFacade(Generic[A]):
    """The blocking side of an asynchronous object."""

    def __init__(self, twin: A, thread: LoopThread) -> None:
        self._twin = twin
        self._thread = thread


def blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingFacade[A], P], T]:
    """The method, blocking until its result is there."""

    @wraps(method)
    def call(self: BlockingFacade[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._thread.run(method(self._twin, *args, **kwargs))

    return call


def iterating(
    method: Callable[Concatenate[A, P], PagedList[T]],
) -> Callable[Concatenate[BlockingFacade[A], P], Iterator[T]]:
    """The list as an iterator: each page is requested when it is reached."""

    @wraps(method)
    def call(self: BlockingFacade[A], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return _walk(self._thread, method(self._twin, *args, **kwargs))

    return call


def _walk(thread: LoopThread, pages: PagedList[T]) -> Iterator[T]:
    walking = pages.walk()

    async def following() -> list[T] | None:
        return await anext(walking, None)

    while (page := thread.run(following())) is not None:
        yield from page


class BlockingDocuments(BlockingFacade[AsyncDocuments[D]], Generic[D]):
    """One kind of document."""

    each = iterating(AsyncDocuments.each)
    get = blocking(AsyncDocuments.get)
    create = blocking(AsyncDocuments.create)
    change = blocking(AsyncDocuments.change)
    delete = blocking(AsyncDocuments.delete)
    versions = iterating(AsyncDocuments.versions)
    diff = blocking(AsyncDocuments.diff)
    restore = blocking(AsyncDocuments.restore)


class BlockingDatasets(BlockingFacade[AsyncDatasets]):
    """Files of any dialect, and their cases."""

    each = iterating(AsyncDatasets.each)
    upload = blocking(AsyncDatasets.upload)
    get = blocking(AsyncDatasets.get)
    content = blocking(AsyncDatasets.content)
    versions = iterating(AsyncDatasets.versions)
    diff = blocking(AsyncDatasets.diff)
    restore = blocking(AsyncDatasets.restore)
    change = blocking(AsyncDatasets.change)
    delete = blocking(AsyncDatasets.delete)
    cases = iterating(AsyncDatasets.cases)
    case = blocking(AsyncDatasets.case)
    add_case = blocking(AsyncDatasets.add_case)
    remove_case = blocking(AsyncDatasets.remove_case)


class BlockingBots(BlockingFacade[AsyncBots]):
    """What is known of agents."""

    get = blocking(AsyncBots.get)
    describe = blocking(AsyncBots.describe)
    versions = iterating(AsyncBots.versions)
    diff = blocking(AsyncBots.diff)
    restore = blocking(AsyncBots.restore)


class BlockingRuns(BlockingFacade[AsyncRuns]):
    """Runs of the service."""

    each = iterating(AsyncRuns.each)
    start = blocking(AsyncRuns.start)
    get = blocking(AsyncRuns.get)
    watch = iterating(AsyncRuns.watch)
    results = iterating(AsyncRuns.results)
    export = iterating(AsyncRuns.export)
    result = blocking(AsyncRuns.result)
    cancel = blocking(AsyncRuns.cancel)
    pause = blocking(AsyncRuns.pause)
    resume = blocking(AsyncRuns.resume)
    retry = blocking(AsyncRuns.retry)
    regrade = blocking(AsyncRuns.regrade)
    delete = blocking(AsyncRuns.delete)

    def wait(
        self,
        run_id: str,
        progress: Progress | None = None,
        *,
        seconds: float | None = None,
        every: float = LOOK_SECONDS,
        patience: float = PATIENCE_SECONDS,
    ) -> Run:
        """The run when it has ended or is paused; `state` says whether it is complete. `progress` is called with it
        whenever it has changed, on the caller's own thread."""
        for run in self.watch(run_id, seconds=seconds, every=every, patience=patience):
            if progress is not None:
                progress(run)
        return run


class BlockingResults(BlockingFacade[AsyncResults]):
    """Results of every run, and the status of every agent."""

    each = iterating(AsyncResults.each)
    by_agent = iterating(AsyncResults.by_agent)
    stats = blocking(AsyncResults.stats)


class BlockingLabels(BlockingFacade[AsyncLabels]):
    """People's labels."""

    each = iterating(AsyncLabels.each)
    of_run = iterating(AsyncLabels.of_run)
    next = blocking(AsyncLabels.next)
    give = blocking(AsyncLabels.give)
    take_back = blocking(AsyncLabels.take_back)
    agreement = blocking(AsyncLabels.agreement)
    file = blocking(AsyncLabels.file)


class BlockingBulk(BlockingFacade[AsyncBulk]):
    """Documents as entries, out and in."""

    export = iterating(AsyncBulk.export)
    load = blocking(AsyncBulk.load)


class BlockingKeys(BlockingFacade[AsyncKeys]):
    """API keys, and the log of writes."""

    each = iterating(AsyncKeys.each)
    create = blocking(AsyncKeys.create)
    revoke = blocking(AsyncKeys.revoke)
    deeds = iterating(AsyncKeys.deeds)


class Client(BlockingFacade[AsyncClient]):
    """`with howsure.Client() as client: run = client.runs.start(dataset_id=…)`. The key is `key`, else what the
    environment has as HOWSURE_API_KEY; a service on this machine may need none."""

    def __init__(
        self,
        url: str = URL,
        key: str | None = None,
        *,
        seconds: float = SECONDS,
        retries: Retries = RETRIES,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        twin, thread = AsyncClient(url, key, seconds=seconds, retries=retries, environ=environ), LoopThread()
        super().__init__(twin, thread)
        self.url = twin.url
        self.rubrics = BlockingDocuments(twin.rubrics, thread)
        self.test_sets = BlockingDocuments(twin.test_sets, thread)
        self.question_sets = BlockingDocuments(twin.question_sets, thread)
        self.configs = BlockingDocuments(twin.configs, thread)
        self.datasets = BlockingDatasets(twin.datasets, thread)
        self.bots = BlockingBots(twin.bots, thread)
        self.runs = BlockingRuns(twin.runs, thread)
        self.results = BlockingResults(twin.results, thread)
        self.labels = BlockingLabels(twin.labels, thread)
        self.bulk = BlockingBulk(twin.bulk, thread)
        self.keys = BlockingKeys(twin.keys, thread)
        # Also where it is never closed, as in a notebook.
        self._closing = finalize(self, lambda: thread.finish(twin.close()))

    evaluate = blocking(AsyncClient.evaluate)
    evaluate_transcript = blocking(AsyncClient.evaluate_transcript)
    compare = blocking(AsyncClient.compare)
    grader_types = blocking(AsyncClient.grader_types)
    health = blocking(AsyncClient.health)
    ready = blocking(AsyncClient.ready)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closing()
