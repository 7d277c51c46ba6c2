"""The gate table: each kind of gate with a run that holds it, one that fails it and one that cannot say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from howsure.errors import NotFound
from howsure.model.expectation import text_id
from howsure.model.rubric import Rubric, Rule, Severity
from howsure.model.run import DatasetPin, ModelSpending, RunState
from howsure.model.score import OPEN, UNIT, ZERO_TO_FIVE, Direction, Part, Score, Unscored, UnscoredReason
from howsure.model.summary import GateOutcome, GateRuling
from howsure.model.transcript import Usage
from unit.services.gate.gate_runs import Made, cases, keep, opened, ruled, ruling_of, tries, verdicts

HELD, FAILED, INCONCLUSIVE = GateOutcome.HELD, GateOutcome.FAILED, GateOutcome.INCONCLUSIVE


def graded(values: list[float], name: str = "quality") -> list[Made]:
    return [
        Made(case=f"q{place}", grades=(Score(name=name, value=value, scale=ZERO_TO_FIVE, pass_mark=3),))
        for place, value in enumerate(values)
    ]


def ruled_by(rule: str, outcomes: str) -> list[Made]:
    """A rule's check in each case: + held, - broken, e error, n not applicable, j no judge."""
    part = Part(id=rule, text=rule, severity=Severity.HIGH, scope="general")
    whys = {"e": UnscoredReason.ERROR, "n": UnscoredReason.NOT_APPLICABLE, "j": UnscoredReason.NO_JUDGE}
    return [
        Made(
            case=f"q{place}",
            grades=(
                Score(name="rubric", value=0.5, scale=UNIT),
                Unscored(name="rubric", why=whys[each], reason="x", part=part)
                if each in whys
                else Score(name="rubric", value=float(each == "+"), pass_mark=1.0, part=part),
            ),
        )
        for place, each in enumerate(outcomes)
    ]


def timed(seconds: Sequence[float | None]) -> list[Made]:
    return [Made(case=f"q{place}", seconds=each) for place, each in enumerate(seconds)]


def paid(*amounts: float | None, tokens: int | None = None) -> list[Made]:
    return [
        Made(
            case=f"q{place}", usage=Usage(cost_usd=each, prompt_tokens=tokens, completion_tokens=0 if tokens else None)
        )
        for place, each in enumerate(amounts)
    ]


SPENT = ModelSpending(usd=1.5, tokens=1000, calls=10)

