"""Which policy decides in which world."""

from __future__ import annotations

from assay.model.case import World
from assay.policies.base import Policy
from assay.policies.explain import explain
from assay.policies.golden import golden
from assay.policies.legal import legal
from assay.policies.plain import plain
from assay.policies.test_set import criteria_and_rules


def builtin_policies() -> dict[str, Policy]:
    """By world; `plain` is also for the worlds of plug-ins."""
    return {
        World.EXPLAIN: explain,
        World.GOLDEN: golden,
        World.TEST_SET: criteria_and_rules,
        World.LEGAL: legal,
        World.PLAIN: plain,
    }
