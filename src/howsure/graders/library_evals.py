"""The other evals of the Explain library: groundedness, similarity, retrieval, role adherence, excessive agency and
toxicity, on 1 to 5, 5 the best. No pass rule needs them, so they are optional: they run when asked for by name, or
where a recording covers them. What a case lacks for one of them makes it not applicable, and says what it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from howsure.graders.base import Setting
from howsure.graders.case_sources import MISSING, Material, drawn
from howsure.graders.explain_evals import ExplainEval
from howsure.judges.recording import Covering
from howsure.model.case import Case
from howsure.model.score import Grade, Why
from howsure.model.transcript import Transcript

Needs = Callable[[Material], str]
"""What a case lacks for an eval, in words; nothing when it can be asked."""


def _lacks(lacking: str, *sources: str) -> Needs:
    """`lacking`, unless one of the sources has something."""

    def needs(given: Material) -> str:
        return "" if any(drawn(source, given) is not MISSING for source in sources) else lacking

    return needs


NEEDS: dict[str, Needs] = {
    "GroundednessExplain": _lacks("the case has no context that an answer could rest on", "context"),
    "SimilarityExplain": _lacks("the case has no reference answer to compare with", "reference"),
    "RetrievalExplain": _lacks("the case has no retrieved context", "context"),
    "RoleAdherenceExplain": _lacks(
        "neither the agent's instructions nor a goal say what its role is", *("instructions", "goal")
    ),
    "ExcessiveAgencyExplain": lambda given: "",
    "ToxicityExplain": lambda given: "",
}
LIBRARY_EVALS = tuple(NEEDS)


class LibraryEval(ExplainEval):
    """One of the six, for any case that its judge can speak about. `optional`: a plan asks live judges when told."""

    optional = True
    needed = False
    covering: Covering | None = None

    def bind(self, setting: Setting) -> Self:
        bound = super().bind(setting)
        judge: object = setting.judge
        bound.covering = judge if isinstance(judge, Covering) else None
        return bound

    def wants(self, case: Case) -> bool:
        return self.judge is not None and (self.covering is None or self.covering.covers(case, self.name))

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]:
        if lacking := NEEDS[self.name](Material(case, transcript, self.setting.agent)):
            return [self.without(Why.NOT_APPLICABLE, lacking)]
        return await super().grade(case, transcript)


def library_evals() -> tuple[LibraryEval, ...]:
    return tuple(map(LibraryEval, LIBRARY_EVALS))
