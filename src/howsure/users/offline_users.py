"""A simulated user without a model: the opening, then facts when they are asked for, the plan's steps when they are
due, and nothing that the scenario does not say. The same case and seed give the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random

import msgspec
from msgspec import Struct

from howsure.model.case import Case, PlanStep, Scenario, user_turns
from howsure.model.run_request import OFFLINE
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Role
from howsure.users.base import User, UserExit, UserMessage, UserMove
from howsure.users.conditions import ConditionStatus, check_condition
from howsure.users.directions import spoken_step
from howsure.users.scripts import FixedTurns
from howsure.users.speech import (
    is_done,
    is_yes_or_no,
    offers_more,
    only_greets,
    refuses,
    requested_facts,
    requests,
    unanswerable_requests,
    waits,
    wants_details,
)
from howsure.users.stops import Exchange, StopRules, handoff_sentence, pair_exchanges
from howsure.users.words import language_of, roots, share


class UserPhrases(Struct, frozen=True, kw_only=True):
    """The user's own phrases, in the language of the opening; the seed chooses among phrasings."""

    unknown: tuple[str, ...]
    yes: tuple[str, ...]
    no_person: tuple[str, ...]
    what: tuple[str, ...]
    go_on: tuple[str, ...]
    press: tuple[str, ...]
    tell: tuple[str, ...]
    again: tuple[str, ...]


@cache
def _phrases_by_language() -> Mapping[str, UserPhrases]:
    text = (files("howsure.users") / "data" / "user_phrases.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, UserPhrases])


def user_phrases(language: str | None) -> UserPhrases:
    """The phrases of a language; English where there are none."""
    return _phrases_by_language().get(language or "en", _phrases_by_language()["en"])


def tell_facts(facts: Mapping[str, str], phrases: UserPhrases, choice: Random) -> str:
    """Each fact with its name and its value, word for word."""
    pattern = choice.choice(phrases.tell)
    return " ".join(pattern.format(name=name.replace("_", " "), value=value) for name, value in facts.items())


STUCK = 2
"""After this many replies in a row without progress the user gives up."""
COVERED = 0.5
"""A reply with this share of the goal's words answers it."""
_PEOPLE = frozenset({"human", "person", "colleag", "someon", "repres", "mitarb", "mensch"})


class OfflineUsers:
    """`--simulator offline`. `seed` chooses among phrasings; `stops` end every scenario's conversation."""

    name = OFFLINE

    def __init__(self, seed: int = 0, stops: StopRules | None = None) -> None:
        self._seed = seed
        self._stops = stops or StopRules()

    def open(self, case: Case, attempt: int = 1) -> User:
        if not isinstance(case.input, Scenario):
            return FixedTurns(user_turns(case.input))
        return OfflineUser(case.input, self._stops, Random(f"{self._seed}\x1f{case.id}\x1f{attempt}"))


class OfflineUser:
    """The user's side of one conversation. It remembers what it still has to say."""

    def __init__(self, scenario: Scenario, stops: StopRules, choice: Random) -> None:
        self._scenario = scenario
        self._stops = stops
        self._choice = choice
        self._unsaid = [step for step in scenario.plan if spoken_step(step.say, scenario.facts)]
        self._told: set[str] = set()
        self._stuck = 0
        self._restated = False
        self._words = user_phrases(language_of(scenario.initial_message))
        self._goal = roots(scenario.goal)
        self._exchanges: list[Exchange] = []
        self._messages: Sequence[Message] = ()

    async def next(self, messages: Sequence[Message]) -> UserMove:
        # The conversation as exchanges. When it has only grown, the new ones are added.
        known, new = len(self._messages), messages[len(self._messages) :]
        grown = bool(new) and new[0].role is Role.USER and (not known or messages[known - 1] is self._messages[-1])
        self._exchanges = [*self._exchanges, *pair_exchanges(new)] if grown else pair_exchanges(messages)
        self._messages = tuple(messages)
        exchanges = self._exchanges
        if not exchanges:
            return UserMessage(self._scenario.initial_message)
        stop = self._stops.check(exchanges, self._scenario.max_turns)
        if stop and stop.ending is not Ending.TURN_LIMIT:
            return stop
        if stop:  # the last reply may have brought what the user wants
            due = self._next_step(exchanges[-1])
            return stop if due or not self._is_reached(exchanges[-1]) else self._reached()
        return self._move(exchanges[-1])

    def _move(self, last: Exchange) -> UserMove:
        if requested := requested_facts(self._scenario.facts, last.text):
            facts = {fact.name: fact.value for fact in requested}
            new = bool(facts.keys() - self._told)
            self._told |= facts.keys()
            return self._say(tell_facts(facts, self._words, self._choice), progress=new)
        if step := self._next_step(last):
            self._unsaid.remove(step)
            return self._say(spoken_step(step.say, self._scenario.facts))
        if self._is_reached(last):
            return self._reached()
        if only_greets(last.text) and not self._restated:
            self._restated = True
            again = self._choice.choice(self._words.again)
            return self._say(again.format(message=self._scenario.initial_message))
        return self._answer(last)

    def _next_step(self, last: Exchange) -> PlanStep | None:
        """The first step whose condition holds now, else the first without a condition."""
        for step in self._unsaid:
            if step.when and check_condition(step.when, last) is ConditionStatus.YES:
                return step
        return next((step for step in self._unsaid if not step.when), None)

    def _is_reached(self, last: Exchange) -> bool:
        if requests(last.text) or waits(last.text) or refuses(last.text) or only_greets(last.text):
            return False
        if is_done(last.text):
            return True
        if not self._goal:
            return offers_more(last.text)
        return share(self._goal, roots(last.text)) >= COVERED

    def _answer(self, last: Exchange) -> UserMove:
        """An answer where the scenario says nothing."""
        words, beyond = self._words, unanswerable_requests(self._scenario.facts, last.text)
        if beyond and wants_details(last.text):
            return self._say(self._choice.choice(words.what), progress=False)
        if beyond and is_yes_or_no(last.text):
            wants_person = roots(f"{self._scenario.persona} {self._scenario.goal}") & _PEOPLE
            offered_person = not wants_person and (roots(last.text) & _PEOPLE or handoff_sentence(last.text))
            return self._say(self._choice.choice(words.no_person if offered_person else words.yes))
        if only_greets(last.text) or (self._stuck + 1 >= STUCK and (beyond or refuses(last.text))):
            shown = last.text if len(last.text) <= 120 else f"{last.text[:120]}…"
            return UserExit(Ending.GAVE_UP, f"{STUCK} replies in a row brought nothing: {shown}")
        options = words.unknown if beyond else words.press if refuses(last.text) else words.go_on
        return self._say(self._choice.choice(options), progress=not beyond and not refuses(last.text))

    def _say(self, text: str, *, progress: bool = True) -> UserMessage:
        self._stuck = 0 if progress else self._stuck + 1
        return UserMessage(text)

    def _reached(self) -> UserExit:
        return UserExit(Ending.GOAL_REACHED, "the agent did or told what was wanted, and nothing is left to say")
