"""Runs in a real store for the tests of gates, plans and trends: so many passed, failed, errored, in a few words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from msgspec import Struct

from howsure.model.agent import Agent
from howsure.model.result import Result
from howsure.model.run import Counts, DatasetPin, ModelSpending, Pins, Run, RunState
from howsure.model.run_request import RunRequest
from howsure.model.score import Grade, Score
from howsure.model.summary import GateRuling
from howsure.model.transcript import Usage
from howsure.model.verdict import Verdict
from howsure.policies.gates import read_gates
from howsure.services.gate.rulings import make_rulings
from howsure.store.store import Store
from howsure.testing import a_case, a_transcript

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
LETTERS = {"p": Verdict.PASSED, "f": Verdict.FAILED, "e": Verdict.ERRORED, "s": Verdict.SKIPPED}


def verdicts(passed: int, failed: int = 0, errored: int = 0, skipped: int = 0) -> str:
    """One letter a case."""
    return "p" * passed + "f" * failed + "e" * errored + "s" * skipped


class Made(Struct, frozen=True, kw_only=True):
    """One attempt to store."""

    verdict: str = "p"
    case: str
    candidate: str = ""
    repeat: int = 1
    grades: tuple[Grade, ...] | None = None
    message: str = "Hello?"
    tags: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    seconds: float | None = None
    usage: Usage | None = None
    took_ms: float = 5.0


def cases(letters: str, **fields: Any) -> list[Made]:
    """q0, q1 …, one for each letter: passed, failed, errored, skipped."""
    return [Made(verdict=letter, case=f"q{place}", **fields) for place, letter in enumerate(letters)]


def tries(*letters: str) -> list[Made]:
    """The repeats of each case: `tries("ppf", "ppp")`."""
    return [
        Made(verdict=letter, case=f"q{place}", repeat=repeat)
        for place, of_case in enumerate(letters)
        for repeat, letter in enumerate(of_case, start=1)
    ]


def a_result(made: Made, position: int) -> Result:
    verdict = LETTERS[made.verdict]
    judged = verdict in (Verdict.PASSED, Verdict.FAILED)
    grades = made.grades
    if grades is None:
        grades = (Score(name="choice", value=float(verdict is Verdict.PASSED), pass_mark=1.0),) if judged else ()
    transcript = a_transcript(
        "said", duration_ms=None if made.seconds is None else 1000 * made.seconds, usage=made.usage
    )
    return Result(
        case=a_case(id=made.case, message=made.message, tags=made.tags, labels=made.labels),
        verdict=verdict,
        grades=grades,
        transcript=transcript,
        candidate=made.candidate,
        repeat=made.repeat,
        position=position,
        duration_ms=made.took_ms,
    )


def a_pins(**fields: Any) -> Pins:
    """Pins with these fields; those that only a request has go to its request."""
    asked = {name: fields.pop(name) for name in list(fields) if name not in Pins.__struct_fields__}
    return Pins(request=RunRequest(**asked), **fields)


async def keep(
    store: Store,
    made: Sequence[Made],
    *,
    number: int = 1,
    name: str = "run",
    pending: int = 0,
    spent: ModelSpending | None = None,
    agent: str = "",
    state: RunState = RunState.COMPLETED,
    **pins: Any,
) -> Run:
    """Store a run of these attempts; the higher its number, the later it was."""
    candidates = tuple(dict.fromkeys(each.candidate for each in made)) or ("",)
    plain: dict[str, Any] = {
        "datasets": (DatasetPin(path="house.jsonl", sha256="ab" * 32, dialect="legal"),),
        "target": "recorded",
        "candidates": candidates,
        "repeat": max((each.repeat for each in made), default=1),
        "agent": Agent(id=agent, name=agent) if agent else None,
    }
    run = Run(
        id=str(UUID(int=number, version=4)),
        name=name,
        state=state,
        pins=a_pins(**{**plain, **pins}),
        counts=Counts(total=len(made) + pending),
        created_at=NOON + timedelta(days=number),
    )
    await store.create_run(run)
    await store.save(run.id, [a_result(each, place) for place, each in enumerate(made)])
    await store.set_state(run.id, state, spent=spent)
    return await store.run(run.id)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Store]:
    async with await Store.open(folder / ".howsure" / "howsure.db") as store:
        yield store


async def ruled(store: Store, run: Run, *expressions: str) -> tuple[GateRuling, ...]:
    return await make_rulings(store, await store.summary(run.id), read_gates(expressions))


async def ruling_of(folder: Path, made: Iterable[Made], expression: str, **fields: Any) -> GateRuling:
    """What one gate says of a run of these attempts."""
    async with opened(folder) as store:
        (found,) = await ruled(store, await keep(store, list(made), **fields), expression)
        return found
