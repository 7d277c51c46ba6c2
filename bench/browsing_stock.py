"""The two stores that the pages are measured on: the demo with a little of everything, and one with 1,000 runs and
200,000 results (the newest run has 20,000 of them), 200 rubrics and test sets (one of 500 cases, one of 60 rules, both
with 30 versions), 1,000 labels on each of five runs, 100 calibrations, 50 keys and 1,000 lines of the log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from howsure.config import Settings
from howsure.kit.plugins import builtin_kit
from howsure.model.access_scope import EVERYWHERE
from howsure.model.calibration import Calibration
from howsure.model.document import DocumentKind
from howsure.model.label import Opinion
from howsure.model.result import Result
from howsure.model.run import Counts, Run, RunState
from howsure.policies.verdicts import builtin_profiles
from howsure.services.demo import DEMOS, demo_folder, demo_request
from howsure.services.host import documents
from howsure.services.host.keys import KeyRequest, make_key
from howsure.services.host.labels import LabelInput, LabelQuestion, build_label, calibrate_run, grades_to_label
from howsure.services.judge.judge_records import CALIBRATIONS
from howsure.services.run.start import start
from howsure.services.workspace import Host, Workspace
from howsure.store.audit import AuditEntry
from howsure.store.keys import KeyScope
from howsure.store.store import Store

RUNS = 1000
RESULTS = 200_000
LARGE = 20_000
AGENTS = 20
BATCH = 500
DAY = datetime(2026, 1, 1, tzinfo=UTC)
PEOPLE = ("ann", "ben", "cat")
TESTS, RULES = "tests", "rules"
"""The documents that pages are asked of."""


class Amount(Struct, frozen=True, kw_only=True):
    """How much of everything besides runs."""

    documents: int
    cases: int
    rules: int
    versions: int
    labelled: int
    labels: int
    calibrations: int
    keys: int
    deeds: int


LITTLE = Amount(documents=3, cases=12, rules=5, versions=3, labelled=1, labels=40, calibrations=1, keys=2, deeds=10)
MUCH = Amount(
    documents=200, cases=500, rules=60, versions=30, labelled=5, labels=1000, calibrations=100, keys=50, deeds=1000
)


def big() -> str:
    """The run with 20,000 results."""
    return numbered(RUNS)


def numbered(number: int) -> str:
    return str(UUID(int=number, version=4))


def workplace(folder: Path) -> Workspace:
    settings = Settings(database=str(folder / "howsure.db"))
    return Workspace(settings, builtin_kit(builtin_profiles()), folder)


async def demo(folder: Path) -> tuple[Run, list[Result]]:
    """The demo, its test set twice; and the run and the results that a large store is made of."""
    work = workplace(folder)
    for each in DEMOS:
        await start(work, demo_request(each), lambda _: lambda _: None)
    (tests,) = [each for each in DEMOS if each.dialect == "test-set"]
    run = (await start(work, demo_request(tests), lambda _: lambda _: None)).run
    async with await work.store() as store:
        await stock(Host(work, store), LITTLE)
        return run, await store.results(run.id)


async def grow(folder: Path, run: Run, results: Sequence[Result]) -> None:
    """Runs by the hundred, over the cases of the demo under other ids, the large one last."""
    folder.mkdir(parents=True, exist_ok=True)
    work = workplace(folder)
    sizes = [*[(RESULTS - LARGE) // (RUNS - 1)] * (RUNS - 1), LARGE]
    async with await work.store() as store:
        for number, size in enumerate(sizes):
            await _another_run(store, run, results, number, size)
        await stock(Host(work, store), MUCH)


async def _another_run(store: Store, run: Run, results: Sequence[Result], number: int, size: int) -> None:
    at, id = DAY + timedelta(hours=number), numbered(number + 1)
    agent = run.pins.agent and replace(run.pins.agent, id=f"agent-{number % AGENTS}")
    rubric = run.pins.rubric and replace(run.pins.rubric, id=RULES)
    datasets = tuple(replace(pin, path=f"document:test_set/{TESTS}@1") for pin in run.pins.datasets)
    pins = replace(run.pins, agent=agent, rubric=rubric, datasets=datasets)
    made = replace(run, id=id, name=f"nightly {number}", created_at=at, started_at=at, completed_at=at)
    await store.create_run(replace(made, pins=pins, counts=Counts(total=size), state=RunState.RUNNING))
    for start_at in range(0, size, BATCH):
        places = range(start_at, min(start_at + BATCH, size))
        await store.save(id, [_another(results[place % len(results)], place) for place in places])
    await store.set_state(id, RunState.COMPLETED, completed_at=at)


def _another(result: Result, place: int) -> Result:
    return replace(result, case=replace(result.case, id=case_id(place)), position=place)


def case_id(place: int) -> str:
    return f"case-{place:05}"


async def stock(host: Host, amount: Amount) -> None:
    """Everything that is no run."""
    await _documents(host, amount)
    runs = [run for run in await host.store.runs(limit=50) if run.pins.rubric][: amount.labelled]
    for run in runs:
        await _labels(host.store, run, amount.labels)
    await _calibrations(host, runs[-1], amount.calibrations)
    for number in range(amount.keys):
        await make_key(host.store, KeyRequest(name=f"key {number}", scopes=[KeyScope.READ, KeyScope.WRITE]))
    for number in range(amount.deeds):
        await host.store.audit.add(_deed(number))


def _deed(number: int) -> AuditEntry:
    return AuditEntry(
        id=numbered(number + 1),
        organization_id="",
        at=DAY + timedelta(minutes=number),
        actor="key 7",
        action="POST /runs/{run_id}/retry",
        subject=numbered(number + 1),
        status=303,
        request_id=numbered(number + 1),
    )


async def _documents(host: Host, amount: Amount) -> None:
    """The first of each kind is the one that pages are asked of; the others fill the shelves."""
    tests, rules = _cases(amount.cases), _rules(amount.rules)
    for key, kind, body in ((TESTS, DocumentKind.TEST_SET, tests), (RULES, DocumentKind.RUBRIC, rules)):
        small = _cases(3) if kind is DocumentKind.TEST_SET else _rules(3)
        for number in range(amount.documents - 1):
            change = documents.DocumentChange(body={**small, "name": f"{key} {number}"}, author="ann", note="the first")
            await documents.add_document(host, kind, change, EVERYWHERE)
        await documents.add_document(
            host, kind, documents.DocumentChange(body=body, author="ann", note="the first"), EVERYWHERE, key
        )
        for number in range(1, amount.versions):
            change = documents.DocumentChange(
                body={**body, "description": f"Version {number}."}, author="ben", note="again"
            )
            await documents.change_document(host, kind, key, change, EVERYWHERE)


def _cases(number: int) -> dict[str, Any]:
    body = msgspec.json.decode((demo_folder() / "test-set/test-set.json").read_bytes())
    known = body["items"]
    listed = [{**known[place % len(known)], "item_id": case_id(place)} for place in range(number)]
    return {"name": body["name"], "description": body["description"], "items": listed}


def _rules(number: int) -> dict[str, Any]:
    """The rules of the demo under their own ids, then again under others."""
    body = msgspec.json.decode((demo_folder() / "test-set/rubric.json").read_bytes())
    known = body["rules"]
    listed = [
        {
            **known[place % len(known)],
            "id": known[place % len(known)]["id"] + ("" if place < len(known) else f"_{place}"),
        }
        for place in range(number)
    ]
    return {"name": body["name"], "description": body["description"], "rules": listed}


async def _labels(store: Store, run: Run, number: int) -> None:
    """By three people who mostly agree with the judge."""
    results = await store.results(run.id, limit=300)
    questions = [LabelQuestion(result, grade) for result in results for grade in grades_to_label(result.grades)]
    for place in range(number):
        question = questions[(place // 2) % len(questions)]
        said = LabelInput(Opinion.FAIL if place % 5 == 0 else Opinion.PASS, why="because of its first line")
        await store.labels.put(build_label(run, question, PEOPLE[place % 3], said))


async def _calibrations(host: Host, run: Run, number: int) -> None:
    """One is measured; the others are the same of other versions of the judge."""
    found = await calibrate_run(host, run, await host.store.labels.of_run(run.id))
    measured: Calibration = found.calibration
    lines = [
        msgspec.json.encode(replace(measured, judge=replace(measured.judge, sha256=f"{place % 10:064}")))
        for place in range(number - 1)
    ]
    with CALIBRATIONS.path(host.work).open("ab") as file:
        file.write(b"".join(line + b"\n" for line in lines))
