"""The contract of a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from howsure.model.case import Case
from howsure.model.profile import Profile
from howsure.model.score import Grade
from howsure.model.verdict import Decision


class Policy(Protocol):
    """A pure function from grades to a verdict.

    `profile` None: the policy's own default (or the one the case names).
    """

    def __call__(self, case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision: ...
