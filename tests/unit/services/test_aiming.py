"""A `--target` and a `--simulator` become the real thing, or a sentence that says what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from howsure.engine.plan import Limits
from howsure.errors import ConfigInvalid, PlanRefused, UnknownName
from howsure.kit import Kit
from howsure.kit.builtins import builtin_kit
from howsure.model.agent import Agent, AgentTool
from howsure.model.calls import CallSettings
from howsure.model.case import Case, Scenario, Script
from howsure.model.simulation import Ending
from howsure.model.transcript import Message, Mishap, Role, ToolCall, Transcript
from howsure.services.aiming import (
    Aim,
    Blocks,
    Cast,
    Ground,
    Playing,
    aim_of,
    chat_models,
    playing_for,
    simulator_model,
)
from howsure.services.options import RunOptions
from howsure.targets.base import Reply, Stateless, Target
from howsure.targets.chat.target import ChatTarget
from howsure.targets.http.target import HttpTarget
from howsure.targets.making import Wish
from howsure.targets.recorded import RecordedTarget, Recordings, plain_recordings
from howsure.testing import ScriptedModel, ScriptedTarget, ScriptedUser, a_case
from howsure.users.base import Leave, Say
from howsure.users.live import LiveUsers
from howsure.users.offline import OfflineUsers
from howsure.users.replayed import ReplayedUsers


class Echo:
    """A kind of target that remembers what was wished."""

    name = "echo"

    def __init__(self) -> None:
        self.wishes: list[Wish] = []

    def make(self, wish: Wish) -> Target:
        self.wishes.append(wish)
        return EchoTarget()


class EchoTarget:
    name = "echo"

    async def open(self, case: Case) -> Stateless:
        return Stateless(Reply.saying)


def a_kit(*users: ScriptedUser) -> Kit:
    kit = builtin_kit([])
    kit.targets.add(ScriptedTarget("Hi"))
    kit.kinds.add(Echo())
    for user in users:
        kit.users.add(user)
    return kit


KIT = a_kit()
BLOCKS: Blocks = {
    "shop": {"kind": "http", "url": "http://127.0.0.1:9/chat"},
    "model": {"kind": "chat", "model": "openai:x", "system_prompt": "Be brief."},
    "mute": {"kind": "echo"},
    "http": {"kind": "echo", "loud": True},
}


@pytest.mark.parametrize(
    ("spec", "aim"),
    [
        ("", Aim(name="recorded", kind="recorded")),
        (" recorded ", Aim(name="recorded", kind="recorded")),
        ("shop", Aim(name="shop", kind="http", settings={"url": "http://127.0.0.1:9/chat"})),
        ("mute", Aim(name="mute", kind="echo")),
        ("http", Aim(name="http", kind="echo", settings={"loud": True})),
        ("http:127.0.0.1:9/chat", Aim(name="http", kind="http", rest="127.0.0.1:9/chat")),
        ("http://127.0.0.1:9/chat", Aim(name="http", kind="http", rest="//127.0.0.1:9/chat")),
        ("https://bot.example/chat", Aim(name="http", kind="http", rest="https://bot.example/chat")),
        ("function:shop.bot:answer", Aim(name="function", kind="function", rest="shop.bot:answer")),
        ("chat", Aim(name="chat", kind="chat")),
        ("chat:ollama:llama3.2:3b", Aim(name="chat", kind="chat", rest="ollama:llama3.2:3b")),
        ("scripted", Aim(name="scripted", kind="scripted")),
        ("echo", Aim(name="echo", kind="echo")),
        ("replay:echo:x", Aim(name="echo", kind="echo", rest="x", replay=True)),
        (
            "replay:shop",
            Aim(name="shop", kind="http", settings={"url": "http://127.0.0.1:9/chat"}, replay=True),
        ),
    ],
)
def test_a_spec_is_taken_apart(spec: str, aim: Aim) -> None:
    assert aim_of(spec, KIT, BLOCKS) == aim


@pytest.mark.parametrize("spec", ["replay", "replay:", "replay:recorded", "replay:replay:shop"])
def test_a_replay_without_an_agent_is_refused(spec: str) -> None:
    with pytest.raises(PlanRefused, match="needs the agent to re-send the messages to, such as replay:http:URL"):
        aim_of(spec, KIT, BLOCKS)


@pytest.mark.parametrize("spec", ["shopp", "htp:127.0.0.1:9", "replay:shopp"])
def test_an_unknown_target_is_answered_with_all_there_are(spec: str) -> None:
    with pytest.raises(UnknownName) as caught:
        aim_of(spec, KIT, {"shop": BLOCKS["shop"]})
    assert str(caught.value) == (
        f"unknown target {spec.removeprefix('replay:')!r}; known: adk, adk-agent, chat, command, echo, function, http,"
        " langgraph, openai-agents, pydantic-ai, recorded, replay, scripted, shop"
    )


@pytest.mark.parametrize(
    ("block", "found"),
    [({}, "no `kind`"), ({"kind": None}, "None"), ({"kind": "htttp"}, "'htttp'"), ({"kind": ["http"]}, "['http']")],
    ids=["left out", "empty", "misspelt", "a list"],
)
def test_a_block_needs_a_kind_that_exists(block: dict[str, Any], found: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        aim_of("shop", builtin_kit([]), {"shop": block})
    assert str(caught.value) == (
        "`targets.shop.kind`: expected one of chat, http, function, command, adk, adk-agent, langgraph, openai-agents,"
        f" pydantic-ai, found {found}"
    )


def test_what_the_block_says_is_pinned_and_a_spec_is_its_own_pin() -> None:
    def pin(**block: Any) -> str:
        return aim_of("shop", KIT, {"shop": block}).sha256

    first = pin(kind="http", url="http://a")
    assert first == pin(url="http://a", kind="http")
    assert len({first, pin(kind="http", url="http://b"), pin(kind="echo", url="http://a"), pin(kind="echo")}) == 4
    assert pin(kind="echo") != ""
    assert [aim_of(spec, KIT, {}).sha256 for spec in ("", "scripted", "http:127.0.0.1:9", "chat:openai:x")] == [""] * 4


@pytest.mark.parametrize(
    ("spec", "candidates", "models"),
    [
        ("", (), ()),
        ("shop", ("v1",), ()),
        ("chat:openai:x", (), ("openai:x",)),
        ("chat:openai:x", ("v1",), ("openai:x",)),
        ("chat", ("openai:a", "openai:b"), ("openai:a", "openai:b")),
        ("model", (), ("openai:x",)),
        ("replay:chat:openai:x", (), ("openai:x",)),
    ],
)
def test_the_models_under_test_are_known_beforehand(
    spec: str, candidates: tuple[str, ...], models: tuple[str, ...]
) -> None:
    options = RunOptions(datasets=("d",), target=spec, candidates=candidates)
    assert chat_models(aim_of(spec, KIT, BLOCKS), options) == models


def test_a_chat_without_a_model_is_refused() -> None:
    with pytest.raises(PlanRefused, match="--target chat needs models: chat:provider:model, or --candidate"):
        chat_models(aim_of("chat", KIT, {}), RunOptions(datasets=("d",)))


def a_cast(spec: str, *, kit: Kit = KIT, blocks: Blocks = BLOCKS, **fields: Any) -> Cast:
    return Cast(aim=aim_of(spec, kit, blocks), kit=kit, ground=Ground(blocks=blocks, folder=Path("/here")), **fields)


def test_each_kind_of_aim_has_its_target() -> None:
    assert isinstance(a_cast("").target("", 1), RecordedTarget)
    assert isinstance(a_cast("shop").target("", 1), HttpTarget)
    assert a_cast("scripted").target("", 1) is KIT.targets["scripted"]
    models = {"openai:x": ScriptedModel("Hello", name="openai:x")}
    assert isinstance(a_cast("chat:openai:x", models=models).target("openai:x", 1), ChatTarget)
    assert isinstance(a_cast("model", models=models).target("", 1), ChatTarget)


def test_a_kind_is_told_everything_that_was_wished() -> None:
    kit, agent = a_kit(), Agent(id="a", name="Shop")
    cast = a_cast("http", kit=kit, state={"plan": "pro"}, agent=agent)
    cast.target("v2", 3)
    (wish,) = kit.kinds["echo"].wishes  # type: ignore[attr-defined]
    assert (wish.name, wish.rest, wish.settings) == ("http", "", {"loud": True})
    assert (wish.folder, wish.state, wish.agent) == (Path("/here"), {"plan": "pro"}, agent)
    assert (wish.candidate, wish.repeat) == ("v2", 3)


async def test_the_prompt_of_a_block_goes_before_the_agents() -> None:
    said: list[str] = []
    for cast_of, agent in (("model", "Agent's own."), ("chat:openai:x", "Agent's own."), ("chat:openai:x", "")):
        model = ScriptedModel("Hello", name="openai:x")
        given = Agent(id="a", name="A", system_prompt=agent) if agent else None
        target = a_cast(cast_of, models={"openai:x": model}, agent=given).target("openai:x", 1)
        session = await target.open(a_case(message="Hi"))
        await session.send("Hi")  # type: ignore[union-attr]
        said.append(model.asked[0].messages[0].content)
    assert said == ["Be brief.", "Agent's own.", "Hi"]


def test_recorded_answers_go_with_a_replay_and_with_no_other_live_target() -> None:
    recordings = plain_recordings({"case-1": "x"})
    with pytest.raises(PlanRefused, match="--responses has the answers already; it cannot go with --target shop"):
        a_cast("shop", recordings=recordings).target("", 1)
    assert isinstance(a_cast("replay:shop", recordings=recordings).target("", 1), HttpTarget)


@pytest.mark.parametrize(
    ("spec", "ground", "limits"),
    [
        ("", {"turn_seconds": 9.0}, Limits()),
        ("function:shop:answer", {}, Limits(turn_seconds=300.0)),
        ("shop", {}, Limits()),
        ("shop", {"turn_seconds": 9.0, "case_seconds": 60.0}, Limits(turn_seconds=9.0, case_seconds=60.0)),
        ("scripted", {}, Limits()),
        ("scripted", {"case_seconds": 60.0}, Limits(case_seconds=60.0)),
        ("chat:openai:x", {}, Limits()),
        ("chat:openai:x", {"turn_seconds": 9.0}, Limits(turn_seconds=9.0)),
    ],
)
def test_who_keeps_no_time_has_limits_and_the_others_only_those_that_were_set(
    spec: str, ground: dict[str, float], limits: Limits
) -> None:
    cast = Cast(aim=aim_of(spec, KIT, BLOCKS), kit=KIT, ground=Ground(**ground))  # type: ignore[arg-type]
    assert cast.limits == limits


SHOP, RECORDED_AIM, REPLAY = (aim_of(spec, KIT, BLOCKS) for spec in ("shop", "", "replay:shop"))


@pytest.mark.parametrize(
    ("spec", "aim", "model"),
    [
        ("", SHOP, ""),
        ("offline", SHOP, ""),
        ("scripted", SHOP, ""),
        ("openai:gpt-5", SHOP, "openai:gpt-5"),
        ("openai:gpt-5", RECORDED_AIM, ""),
        ("openai:gpt-5", REPLAY, ""),
        ("nobody", RECORDED_AIM, ""),
    ],
    ids=["unsaid", "offline", "a plug-in's", "a model", "nothing to play", "played before", "unknown, but not needed"],
)
def test_a_model_is_opened_only_where_it_plays(spec: str, aim: Aim, model: str) -> None:
    assert simulator_model(spec, aim, a_kit(ScriptedUser())) == model


def test_an_unknown_simulated_user_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownName) as caught:
        simulator_model("nobody", SHOP, a_kit(ScriptedUser()))
    assert str(caught.value) == "unknown simulated user 'nobody'; known: offline, provider:model, scripted"


MODEL = ScriptedModel('{"reason": "r", "message": "It is L-1.", "ending": null}', name="m")


@pytest.mark.parametrize(
    ("spec", "aim", "opened", "played"),
    [
        ("", SHOP, Playing(), "offline"),
        ("scripted", SHOP, Playing(), "scripted"),
        ("openai:x", SHOP, Playing(spec="openai:x", model=MODEL), "openai:x"),
        ("openai:x", REPLAY, Playing(), "replay"),
    ],
)
def test_who_plays_is_named(spec: str, aim: Aim, opened: Playing, played: str) -> None:
    assert playing_for(spec, aim, opened).spec == played


def test_what_shapes_the_users_words_is_pinned() -> None:
    warm = CallSettings(temperature=0.7)
    players = [
        Playing(),
        Playing(spec="scripted"),
        Playing(spec="openai:x", model=MODEL),
        Playing(spec="openai:y", model=MODEL),
        Playing(spec="openai:x", model=MODEL, settings=warm),
        Playing(spec="openai:x", model=MODEL, settings=CallSettings(temperature=0.7, seed=3)),
    ]
    assert len({each.sha256 for each in players}) == 6
    assert Playing(spec="openai:x", model=ScriptedModel(name="other"), settings=warm).sha256 == players[4].sha256


SCENARIO = a_case(id="lamp", input=Scenario(persona="P", initial_message="My lamp is broken.", goal="a refund"))
ASKED = [Message(role=Role.USER, content="Hi"), Message(role=Role.ASSISTANT, content="Which order?")]


async def test_a_model_plays_with_its_settings_and_a_seed_of_each_repeat() -> None:
    seeds: list[int | None] = []
    for repeat in (1, 2, 1):
        model = ScriptedModel('{"reason": "r", "message": "It is L-1.", "ending": null}', name="m")
        playing = Playing(spec="openai:x", model=model, settings=CallSettings(temperature=0.7, seed=3))
        users = a_cast("shop", playing=playing).users("", repeat)
        assert isinstance(users, LiveUsers)
        assert users.name == "openai:x"
        await users.open(SCENARIO).next(ASKED)
        (asked,) = model.asked
        assert asked.settings is not None
        assert asked.settings.temperature == 0.7
        assert asked.namespace == f"repeat {repeat}"
        seeds.append(asked.settings.seed)
    assert seeds[0] == seeds[2] != seeds[1]


async def test_a_plugins_users_play_scenarios_and_nothing_that_is_written() -> None:
    scripted = ScriptedUser("Scripted words", Leave(Ending.GAVE_UP))
    kit = a_kit(scripted)
    users = a_cast("shop", kit=kit, playing=Playing(spec="scripted")).users("", 1)
    assert users.name == "scripted"
    assert await users.open(SCENARIO, 2).next([]) == Say("Scripted words")
    written = users.open(a_case(input=Script(turns=("One", "Two"))))
    assert [await written.next([]) for _ in range(3)] == [Say("One"), Say("Two"), Leave(Ending.SAID_ALL)]
    assert scripted.opened == [("lamp", 2)]


async def test_the_handoff_tools_of_the_agent_end_a_conversation() -> None:
    agent = Agent(id="a", name="A", tools=(AgentTool(tool_name="ring_bell", type="human_handoff"),))
    calls = Message(role=Role.ASSISTANT, content="One moment.", tool_calls=(ToolCall(name="ring_bell"),))
    said = [Message(role=Role.USER, content="My lamp is broken."), calls]
    endings = []
    for given in (agent, None):
        users = a_cast("shop", agent=given).users("", 1)
        assert isinstance(users, OfflineUsers)
        user = users.open(SCENARIO)
        await user.next([])
        move = await user.next(said)
        endings.append(move.ending if isinstance(move, Leave) else None)
    assert endings[0] is Ending.HANDED_OFF
    assert endings[1] is not Ending.HANDED_OFF


def talk(*turns: str) -> Transcript:
    return Transcript(answer="", messages=tuple(Message(role=Role.USER, content=text) for text in turns))


async def resent(recordings: Recordings | None, candidate: str, repeat: int, case: Case = SCENARIO) -> list[str]:
    users = a_cast("replay:shop", recordings=recordings).users(candidate, repeat)
    assert isinstance(users, ReplayedUsers)
    user, said = users.open(case), []
    while isinstance(move := await user.next([]), Say):
        said.append(move.text)
    return said


RECORDED = Recordings(
    {
        ("lamp", "", 1): talk("first"),
        ("lamp", "", 2): talk("second"),
        ("lamp", "juno", 1): talk("juno's"),
        ("other", "", 1): talk("elsewhere"),
    }
)


@pytest.mark.parametrize(
    ("candidate", "repeat", "said"),
    [
        ("", 1, "first"),
        ("", 2, "second"),
        ("", 3, "first"),
        ("juno", 1, "juno's"),
        ("juno", 2, "juno's"),
        ("orchid", 2, "second"),
    ],
)
async def test_the_conversation_that_fits_best_is_sent_again(candidate: str, repeat: int, said: str) -> None:
    assert await resent(RECORDED, candidate, repeat) == [said]


async def test_the_only_candidate_of_an_earlier_run_speaks_for_all() -> None:
    one = Recordings({("lamp", "juno", 1): talk("Hi", "Bye")})
    assert await resent(one, "", 1) == ["Hi", "Bye"]
    assert await resent(one, "orchid", 2) == ["Hi", "Bye"]


async def test_without_a_fitting_one_the_cases_own_recording_is_sent() -> None:
    two = Recordings({("lamp", "juno", 1): talk("a"), ("lamp", "orchid", 1): Mishap(reason="broke")})
    own = a_case(id="lamp", recorded=talk("own"))
    assert await resent(two, "", 1, own) == ["own"]
    assert await resent(two, "orchid", 1, own) == ["own"]
    assert await resent(None, "", 1, own) == ["own"]
