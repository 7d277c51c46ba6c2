"""360 dialogue turns with people's ratings: a trained judge's rank correlations as published, and the offline one's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from howsure.judges.base import Question
from howsure.judges.offline.judge import OfflineJudge
from howsure.judges.offline.opinions import MEASURED, AgreementKind, NoOpinion, OfflineOpinion
from howsure.model.case import SingleTurn
from howsure.stats.agreement import spearman
from howsure.testing import a_case, a_transcript

pytestmark = pytest.mark.shared

Shared = Callable[..., Path]


def turns(shared_data: Shared, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(shared_data("unieval", name).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    ("rated", "rho"),
    [("coherence", 0.613), ("groundedness", 0.575), ("naturalness", 0.514), ("overall", 0.663)],
)
def test_the_trained_judge_s_spearman_over_all_turns(shared_data: Shared, rated: str, rho: float) -> None:
    judged = turns(shared_data, "topical_chat_result.json")
    assert len(judged) == 360
    people = [turn["scores"][rated] for turn in judged]
    found = spearman([turn["predict_scores"][rated] for turn in judged], people)
    assert found is not None
    assert round(found, 3) == rho


@pytest.mark.parametrize(
    "figure", [each for each in MEASURED if each.kind is AgreementKind.CORRELATION], ids=lambda each: each.what
)
def test_the_offline_judge_s_spearman_is_what_it_says(shared_data: Shared, figure: Any) -> None:
    grader, _, rated = figure.what.partition(" against rated ")
    values, people = [], []
    for turn in turns(shared_data, "topical_chat.json"):
        said = [line for line in turn["source"].split("\n") if line.strip()]
        case = a_case(input=SingleTurn(message=said[-1], context=turn["context"]))
        view = OfflineJudge().view(Question(grader=grader, case=case, transcript=a_transcript(turn["system_output"])))
        assert isinstance(view, OfflineOpinion)
        values.append(view.value)
        people.append(turn["scores"][rated])
    found = spearman(values, people)
    assert found is not None
    assert round(found, 3) == figure.value
    assert found >= 0.2, "weak, and better than nothing"


@pytest.mark.parametrize("grader", ["CoherenceExplain", "FluencyExplain", "RelevanceExplain"])
def test_where_it_is_no_better_than_chance_it_cannot_tell(shared_data: Shared, grader: str) -> None:
    silent = 0
    for turn in turns(shared_data, "topical_chat.json"):
        said = [line for line in turn["source"].split("\n") if line.strip()]
        case = a_case(input=SingleTurn(message=said[-1], context=turn["context"]))
        view = OfflineJudge().view(Question(grader=grader, case=case, transcript=a_transcript(turn["system_output"])))
        silent += isinstance(view, NoOpinion)
    assert silent >= 350
