"""The participants of a run's conversations: the target and the simulated user of each candidate and repeat."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from howsure.engine.candidates import TimeLimits
from howsure.errors import ConfigInvalid, PlanRefused, UnknownName
from howsure.kit import Kit
from howsure.llm.transport import AddressGuard
from howsure.model.agent import Agent
from howsure.model.case import Case, Scenario, user_turns
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.model.transcript import Transcript
from howsure.services.files import fingerprint
from howsure.services.run.model_access import OpenModels
from howsure.services.workspace import Workspace
from howsure.targets.base import Target, TargetRequest
from howsure.targets.chat.target import ChatTarget
from howsure.targets.chat.tools import read_chat_settings, tool_offer
from howsure.targets.recordings import RecordedTarget, Recordings
from howsure.users.base import User, UserSimulator
from howsure.users.live_users import LiveUsers
from howsure.users.offline_users import OfflineUsers
from howsure.users.scripts import FixedTurns, ReplayedUsers, ScriptedUsers
from howsure.users.stops import StopRules, handoff_tools
from howsure.version import __version__

RECORDED, CHAT, REPLAY = "recorded", "chat", "replay"

Blocks = Mapping[str, Mapping[str, Any]]


class TargetSpec(Struct, frozen=True, kw_only=True):
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
        configured = self.settings or self.name != self.kind
        return fingerprint([self.kind, dict(self.settings)]) if configured else ""


def parse_target(spec: str, kit: Kit, blocks: Blocks) -> TargetSpec:
    """`NAME` of a block or a plug-in's target, `KIND:REST`, or `replay:` and one of these; nothing is `recorded`."""
    spec = spec.strip() or RECORDED
    if spec == REPLAY or spec.startswith(f"{REPLAY}:"):
        inner = parse_target(spec.partition(":")[2], kit, blocks)
        if inner.is_recorded or inner.replay:
            raise PlanRefused("--target replay: needs the agent to re-send the messages to, such as replay:http:URL")
        return TargetSpec(name=inner.name, kind=inner.kind, rest=inner.rest, settings=inner.settings, replay=True)
    if spec in blocks:
        block, known = blocks[spec], [CHAT, *kit.kinds.names()]
        if (kind := block.get("kind")) not in known:
            found = repr(kind) if "kind" in block else "no `kind`"
            raise ConfigInvalid(f"`targets.{spec}.kind`: expected one of {', '.join(known)}, found {found}")
        return TargetSpec(name=spec, kind=kind, settings={key: block[key] for key in block if key != "kind"})
    kind, _, rest = spec.partition(":")
    if kind == "https":
        kind, rest = "http", spec
    if spec in kit.targets:
        return TargetSpec(name=spec, kind=spec)
    if kind in kit.kinds or kind == CHAT:
        return TargetSpec(name=kind, kind=kind, rest=rest)
    raise UnknownName("target", spec, [*blocks, *kit.targets.names(), CHAT, *kit.kinds.names(), REPLAY])


def chat_models(target: TargetSpec, request: RunRequest) -> tuple[str, ...]:
    """The models under test: of `--target chat:MODEL` or a chat block; with `--target chat`, the candidates."""
    if target.kind != CHAT:
        return ()
    model = target.rest or read_chat_settings(target.name, target.settings)[0].model
    if not model and not request.candidates:
        raise PlanRefused("--target chat needs models: chat:provider:model, or --candidate provider:model for each")
    return (model,) if model else request.candidates


def simulator_model(spec: str, target: TargetSpec, kit: Kit) -> str:
    """The model that plays users; none where a program does, or where there is nobody to play."""
    if target.is_recorded or target.replay or spec in ("", OFFLINE) or spec in kit.users:
        return ""
    if ":" not in spec:
        raise UnknownName("simulated user", spec, [OFFLINE, *kit.users.names(), "provider:model"])
    return spec


SCRIPTED = ScriptedUsers()
"""Where every word was said before, nobody has to play the user."""
TURN_SECONDS = 300.0
"""How long a live agent may take for one turn unless the settings say otherwise."""


class ScenarioUsers:
    """A plug-in's users, for scenarios alone: what is written turn by turn needs nobody to play it."""

    def __init__(self, users: UserSimulator) -> None:
        self.name = users.name
        self._users = users

    def open(self, case: Case, attempt: int = 1) -> User:
        if isinstance(case.input, Scenario):
            return self._users.open(case, attempt)
        return FixedTurns(user_turns(case.input))


