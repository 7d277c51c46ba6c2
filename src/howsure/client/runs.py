"""Runs: start, wait, steer, read results; and people's labels on them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Any, Literal, Unpack
from urllib.parse import urlencode

from howsure.client.connection import ServiceRequest
from howsure.client.documents import url_path
from howsure.client.errors import Unavailable, WaitedTooLong
from howsure.client.pages import PagedList, ServiceResource, stream_lines
from howsure.client.requests import LabelOptions, RegradeOptions, ResultOptions, StartRunOptions, StatsOptions
from howsure.wire.labels import HumanLabel, LabelTask, RunAgreement
from howsure.wire.results import Result
from howsure.wire.runs import AgentStatus, Run, Stats

FIRST_LOOK = 0.1
LOOK_SECONDS = 1.0
PATIENCE_SECONDS = 120.0
"""How long the service may be away while a run is waited for."""

Status = Literal["pending", "running", "completed", "failed"]
Verdict = Literal["passed", "failed", "errored", "skipped"]
Progress = Callable[[Run], object]
"""Called with a run whenever it has changed."""


class AsyncRuns(ServiceResource):
    """Runs of the service."""

    def each(
        self, *, agent_id: str | None = None, status: Status | None = None, most: int | None = None
    ) -> PagedList[Run]:
        """Newest first."""
        return self._pages(Run, "/runs", most, agent_id=agent_id, status=status)

    async def start(self, **options: Unpack[StartRunOptions]) -> Run:
        """Queue a run over one of `dataset_id`, `question_set_id` and `test_set_id`. `wait` waits for its end."""
        return await self._read(Run, "POST", "/runs", dict(options))

    async def get(self, run_id: str) -> Run:
        """With its counts as they are now."""
        return await self._read(Run, "GET", url_path("runs", run_id))

    def watch(
        self,
        run_id: str,
        *,
        seconds: float | None = None,
        every: float = LOOK_SECONDS,
        patience: float = PATIENCE_SECONDS,
    ) -> PagedList[Run]:
        """The run, whenever it has changed, until it has ended or is paused.
        `WaitedTooLong` is raised after so many `seconds`; the run goes on. A service that was there may be away for as
        long as there is `patience`: it may be restarted meanwhile."""

        async def walk() -> AsyncIterator[list[Run]]:
            run = await self.get(run_id)
            yield [run]
            begun = heard = monotonic()
            pause = min(FIRST_LOOK, every)
            while run.is_live:
                if seconds is not None and monotonic() - begun + pause > seconds:
                    progress = f"{run.completed} of {run.total} are done, and it goes on"
                    detail = f"run {run.run_id} did not end in {seconds:g} s: {progress}"
                    raise WaitedTooLong(detail, kind="waited_too_long")
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, every)
                patient = monotonic() - heard < patience
                try:
                    latest = await self.get(run.run_id)
                except Unavailable:
                    if not patient:
                        raise
                    continue
                heard = monotonic()
                if latest != run:
                    run = latest
                    yield [run]

        return PagedList(walk)

    async def wait(
        self,
        run_id: str,
        progress: Progress | None = None,
        *,
        seconds: float | None = None,
        every: float = LOOK_SECONDS,
        patience: float = PATIENCE_SECONDS,
    ) -> Run:
        """The run when it has ended or is paused; `state` says whether it is complete. `progress` is called with it
        whenever it has changed."""
        async for run in self.watch(run_id, seconds=seconds, every=every, patience=patience):
            if progress is not None:
                progress(run)
        return run

    def results(
        self, run_id: str, *, verdict: Verdict | None = None, candidate: str | None = None, most: int | None = None
    ) -> PagedList[Result]:
        """In the order of the cases."""
        path = url_path("runs", run_id, "results")
        return self._pages(Result, path, most, verdict=verdict, candidate=candidate)

    def export(self, run_id: str) -> PagedList[Result]:
        """The same, in one answer that is read as it comes: for very many."""
        request = ServiceRequest(method="GET", path=url_path("runs", run_id, "results.ndjson"))
        return stream_lines(self._connection, Result, request)

    async def result(self, run_id: str, result_id: str) -> Result:
        """By its id, or by its case's where that names only one."""
        return await self._read(Result, "GET", url_path("runs", run_id, "results", result_id))

    async def cancel(self, run_id: str) -> Run:
        """Stop it; what is finished stays finished, and it can still be resumed."""
        return await self._read(Run, "POST", url_path("runs", run_id, "cancel"))

    async def pause(self, run_id: str) -> Run:
        """Stop it until it is resumed."""
        return await self._read(Run, "POST", url_path("runs", run_id, "pause"))

    async def resume(self, run_id: str) -> Run:
        """Go on where it stopped."""
        return await self._read(Run, "POST", url_path("runs", run_id, "resume"))

    async def retry(self, run_id: str) -> Run:
        """Try the errored cases again."""
        return await self._read(Run, "POST", url_path("runs", run_id, "retry"))

    async def regrade(self, run_id: str, **options: Unpack[RegradeOptions]) -> Run:
        """A new run that grades the answers of this one again; the agent is not called."""
        return await self._read(Run, "POST", url_path("runs", run_id, "regrade"), dict(options))

    async def delete(self, run_id: str) -> None:
        """The run and all its results; one that is worked on must be cancelled first."""
        await self._send("DELETE", url_path("runs", run_id))