TABLE: list[tuple[str, list[Made], dict[str, Any], GateOutcome]] = [
    ("pass_rate >= 0.9", cases(verdicts(99, 1)), {}, HELD),
    ("pass_rate >= 0.9", cases(verdicts(70, 30)), {}, FAILED),
    ("pass_rate >= 0.9", cases(verdicts(92, 8)), {}, INCONCLUSIVE),
    ("pass_rate >= 0.9", cases(verdicts(10)), {}, INCONCLUSIVE),
    ("pass_rate >= 0.9", cases(verdicts(0, 0, 5)), {}, INCONCLUSIVE),
    ("pass_rate >= 100%", cases(verdicts(10)), {}, HELD),
    ("pass_rate >= 100%", cases(verdicts(99, 1)), {}, FAILED),
    ("pass_rate >= 100%", cases(verdicts(10, 0, 1)), {}, INCONCLUSIVE),
    ("pass_rate <= 0%", cases(verdicts(0, 10)), {}, HELD),
    ("pass_rate <= 0.2", cases(verdicts(1, 99)), {}, HELD),
    ("pass_rate[choice] >= 0.9", cases(verdicts(99, 1)), {}, HELD),
    ("pass_rate[choice] >= 0.9", cases(verdicts(70, 30)), {}, FAILED),
    ("pass_rate[charm] >= 0.9", cases(verdicts(99)), {}, INCONCLUSIVE),
    ("pass_rate[tag:billing] >= 0.9", cases(verdicts(80), tags=("billing",)), {}, HELD),
    ("pass_rate[tag:billing] >= 0.9", cases(verdicts(40, 40), tags=("billing",)), {}, FAILED),
    ("pass_rate[tag:billing] >= 0.9", cases(verdicts(80), tags=("travel",)), {}, INCONCLUSIVE),
    ("pass_rate[rubric] >= 0.9", ruled_by("SAFETY", "+" * 80), {}, HELD),
    ("pass_rate[rule:SAFETY] >= 0.9", ruled_by("SAFETY", "+" * 80), {}, HELD),
    ("pass_rate[rule:SAFETY] >= 0.9", ruled_by("SAFETY", "+" * 40 + "-" * 40), {}, FAILED),
    ("mean[quality] >= 4", graded([4.5, 4.6, 4.7, 4.4, 4.5, 4.6, 4.8, 4.3] * 3), {}, HELD),
    ("mean[quality] >= 4", graded([3.0, 3.1, 2.9, 3.2, 2.8, 3.0]), {}, FAILED),
    ("mean[quality] >= 4", graded([5, 3, 4, 5, 2, 5]), {}, INCONCLUSIVE),
    ("mean[quality] >= 4", graded([5]), {}, INCONCLUSIVE),
    ("rule:SAFETY all", ruled_by("SAFETY", "+++n"), {}, HELD),
    ("rule:SAFETY all", ruled_by("SAFETY", "++-"), {}, FAILED),
    ("rule:SAFETY all", ruled_by("SAFETY", "++-e"), {}, FAILED),
    ("rule:SAFETY all", ruled_by("SAFETY", "++e"), {}, INCONCLUSIVE),
    ("rule:SAFETY all", ruled_by("SAFETY", "++j"), {}, INCONCLUSIVE),
    ("rule:SAFETY all", ruled_by("SAFETY", "nn"), {}, INCONCLUSIVE),
    ("rule:SAFETY all", ruled_by("POLITE", "++"), {}, INCONCLUSIVE),
    ("p95_latency <= 3s", timed([1.0] * 80), {}, HELD),
    ("p95_latency <= 3s", timed([1.0] * 60 + [9.0] * 40), {}, FAILED),
    ("p95_latency <= 3s", timed([1.0] * 20), {}, INCONCLUSIVE),
    ("p95_latency <= 3s", timed([None] * 80), {}, INCONCLUSIVE),
    ("p50_latency <= 3s", timed([1.0] * 20), {}, HELD),
    ("mean_latency <= 3s", timed([1.0, 1.1, 0.9, 1.2, 1.0]), {}, HELD),
    ("mean_latency <= 3s", timed([9.0, 9.1, 8.9]), {}, FAILED),
    ("mean_latency <= 3s", timed([1.0, 9.0, 2.0]), {}, INCONCLUSIVE),
    ("cost <= 2 USD", cases(verdicts(3)), {}, HELD),
    ("cost <= 2 USD", cases(verdicts(3)), {"spent": SPENT}, HELD),
    ("cost <= 2 USD", paid(0.5, 0.6), {"spent": SPENT}, FAILED),
    ("cost <= 2 USD", paid(0.1, None), {"spent": SPENT}, INCONCLUSIVE),
    ("cost <= 2 USD", cases(verdicts(3)), {"spent": ModelSpending(usd=1, calls=9, unpriced=2)}, INCONCLUSIVE),
    ("cost <= 2 USD", cases(verdicts(3)), {"spent": ModelSpending(usd=3, calls=9, unpriced=2)}, FAILED),
    ("cost <= 2 USD", cases(verdicts(3)), {"target": "http:x"}, INCONCLUSIVE),
    ("cost <= 2 USD", paid(9.0), {"target": "chat:x:y", "spent": SPENT}, HELD),
    ("cost[run] <= 2 USD", paid(9.0), {"spent": SPENT}, HELD),
    ("cost[agent] <= 2 USD", paid(9.0), {"spent": SPENT}, FAILED),
    ("cost[agent] <= 2 USD", cases(verdicts(3)), {}, INCONCLUSIVE),
    ("cost_per_case <= 0.01 USD", paid(0.001, 0.002, 0.0015, 0.001), {}, HELD),
    ("cost_per_case <= 0.01 USD", paid(0.1, 0.2, 0.15), {}, FAILED),
    ("cost_per_case <= 0.01 USD", paid(0.001, 0.02, 0.008), {}, INCONCLUSIVE),
    ("tokens <= 2k", paid(0.1, 0.1, tokens=400), {"spent": SPENT}, HELD),
    ("tokens <= 2k", paid(0.1, 0.1, tokens=600), {"spent": SPENT}, FAILED),
    ("errors <= 10%", cases(verdicts(9, 0, 1)), {}, HELD),
    ("errors <= 10%", cases(verdicts(8, 0, 2)), {}, FAILED),
    ("errors <= 10%", cases(verdicts(9)), {"pending": 2, "state": RunState.INTERRUPTED}, INCONCLUSIVE),
    ("errors <= 1", cases(verdicts(9, 0, 1)), {}, HELD),
    ("errors <= 0", cases(verdicts(9, 0, 1)), {}, FAILED),
    ("pass^3 >= 0.8", tries(*["ppp"] * 40), {}, HELD),
    ("pass^3 >= 0.8", tries(*["ppf"] * 40), {}, FAILED),
    ("pass^3 >= 0.8", tries(*["ppp"] * 5), {}, INCONCLUSIVE),
    ("pass^3 >= 0.8", tries(*["pp"] * 40), {}, INCONCLUSIVE),
    ("pass@3 >= 0.9", tries(*["pff"] * 60), {}, HELD),
    ("pass@3 >= 0.9", tries(*["fff"] * 60), {}, FAILED),
    ("pass@3 >= 0.9", tries(*["pff"] * 10), {}, INCONCLUSIVE),
]


