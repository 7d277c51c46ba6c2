"""Of a large run, what a small one has too: the same as of the whole, for the cases that both have."""

from __future__ import annotations

from howsure.model.score import Part, Score, Unscored, UnscoredReason
from howsure.store.run_columns import GradeColumn
from howsure.store.store import Store
from two_runs import AFTER, BEFORE, choice, keep, tried


def rule(passed: bool) -> Score:
    return Score(name="rubric", value=float(passed), pass_mark=1, part=Part(id="R1", text="Be kind", scope="prompt"))


LARGE = [tried(f"q{place}", place % 3 > 0, grades=[choice(place % 3 > 0), rule(place % 2 > 0)]) for place in range(900)]


def told(measured: GradeColumn) -> tuple[str, str | None, dict[int, tuple[float, int]]]:
    values = dict(zip(measured.positions, zip(measured.values, measured.outcomes, strict=True), strict=True))
    return measured.name, measured.part_id, values


async def test_the_shared_cases_are_those_of_the_whole(store: Store) -> None:
    await keep(store, BEFORE, LARGE)
    await keep(store, AFTER, [tried("q5", True), tried("q700", False), tried("elsewhere", True)])
    found = await store.shared(BEFORE, AFTER)
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
    found = await store.shared(BEFORE, AFTER)
    assert list(found.attempts.positions) == list(range(700))
    assert [len(each.positions) for each in found.measured] == [700, 700]
    assert found.others == {"": 200}


async def test_where_nothing_is_shared_the_first_attempt_says_what_there_is(store: Store) -> None:
    await keep(store, BEFORE, LARGE[:3])
    await keep(store, AFTER, [tried("elsewhere", True)])
    found = await store.shared(BEFORE, AFTER)
    assert (found.attempts.case_ids, found.faces, found.others) == (["q0"], [], {"": 2})


async def test_candidates_are_counted_by_themselves(store: Store) -> None:
    tries = [tried(f"q{place}", True, candidate=name) for place in range(4) for name in ("juno", "orchid")]
    await keep(store, BEFORE, [*tries, tried("q9", True, candidate="juno")])
    await keep(store, AFTER, [tried("q1", True)])
    found = await store.shared(BEFORE, AFTER)
    assert found.attempts.candidate_names == ["juno", "orchid"]
    assert found.others == {"juno": 4, "orchid": 3}


async def test_what_has_no_value_is_kept_as_such(store: Store) -> None:
    silent = Unscored(name="choice", why=UnscoredReason.NO_JUDGE, reason="nobody")
    await keep(store, BEFORE, [tried("q1", None, grades=[silent]), tried("q2", True)])
    await keep(store, AFTER, [tried("q1", True)])
    (only,) = (await store.shared(BEFORE, AFTER)).measured
    assert (list(only.positions), list(only.outcomes), only.values[0] != only.values[0]) == ([0], [5], True)
