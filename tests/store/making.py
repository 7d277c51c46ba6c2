"""Runs and results for the tests of the store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, text

from howsure.model.access_scope import EVERYWHERE
from howsure.model.agent import Agent
from howsure.model.result import Result
from howsure.model.run import Counts, DatasetPin, Pins, Run, RunState
from howsure.model.run_request import RunRequest
from howsure.model.score import Score
from howsure.model.verdict import Verdict
from howsure.store.browse import RunPageContent, RunPageQuery
from howsure.store.result_lists import ResultFilter
from howsure.store.store import Store
from howsure.testing import a_case, a_transcript

RUN = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def a_run(id: str = RUN, *, agent: str = "", total: int = 3, **fields: Any) -> Run:
    candidates = fields.pop("candidates", ("",))
    pins = Pins(
        request=RunRequest(target="recorded", candidates=candidates, repeat=fields.pop("repeat", 1)),
        datasets=(DatasetPin(path="legal.jsonl", sha256="ab" * 32, dialect="legal", cases=total),),
        agent=Agent(id=agent, name=agent) if agent else None,
    )
    plain = {"name": "first", "state": RunState.PENDING, "counts": Counts(total=total), "created_at": NOON}
    return Run(**{"id": id, "pins": pins, **plain, **fields})


async def shown_page(store: Store) -> RunPageContent:
    """What the page of the run shows."""
    query = RunPageQuery(filter=lambda _: ResultFilter(), examples=lambda _: (), after=None, limit=100, errored=0)
    return await store.browse.run_page(RUN, query, EVERYWHERE)


def numbered(number: int) -> str:
    return str(UUID(int=number, version=4))


def a_result(position: int = 0, verdict: Verdict = Verdict.PASSED, *, case: str = "", **fields: Any) -> Result:
    passed = Score(name="choice", value=float(verdict is Verdict.PASSED), pass_mark=1.0, reason="B was expected")
    plain: dict[str, Any] = {
        "case": a_case(id=case or f"case-{position}", message=f"Question {position}?"),
        "verdict": verdict,
        "reasons": ("choice decides",),
        "grades": (passed,),
        "transcript": a_transcript(f"Answer {position}"),
        "position": position,
        "created_at": NOON + timedelta(seconds=position),
        "duration_ms": 12.5,
    }
    return Result(**{**plain, **fields})


async def asked(store: Store, statement: str) -> list[tuple[Any, ...]]:
    """What a statement finds or changes, past everything that the store would say about it."""

    def ask(connection: Connection) -> list[tuple[Any, ...]]:
        found = connection.execute(text(statement))
        return [tuple(each) for each in found] if found.returns_rows else []

    return await store._database.write(ask)