@pytest.mark.parametrize(
    ("expression", "made", "run", "outcome"),
    TABLE,
    ids=[f"{place} {expression} {outcome.value}" for place, (expression, _, _, outcome) in enumerate(TABLE)],
)
async def test_the_gate_table(
    tmp_path: Path, expression: str, made: list[Made], run: dict[str, Any], outcome: GateOutcome
) -> None:
    ruling = await ruling_of(tmp_path, made, expression, **run)
    assert ruling.outcome is outcome, ruling.reason
    assert ruling.expression == expression
    assert ruling.reason.endswith((".", "?"))


async def test_a_ruling_says_the_value_its_interval_and_how_many_more_would_settle_it(tmp_path: Path) -> None:
    ruling = await ruling_of(tmp_path, cases(verdicts(19, 1)), "pass_rate >= 0.9")
    assert ruling.interval is not None
    assert (ruling.value, [round(end, 3) for end in ruling.interval], ruling.n) == (0.95, [0.751, 0.999], 20)
    assert ruling.needed_cases == 211
    assert ruling.reason == (
        "95 % passed, over 20 cases; likely 76.4 % to 99.7 %, and 90 % lies within it."
        " About 211 more cases like these would settle it."
    )


async def test_a_value_on_the_limit_cannot_be_settled(tmp_path: Path) -> None:
    ruling = await ruling_of(tmp_path, cases(verdicts(9, 1)), "pass_rate >= 0.9")
    assert ruling.needed_cases is None
    assert "No number of cases" in ruling.reason


@pytest.mark.parametrize(
    ("letters", "expression", "outcome", "told"),
    [
        (verdicts(990, 0, 3), "pass_rate >= 0.9", HELD, "3 cases without a verdict: not counted."),
        (verdicts(92, 0, 8), "pass_rate >= 0.9", INCONCLUSIVE, "with the 8 cases without a verdict counted as bad"),
        (verdicts(92, 0, 0, 8), "pass_rate >= 0.9", INCONCLUSIVE, "it would be inconclusive"),
        (verdicts(70, 30, 1), "pass_rate >= 0.9", FAILED, "1 case without a verdict"),
        (
            verdicts(20, 30, 300),
            "pass_rate >= 0.9",
            INCONCLUSIVE,
            "with the 300 cases without a verdict counted as good",
        ),
        (verdicts(0, 5, 500), "pass_rate <= 0.6", INCONCLUSIVE, "counted as bad"),
    ],
    ids=["too few to matter", "enough to matter", "skipped too", "failed all the same", "failed perhaps", "downwards"],
)
async def test_what_could_not_be_judged_counts_against_certainty(
    tmp_path: Path, letters: str, expression: str, outcome: GateOutcome, told: str
) -> None:
    ruling = await ruling_of(tmp_path, cases(letters), expression)
    assert (ruling.outcome, ruling.unjudged) == (outcome, letters.count("e") + letters.count("s"))
    assert told in ruling.reason


async def test_cases_still_to_do_are_not_judged_either(tmp_path: Path) -> None:
    made = cases(verdicts(99, 1))
    ruling = await ruling_of(tmp_path, made, "pass_rate >= 0.9", pending=50, state=RunState.INTERRUPTED)
    assert (ruling.outcome, ruling.unjudged) == (INCONCLUSIVE, 50)


async def test_a_case_that_broke_before_grading_is_missing_for_every_grader(tmp_path: Path) -> None:
    ruling = await ruling_of(tmp_path, cases(verdicts(92, 0, 8)), "pass_rate[choice] >= 0.9")
    assert (ruling.outcome, ruling.unjudged) == (INCONCLUSIVE, 8)


