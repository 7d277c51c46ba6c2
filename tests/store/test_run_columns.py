"""A run in columns, and what two runs' cases do not share."""

from __future__ import annotations

from math import isnan

from howsure.model.expectation import Criteria, Criterion, ReferenceAnswer
from howsure.model.score import LIKERT, OPEN, Direction, Part, Scale, Score, Unscored, UnscoredReason
from howsure.model.verdict import Verdict
from howsure.store.results import PartGrade
from howsure.store.run_columns import OUTCOMES, VERDICTS, CasePreview, GradeColumn
from howsure.store.store import Store
from howsure.testing import a_transcript
from two_runs import AFTER, BEFORE, choice, keep, tried, verdicts


async def test_every_result_is_there_in_order(store: Store) -> None:
    results = [
        tried("q1", True, candidate="juno"),
        tried("q1", False, candidate="orchid", repeat=2),
        tried("q2", None, candidate="juno"),
    ]
    await keep(store, BEFORE, results)
    attempts, _ = await store.columns(BEFORE)
    assert attempts.case_ids == ["q1", "q2"]
    assert attempts.candidate_names == ["juno", "orchid"]
    assert list(attempts.positions) == [0, 1, 2]
    assert list(attempts.cases) == [0, 0, 1]
    assert list(attempts.candidates) == [0, 1, 0]
    assert list(attempts.repeats) == [1, 2, 1]
    assert [VERDICTS[code] for code in attempts.verdicts] == [Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED]


async def test_a_run_without_results_has_empty_columns(store: Store) -> None:
    await keep(store, BEFORE, [])
    attempts, measured = await store.columns(BEFORE)
    assert (attempts.case_ids, list(attempts.positions), measured) == ([], [], [])


async def test_grades_are_together_by_grader_with_what_has_no_value(store: Store) -> None:
    likert = Score(name="RelevanceExplain", value=4, scale=LIKERT, pass_mark=3)
    missing = Unscored(name="RelevanceExplain", why=UnscoredReason.NO_JUDGE, reason="nobody", scale=Scale(0, 5))
    slow = Score(name="latency", value=2.5, scale=OPEN, direction=Direction.LOWER)
    await keep(store, BEFORE, [tried("q1", True, grades=[likert, slow]), tried("q2", None, grades=[missing])])
    _, measured = await store.columns(BEFORE)
    relevance, latency = measured
    assert (relevance.name, relevance.scale, relevance.direction) == ("RelevanceExplain", Scale(0, 5), Direction.HIGHER)
    found = dict(zip(relevance.positions, zip(relevance.values, relevance.outcomes, strict=True), strict=True))
    assert found[0] == (4.0, OUTCOMES.index("passed"))
    assert isnan(found[1][0])
    assert OUTCOMES[found[1][1]] == "no_judge"
    assert (latency.direction, latency.scale, list(latency.values)) == (Direction.LOWER, OPEN, [2.5])
    assert OUTCOMES[latency.outcomes[0]] == "unmarked"


async def test_rules_have_columns_of_their_own_and_criteria_have_none(store: Store) -> None:
    rule = Score(name="rubric", value=1, pass_mark=1, part=Part(id="R1", text="Be kind", scope="prompt"))
    criterion = Score(name="criteria", value=0, pass_mark=1, part=Part(id="c1", text="Cites the Act"))
    await keep(store, BEFORE, [tried("q1", True, grades=[choice(True), rule, criterion])])
    _, measured = await store.columns(BEFORE)
    assert [(each.name, each.part_id, each.scope) for each in measured] == [
        ("choice", None, None),
        ("rubric", "R1", "prompt"),
    ]
    assert await store.part_outcomes(BEFORE, [0, 7]) == [
        PartGrade(0, "", "rubric", "R1", "passed"),
        PartGrade(0, "", "criteria", "c1", "failed"),
    ]


async def test_parts_of_many_results_are_found_in_pieces(store: Store) -> None:
    part = Score(name="criteria", value=1, pass_mark=1, part=Part(id="c", text="t"))
    await keep(store, BEFORE, [tried(f"q{place}", True, grades=[part]) for place in range(1201)])
    found = await store.part_outcomes(BEFORE, range(1201))
    assert [each.position for each in found] == list(range(1201))


async def test_candidates_do_not_mix(store: Store) -> None:
    await keep(store, BEFORE, [tried("q1", True, candidate="juno"), tried("q1", False, candidate="orchid")])
    _, measured = await store.columns(BEFORE)
    assert [(each.candidate, list(each.positions)) for each in measured] == [("juno", [0]), ("orchid", [1])]


async def test_faces_have_tags_and_labels_and_nothing_else(store: Store) -> None:
    labelled = tried("q1", True, case_tags=("returns",), case_labels={"difficulty": "hard"}, case_metadata={"a": [1]})
    await keep(store, BEFORE, [labelled, tried("q2", True)])
    assert await store.case_previews(BEFORE) == [
        CasePreview("q1", ("returns",), {"difficulty": "hard"}),
        CasePreview("q2"),
    ]


