"""Whom a run talks to, and who plays the user: a `--target` and a `--simulator` made into the real thing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from howsure.engine.plan import Limits
from howsure.errors import ConfigInvalid, PlanRefused, UnknownName
from howsure.judges.documents import Documents
from howsure.judges.prompting import NO_DOCUMENTS
from howsure.kit import Kit
from howsure.llm.base import LanguageModel
from howsure.llm.guard import Guard
from howsure.model.agent import Agent
from howsure.model.calls import CallSettings
from howsure.model.case import Case, Scenario, user_turns
from howsure.model.transcript import Transcript
from howsure.services.fingerprints import fingerprint
from howsure.services.options import RunOptions
from howsure.targets.base import Target
from howsure.targets.chat.block import offer_of, read_chat
from howsure.targets.chat.target import ChatTarget
from howsure.targets.making import Wish
from howsure.targets.recorded import RecordedTarget, Recordings
from howsure.users.base import User, UserSide
from howsure.users.handoff import handoff_tools
from howsure.users.live import LiveUsers
from howsure.users.offline import OfflineUsers
from howsure.users.replayed import ReplayedUsers
from howsure.users.script import FixedTurns
from howsure.users.stops import Stops
from howsure.version import __version__

RECORDED, CHAT, REPLAY, OFFLINE = "recorded", "chat", "replay", "offline"
TURN_SECONDS = 300.0
"""How long a live agent may take for one turn unless the settings say otherwise."""

Blocks = Mapping[str, Mapping[str, Any]]


class Ground(Struct, frozen=True, kw_only=True):
    """What the settings say of targets: their blocks, the folder these lie in, and time limits. `guard` says where the
    target may be reached; there is none where whoever chose it may go anywhere."""

    blocks: Blocks = field(default_factory=dict)
    folder: Path = Path()
    turn_seconds: float | None = None
    case_seconds: float | None = None
    guard: Guard | None = None


class Aim(Struct, frozen=True, kw_only=True):
    """A `--target` as it was written, taken apart. `replay`: the user's side is re-sent from earlier conversations."""

    name: str
    kind: str
    rest: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    replay: bool = False

    @property
    def is_recorded(self) -> bool:
        return self.kind == RECORDED

    @property
    def sha256(self) -> str:
        """Of what howsure.yaml says of it; secrets stand there by their names only. A block may be nothing but a
        kind."""
        said = self.settings or self.name != self.kind
        return fingerprint([self.kind, dict(self.settings)]) if said else ""


def aim_of(spec: str, kit: Kit, blocks: Blocks) -> Aim:
    """`NAME` of a block or a plug-in's target, `KIND:REST`, or `replay:` and one of these; nothing is `recorded`."""
    spec = spec.strip() or RECORDED
    if spec == REPLAY or spec.startswith(f"{REPLAY}:"):
        inner = aim_of(spec.partition(":")[2], kit, blocks)
        if inner.is_recorded or inner.replay:
            raise PlanRefused("--target replay: needs the agent to re-send the messages to, such as replay:http:URL")
        return Aim(name=inner.name, kind=inner.kind, rest=inner.rest, settings=inner.settings, replay=True)
    if spec in blocks:
        return _block_aim(spec, blocks[spec], kit)
    kind, _, rest = spec.partition(":")
    if kind == "https":
        kind, rest = "http", spec
    if spec in kit.targets:
        return Aim(name=spec, kind=spec)
    if kind in kit.kinds or kind == CHAT:
        return Aim(name=kind, kind=kind, rest=rest)
    raise UnknownName("target", spec, [*blocks, *kit.targets.names(), CHAT, *kit.kinds.names(), REPLAY])


def _block_aim(name: str, block: Mapping[str, Any], kit: Kit) -> Aim:
    kind = block.get("kind")
    known = [CHAT, *kit.kinds.names()]
    if kind not in known:
        found = repr(kind) if "kind" in block else "no `kind`"
        raise ConfigInvalid(f"`targets.{name}.kind`: expected one of {', '.join(known)}, found {found}")
    return Aim(name=name, kind=kind, settings={key: value for key, value in block.items() if key != "kind"})


def chat_models(aim: Aim, options: RunOptions) -> tuple[str, ...]:
    """The models under test: of `--target chat:MODEL` or a chat block; with `--target chat`, the candidates."""
    if aim.kind != CHAT:
        return ()
    model = aim.rest or read_chat(aim.name, aim.settings)[0].model
    if not model and not options.candidates:
        raise PlanRefused("--target chat needs models: chat:provider:model, or --candidate provider:model for each")
    return (model,) if model else options.candidates


class Playing(Struct, frozen=True, kw_only=True):
    """Who plays the user's side: `spec` is `offline`, `replay`, a model, or a plug-in's; `model` is open where it is
    one, and asked with `settings`."""

    spec: str = OFFLINE
    model: LanguageModel | None = None
    settings: CallSettings = CallSettings()

    @property
    def sha256(self) -> str:
        if self.model is None:
            return fingerprint([self.spec, __version__])
        return fingerprint([self.spec, LiveUsers(self.model).version, self.settings])


