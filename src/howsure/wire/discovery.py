"""What a service offers to the caller: who it is, which agents it may see, and which targets, judges, graders and
profiles its runs may name."""

from __future__ import annotations

from datetime import datetime

from howsure.wire.admin import KeyScopeName
from howsure.wire.base import WireShape


class CallerIdentity(WireShape, frozen=True, kw_only=True):
    """The caller of this request. `organization_id` and `agent_ids` are null if it may see all of them."""

    name: str
    key_id: str | None
    scopes: list[KeyScopeName]
    permissions: list[str]
    organization_id: str | None
    agent_ids: list[str] | None


class KnownAgent(WireShape, frozen=True, kw_only=True):
    """An agent that was described or has runs."""

    agent_id: str
    agent_name: str | None
    described: bool
    runs: int
    latest_run_at: datetime | None


class OfferedTarget(WireShape, frozen=True, kw_only=True):
    """A target that a run may name; the default one is asked where it names none."""

    name: str
    default: bool


class OfferedJudge(WireShape, frozen=True, kw_only=True):
    """A judge that a run may name as `eval_model`; the default one judges where it names none."""

    name: str
    default: bool


class OfferedGrader(WireShape, frozen=True, kw_only=True):
    """A grader that a run may have."""

    name: str
    description: str


class OfferedProfile(WireShape, frozen=True, kw_only=True):
    """A profile: the marks that graders must reach, and their weights."""

    name: str
    marks: dict[str, float]
    weights: dict[str, float]
    hard_fails: dict[str, float]
    composite_mark: float | None
