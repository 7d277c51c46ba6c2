"""Runs held against each other: what can be compared, what differs and how surely, what flipped, what is unlike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.errors import NotFound, PlanRefused
from howsure.model.comparison import (
    CaseFlip,
    Comparison,
    Conclusion,
    Difference,
    DifferenceKind,
    FlakinessSource,
    FlakyCase,
    MismatchEffect,
    MissingValues,
    PairComparison,
    PinKind,
    TryCounts,
)
from howsure.model.expectation import Criteria, Criterion
from howsure.model.result import Result
from howsure.model.rubric import Rubric, Rule, Severity
from howsure.model.score import LIKERT, OPEN, Direction, Part, Score
from howsure.model.verdict import Verdict
from howsure.reports.comparisons import comparison_sentence
from howsure.services.compare.compare import CompareRequest, compare_stored
from howsure.store.store import Store
from two_runs import AFTER, BEFORE, PINNED, THIRD, choice, keep, tried, verdicts


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with await Store.open(tmp_path / "howsure.db") as opened:
        yield opened


async def both(store: Store, **wanted: Any) -> Comparison:
    return await compare_stored(store, CompareRequest(**{"runs": (BEFORE, AFTER), **wanted}))


async def versus(store: Store, before: str | list[Result], after: str | list[Result], **wanted: Any) -> PairComparison:
    await keep(store, BEFORE, verdicts(before) if isinstance(before, str) else before)
    await keep(store, AFTER, verdicts(after) if isinstance(after, str) else after)
    (pair,) = (await both(store, **wanted)).pairs
    return pair


def named(pair: PairComparison, name: str) -> Difference:
    (found,) = [each for each in pair.differences if each.name == name]
    return found


async def test_a_run_that_gains_eight_of_twenty_and_loses_none_is_better(store: Store) -> None:
    pair = await versus(store, "-" * 8 + "+" * 12, "+" * 20)
    verdict = pair.verdict
    assert (verdict.first, verdict.second, verdict.difference) == (0.6, 1.0, 0.4)
    assert verdict.p_value == pytest.approx(2 / 2**8)  # McNemar: all eight the same way
    assert verdict.method == "exact_mcnemar"
    assert verdict.interval is not None
    assert verdict.interval[0] > 0
    assert (verdict.raised, verdict.lowered, verdict.same, verdict.n) == (8, 0, 12, 20)
    assert verdict.conclusion is Conclusion.BETTER
    assert verdict.needed is None


async def test_the_other_way_round_it_is_worse(store: Store) -> None:
    pair = await versus(store, "+" * 20, "-" * 8 + "+" * 12)
    assert (pair.verdict.conclusion, pair.verdict.difference) == (Conclusion.WORSE, -0.4)


async def test_five_of_five_is_not_enough_and_says_how_many_would_be(store: Store) -> None:
    pair = await versus(store, "-" * 5 + "+" * 15, "+" * 20)
    assert pair.verdict.p_value == pytest.approx(2 / 2**5)
    assert pair.verdict.conclusion is Conclusion.CANNOT_TELL
    assert pair.verdict.needed is not None
    assert 20 < pair.verdict.needed < 60


@pytest.mark.parametrize(
    ("count", "margin", "conclusion"),
    [
        (9, 0.05, Conclusion.CANNOT_TELL),
        (10, 0.05, Conclusion.CANNOT_TELL),
        (200, 0.05, Conclusion.EQUAL),
        (9, 0.5, Conclusion.EQUAL),
    ],
    ids=["nine alike are few", "so are ten", "two hundred alike", "a wide margin"],
)
async def test_runs_that_agree_on_every_case_are_equal(
    store: Store, count: int, margin: float, conclusion: Conclusion
) -> None:
    pair = await versus(store, "+" * count, "+" * count, margin=margin)
    assert pair.verdict.conclusion is conclusion
    assert pair.flips == ()


async def test_flips_are_named_worse_first_with_what_turned(store: Store) -> None:
    rule = Part(id="R1", text="Be kind")
    held, broken = (Score(name="rubric", value=value, pass_mark=1, part=rule) for value in (1, 0))
    before = [tried("q1", True, grades=[choice(True), held]), tried("q2", False), tried("q3", True)]
    after = [tried("q1", False, grades=[choice(True), broken]), tried("q2", True), tried("q3", True)]
    pair = await versus(store, before, after)
    assert pair.flips == (
        CaseFlip(
            case_id="q1",
            first=TryCounts(1, 1),
            second=TryCounts(0, 1),
            graders=("rubric:R1",),
            causes=("Be kind",),
            question="q1?",
        ),
        CaseFlip(
            case_id="q2",
            first=TryCounts(0, 1),
            second=TryCounts(1, 1),
            graders=("choice",),
            causes=("choice",),
            question="q2?",
        ),
    )
    assert [flip.gained for flip in pair.flips] == [False, True]


async def test_what_cannot_be_paired_is_accounted_for(store: Store) -> None:
    skipped = replace(tried("q4", True), verdict=Verdict.SKIPPED)
    before = [*verdicts("+-!"), skipped, tried("only-here", True)]
    after = [*verdicts("++-"), tried("q4", True), tried("only-there", False), tried("there-too", None)]
    pairing = (await versus(store, before, after)).verdict.pairing
    assert (pairing.paired, pairing.only_first, pairing.only_second, pairing.without) == (2, 1, 2, 2)
    assert pairing.total == 7
    assert pairing.absences == (
        MissingValues(second=False, why="errored", count=1),
        MissingValues(second=False, why="skipped", count=1),
    )


async def test_repeats_are_averaged_within_a_case(store: Store) -> None:
    before = [tried(f"q{n}", passed, repeat=r) for n in (1, 2) for r, passed in ((1, True), (2, False), (3, None))]
    after = [tried(f"q{n}", True, repeat=r) for n in (1, 2) for r in (1, 2, 3)]
    pair = await versus(store, before, after)
    assert (pair.verdict.n, pair.verdict.first, pair.verdict.second) == (2, 0.5, 1.0)


async def test_a_repeated_case_has_flipped_where_more_than_half_of_its_tries_have(store: Store) -> None:
    tries = {
        "q1": ("+++", "++-"),
        "q2": ("+++", "+--"),
        "q3": ("---", "--+"),
        "q4": ("+++", "---"),
        "q5": ("++-", "+--"),
    }
    before, after = (
        [tried(case, sign == "+", repeat=r) for case, own in tries.items() for r, sign in enumerate(own[side], start=1)]
        for side in (0, 1)
    )
    pair = await versus(store, before, after)
    assert [(flip.case_id, flip.second) for flip in pair.flips] == [("q4", TryCounts(0, 3)), ("q2", TryCounts(1, 3))]


@pytest.mark.parametrize(
    ("direction", "conclusion"),
    [
        (Direction.HIGHER, Conclusion.WORSE),
        (Direction.LOWER, Conclusion.BETTER),
        (Direction.NEITHER, Conclusion.DIFFERENT),
    ],
)
async def test_a_fall_is_good_where_less_is_better(store: Store, direction: Direction, conclusion: Conclusion) -> None:
    def run(value: float) -> list[Result]:
        graded = Score(name="cost", value=value, scale=OPEN, direction=direction)
        return [tried(f"q{n}", True, grades=[replace(graded, value=value + n / 100)]) for n in range(12)]

    pair = await versus(store, run(5), run(3))
    cost = named(pair, "cost")
    assert cost.difference == pytest.approx(-2.0)
    assert (cost.kind, cost.conclusion) == (DifferenceKind.GRADER, conclusion)


async def test_a_grader_on_its_own_scale_is_compared_in_its_own_units(store: Store) -> None:
    def run(*values: int) -> list[Result]:
        return [
            tried(f"q{n}", True, grades=[Score(name="RelevanceExplain", value=value, scale=LIKERT)])
            for n, value in enumerate(values)
        ]

    pair = await versus(store, run(3, 3, 4), run(4, 5, 4))
    relevance = named(pair, "RelevanceExplain")
    assert [relevance.first, relevance.second] == pytest.approx([10 / 3, 13 / 3])
    assert relevance.margin == pytest.approx(0.05 * 4)
    assert relevance.p_value == 0.5  # of the eight ways to toss three signs (one of them zero), four reach as far
    assert relevance.interval is not None
    assert -4 <= relevance.interval[0] <= relevance.interval[1] <= 4


RULES = [Rule(id=f"R{n}", name=f"Rule {n}", severity=Severity.HIGH) for n in (1, 2, 3)]


def ruled(case: str, *held: bool) -> Result:
    grades = [
        Score(name="rubric", value=float(each), pass_mark=1, part=Part(id=f"R{n}", text="", scope=scope))
        for n, (each, scope) in enumerate(zip(held, ("prompt", "prompt", ""), strict=True), start=1)
    ]
    return tried(case, all(held), grades=grades)


async def test_rules_and_components_are_compared_case_by_case(store: Store) -> None:
    pinned: dict[str, Any] = {"rubric": Rubric(name="r", rules=tuple(RULES)), "rubric_sha256": "r"}
    await keep(store, BEFORE, [ruled("q1", True, False, True), ruled("q2", False, False, True)], **pinned)
    await keep(store, AFTER, [ruled("q1", True, True, True), ruled("q2", False, True, True)], **pinned)
    (pair,) = (await both(store)).pairs
    found = [(each.kind, each.name, each.text, each.first, each.second) for each in pair.differences]
    assert found == [
        (DifferenceKind.RULE, "R1", "Rule 1", 0.5, 0.5),
        (DifferenceKind.RULE, "R2", "Rule 2", 0.0, 1.0),
        (DifferenceKind.RULE, "R3", "Rule 3", 1.0, 1.0),
        (DifferenceKind.COMPONENT, "general", "", 1.0, 1.0),
        (DifferenceKind.COMPONENT, "prompt", "", 0.25, 0.75),
    ]


async def test_rules_that_changed_are_named_and_not_compared(store: Store) -> None:
    new = [RULES[0], replace(RULES[1], name="Rule two"), Rule(id="R4", name="Rule 4", severity=Severity.LOW)]
    first, second = (Rubric(name="r", rules=tuple(rules)) for rules in (RULES, new))
    await keep(store, BEFORE, [ruled("q1", True, False, True)], rubric=first, rubric_sha256="one")
    await keep(store, AFTER, [ruled("q1", True, True, True)], rubric=second, rubric_sha256="two")
    (pair,) = (await both(store)).pairs
    assert [each.name for each in pair.differences if each.kind is DifferenceKind.RULE] == ["R1"]
    (unlike,) = pair.unlike
    assert (unlike.what, unlike.bearing) == (PinKind.RUBRIC, MismatchEffect.FORBIDS)
    assert [(each.turn.value, each.id, each.text) for each in unlike.changes] == [
        ("changed", "R2", "Rule two"),
        ("removed", "R3", "Rule 3"),
        ("added", "R4", "Rule 4"),
    ]


async def test_p_values_allow_for_all_the_questions_asked(store: Store) -> None:
    def run(passed: bool) -> list[Result]:
        grades = [choice(passed), choice(passed, "second")]
        return [tried(f"q{n}", passed, grades=grades) for n in range(6)]

    pair = await versus(store, run(False), run(True))
    assert pair.verdict.p_value == pytest.approx(2 / 2**6)
    assert (pair.verdict.adjusted, pair.verdict.conclusion) == (None, Conclusion.BETTER)
    for name in ("choice", "second"):
        assert named(pair, name).p_value == pytest.approx(2 / 2**6)
        assert named(pair, name).adjusted == pytest.approx(2 * 2 / 2**6)
        assert named(pair, name).conclusion is Conclusion.CANNOT_TELL


async def test_tags_difficulties_and_labels_are_slices_of_the_verdict(store: Store) -> None:
    def run(*passed: bool) -> list[Result]:
        areas = [{"area": "tax", "difficulty": "easy"}, {"area": "tax", "difficulty": "hard"}, {"area": "rent"}]
        tags = [("gift", "all"), ("all",), ("all",)]
        return [tried(f"q{n}", each, case_labels=areas[n], case_tags=tags[n]) for n, each in enumerate(passed)]

    pair = await versus(store, run(True, False, True), run(True, True, False), by=("area",))
    slices = [(each.kind, each.name, each.n, each.difference) for each in pair.differences if each.name != "choice"]
    assert slices == [
        (DifferenceKind.TAG, "gift", 1, 0.0),
        (DifferenceKind.SLICE, "difficulty=easy", 1, 0.0),
        (DifferenceKind.SLICE, "difficulty=hard", 1, 1.0),
        (DifferenceKind.SLICE, "area=rent", 1, -1.0),
        (DifferenceKind.SLICE, "area=tax", 2, 0.5),
    ]


async def test_cases_of_one_cluster_count_together(store: Store) -> None:
    """Twenty cases gained say much; twenty of two documents say little."""

    def run(passed: bool) -> list[Result]:
        return [tried(f"q{n}", passed, case_labels={"document": f"d{n % 2}"}) for n in range(20)]

    alone = await versus(store, run(False), run(True))
    assert alone.verdict.conclusion is Conclusion.BETTER
    (clustered,) = (await both(store, cluster="document")).pairs
    assert clustered.verdict.clusters == 2
    assert clustered.verdict.conclusion is Conclusion.CANNOT_TELL


async def test_explain_cases_cluster_by_scenario_unless_told_otherwise(store: Store) -> None:
    for id in (BEFORE, AFTER):
        cases = [tried(f"q{n}", True, case_labels={"scenario_id": f"S{n % 3}"}) for n in range(9)]
        await keep(store, id, cases, datasets=(replace(PINNED, dialect="explain"),))
    assert (await both(store)).pairs[0].verdict.clusters == 3
    assert (await both(store, cluster="")).pairs[0].verdict.clusters == 9


async def test_candidates_meet_by_name_and_the_lonely_are_named(store: Store) -> None:
    first = [tried("q1", True, candidate=name) for name in ("juno", "orchid")]
    second = [tried("q1", False, candidate=name) for name in ("juno", "fern")]
    await keep(store, BEFORE, first)
    await keep(store, AFTER, second)
    done = await both(store)
    assert [(pair.first.name, pair.second.name) for pair in done.pairs] == [("before", "after")]
    assert done.left_out == (
        f"candidate 'orchid' of run 'before' ({BEFORE[:8]}) has no counterpart",
        f"candidate 'fern' of run 'after' ({AFTER[:8]}) has no counterpart",
    )


async def test_single_candidates_meet_whatever_they_are_called(store: Store) -> None:
    await keep(store, BEFORE, [tried("q1", True, candidate="juno")])
    await keep(store, AFTER, [tried("q1", True, candidate="orchid")])
    (pair,) = (await both(store)).pairs
    assert (pair.first.candidate, pair.second.candidate) == ("juno", "orchid")


async def test_candidates_can_be_told_and_may_be_of_one_run(store: Store) -> None:
    run = [tried(f"q{n}", passed, candidate=name) for n in range(3) for name, passed in (("a", False), ("b", True))]
    await keep(store, BEFORE, run)
    (pair,) = (await compare_stored(store, CompareRequest(runs=(BEFORE,), candidates=(("a", "b"),)))).pairs
    assert (pair.first.name, pair.second.name, pair.verdict.difference) == ("a", "b", 1.0)
    assert pair.unlike == ()


async def test_every_run_is_held_against_the_first(store: Store) -> None:
    for id, pattern in ((BEFORE, "+-"), (AFTER, "++"), (THIRD, "--")):
        await keep(store, id, verdicts(pattern))
    done = await compare_stored(store, CompareRequest(runs=(BEFORE, AFTER, THIRD)))
    assert [(pair.first.name, pair.second.name, pair.verdict.difference) for pair in done.pairs] == [
        ("before", "after", 0.5),
        ("before", "third", -0.5),
    ]


async def test_runs_of_one_name_are_told_apart_by_their_ids(store: Store) -> None:
    await keep(store, BEFORE, verdicts("+"), name="nightly")
    await keep(store, AFTER, verdicts("+"), name="nightly")
    (pair,) = (await both(store)).pairs
    assert (pair.first.name, pair.second.name) == (f"nightly ({BEFORE[:8]})", f"nightly ({AFTER[:8]})")


def agents(**passed: str) -> list[Result]:
    """`single="+-"`: the cases of that agent for scenario s0, s1 …"""
    return [
        tried(f"{agent}-{n}", sign == "+", case_labels={"agent_name": agent, "scenario_id": f"s{n}"})
        for agent, pattern in passed.items()
        for n, sign in enumerate(pattern)
    ]


async def test_groups_of_one_run_are_paired_by_a_label(store: Store) -> None:
    await keep(store, BEFORE, [*agents(single="+--+", multi="+++"), tried("unlabelled", True)])
    done = await compare_stored(store, CompareRequest(runs=(BEFORE,), by=("agent_name",), pair="scenario_id"))
    (pair,) = done.pairs
    assert (done.unit, pair.first.name, pair.second.name) == ("scenario_id", "single", "multi")
    assert pair.verdict.n == 3
    assert [pair.verdict.first, pair.verdict.second] == pytest.approx([1 / 3, 1.0])
    assert pair.verdict.pairing.only_first == 1
    assert pair.flips[0] == CaseFlip(
        case_id="single-1",
        other_id="multi-1",
        first=TryCounts(0, 1),
        second=TryCounts(1, 1),
        graders=("choice",),
        causes=("choice",),
        question="multi-1?",
    )
    assert done.left_out == ("1 case without agent_name or scenario_id",)


async def test_the_group_to_start_from_can_be_told(store: Store) -> None:
    await keep(store, BEFORE, agents(single="+-", multi="++"))
    wanted = CompareRequest(runs=(BEFORE,), by=("agent_name",), pair="scenario_id", base="multi")
    (pair,) = (await compare_stored(store, wanted)).pairs
    assert (pair.first.name, pair.second.name, pair.verdict.difference) == ("multi", "single", -0.5)


async def test_cases_that_share_a_pair_are_averaged_and_said_to_be(store: Store) -> None:
    extra = tried("single-x", False, case_labels={"agent_name": "single", "scenario_id": "s0"})
    await keep(store, BEFORE, [*agents(single="++", multi="++"), extra])
    (pair,) = (
        await compare_stored(store, CompareRequest(runs=(BEFORE,), by=("agent_name",), pair="scenario_id"))
    ).pairs
    assert (pair.verdict.first, pair.verdict.second) == (0.75, 1.0)
    assert pair.notes == ("single: several cases share a pair; their values are averaged",)


async def test_unlike_runs_are_compared_and_flagged(store: Store) -> None:
    pinned = {"judge": "offline", "judge_sha256": "1", "policy_sha256": "p", "simulator_sha256": ""}
    await keep(store, BEFORE, verdicts("+-"), **pinned)
    other = {"judge": "openai:x", "judge_sha256": "2", "policy_sha256": "q", "simulator_sha256": "s", "simulator": "m"}
    await keep(store, AFTER, verdicts("++"), target="http", **other)
    (pair,) = (await both(store)).pairs
    assert [(each.what, each.bearing) for each in pair.unlike] == [
        (PinKind.JUDGE, MismatchEffect.FLAGS),
        (PinKind.SIMULATOR, MismatchEffect.FLAGS),
        (PinKind.POLICY, MismatchEffect.FLAGS),
        (PinKind.TARGET, MismatchEffect.EXPECTED),
    ]
    assert [each.what for each in pair.flags] == [PinKind.JUDGE, PinKind.SIMULATOR, PinKind.POLICY]
    assert pair.verdict.n == 2


async def test_changed_criteria_are_named_one_by_one(store: Store) -> None:
    first = Criteria(criteria=(Criterion(id="c1", text="Cites the Act"), Criterion(id="c2", text="Is short")))
    second = Criteria(criteria=(Criterion(id="c1", text="Cites the Act of 2019"), Criterion(id="c3", text="Is kind")))
    await keep(store, BEFORE, [tried("q1", True, case_expectations=(first,)), tried("q2", True)])
    await keep(
        store,
        AFTER,
        [tried("q1", True, case_expectations=(second,)), tried("q2", True)],
        datasets=(replace(PINNED, sha256="cd" * 32),),
    )
    (pair,) = (await both(store)).pairs
    (unlike,) = pair.unlike
    assert (unlike.what, unlike.said) == (PinKind.TEST_SET, "1 case of the same id asks or expects something else")
    assert [(each.turn.value, each.kind, each.id, each.text, each.case_id) for each in unlike.changes] == [
        ("changed", "criterion", "c1", "Cites the Act of 2019", "q1"),
        ("removed", "criterion", "c2", "Is short", "q1"),
        ("added", "criterion", "c3", "Is kind", "q1"),
    ]


async def test_files_that_differ_in_their_answers_alone_are_the_same_test_set(store: Store) -> None:
    await keep(store, BEFORE, verdicts("+"))
    await keep(store, AFTER, verdicts("+"), datasets=(replace(PINNED, sha256="cd" * 32),))
    assert (await both(store)).pairs[0].unlike == ()


async def test_flaky_cases_say_who_disagrees(store: Store) -> None:
    before = [
        *(tried("agent", passed, repeat=r) for r, passed in ((1, True), (2, False))),
        *(tried("judge", passed, repeat=r, answer="the same") for r, passed in ((1, True), (2, False))),
        *(tried("steady", True, repeat=r) for r in (1, 2)),
        *(tried("broken", passed, repeat=r) for r, passed in ((1, True), (2, None))),
    ]
    after = [tried(case, True, repeat=r) for case in ("agent", "judge", "steady", "broken") for r in (1, 2)]
    pair = await versus(store, before, after)
    assert pair.flaky == (
        FlakyCase(case_id="agent", second=False, tries=TryCounts(1, 2), blame=FlakinessSource.AGENT),
        FlakyCase(case_id="judge", second=False, tries=TryCounts(1, 2), blame=FlakinessSource.JUDGE),
    )


async def test_a_run_that_is_not_finished_is_said_to_be(store: Store) -> None:
    run = await keep(store, BEFORE, verdicts("++"))
    await keep(store, AFTER, verdicts("++"))
    await store.delete_run(run.id)
    await store.create_run(replace(run, counts=replace(run.counts, total=5)))
    await store.save(run.id, [replace(each, position=place) for place, each in enumerate(verdicts("++"))])
    (pair,) = (await both(store)).pairs
    assert pair.notes == (f"run 'before' ({BEFORE[:8]}) is not finished: 3 are pending",)


@pytest.mark.parametrize(
    ("wanted", "error", "said"),
    [
        ({"runs": (BEFORE,)}, PlanRefused, "one run alone"),
        ({"runs": (BEFORE, BEFORE)}, PlanRefused, "named twice"),
        ({"runs": (BEFORE, "nowhere")}, NotFound, "nowhere"),
        ({"runs": (BEFORE, THIRD)}, PlanRefused, "no case in common: one has 'q1', the other 'x'"),
        ({"runs": (BEFORE, AFTER), "candidates": (("", "oak"),)}, NotFound, "has no candidate 'oak'; it has ''"),
        ({"runs": (BEFORE, AFTER), "margin": 5.0}, PlanRefused, "a share of the scale, such as 0.05, not 5"),
        ({"runs": (BEFORE, AFTER), "confidence": 95.0}, PlanRefused, "such as 0.95, not 95"),
        ({"runs": (BEFORE, AFTER), "pair": "area"}, PlanRefused, "name one RUN and one --by LABEL"),
        ({"runs": (BEFORE, AFTER), "base": "x"}, PlanRefused, "goes with --by and --pair"),
        ({"runs": (BEFORE,), "by": ("planet",), "pair": "area"}, NotFound, "no case of run 'before'"),
        ({"runs": (BEFORE,), "by": ("area",), "pair": "area"}, PlanRefused, "have area=tax: there is nothing"),
    ],
)
async def test_what_cannot_be_compared_is_refused_with_what_to_do(
    store: Store, wanted: dict[str, Any], error: type[Exception], said: str
) -> None:
    await keep(store, BEFORE, verdicts("++", case_labels={"area": "tax"}))
    await keep(store, AFTER, verdicts("++"))
    await keep(store, THIRD, [tried("x", True)])
    with pytest.raises(error, match=said):
        await compare_stored(store, CompareRequest(**wanted))


async def test_groups_that_share_no_pair_cannot_be_compared(store: Store) -> None:
    def case(agent: str, scenario: str) -> Result:
        return tried(f"{agent}-{scenario}", True, case_labels={"agent_name": agent, "scenario_id": scenario})

    await keep(store, BEFORE, [case("single", "s1"), case("multi", "s2")])
    with pytest.raises(PlanRefused, match="no scenario_id is in both groups 'single' and 'multi'"):
        await compare_stored(store, CompareRequest(runs=(BEFORE,), by=("agent_name",), pair="scenario_id"))


async def test_runs_with_other_candidates_need_to_be_told_which(store: Store) -> None:
    await keep(store, BEFORE, [tried("q1", True, candidate=name) for name in ("a", "b")])
    await keep(store, AFTER, [tried("q1", True, candidate=name) for name in ("c", "d")])
    with pytest.raises(PlanRefused, match="none in common; say which to compare with --candidate A=B"):
        await both(store)


async def test_a_run_without_results_cannot_be_compared(store: Store) -> None:
    await keep(store, BEFORE, [])
    await keep(store, AFTER, verdicts("+"))
    with pytest.raises(PlanRefused, match="has no results yet"):
        await both(store)


async def test_cases_that_were_never_decided_leave_nothing_to_say(store: Store) -> None:
    pair = await versus(store, "!!", "!!")
    assert (pair.verdict.n, pair.verdict.first, pair.verdict.p_value) == (0, None, None)
    assert pair.verdict.conclusion is Conclusion.CANNOT_TELL


LARGE = [
    *(tried(f"q{place}", place % 3 > 0, case_tags=("odd",) if place % 2 else ()) for place in range(40)),
    *(tried(f"only{place}", True) for place in range(60)),
]
SMALL = [*(tried(f"q{place}", place % 4 > 0) for place in range(20)), tried("new", True)]


@pytest.mark.parametrize("large_first", [True, False])
async def test_a_large_run_held_against_a_small_one_is_read_as_far_as_that_goes(
    store: Store, monkeypatch: pytest.MonkeyPatch, large_first: bool
) -> None:
    """And everything that is said is what the whole run would say."""
    first, second = (LARGE, SMALL) if large_first else (SMALL, LARGE)
    whole = await versus(store, first, second)
    monkeypatch.setattr("howsure.services.compare.compare.LARGE", 50)
    read: list[str] = []
    columns = store.columns

    async def watched(run_id: str) -> Any:
        read.append(run_id)
        return await columns(run_id)

    monkeypatch.setattr(store, "columns", watched)
    (pair,) = (await both(store)).pairs
    assert read == [AFTER if large_first else BEFORE]
    assert pair == whole
    lacking = (pair.verdict.pairing.only_first, pair.verdict.pairing.only_second)
    assert lacking == ((80, 1) if large_first else (1, 80))


async def test_a_large_run_that_shares_no_case_is_refused_by_name(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("howsure.services.compare.compare.LARGE", 50)
    with pytest.raises(PlanRefused, match="one has 'q0', the other 'stranger'"):
        await versus(store, LARGE, [tried("stranger", True)])


async def test_of_repeats_all_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("howsure.services.compare.compare.LARGE", 2)
    twice = [tried(f"q{place}", again == 1, repeat=again) for place in range(20) for again in (1, 2)]
    pair = await versus(store, twice, [tried("q3", True)])
    assert len(pair.flaky) == 20


async def test_the_slice_that_is_worse_comes_first_where_the_whole_cannot_tell(store: Store) -> None:
    """Sixty refunds lose fourteen and gain two; of 180 others nine are gained and three lost."""
    lost = {*range(14), *range(60, 63)}
    gained = {*range(50, 52), *range(70, 75), *range(200, 204)}
    before, after = (
        [
            tried(
                f"q{n}", n not in failing, case_tags=("refunds",) if n < 60 else ("billing",) if n < 150 else ("other",)
            )
            for n in range(240)
        ]
        for failing in (gained, lost)
    )
    pair = await versus(store, before, after)
    assert pair.verdict.conclusion is Conclusion.CANNOT_TELL
    assert pair.headline is not None
    assert (pair.headline.name, round(pair.headline.difference or 0, 3)) == ("refunds", -0.2)
    # McNemar's test of 14 and 2 has p = 274 / 2¹⁶; four questions were asked.
    assert pair.headline.adjusted == pytest.approx(4 * 274 / 2**16)
    sentence = comparison_sentence(pair)
    assert sentence.startswith("Tag refunds is worse: 76.7 % of 60 paired cases passed against 96.7 % (−20.0 points")
    assert "p = 0.017, allowing for 4 questions). As a whole: cannot tell yet whether" in sentence
