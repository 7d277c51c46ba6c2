"""Reading what gates look at: the columns of a run, once, and only those that its gates ask about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from howsure.model.case import World
from howsure.model.expectation import text_id
from howsure.model.run import Run
from howsure.policies.gates import AllHold, Asked, Latency, Spending, Which
from howsure.services.survey import matches
from howsure.store.queries.columns import Attempts, Measured
from howsure.store.queries.tolls import PartGrade, Toll
from howsure.store.store import Store

SCENARIO = "scenario_id"
TAGS = ("tag", "tags")


class Columns(Struct, frozen=True, kw_only=True):
    """What was read of one run. `chosen` are the cases that labels select, by the labels; `scenarios` name the cluster
    of each case that belongs to one."""

    attempts: Attempts
    measured: Sequence[Measured]
    tolls: Sequence[Toll] = ()
    part_ids: Sequence[str] = ()
    part_grades: Sequence[PartGrade] = ()
    chosen: Mapping[str, frozenset[str]] = {}
    scenarios: Mapping[str, str] = {}


async def read_columns(store: Store, run: Run, asked: Sequence[Asked]) -> Columns:
    """The columns that these gates need."""
    attempts, measured = await store.columns(run.id)
    tolled = any(isinstance(each, Latency | Spending) for each in asked)
    parts = [part for each in asked if (part := part_of(each))]
    known = await store.part_ids(run.id) if parts else []
    wanted = sorted({found for part in parts for found in part_named(part, run, known)})
    return Columns(
        attempts=attempts,
        measured=measured,
        tolls=await store.tolls(run.id) if tolled else (),
        part_ids=known,
        part_grades=await store.part_grades(run.id, wanted) if wanted else (),
        chosen=await _chosen(store, run, [which_of(each).labels for each in asked]),
        scenarios=await scenarios(store, run),
    )


def which_of(asked: Asked) -> Which:
    """The part of the run that a gate is about."""
    found = getattr(asked, "which", None)
    return found if isinstance(found, Which) else Which()


def part_of(asked: Asked) -> str:
    return asked.part if isinstance(asked, AllHold) else which_of(asked).part


def part_named(name: str, run: Run, known: Sequence[str]) -> set[str]:
    """The rules or criteria meant by an id, the name or category of a rule, or the text of a criterion."""
    rules, folded = run.pins.rubric.rules if run.pins.rubric else (), name.casefold()
    meanings = (
        {name},
        {rule.id for rule in rules if rule.name.casefold() == folded},
        {rule.id for rule in rules if rule.category.casefold() == folded},
        {text_id(name)},
    )
    return next((found for meaning in meanings if (found := meaning & set(known))), set())


async def _chosen(store: Store, run: Run, wanted: Sequence[dict[str, tuple[str, ...]]]) -> dict[str, frozenset[str]]:
    filters = {key_of(labels): labels for labels in wanted if labels}
    found: dict[str, set[str]] = {key: set() for key in filters}
    if filters and all(key in TAGS for labels in filters.values() for key in labels):
        # Tags can be had without decoding whole cases.
        for face in await store.faces(run.id):
            for key, labels in filters.items():
                if all(set(values) & set(face.tags) for values in labels.values()):
                    found[key].add(face.id)
    elif filters:
        async for case in store.cases(run.id):
            for key, labels in filters.items():
                if matches(case, labels):
                    found[key].add(case.id)
    return {key: frozenset(cases) for key, cases in found.items()}


async def scenarios(store: Store, run: Run) -> dict[str, str]:
    """Explain cases of one scenario resemble one another: they are one cluster."""
    if any(pin.dialect != World.EXPLAIN for pin in run.pins.datasets):
        return {}
    faces = await store.faces(run.id)
    return {face.id: f"scenario {face.labels[SCENARIO]}" for face in faces if SCENARIO in face.labels}


def key_of(labels: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{key}:{value}" for key, values in labels.items() for value in values)
