"""The use case: a stored run, read once, to its triage."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from msgspec import Struct

from howsure.model.result import Result
from howsure.model.rubric import Rubric
from howsure.model.run import Counts, Run
from howsure.model.triage import Triage, Written
from howsure.model.verdict import Verdict
from howsure.services.triage.causes import cause_groups
from howsure.services.triage.divergence import divergences
from howsure.services.triage.facts import CRITERIA, RUBRIC, Facts, facts_of, own_key
from howsure.services.triage.grouping import GENERAL, Totals, groups
from howsure.services.triage.ruling import CHOICE, Tried, Whole, ruled
from howsure.services.triage.searching import search_tools
from howsure.services.workspace import Workspace
from howsure.store.queries.columns import OUTCOMES, Attempts, Face, Measured
from howsure.store.queries.tolls import PartGrade
from howsure.store.store import Store

LOOKED_AT = (Verdict.FAILED, Verdict.ERRORED)
CHUNK = 400
ASKED = frozenset(OUTCOMES.index(outcome) for outcome in ("passed", "failed", "error"))
"""How a check ends that was asked for: whether it could be judged or not."""


async def triage(work: Workspace, name: str) -> Triage:
    """The triage of a run, without a written report."""
    async with await work.store(read_only=True) as store:
        return await triaged(store, await store.find_run(name))


async def triaged(store: Store, run: Run) -> Triage:
    facts = [each async for each in _facts(store, run)]
    facts.sort(key=lambda each: each.position)
    attempts, measured = await store.columns(run.id)
    grades = await _part_grades(store, run.id, facts)
    counted = Totals(
        tried=_tried(grades, attempts),
        graders=_graders(measured),
        components=_components(measured),
        tags=_tags(attempts, await store.faces(run.id)),
        candidates=Counter(attempts.candidate_names[place] for place in attempts.candidates),
    )
    whole = _whole(run, facts, attempts, counted)
    findings = [ruled(each, whole) for each in facts]
    counts = run.counts
    return Triage(
        run_id=run.id,
        run_name=run.name,
        judge=run.pins.judge,
        **_counts(counts),
        causes=cause_groups(findings),
        divergences=divergences(facts, findings),
        groups=groups(facts, findings, counted),
        findings=tuple(findings),
        written=Written(),
    )


def _counts(counts: Counts) -> dict[str, int]:
    names = ("total", "passed", "failed", "errored", "skipped")
    return {name: getattr(counts, name) for name in names}


async def _facts(store: Store, run: Run) -> AsyncIterator[Facts]:
    """Read a page at a time; the transcripts are let go."""
    agent = run.pins.agent
    tools = frozenset(tool.tool_name for tool in agent.tools) if agent and agent.tools else None
    retrievers = search_tools(agent)
    for verdict in LOOKED_AT:
        result: Result
        async for result in store.iterate(run.id, verdict=verdict):
            yield facts_of(result, tools, retrievers)


async def _part_grades(store: Store, run_id: str, facts: Iterable[Facts]) -> list[PartGrade]:
    """How the criteria and rules that failed somewhere ended everywhere."""
    ids = list(dict.fromkeys(part.id for each in facts for part in each.parts))
    found: list[PartGrade] = []
    for start in range(0, len(ids), CHUNK):
        found += await store.part_grades(run_id, ids[start : start + CHUNK])
    return found


def _tried(grades: Iterable[PartGrade], attempts: Attempts) -> dict[str, Tried]:
    """Of every key that a part may have: by its id alone, and by its id in its case."""
    case_of = {at: attempts.case_ids[case] for at, case in zip(attempts.positions, attempts.cases, strict=True)}
    met, judged = Counter[str](), Counter[str]()
    for grade in grades:
        for key in (grade.part_id, own_key(case_of[grade.position], grade.part_id)):
            met[key] += grade.outcome == "passed"
            judged[key] += grade.outcome in ("passed", "failed")
    return {key: Tried(met[key], count) for key, count in judged.items()}


def _graders(measured: Iterable[Measured]) -> dict[str, int]:
    """How many results each grader was to judge."""
    asked = Counter[str]()
    for column in measured:
        if column.part_id is None:
            asked[column.name] += sum(code in ASKED for code in column.outcomes)
    return dict(asked)


def _components(measured: Iterable[Measured]) -> dict[str, int]:
    """How many results had a rule of each component to judge."""
    positions: dict[str, set[int]] = {}
    for column in measured:
        if column.part_id is not None:
            seen = zip(column.positions, column.outcomes, strict=True)
            asked = (position for position, code in seen if code in ASKED)
            positions.setdefault(column.scope or GENERAL, set()).update(asked)
    return {scope: len(found) for scope, found in positions.items()}


def _tags(attempts: Attempts, faces: Sequence[Face]) -> Counter[str]:
    """How many results each tag and label has."""
    made = Counter(attempts.case_ids[place] for place in attempts.cases)
    tags = Counter[str]()
    for face in faces:
        for tag in (*face.tags, *(f"{key}:{value}" for key, value in face.labels.items())):
            tags[tag] += made[face.id]
    # What every result has tells nothing.
    everywhere = len(attempts.positions)
    return Counter({tag: count for tag, count in tags.items() if count < everywhere})


def _whole(run: Run, facts: Sequence[Facts], attempts: Attempts, counted: Totals) -> Whole:
    beside = (part.key for each in facts if each.of(RUBRIC) for part in each.of(CRITERIA))
    return Whole(
        tried=counted.tried,
        beside_a_rule=frozenset(beside),
        alike=dict(_alike(facts, attempts)),
        lacking_rules=frozenset(_lacking(run.pins.rubric, _known(run))),
        retrievers=search_tools(run.pins.agent),
    )


class _Answers(Struct):
    """What was wrongly chosen in one case, by whom."""

    said: set[str]
    candidates: set[str]
    count: int = 0


def _alike(facts: Iterable[Facts], attempts: Attempts) -> Iterator[tuple[str, int]]:
    """Cases that every attempt failed with the same choice, and the number of candidates who did."""
    made = Counter(attempts.case_ids[place] for place in attempts.cases)
    wrong: dict[str, _Answers] = {}
    for each in facts:
        if (failed := each.fails(CHOICE)) is not None and not each.empty_answer:
            answers = wrong.setdefault(each.case_id, _Answers(set(), set()))
            answers.said.add(failed.reason)
            answers.candidates.add(each.candidate)
            answers.count += 1
    for case, answers in wrong.items():
        if len(answers.said) == 1 and answers.count == made[case] and len(answers.candidates) > 1:
            yield case, len(answers.candidates)


def _known(run: Run) -> frozenset[str] | None:
    agent = run.pins.agent
    if agent is None:
        return None
    return frozenset((*(tool.id for tool in agent.tools), *(base.id for base in agent.knowledge_bases)))


def _lacking(rubric: Rubric | None, known: frozenset[str] | None) -> Iterator[str]:
    """The rules whose components the agent does not have."""
    for rule in rubric.rules if rubric and known is not None else ():
        if rule.component_ids and known is not None and known.isdisjoint(rule.component_ids):
            yield rule.id
