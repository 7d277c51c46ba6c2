"""The runner of the Agent Development Kit: sessions of their own, a limit on turns. Its events are tested elsewhere."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from howsure.model.case import Case, Script, SingleTurn
from howsure.model.transcript import Message, Role
from howsure.targets.base import CheckableTarget, StartableTarget, TargetRequest
from howsure.targets.frameworks.adk_runner import AdkAgentSettings, AdkAgentTarget


class Kept(Struct):
    id: str
    state: dict[str, Any]
    events: list[Any]


SERVICES: list[Sessions] = []
"""Every service that was made, the last one last."""


class Sessions:
    """An in-memory session service."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Kept] = {}
        SERVICES.append(self)

    async def create_session(self, *, app_name: str, user_id: str, state: dict[str, Any]) -> Kept:
        assert app_name == "howsure"
        session = Kept(f"s{len(self.kept)}", {**state, "__llm_request_key__": object()}, [])
        self.kept[user_id, session.id] = session
        return session

    async def append_event(self, session: Kept, event: Any) -> None:
        session.events.append(event)

    async def get_session(self, *, app_name: str, user_id: str, session_id: str) -> Kept | None:
        return self.kept.get((user_id, session_id))


class Named(Struct):
    name: str


class Runner:
    """The part of ADK's runner that is used, apart from running: that needs ADK's own messages."""

    app_name = "howsure"
    agent = Named("desk")

    def __init__(self) -> None:
        self.session_service = Sessions()
        self.closed = False

    async def close(self) -> None:
        self.closed = True


def a_target(runner: Runner, seconds: float = 5.0) -> AdkAgentTarget:
    settings = AdkAgentSettings(object="shop.agent:root_agent", turn_seconds=seconds)
    return AdkAgentTarget(TargetRequest(name="shop", state={"tier": "gold"}), settings, runner, dict)


async def test_every_conversation_has_its_own_session_user_and_state() -> None:
    runner = Runner()
    target = a_target(runner)
    first = await target.open(Case(id="1", input=Script(turns=("Hi",)), state={"tier": "silver"}))
    second = await target.open(Case(id="2", input=Script(turns=("Hi",))))
    assert (await first.close()).state == {"tier": "silver"}
    assert (await second.close()).state == {"tier": "gold"}
    users = [user for service in SERVICES[-2:] for user, _ in service.kept]
    assert len(set(users)) == 2


async def test_an_earlier_conversation_is_put_into_the_session() -> None:
    runner = Runner()
    history = (Message(role=Role.USER, content="Hi"), Message(role=Role.ASSISTANT, content="Hello"))
    await a_target(runner).open(Case(id="1", input=SingleTurn(message="And?", history=history)))
    (kept,) = SERVICES[-1].kept.values()
    assert [event["author"] for event in kept.events] == ["user", "desk"]


async def test_the_runner_is_closed_with_the_run() -> None:
    runner = Runner()
    target: Any = a_target(runner)
    assert isinstance(target, StartableTarget)
    assert isinstance(target, CheckableTarget)
    await target.start()
    await target.stop()
    assert runner.closed
    assert (await target.check()).startswith("shop.agent:root_agent is loaded (google-adk")