class Participants:
    """Everyone who takes part in the conversations of a run: makes the target and the simulated user of each candidate
    and repeat. `guard` says where the target may be reached; None: anywhere."""

    def __init__(
        self,
        work: Workspace,
        request: RunRequest,
        models: OpenModels,
        *,
        agent: Agent | None = None,
        recordings: Recordings | None = None,
        guard: AddressGuard | None = None,
    ) -> None:
        self._work = work
        self._request = request
        self._models = models
        self._agent = agent
        self._recordings = recordings
        self._guard = guard
        self.spec = parse_target(request.target, work.kit, work.settings.targets)

    @property
    def simulates(self) -> bool:
        """Whether anybody plays the user's side."""
        return not self.spec.is_recorded and not self.spec.replay

    @property
    def simulator(self) -> str:
        """Who plays the user's side: `replay`, `offline`, a model, or a plug-in's."""
        return REPLAY if self.spec.replay else self._request.simulator or OFFLINE

    @property
    def simulator_sha256(self) -> str:
        if self._models.simulator is None or self.spec.replay:
            return fingerprint([self.simulator, __version__])
        version = LiveUsers(self._models.simulator).version
        return fingerprint([self.simulator, version, self._work.settings.simulator_settings])

    def target(self, candidate: str, repeat: int) -> Target:
        spec, kit = self.spec, self._work.kit
        if spec.is_recorded:
            return RecordedTarget(self._recordings, candidate, repeat)
        if self._recordings is not None and not spec.replay:
            raise PlanRefused(f"--responses has the answers already; it cannot go with --target {spec.name}")
        if spec.kind == CHAT:
            block, scripts = read_chat_settings(self.spec.name, self.spec.settings)
            return ChatTarget(
                self._models.models[self.spec.rest or block.model or candidate],
                block.system_prompt or (self._agent.system_prompt if self._agent else ""),
                namespace=f"repeat {repeat}",
                documents=self._models.documents,
                offer=tool_offer(block, scripts, self._work.beside, self._agent),
                agent=block.agent,
            )
        if spec.kind in kit.targets:
            return kit.targets[spec.kind]
        return kit.kinds[spec.kind].make(
            TargetRequest(
                name=spec.name,
                rest=spec.rest,
                settings=spec.settings,
                folder=self._work.beside,
                environ=os.environ,
                state=self._request.state,
                agent=self._agent,
                candidate=candidate,
                repeat=repeat,
                guard=self._guard,
            )
        )

    def users(self, candidate: str, repeat: int) -> UserSimulator:
        if self.spec.is_recorded:
            return SCRIPTED
        if self.spec.replay:
            return ReplayedUsers(_earlier_conversations(self._recordings, candidate, repeat))
        stops = StopRules(handoff_tools=handoff_tools(self._agent.tools)) if self._agent else StopRules()
        if self._models.simulator is not None:
            settings = self._work.settings.simulator_settings
            namespace = f"repeat {repeat}"
            return LiveUsers(self._models.simulator, self.simulator, namespace, settings=settings, stops=stops)
        if self.simulator in self._work.kit.users:
            return ScenarioUsers(self._work.kit.users[self.simulator])
        return OfflineUsers(seed=repeat, stops=stops)

    @property
    def limits(self) -> TimeLimits:
        """A model has limits of its own for each attempt, and may wait for a rate limit longer than that; so has a kind
        of target that times its own calls."""
        kind, kit, settings = self.spec.kind, self._work.kit, self._work.settings
        if self.spec.is_recorded:
            return TimeLimits()
        keeps_time = kind == CHAT or kind in kit.targets or getattr(kit.kinds[kind], "keeps_time", False)
        by_default = None if keeps_time else TURN_SECONDS
        return TimeLimits(turn_seconds=settings.turn_seconds or by_default, case_seconds=settings.case_seconds)


def _earlier_conversations(recordings: Recordings | None, candidate: str, repeat: int) -> dict[str, Transcript]:
    """The earlier conversations by case: this candidate's in this repeat where there is one; else those of nobody by
    name, or of the only one who is named, and those of the first repeat."""
    if recordings is None:
        return {}
    only = recordings.candidates if len(recordings.candidates) == 1 else ()
    preferred = [(name, number) for name in (candidate, "", *only) for number in (repeat, 1)]
    found: dict[str, tuple[int, Transcript]] = {}
    for (case, name, number), recording in recordings.by_case.items():
        if isinstance(recording, Transcript) and (name, number) in preferred:
            place = preferred.index((name, number))
            if case not in found or place < found[case][0]:
                found[case] = (place, recording)
    return {case: recording for case, (_, recording) in found.items()}