async def test_cases_that_ask_the_same_have_not_changed(store: Store) -> None:
    """Recorded answers, names and labels are no part of the question."""
    recorded = tried("q1", True, case_recorded=a_transcript("yes"), case_name="one", case_labels={"area": "tax"})
    await keep(store, BEFORE, [recorded, *verdicts("+")[1:]])
    await keep(store, AFTER, [tried("q1", True, case_recorded=a_transcript("no"), case_name="two")])
    assert await store.changed_cases(BEFORE, AFTER) == []


async def test_cases_that_expect_something_else_are_found(store: Store) -> None:
    first = Criteria(criteria=(Criterion(id="c1", text="Cites the Act"),))
    second = Criteria(criteria=(Criterion(id="c1", text="Cites the Act and its year"),))
    same = (ReferenceAnswer(answers=("yes",)),)
    await keep(
        store, BEFORE, [tried("q1", True, case_expectations=(first,)), tried("q2", True, case_expectations=same)]
    )
    await keep(
        store, AFTER, [tried("q1", True, case_expectations=(second,)), tried("q2", True, case_expectations=same)]
    )
    ((one, other),) = await store.changed_cases(BEFORE, AFTER)
    assert (one.id, one.expectations, other.expectations) == ("q1", (first,), (second,))


async def test_a_case_of_one_run_alone_has_not_changed(store: Store) -> None:
    await keep(store, BEFORE, verdicts("++"))
    await keep(store, AFTER, [tried("q9", True)])
    assert await store.changed_cases(BEFORE, AFTER) == []


def rule(passed: bool) -> Score:
    return Score(name="rubric", value=float(passed), pass_mark=1, part=Part(id="R1", text="Be kind", scope="prompt"))


LARGE = [tried(f"q{place}", place % 3 > 0, grades=[choice(place % 3 > 0), rule(place % 2 > 0)]) for place in range(900)]


def told(measured: GradeColumn) -> tuple[str, str | None, dict[int, tuple[float, int]]]:
    values = dict(zip(measured.positions, zip(measured.values, measured.outcomes, strict=True), strict=True))
    return measured.name, measured.part_id, values


async def test_the_shared_cases_are_those_of_the_whole(store: Store) -> None:
    await keep(store, BEFORE, LARGE)
    await keep(store, AFTER, [tried("q5", True), tried("q700", False), tried("elsewhere", True)])
    found = await store.shared_cases(BEFORE, AFTER)
    assert found.attempts.case_ids == ["q5", "q700"]
    assert list(found.attempts.positions) == [5, 700]
    assert [face.id for face in found.faces] == ["q5", "q700"]
    assert found.others == {"": 898}
    _, whole = await store.columns(BEFORE)
    for own, other in zip(found.measured, whole, strict=True):
        name, part, values = told(other)
        assert told(own) == (name, part, {place: values[place] for place in (5, 700)})
        assert (own.scale, own.direction, own.scope) == (other.scale, other.direction, other.scope)


async def test_many_shared_cases_are_read_in_pieces(store: Store) -> None:
    await keep(store, BEFORE, LARGE)
    await keep(store, AFTER, LARGE[:700])
    found = await store.shared_cases(BEFORE, AFTER)
    assert list(found.attempts.positions) == list(range(700))
    assert [len(each.positions) for each in found.measured] == [700, 700]
    assert found.others == {"": 200}


async def test_where_nothing_is_shared_the_first_attempt_says_what_there_is(store: Store) -> None:
    await keep(store, BEFORE, LARGE[:3])
    await keep(store, AFTER, [tried("elsewhere", True)])
    found = await store.shared_cases(BEFORE, AFTER)
    assert (found.attempts.case_ids, found.faces, found.others) == (["q0"], [], {"": 2})


async def test_candidates_are_counted_by_themselves(store: Store) -> None:
    tries = [tried(f"q{place}", True, candidate=name) for place in range(4) for name in ("juno", "orchid")]
    await keep(store, BEFORE, [*tries, tried("q9", True, candidate="juno")])
    await keep(store, AFTER, [tried("q1", True)])
    found = await store.shared_cases(BEFORE, AFTER)
    assert found.attempts.candidate_names == ["juno", "orchid"]
    assert found.others == {"juno": 4, "orchid": 3}


async def test_what_has_no_value_is_kept_as_such(store: Store) -> None:
    silent = Unscored(name="choice", why=UnscoredReason.NO_JUDGE, reason="nobody")
    await keep(store, BEFORE, [tried("q1", None, grades=[silent]), tried("q2", True)])
    await keep(store, AFTER, [tried("q1", True)])
    (only,) = (await store.shared_cases(BEFORE, AFTER)).measured
    assert (list(only.positions), list(only.outcomes), only.values[0] != only.values[0]) == ([0], [5], True)
