"""Runs made directly in a store, to be compared: each result a case id and whether it passed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from howsure.model.result import Result
from howsure.model.run import Counts, DatasetPin, Pins, Run, RunState
from howsure.model.run_request import RunRequest
from howsure.model.score import Grade, Score, Unscored, UnscoredReason
from howsure.model.verdict import Verdict
from howsure.store.store import Store
from howsure.testing import a_case, a_transcript

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
BEFORE, AFTER, THIRD = (str(UUID(int=number, version=4)) for number in (1, 2, 3))
PINNED = DatasetPin(path="house.jsonl", sha256="ab" * 32, dialect="legal", cases=4)


def pins(**fields: Any) -> Pins:
    """Fields of the pins, and of the request in them, by name."""
    asked = {name: fields.pop(name) for name in [*fields] if name not in Pins.__struct_fields__}
    request = RunRequest(**{"target": "recorded", "concurrency": 8, **asked})
    return Pins(**{"request": request, "datasets": (PINNED,), **fields})


def tried(case: str, passed: bool | None, *, grades: Sequence[Grade] = (), **fields: Any) -> Result:
    """One attempt; None: it errored. Fields of the case begin with `case_`."""
    own = {name.removeprefix("case_"): fields.pop(name) for name in [*fields] if name.startswith("case_")}
    expectations = own.pop("expectations", ())
    verdict = {True: Verdict.PASSED, False: Verdict.FAILED, None: Verdict.ERRORED}[passed]
    answer = fields.pop("answer", "yes" if passed else "no")
    return Result(
        **{
            "case": a_case(*expectations, id=case, message=f"{case}?", **own),
            "verdict": verdict,
            "grades": grades or (choice(passed),),
            "transcript": a_transcript(answer),
            "duration_ms": 2.0,
            **fields,
        }
    )


def choice(passed: bool | None, name: str = "choice") -> Grade:
    if passed is None:
        return Unscored(name=name, why=UnscoredReason.ERROR, reason="no answer")
    return Score(name=name, value=float(passed), pass_mark=1.0)


async def keep(store: Store, id: str, results: Iterable[Result], *, name: str = "", **pinned: Any) -> Run:
    """A finished run with these results, in this order."""
    placed = [replace(each, position=place) for place, each in enumerate(results)]
    candidates = tuple(dict.fromkeys(each.candidate for each in placed))
    repeat = max((each.repeat for each in placed), default=1)
    run = Run(
        id=id,
        name=name or {BEFORE: "before", AFTER: "after"}.get(id, "third"),
        state=RunState.COMPLETED,
        pins=pins(**{"candidates": candidates, "repeat": repeat, **pinned}),
        counts=Counts(total=len(placed)),
        created_at=NOON,
    )
    await store.create_run(run)
    await store.save(id, placed)
    return run


def verdicts(pattern: str, **fields: Any) -> list[Result]:
    """`"+-!"`: q1 passed, q2 failed, q3 errored."""
    meaning = {"+": True, "-": False, "!": None}
    return [tried(f"q{place}", meaning[sign], **fields) for place, sign in enumerate(pattern, start=1)]