async def test_what_is_not_applicable_is_not_missing(tmp_path: Path) -> None:
    ruling = await ruling_of(tmp_path, ruled_by("SAFETY", "+" * 80 + "n" * 80), "pass_rate[rule:SAFETY] >= 0.9")
    assert (ruling.outcome, ruling.n, ruling.unjudged) == (HELD, 80, 0)


async def test_an_answer_that_nobody_timed_may_have_been_slow(tmp_path: Path) -> None:
    ruling = await ruling_of(tmp_path, timed([1.0] * 90 + [None] * 10), "p95_latency <= 3s")
    assert (ruling.outcome, ruling.unjudged) == (INCONCLUSIVE, 10)
    assert "10 answers without a known duration" in ruling.reason


async def test_a_percentile_of_few_values_has_no_upper_end(tmp_path: Path) -> None:
    ruling = await ruling_of(tmp_path, timed([1.0] * 20), "p95_latency <= 3s")
    assert ruling.needed_cases == 52
    assert "an unknown high" in ruling.reason


@pytest.mark.parametrize("target", ["recorded", "http:x", "chat:x:y"])
async def test_the_time_of_an_attempt_is_not_that_of_its_answer(tmp_path: Path, target: str) -> None:
    ruling = await ruling_of(tmp_path, cases(verdicts(80)), "p95_latency <= 3s", target=target)
    assert (ruling.outcome, ruling.unjudged) == (INCONCLUSIVE, 80)
    assert ruling.reason == "No answer has a known duration."


async def test_latency_and_cost_that_were_measured_come_before_what_was_reported(tmp_path: Path) -> None:
    measured = (
        Score(name="latency_metrics", value=9.0, scale=OPEN, direction=Direction.LOWER),
        Score(name="token_usage", value=0.5, scale=OPEN, direction=Direction.LOWER, details={"total_tokens": 700}),
    )
    made = [Made(case=f"q{place}", grades=measured, seconds=1.0) for place in range(10)]
    async with opened(tmp_path) as store:
        run = await keep(store, made)
        slow, dear, long = await ruled(store, run, "p50_latency <= 3s", "cost[agent] <= 1 USD", "tokens[agent] <= 1k")
    assert (slow.outcome, slow.value) == (FAILED, 9.0)
    assert (dear.outcome, dear.value) == (FAILED, 5.0)
    assert (long.outcome, long.value) == (FAILED, 7000.0)


@pytest.mark.parametrize(
    ("made", "expression", "interval"),
    [
        (paid(0.01, 0.01, 0.01), "cost_per_case <= 0.02 USD", (0.01, 0.01)),
        (paid(0.0, 0.001, 0.002), "cost_per_case <= 1 USD", (0.0, 0.003484)),
        (timed([2.0, 2.0]), "mean_latency <= 3s", (2.0, 2.0)),
    ],
    ids=["all the same", "not below nothing", "two alike"],
)
async def test_an_open_scale_has_a_lowest_value(
    tmp_path: Path, made: list[Made], expression: str, interval: tuple[float, float]
) -> None:
    ruling = await ruling_of(tmp_path, made, expression)
    assert ruling.outcome is HELD
    assert ruling.interval == pytest.approx(interval, abs=1e-4)


async def test_repeats_of_one_case_are_not_independent(tmp_path: Path) -> None:
    """Eight cases tried ten times each tell less than eighty cases."""
    alone = await ruling_of(tmp_path, cases(verdicts(80)), "pass_rate >= 0.9")
    async with opened(tmp_path) as store:
        run = await keep(store, tries(*["p" * 10] * 8), number=2)
        (together,) = await ruled(store, run, "pass_rate >= 0.9")
    assert (alone.outcome, together.outcome) == (HELD, INCONCLUSIVE)
    assert together.n == 80


async def test_explain_cases_of_one_scenario_are_one_cluster(tmp_path: Path) -> None:
    made = [Made(case=f"q{place}", labels={"scenario_id": f"s{place // 10}"}) for place in range(80)]
    explain = (DatasetPin(path="e.jsonl", sha256="1", dialect="explain"),)
    async with opened(tmp_path) as store:
        plain = await keep(store, made)
        grouped = await keep(store, made, number=2, datasets=explain)
        (apart,) = await ruled(store, plain, "pass_rate >= 0.9")
        (together,) = await ruled(store, grouped, "pass_rate >= 0.9")
    assert (apart.outcome, together.outcome) == (HELD, INCONCLUSIVE)


