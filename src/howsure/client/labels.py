"""Labels: what people say of a run's grades, and how far they agree with its judge."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from howsure.client.connection import Connection, Request
from howsure.client.documents import place
from howsure.client.pages import Pages, paged, read_answer
from howsure.client.wire.labels import Concord, Label
from howsure.client.wire.orders import LabelWanted

Opinion = Literal["pass", "fail", "not_applicable", "cannot_tell"]


class AsyncLabels:
    """People's labels."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def each(self, *, agent_id: str | None = None, labeler: str | None = None, most: int | None = None) -> Pages[Label]:
        """Of every run, newest first."""
        return paged(self._connection, Label, "/labels", most, agent_id=agent_id, labeler=labeler)

    def of_run(self, run_id: str, *, labeler: str | None = None, most: int | None = None) -> Pages[Label]:
        """Of one run, newest first."""
        return paged(self._connection, Label, place("runs", run_id, "labels"), most, labeler=labeler)

    async def give(
        self, run_id: str, result_id: str, grader: str, opinion: Opinion, **wanted: Unpack[LabelWanted]
    ) -> Label:
        """Say something of one grade; what the same person said of it before is replaced. `result_id` may be the id of
        the result's case, `criterion_id` is that of a criterion or rule."""
        body: dict[str, Any] = {"result_id": result_id, "grader": grader, "opinion": opinion, **wanted}
        request = Request(method="POST", path=place("runs", run_id, "labels"), body=body)
        return read_answer(Label, await self._connection.ask(request))

    async def take_back(self, run_id: str, label_id: str) -> None:
        await self._connection.ask(Request(method="DELETE", path=place("runs", run_id, "labels", label_id)))

    async def agreement(self, run_id: str) -> Concord:
        """How far people agree with the judge, and with each other."""
        request = Request(method="GET", path=place("runs", run_id, "agreement"))
        return read_answer(Concord, await self._connection.ask(request))

    async def file(self, run_id: str) -> bytes:
        """What `howsure judge calibrate` reads."""
        return (await self._connection.ask(Request(method="GET", path=place("runs", run_id, "labels.ndjson")))).body
