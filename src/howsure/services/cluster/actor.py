"""The desk as Ray's actor, on the driver's own node: beside the file that holds the cache of replies."""

from __future__ import annotations

from pathlib import Path

from howsure.llm.budget import parse_budget
from howsure.model.run import Spent
from howsure.services.cluster.desk import Desk
from howsure.store.replies import ReplyCache


class DeskActor(Desk):
    """`replies`: the file of the cache; None: there is none."""

    def __init__(self, budget: str, before: Spent | None, replies: str | None) -> None:
        self._replies = ReplyCache.open(Path(replies)) if replies else None
        super().__init__(parse_budget(budget) if budget else None, before, self._replies)

    async def close(self) -> None:
        """What waits to be written is written."""
        if self._replies is not None:
            await self._replies.__aexit__()
            self._replies = None
