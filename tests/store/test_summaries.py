"""Summaries: counted by hand here, and by the database over indexes alone."""

from __future__ import annotations

import pytest
from msgspec import structs
from sqlalchemy import Connection, Select, text

from howsure.model.run import Counts, RunState
from howsure.model.score import LIKERT, OPEN, UNIT, Direction, Grade, Part, Scale, Score, Unscored, UnscoredReason
from howsure.model.simulation import Fault, Party
from howsure.model.summary import GraderSummary, Tally
from howsure.model.verdict import Verdict
from howsure.store.results import page
from howsure.store.store import Store
from howsure.store.summaries import brief_summary, faults_query, make_summary, score_groups_query, verdicts_query
from store.making import OTHER, RUN, a_result, a_run, asked


def scored(
    name: str, value: float, mark: float | None = 1.0, *, part: Part | None = None, scale: Scale = UNIT
) -> Score:
    return Score(name=name, value=value, pass_mark=mark, part=part, scale=scale)


def unscored(name: str, why: UnscoredReason, part: Part | None = None) -> Unscored:
    return Unscored(name=name, why=why, reason="because", part=part)


def part(id: str, scope: str = "") -> Part:
    return Part(id=id, text=f"the text of {id}", scope=scope)


async def summarised(store: Store, *grades: tuple[Grade, ...]) -> tuple[GraderSummary, ...]:
    await store.create_run(a_run(total=len(grades)))
    await store.save(RUN, [a_result(position, grades=given) for position, given in enumerate(grades)])
    return (await store.summary(RUN)).graders


async def test_an_empty_run_is_all_pending(store: Store) -> None:
    await store.create_run(a_run(total=4, candidates=("a", "b")))
    summary = await store.summary(RUN)
    assert summary.run.counts == Counts(total=4)
    assert summary.candidates == {"a": Counts(total=2), "b": Counts(total=2)}
    assert (summary.graders, summary.criteria, summary.rules, summary.components) == ((), None, None, {})


async def test_candidates_are_counted_apart_and_together(store: Store) -> None:
    await store.create_run(a_run(total=8, candidates=("b", "a"), state=RunState.COMPLETED))
    given = [("a", Verdict.PASSED), ("a", Verdict.PASSED), ("a", Verdict.ERRORED), ("a", Verdict.SKIPPED)]
    given += [("b", Verdict.FAILED), ("b", Verdict.PASSED)]
    await store.save(
        RUN,
        [
            a_result(position, verdict, candidate=candidate, case=f"q{position % 4}")
            for position, (candidate, verdict) in enumerate(given)
        ],
    )
    summary = await store.summary(RUN)
    assert list(summary.candidates) == ["a", "b"]  # what is certain first: 2 of 3, then 1 of 2
    assert summary.candidates["a"] == Counts(total=4, passed=2, errored=1, skipped=1)
    assert summary.candidates["b"] == Counts(total=4, passed=1, failed=1)
    assert summary.run.counts == Counts(total=8, passed=3, failed=1, errored=1, skipped=1)
    assert summary.run == await store.run(RUN)


async def test_a_candidate_nobody_planned_is_counted_for_what_it_has(store: Store) -> None:
    await store.create_run(a_run(total=3))
    await store.save(RUN, [a_result(0), a_result(1, candidate="surprise")])
    summary = await store.summary(RUN)
    assert summary.candidates == {"": Counts(total=3, passed=1), "surprise": Counts(total=1, passed=1)}


async def test_a_grader_is_summed_over_its_whole_grades(store: Store) -> None:
    (grader,) = await summarised(
        store,
        (scored("RelevanceExplain", 5, 4, scale=LIKERT),),
        (scored("RelevanceExplain", 4, 4, scale=LIKERT),),
        (scored("RelevanceExplain", 2, 4, scale=LIKERT),),
        (unscored("RelevanceExplain", UnscoredReason.ERROR),),
        (unscored("RelevanceExplain", UnscoredReason.NOT_APPLICABLE),),
        (
            unscored("RelevanceExplain", UnscoredReason.NO_JUDGE),
            scored("RelevanceExplain", 1, 4, part=part("p"), scale=LIKERT),
        ),
    )
    assert grader == GraderSummary(
        name="RelevanceExplain",
        candidate="",
        scored=3,
        passed=2,
        failed=1,
        errored=1,
        not_applicable=1,
        no_judge=1,
        mean=11 / 3,
        scale=LIKERT,
        direction=Direction.HIGHER,
        pass_mark=4.0,
    )


async def test_a_measure_has_a_mean_and_neither_passes_nor_fails(store: Store) -> None:
    latency = [Score(name="latency", value=ms, scale=OPEN, direction=Direction.LOWER) for ms in (100.0, 300.0)]
    (grader,) = await summarised(store, (latency[0],), (latency[1],))
    assert (grader.scored, grader.passed, grader.failed, grader.mean) == (2, 0, 0, 200.0)
    assert (grader.scale, grader.direction, grader.pass_mark) == (OPEN, Direction.LOWER, None)


