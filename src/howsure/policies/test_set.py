"""The rule of test sets: every criterion holds and no high-severity rule fails. Medium and low rules lower scores only;
`tools_used` and `expected_outcome` gate only where a profile names them."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.model.case import Case
from howsure.model.profile import Profile
from howsure.model.score import Grade
from howsure.model.verdict import Decision
from howsure.policies.deciding import decide

_FREE = frozenset({"tools_used", "forbidden_tools", "expected_outcome"})


def criteria_and_rules(case: Case, grades: Sequence[Grade], profile: Profile | None) -> Decision:
    """The verdict on one case of a test set."""
    return decide(grades, profile, _FREE)
