"""A `--target` and a `--simulator` become the real thing, or a sentence that says what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from howsure.config import CandidateSettings, Settings
from howsure.engine.candidates import TimeLimits
from howsure.errors import ConfigInvalid, PlanRefused, UnknownName
from howsure.judges.documents import Documents
from howsure.kit import Kit
from howsure.kit.plugins import builtin_kit
from howsure.model.agent import Agent, AgentTool
from howsure.model.case import Case, Scenario, Script
from howsure.model.llm_settings import CallSettings
from howsure.model.run_request import RunRequest
from howsure.model.simulation import Ending
from howsure.model.transcript import BrokenRecording, Message, Role, ToolCall, Transcript
from howsure.services.run.model_access import OpenModels
from howsure.services.run.participants import (
    Blocks,
    Candidate,
    Participants,
    TargetSpec,
    parse_target,
    resolve_candidates,
    simulator_model,
)
from howsure.services.workspace import Workspace
from howsure.targets.base import Reply, Stateless, Target, TargetRequest
from howsure.targets.chat.target import ChatTarget
from howsure.targets.http.target import HttpTarget
from howsure.targets.recordings import RecordedTarget, Recordings
from howsure.testing import ScriptedModel, ScriptedTarget, ScriptedUser, a_case
from howsure.users.base import UserExit, UserMessage
from howsure.users.live_users import LiveUsers
from howsure.users.offline_users import OfflineUsers
from howsure.users.scripts import ReplayedUsers
from recorded_answers import plain_recordings


class Echo:
    """A kind of target that remembers what was wished."""

    name = "echo"

    def __init__(self) -> None:
        self.wishes: list[TargetRequest] = []

    def make(self, wish: TargetRequest) -> Target:
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
        ("", TargetSpec(name="recorded", kind="recorded")),
        (" recorded ", TargetSpec(name="recorded", kind="recorded")),
        ("shop", TargetSpec(name="shop", kind="http", settings={"url": "http://127.0.0.1:9/chat"})),
        ("mute", TargetSpec(name="mute", kind="echo")),
        ("http", TargetSpec(name="http", kind="echo", settings={"loud": True})),
        ("http:127.0.0.1:9/chat", TargetSpec(name="http", kind="http", rest="127.0.0.1:9/chat")),
        ("http://127.0.0.1:9/chat", TargetSpec(name="http", kind="http", rest="//127.0.0.1:9/chat")),
        ("https://bot.example/chat", TargetSpec(name="http", kind="http", rest="https://bot.example/chat")),
        ("function:shop.bot:answer", TargetSpec(name="function", kind="function", rest="shop.bot:answer")),
        ("chat", TargetSpec(name="chat", kind="chat")),
        ("chat:ollama:llama3.2:3b", TargetSpec(name="chat", kind="chat", rest="ollama:llama3.2:3b")),
        ("scripted", TargetSpec(name="scripted", kind="scripted")),
        ("echo", TargetSpec(name="echo", kind="echo")),
        ("replay:echo:x", TargetSpec(name="echo", kind="echo", rest="x", replay=True)),
        (
            "replay:shop",
            TargetSpec(name="shop", kind="http", settings={"url": "http://127.0.0.1:9/chat"}, replay=True),
        ),
    ],
)
def test_a_spec_is_taken_apart(spec: str, aim: TargetSpec) -> None:
    assert parse_target(spec, KIT, BLOCKS) == aim


@pytest.mark.parametrize("spec", ["replay", "replay:", "replay:recorded", "replay:replay:shop"])
def test_a_replay_without_an_agent_is_refused(spec: str) -> None:
    with pytest.raises(PlanRefused, match="needs the agent to re-send the messages to, such as replay:http:URL"):
        parse_target(spec, KIT, BLOCKS)


@pytest.mark.parametrize("spec", ["shopp", "htp:127.0.0.1:9", "replay:shopp"])
def test_an_unknown_target_is_answered_with_all_there_are(spec: str) -> None:
    with pytest.raises(UnknownName) as caught:
        parse_target(spec, KIT, {"shop": BLOCKS["shop"]})
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
        parse_target("shop", builtin_kit([]), {"shop": block})
    assert str(caught.value) == (
        "`targets.shop.kind`: expected one of chat, http, function, command, adk, adk-agent, langgraph, openai-agents,"
        f" pydantic-ai, found {found}"
    )


def test_what_the_block_says_is_pinned_and_a_spec_is_its_own_pin() -> None:
    def pin(**block: Any) -> str:
        return parse_target("shop", KIT, {"shop": block}).sha256

    first = pin(kind="http", url="http://a")
    assert first == pin(url="http://a", kind="http")
    assert len({first, pin(kind="http", url="http://b"), pin(kind="echo", url="http://a"), pin(kind="echo")}) == 4
    assert pin(kind="echo") != ""
    assert [parse_target(spec, KIT, {}).sha256 for spec in ("", "scripted", "http:127.0.0.1:9", "chat:openai:x")] == [
        ""
    ] * 4


OWN = {
    "fast": CandidateSettings(model="openai:small", max_tokens=50),
    "slow": CandidateSettings(model="openai:large", temperature=1.0, effort="high", system_prompt="Think."),
}


def candidates_of(target: str | tuple[str, ...], *names: str, recorded: tuple[str, ...] = (), **settings: Any) -> Any:
    targets = {name: dict(block) for name, block in BLOCKS.items()}
    work = Workspace(Settings(targets=targets, **settings), KIT, Path("/here"))
    return resolve_candidates(RunRequest(target=target, candidates=names), work, recorded)


@pytest.mark.parametrize(
    ("target", "names", "expected"),
    [
        ("", (), {"": ""}),
        ("", ("orchid",), {"orchid": ""}),
        ("shop", (), {"": ""}),
        ("shop", ("v1", "v2"), {"v1": "", "v2": ""}),
        ("chat:openai:x", (), {"openai:x": "openai:x"}),
        ("chat:openai:x", ("openai:x",), {"openai:x": "openai:x"}),
        ("chat", ("openai:a", "openai:b"), {"openai:a": "openai:a", "openai:b": "openai:b"}),
        ("model", (), {"openai:x": "openai:x"}),
        ("replay:chat:openai:x", (), {"openai:x": "openai:x"}),
        (("shop", "mute"), (), {"shop": "", "mute": ""}),
        (("shop", "chat:openai:x", "http:http://a"), (), {"shop": "", "openai:x": "openai:x", "http:http://a": ""}),
        (("shop", "model"), (), {"shop": "", "model": "openai:x"}),
        (("shop", "model"), ("model",), {"model": "openai:x"}),
        (("shop", "chat"), ("shop", "openai:a"), {"shop": "", "openai:a": "openai:a"}),
        (("shop", "chat"), ("shop",), {"shop": ""}),
    ],
)
def test_every_target_and_every_model_is_a_candidate(
    target: str | tuple[str, ...], names: tuple[str, ...], expected: dict[str, str]
) -> None:
    assert {each.name: each.model for each in candidates_of(target, *names)} == expected
    # The pins of a run name all of them: made from these once more, it has the same.
    assert {each.name: each.model for each in candidates_of(target, *expected)} == expected


def test_recorded_answers_stand_for_those_who_gave_them() -> None:
    assert [each.name for each in candidates_of("", recorded=("juno", "orchid"))] == ["juno", "orchid"]
    assert [each.name for each in candidates_of("", "juno", recorded=("juno", "orchid"))] == ["juno"]
    assert [each.name for each in candidates_of("replay:shop", recorded=("juno", "orchid"))] == [""]


def test_candidates_have_short_names_and_settings_of_their_own() -> None:
    usual = CallSettings(temperature=0.2, seed=5)
    fast, slow = candidates_of("chat", candidates=OWN, target_settings=usual)
    chat = TargetSpec(name="chat", kind="chat")
    assert fast == Candidate(
        name="fast",
        target=chat,
        model="openai:small",
        settings=CallSettings(temperature=0.2, seed=5, max_tokens=50),
    )
    assert slow == Candidate(
        name="slow",
        target=chat,
        model="openai:large",
        settings=CallSettings(temperature=1.0, seed=5, effort="high"),
        system_prompt="Think.",
    )
    assert [each.name for each in candidates_of("chat", "slow", "openai:x", candidates=OWN)] == ["slow", "openai:x"]


@pytest.mark.parametrize(
    ("target", "names", "told"),
    [
        ("chat", (), "--target chat needs models: chat:provider:model, or --candidate provider:model for each"),
        ("chat", ("fst",), "unknown candidate 'fst'; known: provider:model"),
        ("chat:openai:x", ("v1",), "--candidate v1: this target asks openai:x only"),
        ("model", ("good", "bad"), "--candidate good: this target asks openai:x only"),
        (("shop", "model"), ("v1",), "--candidate v1: no --target of that name; there are shop, model"),
        (("shop", "shop"), (), "--target shop is named twice"),
        (("shop", "recorded"), (), "--target recorded stands alone: several targets are live ones"),
        (("shop", "replay:shop"), (), "--target replay:shop stands alone: several targets are live ones"),
    ],
)
def test_a_candidate_that_would_not_be_asked_is_refused(
    target: str | tuple[str, ...], names: tuple[str, ...], told: str
) -> None:
    with pytest.raises((PlanRefused, UnknownName)) as caught:
        candidates_of(target, *names)
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize(
    ("spec", "blocks", "names", "refused"),
    [
        ("shop", BLOCKS, ("v1", "v2"), True),
        ("shop", BLOCKS, ("v1",), False),
        ("shop", {"shop": {**BLOCKS["shop"], "body": {"who": "{candidate}"}}}, ("v1", "v2"), False),
        ("mute", BLOCKS, ("v1", "v2"), True),
        ("scripted", BLOCKS, ("v1", "v2"), True),
    ],
    ids=["never told", "one name alone", "told in the body", "a plug-in's kind", "a plug-in's target"],
)
def test_a_target_that_is_never_told_the_candidate_has_only_one(
    spec: str, blocks: Blocks, names: tuple[str, ...], refused: bool
) -> None:
    cast = a_cast(spec, blocks=blocks, candidates=names)
    if not refused:
        assert cast.target(cast.candidates[0], 1).name == spec
        return
    with pytest.raises(PlanRefused, match=f"--candidate v1: the target {spec} is never told which candidate it is"):
        cast.target(cast.candidates[0], 1)


def a_cast(
    spec: str,
    *,
    kit: Kit = KIT,
    blocks: Blocks = BLOCKS,
    models: OpenModels | None = None,
    agent: Agent | None = None,
    recordings: Recordings | None = None,
    settings: dict[str, Any] | None = None,
    **request: Any,
) -> Participants:
    targets = {name: dict(block) for name, block in blocks.items()}
    work = Workspace(Settings(targets=targets, **(settings or {})), kit, Path("/here"))
    asked = RunRequest(target=spec, **request)
    return Participants(work, asked, models or OpenModels(), agent=agent, recordings=recordings)


def only(cast: Participants, repeat: int = 1) -> Target:
    """The target of the only candidate."""
    (candidate,) = cast.candidates
    return cast.target(candidate, repeat)


def test_each_kind_of_aim_has_its_target() -> None:
    assert isinstance(only(a_cast("")), RecordedTarget)
    assert isinstance(only(a_cast("shop")), HttpTarget)
    assert only(a_cast("scripted")) is KIT.targets["scripted"]
    models = OpenModels(models={"openai:x": ScriptedModel("Hello", name="openai:x")})
    assert isinstance(only(a_cast("chat:openai:x", models=models)), ChatTarget)
    assert isinstance(only(a_cast("model", models=models)), ChatTarget)


def test_a_kind_is_told_everything_that_was_wished() -> None:
    kit, agent = a_kit(), Agent(id="a", name="Shop")
    documents = Documents()
    models = OpenModels(documents=documents)
    only(a_cast("http", kit=kit, state={"plan": "pro"}, agent=agent, candidates=("http",), models=models), 3)
    (wish,) = kit.kinds["echo"].wishes  # type: ignore[attr-defined]
    assert (wish.name, wish.rest, wish.settings) == ("http", "", {"loud": True})
    assert (wish.folder, wish.state, wish.agent) == (Path("/here"), {"plan": "pro"}, agent)
    assert (wish.candidate, wish.repeat) == ("http", 3)
    assert wish.documents is documents


async def test_the_prompt_of_a_block_goes_before_the_agents() -> None:
    said: list[str] = []
    for cast_of, agent in (("model", "Agent's own."), ("chat:openai:x", "Agent's own."), ("chat:openai:x", "")):
        model = ScriptedModel("Hello", name="openai:x")
        given = Agent(id="a", name="A", system_prompt=agent) if agent else None
        target = only(a_cast(cast_of, models=OpenModels(models={"openai:x": model}), agent=given))
        session = await target.open(a_case(message="Hi"))
        await session.send("Hi")  # type: ignore[union-attr]
        said.append(model.asked[0].messages[0].content)
    assert said == ["Be brief.", "Agent's own.", "Hi"]


def test_recorded_answers_go_with_a_replay_and_with_no_other_live_target() -> None:
    recordings = plain_recordings({"case-1": "x"})
    with pytest.raises(PlanRefused, match="--responses has the answers already; it cannot go with --target shop"):
        only(a_cast("shop", recordings=recordings))
    assert isinstance(only(a_cast("replay:shop", recordings=recordings)), HttpTarget)


@pytest.mark.parametrize(
    ("spec", "ground", "limits"),
    [
        ("", {"turn_seconds": 9.0}, TimeLimits()),
        ("function:shop:answer", {}, TimeLimits(turn_seconds=300.0)),
        ("shop", {}, TimeLimits()),
        ("shop", {"turn_seconds": 9.0, "case_seconds": 60.0}, TimeLimits(turn_seconds=9.0, case_seconds=60.0)),
        ("scripted", {}, TimeLimits()),
        ("scripted", {"case_seconds": 60.0}, TimeLimits(case_seconds=60.0)),
        ("chat:openai:x", {}, TimeLimits()),
        ("chat:openai:x", {"turn_seconds": 9.0}, TimeLimits(turn_seconds=9.0)),
    ],
)
def test_who_keeps_no_time_has_limits_and_the_others_only_those_that_were_set(
    spec: str, ground: dict[str, float], limits: TimeLimits
) -> None:
    cast = a_cast(spec, settings=ground)
    assert cast.limits(cast.candidates[0]) == limits


SHOP, RECORDED_AIM, REPLAY = (parse_target(spec, KIT, BLOCKS) for spec in ("shop", "", "replay:shop"))


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
def test_a_model_is_opened_only_where_it_plays(spec: str, aim: TargetSpec, model: str) -> None:
    assert simulator_model(spec, aim, a_kit(ScriptedUser())) == model


def test_an_unknown_simulated_user_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownName) as caught:
        simulator_model("nobody", SHOP, a_kit(ScriptedUser()))
    assert str(caught.value) == "unknown simulated user 'nobody'; known: offline, provider:model, scripted"


MODEL = ScriptedModel('{"reason": "r", "message": "It is L-1.", "ending": null}', name="m")


@pytest.mark.parametrize(
    ("simulator", "target", "played"),
    [
        ("", "shop", "offline"),
        ("scripted", "shop", "scripted"),
        ("openai:x", "shop", "openai:x"),
        ("openai:x", "replay:shop", "replay"),
    ],
)
def test_who_plays_is_named(simulator: str, target: str, played: str) -> None:
    assert a_cast(target, simulator=simulator).simulator == played


def test_what_shapes_the_users_words_is_pinned() -> None:
    def pin(simulator: str = "", model: ScriptedModel | None = None, **settings: Any) -> str:
        configured = {"simulator_settings": CallSettings(**settings)}
        return a_cast(
            "shop", simulator=simulator, models=OpenModels(simulator=model), settings=configured
        ).simulator_sha256

    pins = [
        pin(),
        pin("scripted"),
        pin("openai:x", MODEL),
        pin("openai:y", MODEL),
        pin("openai:x", MODEL, temperature=0.7),
        pin("openai:x", MODEL, temperature=0.7, seed=3),
    ]
    assert len(set(pins)) == 6
    assert pin("openai:x", ScriptedModel(name="other"), temperature=0.7) == pins[4]


SCENARIO = a_case(id="lamp", input=Scenario(persona="P", initial_message="My lamp is broken.", goal="a refund"))
ASKED = [Message(role=Role.USER, content="Hi"), Message(role=Role.ASSISTANT, content="Which order?")]


async def test_a_model_plays_with_its_settings_and_a_seed_of_each_repeat() -> None:
    seeds: list[int | None] = []
    for repeat in (1, 2, 1):
        model = ScriptedModel('{"reason": "r", "message": "It is L-1.", "ending": null}', name="m")
        settings = {"simulator_settings": CallSettings(temperature=0.7, seed=3)}
        models = OpenModels(simulator=model)
        users = a_cast("shop", simulator="openai:x", models=models, settings=settings).users("", repeat)
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
    scripted = ScriptedUser("Scripted words", UserExit(Ending.GAVE_UP))
    kit = a_kit(scripted)
    users = a_cast("shop", kit=kit, simulator="scripted").users("", 1)
    assert users.name == "scripted"
    assert await users.open(SCENARIO, 2).next([]) == UserMessage("Scripted words")
    written = users.open(a_case(input=Script(turns=("One", "Two"))))
    assert [await written.next([]) for _ in range(3)] == [
        UserMessage("One"),
        UserMessage("Two"),
        UserExit(Ending.SAID_ALL),
    ]
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
        endings.append(move.ending if isinstance(move, UserExit) else None)
    assert endings[0] is Ending.HANDED_OFF
    assert endings[1] is not Ending.HANDED_OFF


def talk(*turns: str) -> Transcript:
    return Transcript(answer="", messages=tuple(Message(role=Role.USER, content=text) for text in turns))


async def resent(recordings: Recordings | None, candidate: str, repeat: int, case: Case = SCENARIO) -> list[str]:
    users = a_cast("replay:shop", recordings=recordings).users(candidate, repeat)
    assert isinstance(users, ReplayedUsers)
    user, said = users.open(case), []
    while isinstance(move := await user.next([]), UserMessage):
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
    two = Recordings({("lamp", "juno", 1): talk("a"), ("lamp", "orchid", 1): BrokenRecording(reason="broke")})
    own = a_case(id="lamp", recorded=talk("own"))
    assert await resent(two, "", 1, own) == ["own"]
    assert await resent(two, "orchid", 1, own) == ["own"]
    assert await resent(None, "", 1, own) == ["own"]