def simulator_model(spec: str, aim: Aim, kit: Kit) -> str:
    """The model that plays users; none where a program does, or where there is nobody to play."""
    if aim.is_recorded or aim.replay or spec in ("", OFFLINE) or spec in kit.users:
        return ""
    if ":" not in spec:
        raise UnknownName("simulated user", spec, [OFFLINE, *kit.users.names(), "provider:model"])
    return spec


def playing_for(spec: str, aim: Aim, opened: Playing) -> Playing:
    """Who plays in a run: those who spoke before, the model that was `opened`, or a program."""
    if aim.replay:
        return Playing(spec=REPLAY)
    return opened if opened.model is not None else Playing(spec=spec or OFFLINE)


class Scenarios:
    """A plug-in's users, for scenarios alone: what is written turn by turn needs nobody to play it."""

    def __init__(self, users: UserSide) -> None:
        self.name = users.name
        self._users = users

    def open(self, case: Case, attempt: int = 1) -> User:
        if isinstance(case.input, Scenario):
            return self._users.open(case, attempt)
        return FixedTurns(user_turns(case.input))


class Cast(Struct, frozen=True, kw_only=True):
    """Everyone who takes part in a run's conversations, and what they are made with."""

    aim: Aim
    kit: Kit
    ground: Ground
    playing: Playing = Playing()
    state: Mapping[str, Any] = field(default_factory=dict)
    agent: Agent | None = None
    recordings: Recordings | None = None
    models: Mapping[str, LanguageModel] = field(default_factory=dict)
    documents: Documents = NO_DOCUMENTS

    @property
    def simulates(self) -> bool:
        """Whether anybody plays the user's side here."""
        return not self.aim.is_recorded and not self.aim.replay

    def target(self, candidate: str, repeat: int) -> Target:
        aim, kit = self.aim, self.kit
        if aim.is_recorded:
            return RecordedTarget(self.recordings, candidate, repeat)
        if self.recordings is not None and not aim.replay:
            raise PlanRefused(f"--responses has the answers already; it cannot go with --target {aim.name}")
        if aim.kind == CHAT:
            return self._chat(candidate, repeat)
        return (
            kit.targets[aim.kind]
            if aim.kind in kit.targets
            else kit.kinds[aim.kind].make(self._wish(candidate, repeat))
        )

    def _chat(self, candidate: str, repeat: int) -> Target:
        block, scripts = read_chat(self.aim.name, self.aim.settings)
        model = self.models[self.aim.rest or block.model or candidate]
        system = block.system_prompt or (self.agent.system_prompt if self.agent else "")
        offer = offer_of(block, scripts, self.ground.folder, self.agent)
        namespace = f"repeat {repeat}"
        return ChatTarget(model, system, namespace=namespace, documents=self.documents, offer=offer, agent=block.agent)

    def _wish(self, candidate: str, repeat: int) -> Wish:
        return Wish(
            name=self.aim.name,
            rest=self.aim.rest,
            settings=self.aim.settings,
            folder=self.ground.folder,
            environ=os.environ,
            state=self.state,
            agent=self.agent,
            candidate=candidate,
            repeat=repeat,
            guard=self.ground.guard,
        )

    def users(self, candidate: str, repeat: int) -> UserSide:
        if self.aim.replay:
            return ReplayedUsers(_conversations(self.recordings, candidate, repeat))
        stops = Stops(handoff_tools=handoff_tools(self.agent.tools)) if self.agent else Stops()
        playing = self.playing
        if playing.model is not None:
            return LiveUsers(playing.model, playing.spec, f"repeat {repeat}", settings=playing.settings, stops=stops)
        if playing.spec in self.kit.users:
            return Scenarios(self.kit.users[playing.spec])
        return OfflineUsers(seed=repeat, stops=stops)

    @property
    def limits(self) -> Limits:
        """Models have limits of their own for each attempt, and may rightly wait for a rate limit longer than that; so
        has a kind of target that keeps the time of each call."""
        kind, kit = self.aim.kind, self.kit
        if self.aim.is_recorded:
            return Limits()
        keeps_time = kind == CHAT or kind in kit.targets or getattr(kit.kinds[kind], "keeps_time", False)
        by_default = None if keeps_time else TURN_SECONDS
        ground = self.ground
        return Limits(turn_seconds=ground.turn_seconds or by_default, case_seconds=ground.case_seconds)


def _conversations(recordings: Recordings | None, candidate: str, repeat: int) -> dict[str, Transcript]:
    """The earlier conversations by case: this candidate's in this repeat where there is one; else those of nobody by
    name, or of the only one who is named, and those of the first repeat."""
    if recordings is None:
        return {}
    only = recordings.candidates if len(recordings.candidates) == 1 else ()
    lanes = [(name, number) for name in (candidate, "", *only) for number in (repeat, 1)]
    found: dict[str, tuple[int, Transcript]] = {}
    for (case, name, number), recording in recordings.by_case.items():
        if isinstance(recording, Transcript) and (name, number) in lanes:
            place = lanes.index((name, number))
            if case not in found or place < found[case][0]:
                found[case] = (place, recording)
    return {case: recording for case, (_, recording) in found.items()}
