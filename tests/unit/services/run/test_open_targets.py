"""Targets are started, asked whether they are there, and stopped whatever happens."""

from __future__ import annotations

from typing import Any

import pytest

from howsure.engine.candidates import CandidateRepeat
from howsure.errors import Conflict, PlanRefused, TargetFailed
from howsure.model.case import Case
from howsure.services.run.execute import check, open_targets
from howsure.targets.base import Reply, Stateless
from howsure.testing import ScriptedTarget


class Plain:
    """Remembers what was done with it, in a list that several may share."""

    def __init__(self, name: str, done: list[str], **broken: Exception) -> None:
        self.name = name
        self.done = done
        self.broken = broken

    async def open(self, case: Case) -> Stateless:
        return Stateless(Reply.saying)

    def did(self, what: str) -> None:
        self.done.append(f"{what} {self.name}")
        if what in self.broken:
            raise self.broken[what]


class Holding(Plain):
    async def start(self) -> None:
        self.did("start")

    async def stop(self) -> None:
        self.did("stop")


class Whole(Holding):
    async def check(self) -> str:
        self.did("check")
        return f"{self.name} is there"


def lanes(*targets: Any) -> list[CandidateRepeat]:
    return [CandidateRepeat(target=target, graders=()) for target in targets]


async def test_all_are_started_the_first_is_asked_and_all_are_stopped_in_turn() -> None:
    done: list[str] = []
    one, two = Whole("one", done), Whole("two", done)
    async with open_targets(lanes(one, one, two)):
        assert done == ["start one", "start two", "check one"]
    assert done[3:] == ["stop two", "stop one"]


async def test_a_target_that_holds_nothing_needs_nothing() -> None:
    async with open_targets(lanes(ScriptedTarget("Hi"))):
        pass
    assert await check(ScriptedTarget("Hi")) == ""
    assert await check(Whole("one", [])) == "one is there"


async def test_they_are_stopped_when_the_run_breaks() -> None:
    done: list[str] = []
    with pytest.raises(Conflict, match="the file has changed"):
        async with open_targets(lanes(Whole("one", done))):
            raise Conflict("the file has changed")
    assert done == ["start one", "check one", "stop one"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (TargetFailed("cannot reach 127.0.0.1:9: connection refused"), "cannot reach 127.0.0.1:9: connection refused."),
        (TargetFailed("nobody listens; is the bot running there?"), "nobody listens; is the bot running there?"),
        (TargetFailed("it answers 500."), "it answers 500."),
        (ConnectionError("refused"), "ConnectionError: refused."),
        (TimeoutError(), "TimeoutError."),
    ],
    ids=["no full stop", "a question", "a full stop", "of another kind", "without a word"],
)
async def test_a_target_that_is_not_there_is_refused_in_whole_sentences(error: Exception, told: str) -> None:
    done: list[str] = []
    with pytest.raises(PlanRefused) as caught:
        async with open_targets(lanes(Whole("shop", done, check=error))):
            done.append("run")
    assert str(caught.value) == f"target 'shop' is not ready: {told} Nothing was run."
    assert done == ["start shop", "check shop", "stop shop"]


async def test_what_cannot_be_started_is_refused_and_the_others_are_stopped() -> None:
    done: list[str] = []
    broken = Whole("two", done, start=FileNotFoundError("no such program: bot"))
    with pytest.raises(PlanRefused) as caught:
        async with open_targets(lanes(Whole("one", done), broken)):
            done.append("run")
    said = "target 'two' is not ready: FileNotFoundError: no such program: bot. Nothing was run."
    assert str(caught.value) == said
    assert done == ["start one", "start two", "stop one"]


async def test_a_target_that_only_holds_is_not_asked() -> None:
    done: list[str] = []
    async with open_targets(lanes(Holding("one", done))):
        assert done == ["start one"]
    assert done == ["start one", "stop one"]
