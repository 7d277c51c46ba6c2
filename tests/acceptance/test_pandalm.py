"""999 pairs of answers, three annotators, and a model's verdicts with 25 that are garbage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from howsure.judges.base import Question
from howsure.judges.offline.judge import OfflineJudge
from howsure.judges.offline.opinions import MEASURED, AgreementKind, OfflineOpinion
from howsure.stats.agreement import agreement, cohen_kappa, fleiss_counts, fleiss_kappa, krippendorff_alpha
from howsure.testing import a_case, a_transcript

pytestmark = pytest.mark.shared

Shared = Callable[..., Path]
TIE = 0
READ = {"1": 1, "2": 2, "Tie": TIE}


def read(shared_data: Shared, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(shared_data("pandalm", "data", name).read_text(encoding="utf-8"))
    return found


@pytest.fixture
def annotators(shared_data: Shared) -> list[list[int]]:
    pairs = read(shared_data, "testset-v1.json")
    assert len(pairs) == 999
    return [[pair[f"annotator{number}"] for pair in pairs] for number in (1, 2, 3)]


def majority(annotators: list[list[int]]) -> list[int]:
    return [Counter(votes).most_common(1)[0][0] for votes in zip(*annotators, strict=True)]


def test_the_annotators_agree_in_pairs_as_published(annotators: list[list[int]]) -> None:
    kappas = [cohen_kappa(one, other) for one, other in combinations(annotators, 2)]
    assert [round(kappa, 3) for kappa in kappas if kappa is not None] == [0.852, 0.879, 0.862]


def test_the_three_of_them_together(annotators: list[list[int]]) -> None:
    votes = list(zip(*annotators, strict=True))
    fleiss, alpha = fleiss_kappa(fleiss_counts(votes)), krippendorff_alpha(votes)
    assert fleiss is not None
    assert alpha is not None
    assert round(fleiss, 3) == 0.864
    assert fleiss < alpha < fleiss + 0.001, "alpha corrects kappa for the number of ratings"


@pytest.mark.parametrize(
    ("garbage", "accuracy"),
    [(TIE, 0.7107), ("left out", 0.7156), ("wrong", 0.6977)],
    ids=["garbage as ties", "readable ones alone", "garbage as wrong"],
)
def test_the_accuracy_depends_on_what_garbage_is_taken_for(
    shared_data: Shared, annotators: list[list[int]], garbage: int | str, accuracy: float
) -> None:
    said = [READ.get(reply["gpt_result"], garbage) for reply in read(shared_data, "gpt-3.5-turbo-testset-v1.json")]
    pairs = [pair for pair in zip(said, majority(annotators), strict=True) if pair[0] != "left out"]
    rate = agreement([one for one, _ in pairs], [other for _, other in pairs]).rate
    assert rate is not None
    assert round(rate, 4) == accuracy


def test_precision_recall_and_f1_over_the_three_classes_are_those_that_were_published(
    shared_data: Shared, annotators: list[list[int]]
) -> None:
    replies = [reply["gpt_result"] for reply in read(shared_data, "gpt-3.5-turbo-testset-v1.json")]
    assert sum(reply not in READ for reply in replies) == 25
    truth, said = majority(annotators), [READ.get(reply, TIE) for reply in replies]
    met = [sum(one == other == label for one, other in zip(truth, said, strict=True)) for label in (TIE, 1, 2)]
    true, named = ([list(each).count(label) for label in (TIE, 1, 2)] for each in (truth, said))
    precision = fmean(both / count for both, count in zip(met, named, strict=True))
    recall = fmean(both / count for both, count in zip(met, true, strict=True))
    f1 = fmean(2 * both / (one + other) for both, one, other in zip(met, true, named, strict=True))
    figures = (sum(met) / len(truth), precision, recall, f1)
    assert [round(figure, 4) for figure in figures] == [0.7107, 0.5879, 0.5736, 0.5755]


def test_the_offline_judge_prefers_what_people_prefer_as_often_as_it_says(
    shared_data: Shared, annotators: list[list[int]]
) -> None:
    points, count = 0.0, 0
    for pair, preferred in zip(read(shared_data, "testset-v1.json"), majority(annotators), strict=True):
        if preferred == TIE:
            continue
        case = a_case(message=f"{pair['instruction']}\n{pair['input']}")
        one, other = (helpful(case, str(pair[f"response{number}"])) for number in (1, 2))
        points += 0.5 if one == other else float((one > other) is (preferred == 1))
        count += 1
    (figure,) = (each for each in MEASURED if each.kind is AgreementKind.PREFERENCE and each.data.startswith("pandalm"))
    assert (count, round(points / count, 3)) == (figure.n, figure.value)
    assert points / count >= 0.6


def helpful(case: Any, answer: str) -> float:
    view = OfflineJudge().view(Question(grader="HelpfulnessExplain", case=case, transcript=a_transcript(answer)))
    assert isinstance(view, OfflineOpinion)
    return view.value