class AsyncResults(ServiceResource):
    """Results of every run, and the status of every agent."""

    def each(self, *, most: int | None = None, **filters: Unpack[ResultOptions]) -> PagedList[Result]:
        """Newest run first."""
        return self._pages(Result, "/results", most, **filters)

    def by_agent(self, *, most: int | None = None) -> PagedList[AgentStatus]:
        """Every agent that was tried, by id, with its newest run that is complete."""
        return self._pages(AgentStatus, "/org-evaluations", most)

    async def stats(self, **filters: Unpack[StatsOptions]) -> Stats:
        """How often each rule held over the newest runs, or who was answerable for what did not pass."""
        return await self._read(Stats, "GET", f"/stats?{urlencode(filters)}")


Opinion = Literal["pass", "fail", "not_applicable", "cannot_tell"]


class AsyncLabels(ServiceResource):
    """People's labels."""

    def each(
        self, *, agent_id: str | None = None, labeler: str | None = None, most: int | None = None
    ) -> PagedList[HumanLabel]:
        """Of every run, newest first."""
        return self._pages(HumanLabel, "/labels", most, agent_id=agent_id, labeler=labeler)

    def of_run(self, run_id: str, *, labeler: str | None = None, most: int | None = None) -> PagedList[HumanLabel]:
        """Of one run, newest first."""
        return self._pages(HumanLabel, url_path("runs", run_id, "labels"), most, labeler=labeler)

    async def next(self, run_id: str, *, number: int = 20, by: str = "verdict") -> list[LabelTask]:
        """What to label next: answers that are drawn at random, each with the chance that `give` takes as `drawn`."""
        query = urlencode({"number": number, "by": by})
        return await self._read_list(LabelTask, f"{url_path('runs', run_id, 'labels', 'next')}?{query}")

    async def give(
        self, run_id: str, result_id: str, grader: str, opinion: Opinion, **options: Unpack[LabelOptions]
    ) -> HumanLabel:
        """Label one grade; an earlier label of the same person on it is replaced. `result_id` may be the id of
        the result's case, `criterion_id` is that of a criterion or rule."""
        body: dict[str, Any] = {"result_id": result_id, "grader": grader, "opinion": opinion, **options}
        return await self._read(HumanLabel, "POST", url_path("runs", run_id, "labels"), body)

    async def take_back(self, run_id: str, label_id: str) -> None:
        await self._send("DELETE", url_path("runs", run_id, "labels", label_id))

    async def agreement(self, run_id: str) -> RunAgreement:
        """How far people agree with the judge, and with each other."""
        return await self._read(RunAgreement, "GET", url_path("runs", run_id, "agreement"))

    async def file(self, run_id: str) -> bytes:
        """What `howsure judge calibrate` reads."""
        return (await self._send("GET", url_path("runs", run_id, "labels.ndjson"))).body
