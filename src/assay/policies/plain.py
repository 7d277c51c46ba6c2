"""The rule of cases that belong to no world: every Score that has a mark must reach it; a profile adds marks."""

from __future__ import annotations

from collections.abc import Sequence

from assay.model.case import Case
from assay.model.profile import Profile
from assay.model.score import Grade
from assay.model.verdict import Decision
from assay.policies.deciding import decide
from assay.policies.legal import normalized


def plain(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on any other case."""
    return decide(normalized(grades, profile), profile)
