"""1,490 answers that people and GPT-4 judged: a hundred of people's verdicts are enough to correct the judge's rate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from howsure.stats.estimates import clopper_pearson
from howsure.stats.intervals import Interval, wilson
from howsure.stats.rate_correction import Correction, corrected_rate
from label_tables import label_table

pytestmark = pytest.mark.shared

LABELS, DRAWS = 100, 1000


@pytest.fixture
def verdicts(shared_data: Callable[..., Path]) -> list[tuple[bool, bool]]:
    """People's and the judge's, answer by answer."""
    lines = shared_data("openqa_eval", "nq301.jsonl").read_text(encoding="utf-8").splitlines()
    answers = [json.loads(line) for line in lines]
    return [(answer["human"] == "Yes", answer["gpt4"]["verdict"] == "Yes") for answer in answers]


def holds(interval: Interval | None, value: float) -> bool:
    assert interval is not None
    return interval[0] <= value <= interval[1]


def width(interval: Interval | None) -> float:
    assert interval is not None
    return interval[1] - interval[0]


def test_the_judge_s_own_rate_does_not_hold_people_s(verdicts: list[tuple[bool, bool]]) -> None:
    people, judge = (sum(side) for side in zip(*verdicts, strict=True))
    assert (people, judge, len(verdicts)) == (816, 768, 1490)
    assert not holds(wilson(judge, 1490), people / 1490)
    assert not holds(clopper_pearson(judge, 1490), people / 1490)


@pytest.mark.parametrize(
    ("method", "narrower"),
    [(Correction.PREDICTION_POWERED, True), (Correction.SENSITIVITY_SPECIFICITY, False)],
    ids=lambda value: getattr(value, "value", str(value)),
)
def test_a_hundred_labels_hold_people_s_rate(
    verdicts: list[tuple[bool, bool]], method: Correction, narrower: bool
) -> None:
    truth = sum(person for person, _ in verdicts) / len(verdicts)
    random, held, narrow, total = Random(1), 0, 0, 0.0
    for _ in range(DRAWS):
        random.shuffle(verdicts)
        labelled, others = verdicts[:LABELS], verdicts[LABELS:]
        labels = label_table([person for person, _ in labelled], [judge for _, judge in labelled])
        found = corrected_rate(labels, sum(judge for _, judge in others), len(others), method)
        assert found is not None
        alone = wilson(round(labels.people_passed), LABELS)
        held += holds(found.interval, truth)
        narrow += width(found.interval) < width(alone)
        total += width(found.interval) / width(alone)
    assert held >= 0.93 * DRAWS
    assert (narrow >= 0.99 * DRAWS) is narrower
    if narrower:
        assert total / DRAWS < 0.80, "three quarters of the width: worth seventy labels more"
