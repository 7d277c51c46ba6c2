"""The nine Explain evals: each one question about the answer, on 1 to 5, in whole numbers. A probability-weighted score
that the judge brings is a detail; the integer is what gates."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from howsure.graders.judged import WholeGrader
from howsure.judges.fields import plain_key
from howsure.judges.reading import read_rating
from howsure.judges.rulings import NotApplicable, Rating, Unreadable
from howsure.judges.values import Number, on_scale, value_of
from howsure.model.case import Case, World
from howsure.model.expectation import Qualities
from howsure.model.score import LIKERT
from howsure.policies.profiles import EXPLAIN_EVALS

_DETAILS = {"probscore": "prob_score", "thoughtchain": "thought_chain", "chainofthought": "thought_chain"}


class ExplainEval(WholeGrader):
    """One of the nine, for the cases that name it."""

    scale = LIKERT
    only_with = (Qualities,)
    only_in = (World.EXPLAIN,)

    def __init__(self, name: str) -> None:
        self.name = name

    def wants(self, case: Case) -> bool:
        return case.world == World.EXPLAIN and any(
            isinstance(expected, Qualities) and self.name in expected.names for expected in case.expectations
        )

    def read(self, content: Any) -> Rating | NotApplicable:
        ruling = read_rating(content, LIKERT, whole=True)
        if isinstance(ruling, NotApplicable) or not ruling.details:
            return ruling
        details = {_DETAILS.get(plain_key(key), key): value for key, value in ruling.details.items()}
        if details.get("prob_score") is not None:
            details["prob_score"] = _probability_weighted(details["prob_score"])
        return replace(ruling, details=details)


def _probability_weighted(said: Any) -> float:
    value = value_of(said)
    if not isinstance(value, Number):
        raise Unreadable(f"the probability-weighted score is {said!r}")
    return on_scale(value, LIKERT, whole=False)


def explain_evals() -> tuple[ExplainEval, ...]:
    return tuple(ExplainEval(name) for name in EXPLAIN_EVALS)
