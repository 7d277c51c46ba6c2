"""The split of noise, from the scores of a run: what counts as a judgement, and when nothing can be told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from howsure.model.result import Result
from howsure.model.score import LIKERT, Part, Score
from howsure.services.compare.compare import CompareRequest, compare_stored
from howsure.services.compare.variance import Judgements, collect_judgements, judge_values, read_noise, split_noise
from howsure.store.store import Store
from two_runs import AFTER, BEFORE, keep, tried

PANEL = [
    {"judge": "a", "value": 1.0, "votes": [{"vote": 1, "value": 1.0}, {"vote": 2, "value": 0.0}]},
    {"judge": "b", "value": 0.0},
    {"judge": "c", "error": "no reply"},
]


@pytest.mark.parametrize(
    ("judge", "details", "expected"),
    [
        ("", {}, []),
        ("offline", {}, [4.0]),
        ("x", {"votes": [{"vote": 1, "value": 3}, {"vote": 2, "value": 5.0}]}, [3.0, 5.0]),
        ("x", {"votes": [{"vote": 1, "value": 3}, {"vote": 2, "error": "no reply"}, {"value": None}]}, [3.0]),
        ("panel", {"panel": PANEL}, [1.0, 0.0, 0.0]),
        ("x", {"votes": 3, "panel": "yes"}, [4.0]),
    ],
    ids=["a program", "asked once", "votes", "a vote that failed", "a panel", "words that mean something else"],
)
def test_every_value_a_judge_gave_counts(judge: str, details: dict[str, Any], expected: list[float]) -> None:
    assert judge_values(Score(name="quality", value=4.0, scale=LIKERT, judge=judge, details=details)) == expected


def test_the_agent_s_part_and_the_judge_s_are_told_apart() -> None:
    # The judge always says the same of one try; the tries of a case differ by 2.
    steady: Judgements = {"quality": {(f"q{n}", ""): [[1.0, 1.0], [3.0, 3.0]] for n in range(8)}}
    (found,) = split_noise(steady, second=True)
    assert (found.grader, found.second, found.cases, found.tries, found.judgements) == ("quality", True, 8, 16, 32)
    assert (found.agent.value, found.judge.value, found.judge_share) == (2.0, 0.0, 0.0)
    # Eight degrees of freedom: 2 × 8 / 17.535 and 2 × 8 / 2.180 of the table of chi-squared.
    assert found.agent.interval == pytest.approx((0.9125, 7.340), abs=1e-3)
    # The tries agree; the judge does not agree with itself.
    moody: Judgements = {"quality": {(f"q{n}", ""): [[1.0, 3.0], [1.0, 3.0]] for n in range(6)}}
    (found,) = split_noise(moody)
    assert (found.agent.value, found.judge.value, found.judge_share) == (0.0, 2.0, 1.0)


def test_without_any_disagreement_there_is_no_share() -> None:
    (found,) = split_noise({"quality": {("q1", ""): [[1.0, 1.0], [1.0, 1.0]]}})
    assert found.judge_share is None


@pytest.mark.parametrize(
    "tries",
    [[[1.0], [3.0]], [[1.0, 3.0]]],
    ids=["every try judged once", "every case tried once"],
)
def test_what_cannot_be_told_apart_is_not_shown(tries: list[list[float]]) -> None:
    assert split_noise({"quality": {("q1", ""): tries, ("q2", ""): tries}}) == []


def test_criteria_are_units_of_their_own() -> None:
    judged: Judgements = {}
    votes = {"votes": [{"value": 1.0}, {"value": 0.0}]}
    scores = tuple(
        Score(name="criteria", value=1.0, judge="x", part=Part(id=id, text=id), details=votes) for id in ("c1", "c2")
    )
    collect_judgements(judged, [tried("q1", True, grades=scores, repeat=r) for r in (1, 2)])
    both = [[1.0, 0.0], [1.0, 0.0]]
    assert judged == {"criteria": {("q1", "c1"): both, ("q1", "c2"): both}}


def rated(case: str, repeat: int, *values: float) -> Result:
    votes = {"votes": [{"vote": number, "value": value} for number, value in enumerate(values, start=1)]}
    rating = Score(name="quality", value=values[0], scale=LIKERT, judge="x", details=votes if len(values) > 1 else {})
    return tried(case, True, grades=(rating,), repeat=repeat)


async def test_a_comparison_tells_whose_noise_it_is_on_each_side(tmp_path: Path) -> None:
    moody = [rated(f"q{n}", repeat, 2.0, 4.0) for n in range(6) for repeat in (1, 2)]
    once = [rated(f"q{n}", repeat, 2.0) for n in range(6) for repeat in (1, 2)]
    async with await Store.open(tmp_path / "howsure.db") as store:
        await keep(store, BEFORE, moody)
        await keep(store, AFTER, once)
        (pair,) = (await compare_stored(store, CompareRequest(runs=(BEFORE, AFTER)))).pairs
        assert await read_noise(store, AFTER) == []
    (found,) = pair.noise
    assert (found.grader, found.second, found.judge_share, found.judgements) == ("quality", False, 1.0, 24)


async def test_a_long_run_is_read_page_by_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("howsure.services.compare.variance.PAGE", 5)
    async with await Store.open(tmp_path / "howsure.db") as store:
        await keep(store, BEFORE, [rated(f"q{n}", repeat, 2.0, 4.0) for n in range(6) for repeat in (1, 2)])
        (found,) = await read_noise(store, BEFORE)
    assert (found.cases, found.tries) == (6, 12)