async def test_several_candidates_are_held_to_a_gate_each(tmp_path: Path) -> None:
    made = [*cases(verdicts(99, 1), candidate="juno"), *cases(verdicts(50, 50), candidate="orchid")]
    async with opened(tmp_path) as store:
        run = await keep(store, made)
        both = await ruled(store, run, "pass_rate >= 0.9")
        (one,) = await ruled(store, run, "pass_rate[candidate:juno] >= 0.9")
        (nobody,) = await ruled(store, run, "pass_rate[candidate:june] >= 0.9")
        (whole,) = await ruled(store, run, "errors <= 1%")
    assert [(each.candidate, each.outcome) for each in both] == [("juno", HELD), ("orchid", FAILED)]
    assert (one.candidate, one.outcome) == ("juno", HELD)
    assert nobody.outcome is INCONCLUSIVE
    assert "did you mean 'juno'?" in nobody.reason
    assert whole.candidate == ""


@pytest.mark.parametrize("named", ["r1", "Never lie", "never lie", "honesty"])
async def test_a_rule_is_found_by_id_name_and_category(tmp_path: Path, named: str) -> None:
    rubric = Rubric(name="house", rules=(Rule(id="r1", name="Never lie", severity=Severity.HIGH, category="Honesty"),))
    ruling = await ruling_of(tmp_path, ruled_by("r1", "+++"), f"rule:{named} all", rubric=rubric)
    assert ruling.outcome is HELD
    assert ruling.reason == "3 of 3 checks passed."


async def test_a_criterion_without_an_id_is_found_by_its_text(tmp_path: Path) -> None:
    text = "It names the fee."
    part = Part(id=text_id(text), text=text)
    made = [Made(case="q0", grades=(Score(name="criteria", value=1.0, pass_mark=1.0, part=part),))]
    assert (await ruling_of(tmp_path, made, f'criterion:"{text}" all')).outcome is HELD


async def test_a_name_that_the_run_lacks_is_told_with_what_is_near(tmp_path: Path) -> None:
    ruling = await ruling_of(tmp_path, ruled_by("SAFETY", "++"), "rule:SAFTY all")
    assert ruling.reason == "The run has no rule or criterion 'SAFTY'; did you mean 'SAFETY'?"


def shape(ruling: GateRuling) -> tuple[str, GateOutcome]:
    return ruling.expression, ruling.outcome


async def test_gates_are_ruled_on_in_their_order(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        run = await keep(store, cases(verdicts(99, 1)))
        found = await ruled(store, run, "errors <= 0", "pass_rate >= 0.999", "pass_rate >= 0.9")
    assert [shape(each) for each in found] == [
        ("errors <= 0", HELD),
        ("pass_rate >= 0.999", INCONCLUSIVE),
        ("pass_rate >= 0.9", HELD),
    ]


async def held_against(
    folder: Path, before: list[Made], after: list[Made], expression: str = "no_regression vs main by 2%", **fields: Any
) -> GateRuling:
    async with opened(folder) as store:
        await keep(store, before, number=1, name="main")
        (found,) = await ruled(store, await keep(store, after, number=2, name="branch", **fields), expression)
        return found


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        (verdicts(270, 30), verdicts(270, 30), HELD),
        (verdicts(150, 150), verdicts(200, 100), HELD),
        (verdicts(90, 10), verdicts(70, 30), FAILED),
        (verdicts(18, 2), verdicts(18, 2), INCONCLUSIVE),
        (verdicts(90, 10), verdicts(88, 12), INCONCLUSIVE),
        (verdicts(0, 0, 50), verdicts(50), INCONCLUSIVE),
    ],
    ids=["the same", "better", "worse", "too few cases", "a little worse", "nothing was judged before"],
)
async def test_a_pass_rate_may_fall_by_so_much_and_no_more(
    tmp_path: Path, before: str, after: str, outcome: GateOutcome
) -> None:
    ruling = await held_against(tmp_path, cases(before), cases(after))
    assert ruling.outcome is outcome, ruling.reason


async def test_the_change_is_told_with_its_interval_and_what_would_settle_it(tmp_path: Path) -> None:
    ruling = await held_against(tmp_path, cases(verdicts(90, 10)), cases(verdicts(88, 12)))
    assert ruling.value == pytest.approx(-0.02)
    assert ruling.n == 100
    assert "The pass rate changed by -2.0 points since run 'main'" in ruling.reason
    assert "over 100 cases" in ruling.reason


