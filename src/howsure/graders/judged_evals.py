"""The judged evals of the golden world, and those of the Explain library: each of these asks one question about the
answer, on 1 to 5 in whole numbers. A probability-weighted score that the judge brings is a detail; the integer gates.

Nine of them run for the cases that name them. The other six (groundedness, similarity, retrieval, role adherence,
excessive agency, toxicity) are in no pass rule: they run if they are selected by name or if a recording covers them. If
a case lacks something that one of these needs, the grade is not applicable and says what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from msgspec.structs import replace

from howsure.graders.base import GraderContext
from howsure.graders.judged_grader import JudgedGrader
from howsure.graders.templates import MISSING, SourceMaterial, read_source
from howsure.judges.base import SelectiveJudge
from howsure.judges.replies import normalize_key, parse_value, read_rating, read_share, require_on_scale
from howsure.judges.rulings import OFF_SCALE, NotApplicable, Rating, Ruling, UnparsableReply
from howsure.judges.verdict_sentences import StatedNumber
from howsure.model.case import Case, World, user_turns
from howsure.model.expectation import Expectation, FinalState, Qualities, ReferenceAnswer, ToolCalls, Trajectory
from howsure.model.score import LIKERT, ZERO_TO_FIVE, Grade, UnscoredReason
from howsure.model.transcript import Role, Transcript
from howsure.policies.verdicts import EXPLAIN_EVALS, JUDGED_SHARES, JUDGED_TO_FIVE

MULTI_TURN = "multi_turn_"
SINGLE_TURN = "the conversation has a single turn"
_VERIFIED: dict[str, tuple[type[Expectation], ...]] = {
    "tool_usage_accuracy_judged": (ToolCalls,),
    "trajectory_accuracy_judged": (Trajectory,),
    "state_management_fidelity_judged": (FinalState,),
    "response_correctness": (ReferenceAnswer,),
}


class OptionalJudgedGrader(JudgedGrader):
    """Wants only cases that its judge covers. `optional`: a plan with a live judge includes it only if it is
    selected."""

    optional = True
    covering: SelectiveJudge | None = None

    def bind(self, context: GraderContext) -> Self:
        bound = super().bind(context)
        judge: object = context.judge
        bound.covering = judge if isinstance(judge, SelectiveJudge) else None
        return bound

    def judge_covers(self, case: Case) -> bool:
        return self.judge is not None and (self.covering is None or self.covering.covers(case, self.name))


class GoldenJudgedGrader(OptionalJudgedGrader):
    """A judged eval of golden cases."""

    only_in = (World.GOLDEN,)

    def __init__(self, name: str) -> None:
        self.name = name
        self.verifies = _VERIFIED.get(name, ())

    def wants(self, case: Case) -> bool:
        return case.world == World.GOLDEN and self.judge_covers(case)


class RatedToFive(GoldenJudgedGrader):
    """A rating from 0 to 5."""

    scale = ZERO_TO_FIVE
    may_not_apply = True


class ShareOfVerdicts(GoldenJudgedGrader):
    """The share of the judge's own criteria that hold. Evals named `multi_turn_…` need several turns."""

    def read(self, content: Any) -> Ruling:
        return read_share(content)

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        if lacks_turns(self.name, case, transcript):
            return [self.unscored(UnscoredReason.NOT_APPLICABLE, SINGLE_TURN)]
        return await super().grade(case, transcript)


def golden_judged() -> tuple[GoldenJudgedGrader, ...]:
    return (*map(RatedToFive, JUDGED_TO_FIVE), *map(ShareOfVerdicts, JUDGED_SHARES))


def lacks_turns(name: str, case: Case, transcript: Transcript) -> bool:
    """Whether the eval needs several user messages, and there is only one."""
    sent = sum(message.role is Role.USER for message in transcript.messages)
    return name.startswith(MULTI_TURN) and max(sent, len(user_turns(case.input))) < 2


_DETAILS = {"probscore": "prob_score", "thoughtchain": "thought_chain", "chainofthought": "thought_chain"}


class ExplainEval(JudgedGrader):
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
                raise UnparsableReply(f"the probability-weighted score is {details['prob_score']!r}", OFF_SCALE)
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
