"""`AsyncClient`: the evaluation service, for programs that wait for many things at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

from howsure.client.bulk import AsyncBulk
from howsure.client.connection import Connection, Request, Retries
from howsure.client.documents import AsyncBots, AsyncDatasets, AsyncShelf, place
from howsure.client.labels import AsyncLabels
from howsure.client.pages import Pages, paged, read_answer, read_list
from howsure.client.runs import AsyncResults, AsyncRuns
from howsure.client.wire.admin import Deed, Health, Key, NewKey
from howsure.client.wire.base import Json
from howsure.client.wire.documents import EvaluatorConfig, EvaluatorType, QuestionSet, Rubric, TestSet
from howsure.client.wire.orders import EvaluationWanted, TranscriptWanted
from howsure.client.wire.runs import Evaluation, Result

URL = "http://127.0.0.1:8002"
KEY = "HOWSURE_API_KEY"
SECONDS = 300.0
RETRIES = Retries()


class AsyncKeys:
    """API keys, and the log of writes. They need the scope `admin`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def each(self, *, most: int | None = None) -> Pages[Key]:
        """Newest first; no secret is kept."""
        return paged(self._connection, Key, "/keys", most)

    async def create(
        self,
        name: str,
        scopes: Sequence[str],
        *,
        organization_id: str | None = None,
        agent_ids: Sequence[str] | None = None,
        days: float | None = None,
    ) -> NewKey:
        """A key; its `secret` is told now, and never again. Scopes are read, write, run and admin."""
        said = {"organization_id": organization_id, "agent_ids": agent_ids and list(agent_ids), "days": days}
        body = {
            "name": name,
            "scopes": list(scopes),
            **{key: value for key, value in said.items() if value is not None},
        }
        # Never sent again: the service would have to keep the secret to answer the same twice.
        request = Request(method="POST", path="/keys", body=body, once=True)
        return read_answer(NewKey, await self._connection.ask(request))

    async def revoke(self, id: str) -> Key:
        """From now on it opens nothing."""
        return read_answer(Key, await self._connection.ask(Request(method="DELETE", path=place("keys", id))))

    def deeds(self, *, most: int | None = None) -> Pages[Deed]:
        """Who wrote what, newest first."""
        return paged(self._connection, Deed, "/audit", most)


class AsyncClient:
    """`async with AsyncClient() as client: run = await client.runs.start(dataset_id=…)`. The key is `key`, else what
    the environment has as HOWSURE_API_KEY; a service on this machine may need none. Close it when it is not needed."""

    def __init__(
        self,
        url: str = URL,
        key: str | None = None,
        *,
        seconds: float = SECONDS,
        retries: Retries = RETRIES,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        connection = Connection(url, environ.get(KEY, "") if key is None else key, seconds, retries)
        self._connection = connection
        self.url = connection.base
        self.rubrics = AsyncShelf(connection, "/rubrics", Rubric)
        self.test_sets = AsyncShelf(connection, "/test-sets", TestSet)
        self.question_sets = AsyncShelf(connection, "/question-sets", QuestionSet)
        self.configs = AsyncShelf(connection, "/evaluator-configs", EvaluatorConfig)
        self.datasets = AsyncDatasets(connection)
        self.bots = AsyncBots(connection)
        self.runs = AsyncRuns(connection)
        self.results = AsyncResults(connection)
        self.labels = AsyncLabels(connection)
        self.bulk = AsyncBulk(connection)
        self.keys = AsyncKeys(connection)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._connection.close()

    async def evaluate(self, bot_id: str, test_set_id: str, **wanted: Unpack[EvaluationWanted]) -> Evaluation:
        """Run a test set against a bot; `runs.wait(evaluation.run_id)` waits for its end."""
        body = {"bot_id": bot_id, "test_set_id": test_set_id, **wanted}
        return read_answer(Evaluation, await self._ask("POST", "/evaluations", body))

    async def evaluate_transcript(
        self, messages: Sequence[Mapping[str, Any]], **wanted: Unpack[TranscriptWanted]
    ) -> Result:
        """Grade one finished conversation now. No run is made."""
        body = {"messages": [dict(each) for each in messages], **wanted}
        return read_answer(Result, await self._ask("POST", "/evaluate-transcript", body))

    async def compare(self, first: str, second: str) -> Json:
        """Two runs, case by case: flips both ways, differences with intervals, and a sentence."""
        compared: Json = (await self._ask("GET", place("compare", first, second))).json
        return compared

    async def grader_types(self) -> list[EvaluatorType]:
        """The graders that a run may have."""
        return read_list(EvaluatorType, await self._ask("GET", "/evaluators/types"))

    async def health(self) -> Health:
        return read_answer(Health, await self._ask("GET", "/health"))

    async def ready(self) -> Health:
        """Whether the database answers; `Unavailable` where it does not."""
        return read_answer(Health, await self._ask("GET", "/ready"))

    async def _ask(self, method: str, path: str, body: Any = None) -> Any:
        return await self._connection.ask(Request(method=method, path=path, body=body))