async def test_only_cases_that_both_runs_judged_count(tmp_path: Path) -> None:
    ruling = await held_against(tmp_path, cases(verdicts(300)), cases(verdicts(400)))
    assert (ruling.outcome, ruling.n, ruling.unjudged) == (HELD, 300, 0)


async def test_a_case_that_broke_now_and_passed_then_counts_against_certainty(tmp_path: Path) -> None:
    ruling = await held_against(tmp_path, cases(verdicts(300)), cases(verdicts(270, 0, 30)))
    assert (ruling.outcome, ruling.unjudged) == (INCONCLUSIVE, 30)


async def test_repeats_are_averaged_in_their_case(tmp_path: Path) -> None:
    ruling = await held_against(tmp_path, tries(*["ppp"] * 300), tries(*["ppp"] * 300))
    assert (ruling.outcome, ruling.n) == (HELD, 300)


async def test_candidates_are_held_against_their_namesakes(tmp_path: Path) -> None:
    before = [*cases(verdicts(200), candidate="juno"), *cases(verdicts(100, 100), candidate="orchid")]
    after = [*cases(verdicts(200), candidate="juno"), *cases(verdicts(0, 200), candidate="orchid")]
    async with opened(tmp_path) as store:
        await keep(store, before, number=1, name="main")
        found = await ruled(store, await keep(store, after, number=2), "no_regression vs main by 5%")
    assert [(each.candidate, each.outcome) for each in found] == [("juno", HELD), ("orchid", FAILED)]


async def test_one_grader_can_be_held_to_it(tmp_path: Path) -> None:
    expression = "no_regression[choice] vs main by 2%"
    assert (await held_against(tmp_path, cases(verdicts(300)), cases(verdicts(300)), expression)).outcome is HELD


async def test_without_an_earlier_run_nothing_can_be_said(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        run = await keep(store, cases(verdicts(300)), name="main")
        (found,) = await ruled(store, run, "no_regression vs main by 2%")
        (typo,) = await ruled(store, run, "no_regression vs mian by 2%")
    assert found.outcome is INCONCLUSIVE
    assert found.reason == "There is no completed run 'main' before this one."
    assert "did you mean 'main'" in typo.reason


async def test_runs_that_are_not_alike_are_flagged(tmp_path: Path) -> None:
    ruling = await held_against(tmp_path, cases(verdicts(300)), cases(verdicts(300)), judge="offline", judge_sha256="2")
    assert ruling.outcome is HELD
    assert "The runs are not alike: judge:" in ruling.reason


async def test_cases_that_ask_something_else_now_are_left_out(tmp_path: Path) -> None:
    other = (DatasetPin(path="house.jsonl", sha256="cd" * 32, dialect="legal"),)
    then = cases(verdicts(300))
    now = [replace(each, message="Something else?") if place < 20 else each for place, each in enumerate(then)]
    async with opened(tmp_path) as store:
        await keep(store, then, number=1, name="main")
        run = await keep(store, now, number=2, datasets=other)
        (found,) = await ruled(store, run, "no_regression vs main by 2%")
    assert (found.outcome, found.n) == (HELD, 280)
    assert "20 changed cases left out." in found.reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("latest", 3),
        ("main", 2),
        ("bot", 3),
        ("00000000-0000-4000-8000-000000000001", 1),
        ("00000000-0000-4000-8000-000000000005", 5),
    ],
)
async def test_the_earlier_run_is_the_newest_completed_one_before(tmp_path: Path, text: str, expected: int) -> None:
    async with opened(tmp_path) as store:
        made = cases("p")
        runs = [
            await keep(store, made, number=1, name="main"),
            await keep(store, made, number=2, name="main"),
            await keep(store, made, number=3, name="other", agent="bot"),
            await keep(store, made, number=4, name="main"),
            await keep(store, made, number=5, name="main"),
        ]
        assert await store.earlier_run(text, runs[3]) == runs[expected - 1]


@pytest.mark.parametrize("text", ["latest", "main", "00000000-0000-4000-8000-000000000001"])
async def test_a_run_is_not_its_own_past(tmp_path: Path, text: str) -> None:
    async with opened(tmp_path) as store:
        run = await keep(store, cases("p"), name="main")
        with pytest.raises(NotFound, match="before this one"):
            await store.earlier_run(text, run)


async def test_a_run_that_did_not_finish_is_nobodys_standard(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await keep(store, cases("p"), number=1, name="main", state=RunState.INTERRUPTED)
        run = await keep(store, cases("p"), number=2, name="branch")
        with pytest.raises(NotFound, match="no completed run 'main'"):
            await store.earlier_run("main", run)
