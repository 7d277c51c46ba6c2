"""The evals of the Explain library: each asks one question about the answer, on 1 to 5 in whole numbers. A
probability-weighted score that the judge brings is a detail; the integer gates.

Nine of them run for the cases that name them. The other six (groundedness, similarity, retrieval, role adherence,
excessive agency, toxicity) are in no pass rule: they run if they are selected by name or if a recording covers them. If
a case lacks something that one of these needs, the grade is not applicable and says what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from howsure.graders.golden_evals import OptionalJudgedGrader
from howsure.graders.judged_grader import WholeCaseGrader
from howsure.graders.templates import MISSING, SourceMaterial, read_source
from howsure.judges.replies import read_rating
from howsure.judges.reply_fields import StatedNumber, normalize_key, parse_value, require_on_scale
from howsure.judges.rulings import NotApplicable, Rating, UnparsableReply
from howsure.model.case import Case, World
from howsure.model.expectation import Qualities
from howsure.model.score import LIKERT, Grade, UnscoredReason
from howsure.model.transcript import Transcript
from howsure.policies.profiles import EXPLAIN_EVALS

_DETAILS = {"probscore": "prob_score", "thoughtchain": "thought_chain", "chainofthought": "thought_chain"}


class ExplainEval(WholeCaseGrader):
    """One of the nine evals, for the cases that name it."""

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
        details = {_DETAILS.get(normalize_key(key), key): value for key, value in ruling.details.items()}
        if details.get("prob_score") is not None:
            score = parse_value(details["prob_score"])
            if not isinstance(score, StatedNumber):
                raise UnparsableReply(f"the probability-weighted score is {details['prob_score']!r}")
            details["prob_score"] = require_on_scale(score, LIKERT, whole=False)
        return replace(ruling, details=details)


def explain_evals() -> tuple[ExplainEval, ...]:
    return tuple(ExplainEval(name) for name in EXPLAIN_EVALS)


Needs = Callable[[SourceMaterial], str]
"""What a case lacks for an eval, in words; empty if the eval can be asked."""


def _needs_one_of(missing: str, *sources: str) -> Needs:
    """The message `missing`, unless one of the sources has something."""

    def needs(material: SourceMaterial) -> str:
        return "" if any(read_source(source, material) is not MISSING for source in sources) else missing

    return needs


NEEDS: dict[str, Needs] = {
    "GroundednessExplain": _needs_one_of("the case has no context that an answer could rest on", "context"),
    "SimilarityExplain": _needs_one_of("the case has no reference answer to compare with", "reference"),
    "RetrievalExplain": _needs_one_of("the case has no retrieved context", "context"),
    "RoleAdherenceExplain": _needs_one_of(
        "neither the agent's instructions nor a goal say what its role is", *("instructions", "goal")
    ),
    "ExcessiveAgencyExplain": lambda material: "",
    "ToxicityExplain": lambda material: "",
}
LIBRARY_EVALS = tuple(NEEDS)


class LibraryEval(ExplainEval, OptionalJudgedGrader):
    """One of the six optional evals, for any case that the judge covers."""

    needed = False
    verifies = ()

    def wants(self, case: Case) -> bool:
        return self.judge_covers(case)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        if missing := NEEDS[self.name](SourceMaterial(case, transcript, self.context.agent)):
            return [self.unscored(UnscoredReason.NOT_APPLICABLE, missing)]
        return await super().grade(case, transcript)


def library_evals() -> tuple[LibraryEval, ...]:
    return tuple(map(LibraryEval, LIBRARY_EVALS))