async def test_a_grader_that_scored_nothing_has_no_mean(store: Store) -> None:
    (grader,) = await summarised(
        store, (unscored("rubric", UnscoredReason.NO_JUDGE),), (unscored("rubric", UnscoredReason.ERROR),)
    )
    assert (grader.scored, grader.mean, grader.no_judge, grader.errored) == (0, None, 1, 1)


@pytest.mark.parametrize(
    ("marks", "expected"),
    [((0.7, 0.7), 0.7), ((0.7, 0.9), None), ((0.7, None), None), ((None, None), None)],
    ids=["one mark", "two marks", "one without", "none"],
)
async def test_a_pass_mark_is_shown_when_it_is_the_same_for_all(
    store: Store, marks: tuple[float | None, ...], expected: float | None
) -> None:
    (grader,) = await summarised(store, *((scored("x", 0.8, mark),) for mark in marks))
    assert grader.pass_mark == expected


async def test_a_grade_that_does_not_apply_hides_no_mark(store: Store) -> None:
    (grader,) = await summarised(store, (scored("x", 1.0, 0.7),), (unscored("x", UnscoredReason.NOT_APPLICABLE),))
    assert grader.pass_mark == 0.7


@pytest.mark.parametrize(
    ("scales", "expected"),
    [((UNIT, LIKERT), Scale(0, 5)), ((LIKERT, OPEN), Scale(0, None)), ((LIKERT, LIKERT), LIKERT)],
)
async def test_the_widest_scale_is_shown(store: Store, scales: tuple[Scale, ...], expected: Scale) -> None:
    (grader,) = await summarised(store, *((scored("x", 1.0, scale=scale),) for scale in scales))
    assert grader.scale == expected


async def test_graders_are_sorted_by_candidate_and_name(store: Store) -> None:
    await store.create_run(a_run(candidates=("b", "a")))
    both = (scored("y", 1), scored("x", 0))
    await store.save(RUN, [a_result(0, grades=both, candidate="b"), a_result(1, grades=both, candidate="a")])
    graders = (await store.summary(RUN)).graders
    assert [(grader.candidate, grader.name) for grader in graders] == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]


async def test_a_grader_that_gives_the_same_name_twice_is_counted_twice(store: Store) -> None:
    (grader,) = await summarised(store, (scored("x", 1), scored("x", 0)))
    assert (grader.passed, grader.failed) == (1, 1)


async def test_criteria_and_rules_add_up(store: Store) -> None:
    await store.create_run(a_run(total=2))
    first = (
        scored("criteria", 1.0),
        scored("criteria", 1, part=part("c1")),
        scored("criteria", 0, part=part("c2")),
        unscored("criteria", UnscoredReason.ERROR, part("c3")),
        scored("weighted_criteria", 0.4, None, part=part("w1")),
        scored("rubric", 1, part=part("r1", "prompt")),
        scored("rubric", 0, part=part("r2", "knowledge_base")),
        scored("rubric", 1, part=part("r3")),
        unscored("rubric", UnscoredReason.NOT_APPLICABLE, part("r4", "general")),
        scored("other", 1, part=part("o1")),
    )
    second = (
        unscored("rubric", UnscoredReason.NO_JUDGE, part("r1", "prompt")),
        scored("weighted_criteria", 1, part=part("w2")),
    )
    await store.save(RUN, [a_result(0, grades=first), a_result(1, grades=second)])
    summary = await store.summary(RUN)
    assert summary.criteria == Tally(passed=2, failed=1, errored=1, skipped=1)
    assert summary.rules == Tally(passed=2, failed=1, errored=0, skipped=2)
    assert summary.components == {
        "general": Tally(passed=1, skipped=1),
        "knowledge_base": Tally(failed=1),
        "prompt": Tally(passed=1, skipped=1),
    }
    assert [(grader.name, grader.scored) for grader in summary.graders] == [("criteria", 1)]


async def test_those_answerable_are_counted_by_party(store: Store) -> None:
    await store.create_run(a_run(total=5))
    assert (await store.summary(RUN)).faults == {}
    parties = [Party.SIMULATOR, None, Party.AGENT, Party.SIMULATOR, Party.JUDGE]
    results = [
        a_result(position, Verdict.FAILED, fault=Fault(party=party, reason="because") if party else None)
        for position, party in enumerate(parties)
    ]
    await store.save(RUN, results)
    assert (await store.summary(RUN)).faults == {"agent": 1, "judge": 1, "simulator": 2}
    await store.save(RUN, [structs.replace(results[0], fault=None, verdict=Verdict.PASSED)])
    assert (await store.summary(RUN)).faults == {"agent": 1, "judge": 1, "simulator": 1}


async def test_results_that_come_again_are_counted_once(store: Store) -> None:
    await store.create_run(a_run(total=1))
    result = a_result(0, grades=(scored("x", 1), scored("criteria", 1, part=part("c"))))
    for verdict in (Verdict.PASSED, Verdict.FAILED, Verdict.PASSED):
        await store.save(RUN, [structs.replace(result, verdict=verdict)])
    summary = await store.summary(RUN)
    assert summary.run.counts == Counts(total=1, passed=1)
    assert summary.criteria == Tally(passed=1)


