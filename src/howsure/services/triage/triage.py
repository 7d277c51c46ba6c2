"""`howsure triage`: reads a stored run once and finds the cause of every result that did not pass. The rules that
decide live in `rules.py`, the groups in `groups.py`, the written report in `root_causes.py`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from howsure.model.result import Result
from howsure.model.run import Pins, Run
from howsure.model.triage import Finding, RootCauseReport, Triage
from howsure.model.verdict import Verdict
from howsure.services.triage.facts import CRITERIA, RUBRIC, ResultFacts, case_part_key, read_facts, search_tools
from howsure.services.triage.groups import GENERAL, RunTotals, cause_groups, divergences, group_results
from howsure.services.triage.rules import CHOICE, MetCounts, RunFacts, find_cause
from howsure.services.workspace import Workspace
from howsure.store.results import PartGrade
from howsure.store.run_columns import OUTCOMES, AttemptColumns, CasePreview, GradeColumn
from howsure.store.store import Store

LOOKED_AT = (Verdict.FAILED, Verdict.ERRORED)
CHUNK = 400
PAGE = 500
"""Results that are read at a time."""
ASKED = frozenset(OUTCOMES.index(outcome) for outcome in ("passed", "failed", "error"))
"""The outcomes of a check that was to be judged, whether that worked or not."""


async def triage_run(work: Workspace, name: str) -> Triage:
    """The triage of a run, without a written report."""
    async with await work.store(read_only=True) as store:
        return await triage_stored(store, await store.find_run(name))


async def triage_stored(store: Store, run: Run) -> Triage:
    """The same as `triage_run`, with a store that is open already."""
    facts = sorted(await _facts(store, run), key=lambda each: each.position)
    attempts, measured = await store.columns(run.id)
    # All grades in the run of the criteria and rules that failed somewhere.
    ids = list(dict.fromkeys(part.id for each in facts for part in each.parts))
    grades: list[PartGrade] = []
    for start in range(0, len(ids), CHUNK):
        grades += await store.part_grades(run.id, ids[start : start + CHUNK])
    previews = await store.case_previews(run.id)
    # Of large runs this takes seconds: the service answers others meanwhile.
    return await asyncio.to_thread(_triage, run, facts, grades, attempts, measured, previews)


def _triage(
    run: Run,
    facts: Sequence[ResultFacts],
    grades: Sequence[PartGrade],
    attempts: AttemptColumns,
    measured: Sequence[GradeColumn],
    previews: Sequence[CasePreview],
) -> Triage:
    to_judge = Counter[str]()
    for column in measured:
        if column.part_id is None:
            to_judge[column.name] += sum(code in ASKED for code in column.outcomes)
    counted = RunTotals(
        tried=_tried(grades, attempts),
        graders=to_judge,
        components=_components(measured),
        tags=_tags(attempts, previews),
        candidates=Counter(attempts.candidate_names[place] for place in attempts.candidates),
    )
    beside = (part.key for each in facts if each.failed_parts(RUBRIC) for part in each.failed_parts(CRITERIA))
    run_facts = RunFacts(
        tried=counted.tried,
        beside_a_rule=frozenset(beside),
        alike=dict(_alike(facts, attempts)),
        lacking_rules=_lacking_rules(run.pins),
        retrievers=search_tools(run.pins.agent),
    )
    findings = [find_cause(each, run_facts) for each in facts]
    return Triage(
        run_id=run.id,
        run_name=run.name,
        judge=run.pins.request.judge,
        total=run.counts.total,
        passed=run.counts.passed,
        failed=run.counts.failed,
        errored=run.counts.errored,
        skipped=run.counts.skipped,
        causes=cause_groups(findings),
        divergences=divergences(facts, findings),
        groups=group_results(facts, findings, counted),
        findings=tuple(findings),
        written=RootCauseReport(),
    )


def attribute(run: Run, result: Result) -> Finding | None:
    """Who is answerable for a failed or errored result, judged by this result alone; None: it passed, or was skipped.
    Triage of the whole run may find more, such as a criterion that is too strict."""
    if result.verdict not in LOOKED_AT:
        return None
    agent = run.pins.agent
    tools = frozenset(tool.tool_name for tool in agent.tools) if agent and agent.tools else None
    retrievers = search_tools(agent)
    alone = RunFacts(lacking_rules=_lacking_rules(run.pins), retrievers=retrievers)
    return find_cause(read_facts(result, tools, retrievers), alone)


async def _facts(store: Store, run: Run) -> list[ResultFacts]:
    """The facts of all results that did not pass, read a page at a time; transcripts are not held."""
    agent = run.pins.agent
    tools = frozenset(tool.tool_name for tool in agent.tools) if agent and agent.tools else None
    retrievers = search_tools(agent)

    def read(page: Sequence[Result]) -> list[ResultFacts]:
        return [read_facts(each, tools, retrievers) for each in page]

    found: list[ResultFacts] = []
    for verdict in LOOKED_AT:
        after: int | None = None
        while page := await store.results(run.id, after=after, limit=PAGE, verdict=verdict):
            found += await asyncio.to_thread(read, page)
            after = page[-1].position
    return found


def _tried(grades: Iterable[PartGrade], attempts: AttemptColumns) -> dict[str, MetCounts]:
    """How often each part was judged and met, by both keys that a part may have: its id, and its id within its case."""
    case_of = {at: attempts.case_ids[case] for at, case in zip(attempts.positions, attempts.cases, strict=True)}
    met, judged = Counter[str](), Counter[str]()
    for grade in grades:
        for key in (grade.part_id, case_part_key(case_of[grade.position], grade.part_id)):
            met[key] += grade.outcome == "passed"
            judged[key] += grade.outcome in ("passed", "failed")
    return {key: MetCounts(met[key], count) for key, count in judged.items()}


def _components(measured: Iterable[GradeColumn]) -> dict[str, int]:
    """How many results had a rule of each component to judge."""
    positions: dict[str, set[int]] = {}
    for column in measured:
        if column.part_id is not None:
            seen = zip(column.positions, column.outcomes, strict=True)
            asked = (position for position, code in seen if code in ASKED)
            positions.setdefault(column.scope or GENERAL, set()).update(asked)
    return {scope: len(found) for scope, found in positions.items()}


def _tags(attempts: AttemptColumns, previews: Sequence[CasePreview]) -> Counter[str]:
    """How many results each tag and label has; those that every result has are left out."""
    made = Counter(attempts.case_ids[place] for place in attempts.cases)
    tags = Counter[str]()
    for preview in previews:
        for tag in (*preview.tags, *(f"{key}:{value}" for key, value in preview.labels.items())):
            tags[tag] += made[preview.id]
    # What every result has says nothing.
    everywhere = len(attempts.positions)
    return Counter({tag: count for tag, count in tags.items() if count < everywhere})


class _WrongChoices(Struct):
    """The wrong choices in one case, and the candidates who made them."""

    said: set[str]
    candidates: set[str]
    count: int = 0


def _alike(facts: Iterable[ResultFacts], attempts: AttemptColumns) -> Iterator[tuple[str, int]]:
    """Cases that every attempt failed with the same choice, and the number of candidates who did."""
    made = Counter(attempts.case_ids[place] for place in attempts.cases)
    wrong: dict[str, _WrongChoices] = {}
    for each in facts:
        if (failed := each.fails(CHOICE)) is not None and not failed.flag:
            answers = wrong.setdefault(each.case_id, _WrongChoices(set(), set()))
            answers.said.add(failed.reason)
            answers.candidates.add(each.candidate)
            answers.count += 1
    for case, answers in wrong.items():
        if len(answers.said) == 1 and answers.count == made[case] and len(answers.candidates) > 1:
            yield case, len(answers.candidates)


def _lacking_rules(pins: Pins) -> frozenset[str]:
    """The rules about components that the agent does not have."""
    if pins.agent is None or pins.rubric is None:
        return frozenset()
    known = {*(tool.id for tool in pins.agent.tools), *(base.id for base in pins.agent.knowledge_bases)}
    rules = pins.rubric.rules
    return frozenset(rule.id for rule in rules if rule.component_ids and known.isdisjoint(rule.component_ids))
