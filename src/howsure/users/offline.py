"""A simulated user without a model: the opening, then facts when they are asked for, the plan's steps when their turn
has come, and nothing that the scenario does not say. The same case and seed give the same words."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from howsure.model.case import Case, PlanStep, Scenario, user_turns
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Role
from howsure.users.asked import asks_beyond, facts_asked, is_yes_or_no, wants_details
from howsure.users.base import Leave, Move, Say, User
from howsure.users.conditions import Holds, holds
from howsure.users.handoff import handoff_words
from howsure.users.languages import language_of
from howsure.users.offline_words import phrases, told
from howsure.users.script import FixedTurns
from howsure.users.speech import is_done, offers_more, refuses, requests, waits
from howsure.users.stops import Exchange, Stops, exchanges
from howsure.users.words import roots, share

STUCK = 2
"""Replies in a row that bring nothing before the user gives up."""
COVERED = 0.5
"""The share of the goal's words in a reply that makes it an answer to it."""
_PEOPLE = frozenset({"human", "person", "colleag", "someon", "repres", "mitarb", "mensch"})


class OfflineUsers:
    """`--user offline`. `seed` chooses among phrasings; `stops` end every scenario's conversation."""

    name = "offline"

    def __init__(self, seed: int = 0, stops: Stops | None = None) -> None:
        self._seed = seed
        self._stops = stops or Stops()

    def open(self, case: Case, attempt: int = 1) -> User:
        if not isinstance(case.input, Scenario):
            return FixedTurns(user_turns(case.input))
        return OfflineUser(case.input, self._stops, Random(f"{self._seed}\x1f{case.id}\x1f{attempt}"))


class OfflineUser:
    """One conversation. What it still has to say is all it remembers."""

    def __init__(self, scenario: Scenario, stops: Stops, choice: Random) -> None:
        self._scenario = scenario
        self._stops = stops
        self._choice = choice
        self._unsaid: list[PlanStep] = list(scenario.plan)
        self._told: set[str] = set()
        self._stuck = 0
        self._words = phrases(language_of(scenario.initial_message))
        self._goal = roots(scenario.goal)
        self._talk: list[Exchange] = []
        self._heard: Sequence[Message] = ()

    async def next(self, said: Sequence[Message]) -> Move:
        talk = self._so_far(said)
        if not talk:
            return Say(self._scenario.initial_message)
        stop = self._stops.over(talk, self._scenario.max_turns)
        if stop and stop.ending is not Ending.TURN_LIMIT:
            return stop
        if stop:  # what was wanted may have come with the last reply
            due = self._step(talk[-1])
            return stop if due or not self._is_reached(talk[-1]) else self._reached()
        return self._move(talk[-1])

    def _so_far(self, said: Sequence[Message]) -> Sequence[Exchange]:
        """The conversation as pairs. Of one that has only grown, what is new is added."""
        known, new = len(self._heard), said[len(self._heard) :]
        grown = bool(new) and new[0].role is Role.USER and (not known or said[known - 1] is self._heard[-1])
        self._talk = [*self._talk, *exchanges(new)] if grown else exchanges(said)
        self._heard = tuple(said)
        return self._talk

    def _move(self, last: Exchange) -> Move:
        if asked := facts_asked(self._scenario.facts, last.text):
            facts = {fact.name: fact.value for fact in asked}
            new = bool(facts.keys() - self._told)
            self._told |= facts.keys()
            return self._say(told(facts, self._words, self._choice), progress=new)
        if step := self._step(last):
            self._unsaid.remove(step)
            return self._say(step.say)
        if self._is_reached(last):
            return self._reached()
        return self._answer(last)

    def _step(self, last: Exchange) -> PlanStep | None:
        """The first step whose condition holds now, else the first that has none."""
        for step in self._unsaid:
            if step.when and holds(step.when, last) is Holds.YES:
                return step
        return next((step for step in self._unsaid if not step.when), None)

    def _is_reached(self, last: Exchange) -> bool:
        if requests(last.text) or waits(last.text) or refuses(last.text):
            return False
        if is_done(last.text):
            return True
        if not self._goal:
            return offers_more(last.text)
        return share(self._goal, roots(last.text)) >= COVERED

    def _answer(self, last: Exchange) -> Move:
        """To what the scenario says nothing about."""
        words, beyond = self._words, asks_beyond(self._scenario.facts, last.text)
        if beyond and wants_details(last.text):
            return self._say(self._choice.choice(words.what), progress=False)
        if beyond and is_yes_or_no(last.text):
            return self._say(self._choice.choice(words.no_person if self._offered_a_person(last.text) else words.yes))
        if self._stuck + 1 >= STUCK and (beyond or refuses(last.text)):
            return Leave(Ending.GAVE_UP, f"{STUCK} replies in a row brought nothing: {_shown(last.text)}")
        options = words.unknown if beyond else words.press if refuses(last.text) else words.go_on
        return self._say(self._choice.choice(options), progress=not beyond and not refuses(last.text))

    def _offered_a_person(self, text: str) -> bool:
        wanted = roots(f"{self._scenario.persona} {self._scenario.goal}") & _PEOPLE
        return not wanted and bool(roots(text) & _PEOPLE or handoff_words(text))

    def _say(self, text: str, *, progress: bool = True) -> Say:
        self._stuck = 0 if progress else self._stuck + 1
        return Say(text)

    def _reached(self) -> Leave:
        return Leave(Ending.GOAL_REACHED, "the agent did or told what was wanted, and nothing is left to say")


def _shown(text: str, longest: int = 120) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"