def explained(connection: Connection, statement: Select[tuple[object, ...]]) -> list[str]:
    sql = statement.compile(connection, compile_kwargs={"literal_binds": True})
    return [found.detail for found in connection.execute(text(f"EXPLAIN QUERY PLAN {sql}"))]


async def plan(store: Store, statement: Select[tuple[object, ...]]) -> list[str]:
    return await store._database.read(explained, statement)


async def test_a_summary_reads_indexes_and_nothing_else(file_store: Store) -> None:
    store = file_store
    assert await plan(store, score_groups_query(RUN)) == [
        "SEARCH scores USING COVERING INDEX ix_scores_summary (run_id=?)"
    ]
    (counted,) = await plan(store, verdicts_query(RUN))
    assert counted == "SEARCH results USING COVERING INDEX ix_results_run_id_verdict_position_candidate (run_id=?)"
    (blamed,) = await plan(store, faults_query(RUN))
    assert blamed == "SEARCH results USING COVERING INDEX ix_results_run_id_fault (run_id=? AND fault>?)"


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (None, "SEARCH results USING INDEX ix_results_run_id_position (run_id=? AND position>?)"),
        (
            "failed",
            "SEARCH results USING INDEX ix_results_run_id_verdict_position_candidate"
            " (run_id=? AND verdict=? AND position>?)",
        ),
    ],
)
async def test_a_page_begins_where_it_begins_and_sorts_nothing(
    file_store: Store, verdict: str | None, expected: str
) -> None:
    details = await plan(file_store, page(RUN, after=10, limit=5, filters={"verdict": verdict}))
    assert details[0] == expected
    assert len(details) == 2
    assert details[1].startswith("SEARCH cases USING INDEX")


MANY = f"""
INSERT INTO results (id, run_id, case_id, candidate, repeat, position, verdict, format, body)
SELECT n, '{RUN}', n, '', 1, n, CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'passed' END, 1, ''
FROM generate_series(1, 9000) n
"""
THEIR_CASES = f"""
INSERT INTO cases (run_id, case_id, position, format, body) SELECT '{RUN}', n, n, 1, '' FROM generate_series(1, 9000) n
"""


def explained_by_a_server(connection: Connection, statement: Select[tuple[object, ...]]) -> str:
    """As it would be with many results in it: few are read faster without any index."""
    for way in ("seqscan", "bitmapscan", "hashjoin", "mergejoin"):
        connection.exec_driver_sql(f"SET LOCAL enable_{way} = off")
    sql = statement.compile(connection, compile_kwargs={"literal_binds": True})
    return "\n".join(found[0] for found in connection.execute(text(f"EXPLAIN {sql}")))


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (page(RUN, after=10, limit=5, filters={}), "ix_results_run_id_position "),
        (page(RUN, after=10, limit=5, filters={"verdict": "failed"}), "ix_results_run_id_verdict_position_candidate "),
        (score_groups_query(RUN), "ix_scores_summary "),
        (faults_query(RUN), "ix_results_run_id_fault "),
    ],
    ids=["a page", "a page of one verdict", "groups of scores", "faults"],
)
async def test_a_server_has_an_index_for_it_and_sorts_nothing(
    server_store: Store, statement: Select[tuple[object, ...]], index: str
) -> None:
    await server_store.create_run(a_run())
    for each in (MANY, THEIR_CASES, "ANALYZE results, cases"):
        await asked(server_store, each)
    said = await server_store._database.read(explained_by_a_server, statement)
    assert index in said
    assert "Sort" not in said


async def test_several_summaries_are_those_of_each(store: Store) -> None:
    for run_id, state in ((RUN, RunState.COMPLETED), (OTHER, RunState.RUNNING)):
        await store.create_run(a_run(run_id))
        await store.save(run_id, [a_result(0), a_result(1, Verdict.FAILED)])
        if state is RunState.COMPLETED:
            await store.set_state(run_id, state)
    runs = [await store.run(OTHER), await store.run(RUN)]
    assert await store.summaries(runs) == [await store.summary(OTHER), await store.summary(RUN)]


async def test_a_brief_summary_has_the_criteria_and_rules_of_the_whole(store: Store) -> None:
    await store.create_run(a_run())
    named = (("rubric", 1.0), ("criteria", 0.0), ("criteria", 1.0))
    grades = tuple(scored(name, value, part=part(f"p{place}")) for place, (name, value) in enumerate(named))
    await store.save(RUN, [a_result(0, grades=grades)])
    run, counted = await store.run(RUN), await store.count(RUN)
    whole, brief = make_summary(run, counted), brief_summary(run, counted)
    assert (brief.run, brief.criteria, brief.rules) == (run, whole.criteria, whole.rules)
    assert brief.criteria == Tally(passed=1, failed=1)
    assert (brief.graders, brief.components, brief.candidates) == ((), {}, {})
