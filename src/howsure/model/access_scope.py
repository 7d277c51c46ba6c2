"""How much of a store a user may see: one organization, some of its agents, or everything."""

from __future__ import annotations

from msgspec import Struct


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
