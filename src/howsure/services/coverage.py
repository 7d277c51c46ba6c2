"""What would make a run useless, found while its cases are surveyed: answers or earlier conversations that are missing,
tools and components that the agent does not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from howsure.errors import PlanRefused, SimulatorFailed
from howsure.model.agent import Agent
from howsure.model.case import Case, Scenario
from howsure.model.expectation import ForbiddenTools, ToolCalls
from howsure.model.rubric import Rubric
from howsure.targets.base import Target
from howsure.targets.recorded import RecordedTarget
from howsure.users.base import UserSide
from howsure.users.replayed import ReplayedUsers

LISTED = 10

LaneName = tuple[str, int]
"""Candidate and repeat."""
Sides = tuple[Target, UserSide]
"""Who answers, and who plays the user."""


class Watch:
    """Looks at every case of the survey. `simulated` counts the scenarios that somebody has to play."""

    def __init__(self, sides: Mapping[LaneName, Sides], agent: Agent | None) -> None:
        recorded = {lane: each.covers for lane, (each, _) in sides.items() if isinstance(each, RecordedTarget)}
        self._live = len(recorded) < len(sides)
        self._replayed = {lane: _replays(each) for lane, (_, each) in sides.items() if isinstance(each, ReplayedUsers)}
        self._covers: dict[LaneName, Callable[[Case], bool]] = {**recorded, **self._replayed}
        self._agent = agent
        self._tools = {tool.tool_name for tool in agent.tools} if agent else set()
        self._missing: list[str] = []
        self._missing_count = 0
        self.simulated = 0
        self._unknown_tools: dict[str, str] = {}

    def __call__(self, case: Case) -> None:
        for (candidate, repeat), covers in self._covers.items():
            if not covers(case):
                self._missing_count += 1
                if len(self._missing) < LISTED:
                    self._missing.append(_pair(case.id, candidate, repeat))
        if self._live and isinstance(case.input, Scenario):
            self.simulated += 1
        if self._agent is not None:
            for name in named_tools(case):
                if name not in self._tools:
                    self._unknown_tools.setdefault(name, case.id)

    def refuse(self) -> None:
        if not self._missing_count:
            return
        more = self._missing_count - len(self._missing)
        named = ", ".join(self._missing) + (f" and {more} more" if more else "")
        if self._replayed:
            raise PlanRefused(
                f"{self._missing_count} earlier conversations to replay are missing: {named}. Name a file of whole"
                " conversations, or run:RUN, with --responses."
            )
        raise PlanRefused(
            f"{self._missing_count} answers are missing: {named}. Name a file with --responses, or a live --target."
        )

    def warnings(self, rubric: Rubric | None) -> list[str]:
        if self._agent is None:
            return []
        said = [
            f"case {case!r} names the tool {tool!r}, which the agent {self._agent.name!r} does not have"
            for tool, case in self._unknown_tools.items()
        ]
        known = {tool.id for tool in self._agent.tools} | {base.id for base in self._agent.knowledge_bases}
        for rule in rubric.rules if rubric else ():
            said += [
                f"rule {rule.id!r} names the component {component!r}, which the agent {self._agent.name!r} lacks"
                for component in rule.component_ids
                if component not in known
            ]
        return said


def _replays(users: ReplayedUsers) -> Callable[[Case], bool]:
    """Whether there is something to re-send: they say so by refusing to play."""

    def covers(case: Case) -> bool:
        try:
            users.open(case)
        except SimulatorFailed:
            return False
        return True

    return covers


def named_tools(case: Case) -> list[str]:
    """The tools that a case's expectations name."""
    names: list[str] = []
    for expectation in case.expectations:
        if isinstance(expectation, ToolCalls):
            names += [call.name for call in expectation.expected]
        elif isinstance(expectation, ForbiddenTools):
            names += expectation.names
    return names


def _pair(case: str, candidate: str, repeat: int) -> str:
    return case + (f" by {candidate}" if candidate else "") + (f" (repeat {repeat})" if repeat > 1 else "")
