"""A persona played by a language model: the opening is fixed, the stop rules come first, then the model is asked for
the next message or the ending. A reply that cannot be read is asked for once more, then the simulator has failed."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from msgspec import structs

from howsure.errors import ModelFailed, SimulatorFailed
from howsure.judges.rulings import Unreadable
from howsure.llm.base import Completion, LanguageModel, Request
from howsure.llm.parts import CallSettings, Finish
from howsure.model.case import Case, Scenario, user_turns
from howsure.model.transcript import Message, Usage
from howsure.users.base import Leave, Move, Say, User
from howsure.users.live_reading import Next, read_next
from howsure.users.prompting import SCHEMA, messages, user_prompt
from howsure.users.script import FixedTurns
from howsure.users.stops import Stops

TRIES = 2
PURPOSE = "user"
_DEFAULT_SETTINGS = CallSettings()


class LiveUsers:
    """Users played by `model`. `namespace` keeps repeats apart in the cache; `seed` (or the one in `settings`) is made
    into one of each case and repeat, where the model takes one."""

    def __init__(
        self,
        model: LanguageModel,
        name: str = "",
        namespace: str = "",
        *,
        settings: CallSettings | None = None,
        seed: int | None = None,
        stops: Stops | None = None,
    ) -> None:
        self.name = name or model.name
        self._model = model
        self._namespace = namespace
        self._settings = settings
        self._seed = seed if seed is not None else settings.seed if settings else None
        self._stops = stops or Stops()

    @property
    def version(self) -> str:
        """Which words it is played with."""
        return user_prompt().version

    def open(self, case: Case, attempt: int = 1) -> User:
        if not isinstance(case.input, Scenario):
            return FixedTurns(user_turns(case.input))
        return LiveUser(case.input, self._ask(case.id, attempt), self._stops, self.name)

    def _ask(self, case: str, attempt: int) -> Asking:
        # Played again, the model is asked anew: a copy from the cache would be spoiled in the same way.
        namespace = self._namespace if attempt == 1 else f"{self._namespace} attempt {attempt}".strip()
        settings = self._settings
        if self._seed is not None:
            seed = seed_of(self._seed, namespace, case)
            settings = structs.replace(settings or _DEFAULT_SETTINGS, seed=seed)
        return Asking(self._model, settings, namespace)


def seed_of(seed: int, namespace: str, case: str) -> int:
    """A seed of each conversation: repeats would be copies of one another with the same."""
    return int.from_bytes(sha256(f"{seed}\x1f{namespace}\x1f{case}".encode()).digest()[:4]) >> 1


class Asking:
    """How the model is asked in one conversation."""

    def __init__(self, model: LanguageModel, settings: CallSettings | None, namespace: str) -> None:
        self._model = model
        self._settings = settings
        self._namespace = namespace

    async def complete(self, scenario: Scenario, said: Sequence[Message], replied: str, wrong: str) -> Completion:
        request = Request(
            messages=messages(scenario, said, replied, wrong),
            schema=SCHEMA,
            settings=self._settings,
            namespace=self._namespace,
            purpose=PURPOSE,
        )
        return await self._model.complete(request)


class LiveUser:
    """One conversation."""

    def __init__(self, scenario: Scenario, asking: Asking, stops: Stops, name: str) -> None:
        self._scenario = scenario
        self._asking = asking
        self._stops = stops
        self._name = name

    async def next(self, said: Sequence[Message]) -> Move:
        if not said:
            return Say(self._scenario.initial_message)
        if stop := self._stops.stop(said, self._scenario.max_turns):
            return stop
        move, usage = await self._asked(said)
        if move.ending is not None:
            return Leave(move.ending, move.reason, usage)
        return Say(move.message, usage)

    async def _asked(self, said: Sequence[Message]) -> tuple[Next, Usage | None]:
        replied = wrong = ""
        usage: Usage | None = None
        for _ in range(TRIES):
            completion = await self._complete(said, replied, wrong)
            usage = _sum(usage, completion.usage)
            try:
                return read_next(completion.text), usage
            except Unreadable as unreadable:
                replied, wrong = completion.text, str(unreadable)
        raise SimulatorFailed(f"user {self._name!r}: no usable reply in {TRIES} tries: {wrong}")

    async def _complete(self, said: Sequence[Message], replied: str, wrong: str) -> Completion:
        try:
            completion = await self._asking.complete(self._scenario, said, replied, wrong)
        except ModelFailed as failure:
            raise SimulatorFailed(f"user {self._name!r}: {failure}") from failure
        if completion.finish is Finish.REFUSED and not completion.text.strip():
            raise SimulatorFailed(f"user {self._name!r}: the model refused to play")
        return completion


def _sum(one: Usage | None, other: Usage) -> Usage:
    """What both cost; an amount that one of them does not know stays unknown."""
    if one is None:
        return other
    pairs = {field: (getattr(one, field), getattr(other, field)) for field in Usage.__struct_fields__}
    return Usage(**{field: None if a is None or b is None else a + b for field, (a, b) in pairs.items()})
