"""Gates are read as they are meant, or refused with the column and what was expected there."""

from __future__ import annotations

import pytest

from howsure.errors import ConfigInvalid
from howsure.policies.gates import (
    EXAMPLES,
    AllChecksPass,
    BoundSign,
    ErrorLimit,
    GateBound,
    GateCondition,
    GateScope,
    Latency,
    MeanGrade,
    NoRegression,
    PassRate,
    RepeatedPass,
    SpendingLimit,
    SpendingSource,
    SpendingUnit,
    read_gate,
    read_gates,
)


def at_least(limit: float) -> GateBound:
    return GateBound(BoundSign.AT_LEAST, limit)


def at_most(limit: float) -> GateBound:
    return GateBound(BoundSign.AT_MOST, limit)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("pass_rate >= 0.9", PassRate(bound=at_least(0.9))),
        ("pass_rate>=90%", PassRate(bound=at_least(0.9))),
        ("  pass_rate   ≥ 90 % ", PassRate(bound=at_least(0.9))),
        ("pass_rate > .5", PassRate(bound=GateBound(BoundSign.MORE, 0.5))),
        ("pass_rate < 0.5", PassRate(bound=GateBound(BoundSign.LESS, 0.5))),
        ("pass_rate >= 100%", PassRate(bound=at_least(1.0))),
        ("pass_rate[criteria] >= 0.9", PassRate(scope=GateScope(grader="criteria"), bound=at_least(0.9))),
        ("pass_rate[grader:criteria] >= 0.9", PassRate(scope=GateScope(grader="criteria"), bound=at_least(0.9))),
        ("pass_rate[rule:SAFETY] >= 0.9", PassRate(scope=GateScope(part="SAFETY"), bound=at_least(0.9))),
        ("pass_rate[tag:billing] >= 0.8", PassRate(scope=GateScope(labels={"tag": ("billing",)}), bound=at_least(0.8))),
        (
            "pass_rate[criteria, tag:a, tag:b, candidate:openai:gpt-5, difficulty:hard] >= 0.8",
            PassRate(
                scope=GateScope(
                    grader="criteria", candidate="openai:gpt-5", labels={"tag": ("a", "b"), "difficulty": ("hard",)}
                ),
                bound=at_least(0.8),
            ),
        ),
        (
            "mean[response_correctness] >= 4",
            MeanGrade(scope=GateScope(grader="response_correctness"), bound=at_least(4)),
        ),
        ("mean[token_usage] <= 0.02", MeanGrade(scope=GateScope(grader="token_usage"), bound=at_most(0.02))),
        ("mean[delta] >= -1.5", MeanGrade(scope=GateScope(grader="delta"), bound=at_least(-1.5))),
        ("no_regression vs main by 2%", NoRegression(versus="main", by=0.02)),
        ('no_regression vs "last week" by 0.02', NoRegression(versus="last week", by=0.02)),
        (
            "no_regression[criteria] vs latest by 0%",
            NoRegression(versus="latest", by=0, scope=GateScope(grader="criteria")),
        ),
        ("rule:SAFETY all", AllChecksPass(part="SAFETY")),
        ("rule: never ask for a password all", AllChecksPass(part="never ask for a password")),
        ('criterion:"says it all" all', AllChecksPass(part="says it all")),
        ("p95_latency <= 3s", Latency(share=0.95, bound=at_most(3))),
        (
            "p50_latency[tag:long] <= 800ms",
            Latency(share=0.5, scope=GateScope(labels={"tag": ("long",)}), bound=at_most(0.8)),
        ),
        ("p99.9_latency < 1.5 m", Latency(share=0.9990000000000001, bound=GateBound(BoundSign.LESS, 90))),
        ("mean_latency <= 2 s", Latency(share=None, bound=at_most(2))),
        ("cost <= 2 USD", SpendingLimit(of=SpendingUnit.COST, bound=at_most(2))),
        ("cost <= $0.5", SpendingLimit(of=SpendingUnit.COST, bound=at_most(0.5))),
        ("cost[agent] <= 2usd", SpendingLimit(of=SpendingUnit.COST, source=SpendingSource.AGENT, bound=at_most(2))),
        (
            "cost_per_case <= 0.01 USD",
            SpendingLimit(of=SpendingUnit.COST, source=SpendingSource.AGENT, per_case=True, bound=at_most(0.01)),
        ),
        ("tokens <= 500k", SpendingLimit(of=SpendingUnit.TOKENS, bound=at_most(500_000))),
        (
            "tokens[run] <= 1.5M",
            SpendingLimit(of=SpendingUnit.TOKENS, source=SpendingSource.RUN, bound=at_most(1_500_000)),
        ),
        ("tokens <= 500_000", SpendingLimit(of=SpendingUnit.TOKENS, bound=at_most(500_000))),
        ("errors <= 1%", ErrorLimit(bound=at_most(0.01), counted=False)),
        ("errors <= 3", ErrorLimit(bound=at_most(3), counted=True)),
        ("pass^3 >= 0.8", RepeatedPass(k=3, every=True, bound=at_least(0.8))),
        ("pass@10 >= 90%", RepeatedPass(k=10, every=False, bound=at_least(0.9))),
    ],
)
def test_a_gate_is_read_as_it_is_meant(text: str, asked: GateCondition) -> None:
    assert read_gate(text).condition == asked


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ("", 1, "expected what to look at, such as `pass_rate >= 0.9`, found nothing more"),
        (">= 0.9", 1, "expected what to look at"),
        ("pass_rat >= 0.9", 1, "'pass_rat' is nothing a gate can look at; did you mean pass_rate"),
        ("latency <= 3s", 1, "did you mean p95_latency or p50_latency?"),
        ("charm >= 0.9", 1, "'charm' is nothing a gate can look at; "),
        ("pass_rate", 10, "expected one of >=, <=, > and <, found nothing more"),
        ("pass_rate == 0.9", 11, "expected one of >=, <=, > and <, found '=='"),
        ("pass_rate => 0.9", 11, "expected one of >=, <=, > and <, found '=>'"),
        ("pass_rate >=", 13, "expected a share, such as 0.9 or 90%, found nothing more"),
        ("pass_rate >=  90", 15, "expected a share from 0 to 1 or from 0% to 100%, found 90; did you mean 90%?"),
        ("pass_rate >= 101%", 14, "expected a share from 0 to 1 or from 0% to 100%, found 101"),
        ("pass_rate >= -0.1", 14, "expected a share from 0 to 1"),
        ("pass_rate >= nan", 14, "expected a share, such as 0.9 or 90%, found 'nan'"),
        ("pass_rate >= 0.9 or so", 18, "expected the end, found 'or'"),
        ("pass_rate[tag:billing >= 0.9", 10, "expected `]` after the selection that begins here"),
        ("pass_rate[tag:] >= 0.9", 10, "found 'tag:'"),
        ("pass_rate[] >= 0.9", 10, "expected the name of a grader, rule:ID, candidate:NAME or a label"),
        ("pass_rate[a, b] >= 0.9", 10, "expected one grader in the brackets, found 'a' and 'b'"),
        ("mean >= 4", 6, "expected its name, as in mean[response_correctness]"),
        ("mean[tag:x] >= 4", 5, "expected its name, as in mean[response_correctness]"),
        ("mean[rule:x] >= 4", 5, "expected the name of a grader, candidate:NAME or a label"),
        ("p95_latency <= 3", 17, "expected a unit of time after the number: ms, s or m, found nothing more"),
        ("p95_latency <= 3 hours", 18, "expected a unit of time after the number: ms, s or m, found 'hours'"),
        ("p95_latency <= -3s", 16, "found the negative -3"),
        ("p100_latency <= 3s", 2, "expected a percentile between 0 and 100, found 100"),
        ("p95_latency[criteria] <= 3s", 12, "expected candidate:NAME or a label of cases such as tag:billing"),
        ("cost <= 2", 10, "expected USD after the number, found nothing more"),
        ("cost <= 2 EUR", 11, "expected USD after the number, found 'EUR'"),
        ("cost[judge] <= 2 USD", 5, "expected one of [agent], [run], [all], found '[judge]'"),
        ("tokens <= many", 11, "expected a count, such as 500k, found 'many'"),
        ("tokens <= 5 apples", 13, "expected the end, found 'apples'"),
        ("errors <= 0.01", 11, "expected a share such as 1%, or a whole number of cases, found 0.01; did you mean 1%?"),
        ("errors <= 200%", 11, "expected a share up to 100%, found 200%"),
        ("pass^0 >= 0.8", 6, "expected a number of tries from 1 after pass^, found 0"),
        ("no_regression main by 2%", 15, "expected `vs` and an earlier run"),
        ("no_regression vs", 17, "expected an earlier run: its name, its id or `latest`, found nothing more"),
        ("no_regression vs main", 22, "expected `by` and the largest drop that is acceptable"),
        ("no_regression vs main by much", 26, "expected a share, such as 0.9 or 90%, found 'much'"),
        ("rule SAFETY all", 6, "expected `:` and the id or name of a rule or criterion"),
        ("rule:SAFETY", 12, "expected `all`, as in `rule:SAFETY all`"),
        ("rule:SAFETY some", 17, "expected `all`"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_column(text: str, column: int, told: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        read_gate(text)
    assert str(refused.value).startswith(f"gate {text.strip()!r}, column {column}: ")
    assert told in str(refused.value)


def test_every_gate_that_cannot_be_read_is_told() -> None:
    with pytest.raises(ConfigInvalid) as refused:
        read_gates(["pass_rat >= 1", "pass_rate >= 0.9", "cost <= 2"])
    assert "'pass_rat >= 1'" in str(refused.value)
    assert "'cost <= 2'" in str(refused.value)


def test_the_same_gate_twice_is_one() -> None:
    assert [gate.expression for gate in read_gates(["errors <= 1%", "errors  <= 1%", "errors <= 2%"])] == [
        "errors <= 1%",
        "errors <= 2%",
    ]


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_shape_that_help_shows_is_read(text: str) -> None:
    assert read_gate(text).expression == text


@pytest.mark.parametrize("text", EXAMPLES)
def test_what_was_read_reads_the_same_again(text: str) -> None:
    once = read_gate(f" {text.replace(' ', '   ')} ")
    assert read_gate(once.expression) == once


@pytest.mark.parametrize(
    ("sign", "below", "at", "above"),
    [
        (BoundSign.AT_LEAST, False, True, True),
        (BoundSign.MORE, False, False, True),
        (BoundSign.AT_MOST, True, True, False),
        (BoundSign.LESS, True, False, False),
    ],
)
def test_a_value_on_the_limit_is_good_where_the_sign_says_so(
    sign: BoundSign, below: bool, at: bool, above: bool
) -> None:
    assert [GateBound(sign, 2).good(value) for value in (1, 2, 3)] == [below, at, above]
    assert sign.upward is above
