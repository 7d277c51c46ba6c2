"""How much of a store a user may see: one organization, some of its agents, or everything; and the roles that a user
may have there. What each role may do is in `services/host/roles.py`."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class AccessRole(Enum):
    """The role of a user in an organisation, or for some of its agents."""

    VIEWER = "viewer"
    LABELLER = "labeller"
    EDITOR = "editor"
    RUNNER = "runner"
    ADMIN = "admin"


class AccessScope(Struct, frozen=True, kw_only=True):
    """None: all. What belongs to no agent is visible only to those who may see all agents."""

    organization_id: str | None = None
    agent_ids: tuple[str, ...] | None = None

    @property
    def home(self) -> str:
        """The organization to which new things of this user belong."""
        return self.organization_id or ""

    def sees(self, organization_id: str, agent_id: str) -> bool:
        ours = self.organization_id is None or self.organization_id == organization_id
        return ours and (self.agent_ids is None or agent_id in self.agent_ids)


EVERYWHERE = AccessScope()
