"""Which policy decides in which world."""

from __future__ import annotations

from howsure.model.case import World
from howsure.policies.base import Policy
from howsure.policies.explain import explain
from howsure.policies.golden import golden
from howsure.policies.legal import legal
from howsure.policies.plain import plain
from howsure.policies.test_set import criteria_and_rules


def builtin_policies() -> dict[str, Policy]:
    """By world; `plain` is also for the worlds of plug-ins."""
    return {
        World.EXPLAIN: explain,
        World.GOLDEN: golden,
        World.TEST_SET: criteria_and_rules,
        World.LEGAL: legal,
        World.PLAIN: plain,
    }
