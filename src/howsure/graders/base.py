"""The contract of a grader: `Grader`, and `BindableGrader` for one that needs something of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct, field

from howsure.judges.base import Judge
from howsure.judges.dataset_policies import POLICIES
from howsure.model.agent import Agent
from howsure.model.case import Case
from howsure.model.dataset_policy import DatasetPolicy
from howsure.model.rubric import Rubric
from howsure.model.score import Grade
from howsure.model.transcript import Transcript


class Grader(Protocol):
    """Case + Transcript → grades. Raise anything: the engine's boundary attributes it to the grader."""

    name: str

    def wants(self, case: Case) -> bool:
        """Whether the case gives this grader anything to check."""
        ...

    async def grade(self, case: Case, transcript: Transcript) -> Sequence[Grade]: ...


class GraderContext(Struct, frozen=True, kw_only=True):
    """What a run offers its graders. `contracts` are JSON Schemas by name. `now` is the clock from which ages are
    counted. `marks` gives the pass mark that a profile sets for a case and a grader. `policies` say how the questions
    of a dataset are judged, by their id. `named` are the graders that the run asks for by name."""

    judge: Judge | None = None
    rubric: Rubric | None = None
    agent: Agent | None = None
    contracts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    now: Callable[[], datetime] | None = None
    marks: Callable[[Case, str], float | None] | None = None
    policies: Mapping[str, DatasetPolicy] = field(default_factory=lambda: POLICIES)
    named: frozenset[str] = frozenset()


@runtime_checkable
class BindableGrader(Protocol):
    """A grader that needs something of the run. `bind` returns the grader that has it."""

    name: str

    def bind(self, context: GraderContext) -> Grader: ...
