"""`Client`: the evaluation service, for scripts and notebooks. Everything `AsyncClient` can do, said without `await`:
each method is made from its twin there, with the same arguments and types."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar
from weakref import finalize

from howsure.client.asking import RETRIES, SECONDS, URL, AsyncClient, AsyncKeys
from howsure.client.bulk import AsyncBulk
from howsure.client.connection import Retries
from howsure.client.documents import AsyncBots, AsyncDatasets, AsyncShelf, D
from howsure.client.labels import AsyncLabels
from howsure.client.pages import Pages
from howsure.client.runs import LOOK_SECONDS, PATIENCE_SECONDS, AsyncResults, AsyncRuns, Progress
from howsure.client.thread import LoopThread
from howsure.client.wire.runs import Run

A = TypeVar("A")
T = TypeVar("T")
P = ParamSpec("P")


class Blocking(Generic[A]):
    """The twin of something asynchronous."""

    def __init__(self, twin: A, thread: LoopThread) -> None:
        self._twin = twin
        self._thread = thread


def waited(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Blocking[A], P], T]:
    """The method, waited for."""

    @wraps(method)
    def call(self: Blocking[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._thread.run(method(self._twin, *args, **kwargs))

    return call


def walked(method: Callable[Concatenate[A, P], Pages[T]]) -> Callable[Concatenate[Blocking[A], P], Iterator[T]]:
    """The list, walked along: one page at a time is asked for, when it is reached."""

    @wraps(method)
    def call(self: Blocking[A], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return _walk(self._thread, method(self._twin, *args, **kwargs))

    return call


def _walk(thread: LoopThread, pages: Pages[T]) -> Iterator[T]:
    walking = pages.walk()

    async def following() -> list[T] | None:
        return await anext(walking, None)

    while (page := thread.run(following())) is not None:
        yield from page


class Shelf(Blocking[AsyncShelf[D]], Generic[D]):
    """One kind of document."""

    each = walked(AsyncShelf.each)
    get = waited(AsyncShelf.get)
    create = waited(AsyncShelf.create)
    change = waited(AsyncShelf.change)
    delete = waited(AsyncShelf.delete)
    versions = walked(AsyncShelf.versions)
    diff = waited(AsyncShelf.diff)
    restore = waited(AsyncShelf.restore)


class Datasets(Blocking[AsyncDatasets]):
    """Files of any dialect, and their cases."""

    each = walked(AsyncDatasets.each)
    upload = waited(AsyncDatasets.upload)
    get = waited(AsyncDatasets.get)
    content = waited(AsyncDatasets.content)
    versions = walked(AsyncDatasets.versions)
    diff = waited(AsyncDatasets.diff)
    restore = waited(AsyncDatasets.restore)
    change = waited(AsyncDatasets.change)
    delete = waited(AsyncDatasets.delete)
    cases = walked(AsyncDatasets.cases)
    case = waited(AsyncDatasets.case)
    add_case = waited(AsyncDatasets.add_case)
    remove_case = waited(AsyncDatasets.remove_case)


class Bots(Blocking[AsyncBots]):
    """What is known of agents."""

    get = waited(AsyncBots.get)
    describe = waited(AsyncBots.describe)
    versions = walked(AsyncBots.versions)
    diff = waited(AsyncBots.diff)
    restore = waited(AsyncBots.restore)


class Runs(Blocking[AsyncRuns]):
    """Runs of the service."""

    each = walked(AsyncRuns.each)
    start = waited(AsyncRuns.start)
    get = waited(AsyncRuns.get)
    watch = walked(AsyncRuns.watch)
    results = walked(AsyncRuns.results)
    export = walked(AsyncRuns.export)
    result = waited(AsyncRuns.result)
    cancel = waited(AsyncRuns.cancel)
    pause = waited(AsyncRuns.pause)
    resume = waited(AsyncRuns.resume)
    retry = waited(AsyncRuns.retry)
    regrade = waited(AsyncRuns.regrade)
    delete = waited(AsyncRuns.delete)

    def wait(
        self,
        run_id: str,
        progress: Progress | None = None,
        *,
        seconds: float | None = None,
        every: float = LOOK_SECONDS,
        patience: float = PATIENCE_SECONDS,
    ) -> Run:
        """The run when nobody works on it any more; `state` says whether it is complete. `progress` is told of it
        whenever it has changed, on the caller's own thread."""
        for run in self.watch(run_id, seconds=seconds, every=every, patience=patience):
            if progress is not None:
                progress(run)
        return run


class Results(Blocking[AsyncResults]):
    """Results of every run, and how every agent stands."""

    each = walked(AsyncResults.each)
    by_agent = walked(AsyncResults.by_agent)


class Labels(Blocking[AsyncLabels]):
    """People's labels."""

    each = walked(AsyncLabels.each)
    of_run = walked(AsyncLabels.of_run)
    give = waited(AsyncLabels.give)
    take_back = waited(AsyncLabels.take_back)
    agreement = waited(AsyncLabels.agreement)
    file = waited(AsyncLabels.file)


class Bulk(Blocking[AsyncBulk]):
    """Documents as entries, out and in."""

    export = walked(AsyncBulk.export)
    load = waited(AsyncBulk.load)


class Keys(Blocking[AsyncKeys]):
    """API keys, and the log of writes."""

    each = walked(AsyncKeys.each)
    create = waited(AsyncKeys.create)
    revoke = waited(AsyncKeys.revoke)
    deeds = walked(AsyncKeys.deeds)


class Client(Blocking[AsyncClient]):
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
        self.rubrics = Shelf(twin.rubrics, thread)
        self.test_sets = Shelf(twin.test_sets, thread)
        self.question_sets = Shelf(twin.question_sets, thread)
        self.configs = Shelf(twin.configs, thread)
        self.datasets = Datasets(twin.datasets, thread)
        self.bots = Bots(twin.bots, thread)
        self.runs = Runs(twin.runs, thread)
        self.results = Results(twin.results, thread)
        self.labels = Labels(twin.labels, thread)
        self.bulk = Bulk(twin.bulk, thread)
        self.keys = Keys(twin.keys, thread)
        # Also when nobody closes it: a notebook's cells have no end.
        self._closing = finalize(self, _close, twin, thread)

    evaluate = waited(AsyncClient.evaluate)
    evaluate_transcript = waited(AsyncClient.evaluate_transcript)
    compare = waited(AsyncClient.compare)
    grader_types = waited(AsyncClient.grader_types)
    health = waited(AsyncClient.health)
    ready = waited(AsyncClient.ready)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closing()


def _close(twin: AsyncClient, thread: LoopThread) -> None:
    thread.finish(twin.close())
