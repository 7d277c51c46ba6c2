"""A Rubric: an agent's standing rules, versioned. (A case's own statements are criteria: see expectation.py.)"""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct, field

OUTCOME_CHECK = "outcome_check"
"""The key in the metadata of a rule for a condition on the final state that answers the rule without a judge."""


class Severity(Enum):
    """A broken high-severity rule fails the whole case; the others only lower its scores."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Scope(Enum):
    """The kind of component that a rule is about."""

    PROMPT = "prompt"
    KNOWLEDGE_BASE = "knowledge_base"
    FUNCTION = "function"
    GENERAL = "general"


class Rule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One standing rule."""

    id: str
    name: str
    severity: Severity
    category: str = ""
    description: str = ""
    prompt_reference: str = ""
    pass_conditions: tuple[str, ...] = ()
    fail_conditions: tuple[str, ...] = ()
    violation: str = ""
    correct: str = ""
    scope: Scope | None = None
    component_ids: tuple[str, ...] = ()
    component_names: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)


class Rubric(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A named, versioned list of rules."""

    name: str
    rules: tuple[Rule, ...]
    id: str = ""
    agent_id: str = ""
    version: int = 1
    description: str = ""
    severity_definitions: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
