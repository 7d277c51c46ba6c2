"""What pages need of the store besides runs and results: which results of a run are like this or that, worst first;
which runs there are, by agent, state and test set; which agents. Only columns are read, and of bodies no more than is
asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from howsure.model.access_scope import EVERYWHERE, AccessScope
from howsure.model.result import Result
from howsure.model.run import Run
from howsure.store.counting import Counted, Failing, failing_now
from howsure.store.database import Database
from howsure.store.queries import browsing as queries
from howsure.store.queries import searching
from howsure.store.queries.browsing import AgentFace, Elsewhere, RunFace, Tag, Try
from howsure.store.queries.choosing import Chosen, Order
from howsure.store.queries.searching import Beside, Listed

REMEMBERED = 500
"""Runs whose tags are known from the last time."""


class Browsing:
    """Reads for pages; `within` says how much the caller may see. A run is looked up, and allowed, before its results
    are."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock
        self._tests: queries.Tests = {}
        self._tags: dict[str, tuple[int, list[Tag]]] = {}

    async def positions(self, run_id: str, chosen: Chosen) -> list[int]:
        """Of all results that are like that, in the order wanted, however many must be looked through for it."""
        return await self._database.read(searching.every_position, run_id, chosen)

    async def listed(self, run_id: str, chosen: Chosen, after: int | None, limit: int) -> Listed:
        """A page of the results that are like that, behind the one at this position. Of a large run some are looked
        through for words at a time, and it says which."""
        return await self._database.read(searching.listed, run_id, chosen, after, limit)

    async def beside(self, run_id: str, chosen: Chosen, position: int) -> Beside:
        """What comes before and after a result among those that are like that."""
        return await self._database.read(searching.beside, run_id, chosen, position)

    async def at(self, run_id: str, positions: Sequence[int]) -> list[Result]:
        """The results at these positions, in their order."""
        return await self._database.read(queries.at, run_id, positions)

    async def tags(self, run: Run) -> list[Tag]:
        """The tags and labels of the cases, the commonest first, each with the number of cases that have it. Counted
        anew when there are more results."""
        counted = self._tags.get(run.id)
        if counted is None or counted[0] != run.counts.completed:
            if len(self._tags) >= REMEMBERED:
                self._tags.pop(next(iter(self._tags)))
            found = await self._database.read(queries.tags, run.id)
            counted = self._tags[run.id] = (run.counts.completed, found)
        return counted[1]

    async def flaky(self, run_id: str) -> int:
        """How many cases ended in different ways when they were tried again."""
        return await self._database.read(queries.flaky_cases, run_id)

    async def failing(self, run_id: str) -> list[Failing]:
        """What failed or broke, by grader and part, the commonest first; counted now."""
        return await self._database.read(failing_now, run_id)

    async def runs(self, within: AccessScope = EVERYWHERE) -> list[RunFace]:
        """What runs can be chosen by, newest first."""
        return await self._database.read(queries.run_faces, within, self._clock(), self._tests)

    async def loaded(self, run_ids: Sequence[str]) -> list[Run]:
        """These runs, in this order; the caller may see them."""
        return await self._database.read(queries.several_runs, run_ids, self._clock())

    async def counted(self, run_ids: Sequence[str]) -> tuple[list[Run], dict[str, Counted]]:
        """The same, with what was counted of those that have ended."""
        return await self._database.read(queries.runs_and_counts, run_ids, self._clock())

    async def tries(self, run_id: str, case_ids: Sequence[str]) -> dict[tuple[str, str], list[Try]]:
        """Every attempt at these cases, by case and candidate."""
        return await self._database.read(queries.tries, run_id, case_ids)

    async def agents(self, within: AccessScope = EVERYWHERE) -> list[AgentFace]:
        """Who was tried, whoever was tried last first."""
        return await self._database.read(queries.agents, within)

    async def newest(self, agent_ids: Sequence[str], within: AccessScope = EVERYWHERE) -> list[str]:
        """The id of the newest run of each of these agents."""
        return await self._database.read(queries.newest, agent_ids, within)

    async def elsewhere(self, run: Run, case_id: str, within: AccessScope = EVERYWHERE) -> list[Elsewhere]:
        """The same case in other runs of the same agent, newest first."""
        return await self._database.read(queries.elsewhere, run, case_id, within)


__all__ = [
    "AgentFace",
    "Beside",
    "Browsing",
    "Chosen",
    "Elsewhere",
    "Failing",
    "Listed",
    "Order",
    "RunFace",
    "Tag",
    "Try",
]
