"""`AsyncClient`: the evaluation service, for programs that wait for many things at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

from howsure.client.connection import Connection, Retries
from howsure.client.documents import AsyncBots, AsyncBulk, AsyncDatasets, AsyncDocuments, url_path
from howsure.client.pages import PagedList, ServiceResource
from howsure.client.requests import EvaluationOptions, TranscriptOptions
from howsure.client.runs import AsyncLabels, AsyncResults, AsyncRuns
from howsure.wire.admin import ApiKey, AuditEntry, NewApiKey, ServiceHealth
from howsure.wire.base import Json
from howsure.wire.documents import EvaluatorConfig, EvaluatorType, QuestionSet, Rubric, TestSet
from howsure.wire.results import Result
from howsure.wire.runs import Evaluation

URL = "http://127.0.0.1:8002"
KEY = "HOWSURE_API_KEY"
SECONDS = 300.0
RETRIES = Retries()


class AsyncKeys(ServiceResource):
    """API keys, and the log of writes. They need the scope `admin`."""

    def each(self, *, most: int | None = None) -> PagedList[ApiKey]:
        """Newest first, without secrets."""
        return self._pages(ApiKey, "/keys", most)

    async def create(
        self,
        name: str,
        scopes: Sequence[str] | None = None,
        *,
        role: str | None = None,
        organization_id: str | None = None,
        agent_ids: Sequence[str] | None = None,
        days: float | None = None,
    ) -> NewApiKey:
        """A new key; its `secret` is returned only now. Scopes are read, label, write, run and admin; in place of them
        a role: viewer, labeller, editor, runner or admin."""
        opens = {"scopes": scopes and list(scopes), "role": role}
        limits = {"organization_id": organization_id, "agent_ids": agent_ids and list(agent_ids), "days": days}
        body = {"name": name, **{key: each for key, each in {**opens, **limits}.items() if each is not None}}
        # Never sent again: the service would have to keep the secret to answer the same twice.
        return await self._read(NewApiKey, "POST", "/keys", body, once=True)

    async def revoke(self, id: str) -> ApiKey:
        """From now on it opens nothing."""
        return await self._read(ApiKey, "DELETE", url_path("keys", id))

    def deeds(self, *, most: int | None = None) -> PagedList[AuditEntry]:
        """Who wrote what, newest first."""
        return self._pages(AuditEntry, "/audit", most)


class AsyncClient(ServiceResource):
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
        super().__init__(connection)
        self.url = connection.base
        self.rubrics = AsyncDocuments(connection, "/rubrics", Rubric)
        self.test_sets = AsyncDocuments(connection, "/test-sets", TestSet)
        self.question_sets = AsyncDocuments(connection, "/question-sets", QuestionSet)
        self.configs = AsyncDocuments(connection, "/evaluator-configs", EvaluatorConfig)
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

    async def evaluate(self, bot_id: str, test_set_id: str, **options: Unpack[EvaluationOptions]) -> Evaluation:
        """Run a test set against a bot; `runs.wait(evaluation.run_id)` waits for its end."""
        body = {"bot_id": bot_id, "test_set_id": test_set_id, **options}
        return await self._read(Evaluation, "POST", "/evaluations", body)

    async def evaluate_transcript(
        self, messages: Sequence[Mapping[str, Any]], **options: Unpack[TranscriptOptions]
    ) -> Result:
        """Grade one finished conversation now. No run is made."""
        body = {"messages": [dict(each) for each in messages], **options}
        return await self._read(Result, "POST", "/evaluate-transcript", body)

    async def compare(self, first: str, second: str) -> Json:
        """Two runs, case by case: flips both ways, differences with intervals, and a sentence."""
        compared: Json = (await self._send("GET", url_path("compare", first, second))).json
        return compared

    async def grader_types(self) -> list[EvaluatorType]:
        """The graders that a run may have."""
        return await self._read_list(EvaluatorType, "/evaluators/types")

    async def health(self) -> ServiceHealth:
        return await self._read(ServiceHealth, "GET", "/health")

    async def ready(self) -> ServiceHealth:
        """Whether the database answers; `Unavailable` where it does not."""
        return await self._read(ServiceHealth, "GET", "/ready")
