"""Draws the answers of a run that people label next: at random, with a known probability that is stored with the
label."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from enum import Enum
from uuid import UUID

from msgspec import Struct

from howsure.errors import PlanRefused
from howsure.model.result import result_id
from howsure.model.run import Run
from howsure.model.verdict import Verdict
from howsure.stats.draws import doubt_chances, doubts_about, draw_order, stratum_chances
from howsure.store.run_columns import OUTCOMES, VERDICTS, AttemptColumns, GradeColumn
from howsure.store.store import Store

LABELLED_VERDICTS = (Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED)
DECIDED = ("passed", "failed")


class DrawKind(Enum):
    """What makes an answer more likely to be drawn: nothing; a rare verdict; or a grade near its pass mark."""

    RANDOM = "random"
    VERDICT = "verdict"
    DOUBT = "doubt"


class DrawnAnswer(Struct, frozen=True, kw_only=True):
    """An answer to label. `drawn` is how likely it was to be drawn: 1 is as likely as in a plain random draw."""

    run_id: str
    position: int
    case_id: str
    candidate: str
    repeat: int
    drawn: float

    @property
    def result_id(self) -> str:
        return str(result_id(UUID(self.run_id), self.case_id, self.candidate, self.repeat))


async def draw_answers(
    store: Store, run: Run, kind: DrawKind, *, number: int | None = None, without: Collection[int] = ()
) -> list[DrawnAnswer]:
    """The answers of a run in the order in which they are drawn: the first `number` of those that are not at the
    positions `without`. After labelling those, the next ones of the same order follow."""
    attempts, measured = await store.columns(run.id)
    # Of large runs this takes seconds: the service answers others meanwhile.
    drawn = await asyncio.to_thread(_draw, run, kind, attempts, measured)
    left = [each for each in drawn if each.position not in without]
    return left if number is None else left[:number]


def _draw(run: Run, kind: DrawKind, attempts: AttemptColumns, measured: Sequence[GradeColumn]) -> list[DrawnAnswer]:
    """All answers that can be labelled, in their order."""
    places = [at for at, code in enumerate(attempts.verdicts) if VERDICTS[code] in LABELLED_VERDICTS]
    chances = _chances(attempts, measured, places, kind)
    # Repeats and candidates of a case share its random number, so they come together, in another run too.
    names = [f"{attempts.case_ids[attempts.cases[at]]}\n{attempts.repeats[at]}" for at in places]
    return [
        DrawnAnswer(
            run_id=run.id,
            position=attempts.positions[at],
            case_id=attempts.case_ids[attempts.cases[at]],
            candidate=attempts.candidate_names[attempts.candidates[at]],
            repeat=attempts.repeats[at],
            drawn=round(chance, 6),
        )
        for at, chance in ((places[place], chances[place]) for place in draw_order(names, chances))
    ]


def _chances(
    attempts: AttemptColumns, measured: Sequence[GradeColumn], places: Sequence[int], kind: DrawKind
) -> list[float]:
    match kind:
        case DrawKind.RANDOM:
            return [1.0] * len(places)
        case DrawKind.VERDICT:
            return stratum_chances([attempts.verdicts[at] for at in places])
        case DrawKind.DOUBT:
            doubts = _doubts(measured)
            if not doubts:
                raise PlanRefused(
                    "drawing by doubt needs grades with degrees, and those of this run are all or nothing: draw by "
                    "verdict"
                )
            return doubt_chances([doubts.get(attempts.positions[at], 0.0) for at in places])


def _doubts(measured: Sequence[GradeColumn]) -> dict[int, float]:
    """How doubtful each answer is: by the grade nearest to its pass mark. All-or-nothing grades do not count."""
    found: dict[int, float] = {}
    for column in measured:
        decided = [at for at, code in enumerate(column.outcomes) if OUTCOMES[code] in DECIDED]
        values = [column.values[at] for at in decided]
        if column.part_id is not None or len(set(values)) < 3:
            continue
        doubts = doubts_about(values, [OUTCOMES[column.outcomes[at]] == "passed" for at in decided])
        for at, doubt in zip(decided, doubts, strict=True):
            place = column.positions[at]
            found[place] = max(doubt, found.get(place, 0.0))
    return found
