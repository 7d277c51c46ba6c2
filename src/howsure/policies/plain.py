"""The rule of cases that belong to no world: every Score that has a mark must reach it; a profile adds marks."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.model.case import Case
from howsure.model.profile import Profile
from howsure.model.score import Grade
from howsure.model.verdict import Decision
from howsure.policies.deciding import decide
from howsure.policies.legal import normalized


def plain(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on any other case."""
    return decide(normalized(grades, profile), profile)
