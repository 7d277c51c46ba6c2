"""The participants of a run's conversations: its candidates, and the target and the simulated user of each of them and
each repeat."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from howsure.engine.candidates import TimeLimits
from howsure.errors import ConfigInvalid, PlanRefused, UnknownName
from howsure.kit import Kit
from howsure.llm.transport import AddressGuard
from howsure.model.agent import Agent
from howsure.model.case import Case, Scenario, user_turns
from howsure.model.expectation import CorrectChoice
from howsure.model.flag import Flag
from howsure.model.llm_settings import CallSettings
from howsure.model.run import targets_of
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.model.transcript import Transcript
from howsure.services.files import fingerprint
from howsure.services.run.model_access import RECORDED, OpenModels
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

CHAT, REPLAY = "chat", "replay"

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
        rest = spec.partition(":")[2].strip()
        inner = None if f"{rest}:".startswith(f"{REPLAY}:") else parse_target(rest, kit, blocks)
        if inner is None or inner.is_recorded:
            raise PlanRefused("--target replay: needs the agent to re-send the messages to, such as replay:http:URL")
        return replace(inner, replay=True)
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


class Candidate(Struct, frozen=True, kw_only=True):
    """One way of answering that a run compares: a target under a short name. `model`, `settings` and `system_prompt`
    are those of a chat target; `prompt` is the one with which it is asked, where the dataset has several."""

    name: str
    target: TargetSpec
    model: str = ""
    settings: CallSettings = CallSettings()
    system_prompt: str = ""
    prompt: str = ""


BETWEEN = " / "
"""The separator between the names of a target and of a prompt."""


def resolve_candidates(request: RunRequest, work: Workspace, recorded: tuple[str, ...] = ()) -> tuple[Candidate, ...]:
    """The candidates of a run: its targets, each with every prompt of the dataset where that has several."""
    prompts, named = request.prompts, request.candidates
    if not prompts:
        return _targets_of(request, work, recorded)
    ends = {
        name: next((each for each in prompts if name == each or name.endswith(BETWEEN + each)), "") for name in named
    }
    bare = {name: name.removesuffix(end).removesuffix(BETWEEN) for name, end in ends.items()}
    wanted = tuple(dict.fromkeys(filter(None, bare.values())))
    every = [
        replace(each, name=f"{each.name}{BETWEEN}{prompt}" if each.name else prompt, prompt=prompt)
        for each in _targets_of(replace(request, candidates=wanted, prompts=()), work, recorded)
        for prompt in prompts
    ]
    chosen = [each for each in every if not named or each.name in named or each.name.rpartition(BETWEEN)[0] in named]
    return tuple(chosen or every)


def _targets_of(request: RunRequest, work: Workspace, recorded: tuple[str, ...]) -> tuple[Candidate, ...]:
    """The candidates of a run. Every `--target` is one, under the name of its block or as it is written; one target
    alone needs no name. A chat target without a model stands for the candidates that `--candidate` names, else for
    those of the settings; recorded answers stand for those who gave them."""
    written = targets_of(request) or ("",)
    specs = {spec: parse_target(spec, work.kit, work.settings.targets) for spec in written}
    if len(specs) < len(written):
        raise PlanRefused(f"--target {next(spec for spec in specs if written.count(spec) > 1)} is named twice")
    if len(specs) == 1:
        return _only_target(request, work, specs[written[0]], recorded)
    if odd := [spec for spec, target in specs.items() if target.is_recorded or target.replay]:
        raise PlanRefused(f"--target {odd[0] or RECORDED} stands alone: several targets are live ones")
    fixed: dict[str, Candidate] = {}
    without_model: list[TargetSpec] = []
    for spec, target in specs.items():
        model = _fixed_model(target)
        if target.kind == CHAT and not model:
            without_model.append(target)
            continue
        name = spec if target.name == spec else model or spec
        fixed[name] = Candidate(name=name, target=target, model=model, settings=_call_settings(target, work))
    rest = tuple(name for name in request.candidates if name not in fixed)
    chosen = [each for each in fixed.values() if not request.candidates or each.name in request.candidates]
    for target in without_model if rest or not request.candidates else ():
        chosen += _chat_candidates(target, rest, work)
    if rest and not without_model:
        raise PlanRefused(f"--candidate {rest[0]}: no --target of that name; there are {', '.join(fixed)}")
    return tuple({each.name: each for each in chosen}.values())


def _only_target(
    request: RunRequest, work: Workspace, target: TargetSpec, recorded: tuple[str, ...]
) -> tuple[Candidate, ...]:
    named, model = request.candidates, _fixed_model(target)
    if target.kind == CHAT and not model:
        return _chat_candidates(target, named, work)
    if target.kind == CHAT and not target.replay and named not in ((), (model,)):
        raise PlanRefused(
            f"--candidate {named[0]}: this target asks {model} only; write --target chat (or a block without"
            " `model`) to ask the candidates, or one --target for each"
        )
    names = named or (recorded if not target.replay else ()) or (model,)
    settings = _call_settings(target, work)
    return tuple(Candidate(name=name, target=target, model=model, settings=settings) for name in names)


def _call_settings(target: TargetSpec, work: Workspace) -> CallSettings:
    """How a target's model is called: as the candidate of its name, where there is one."""
    own, usual = work.settings.candidates.get(target.name), work.settings.target_settings
    return usual if own is None else own.call_settings(usual)


def _chat_candidates(target: TargetSpec, names: tuple[str, ...], work: Workspace) -> tuple[Candidate, ...]:
    """A chat target without a model: those that are named, else all of the settings."""
    known, usual = work.settings.candidates, work.settings.target_settings
    if not names and not known:
        raise PlanRefused(
            "--target chat needs models: chat:provider:model, or --candidate provider:model for each,"
            " or `candidates:` in howsure.yaml"
        )
    chosen: list[Candidate] = []
    for name in names or known:
        if own := known.get(name):
            settings, prompt = own.call_settings(usual), own.system_prompt
            chosen.append(Candidate(name=name, target=target, model=own.model, settings=settings, system_prompt=prompt))
        elif ":" in name:
            chosen.append(Candidate(name=name, target=target, model=name, settings=usual))
        else:
            raise UnknownName("candidate", name, [*known, "provider:model"])
    return tuple(chosen)


def _fixed_model(target: TargetSpec) -> str:
    """The model that a chat target names itself; "" for other kinds."""
    if target.kind != CHAT:
        return ""
    return target.rest or read_chat_settings(target.name, target.settings)[0].model


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


class Participants(Struct, frozen=True, dict=True):
    """Everyone who takes part in the conversations of a run: its candidates, and for each of them and each repeat a
    target and a simulated user. `guard` says where the target may be reached; None: anywhere."""

    work: Workspace
    request: RunRequest
    models: OpenModels
    agent: Agent | None = None
    recordings: Recordings | None = None
    guard: AddressGuard | None = None

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        recorded = self.recordings.candidates if self.recordings else ()
        return resolve_candidates(self.request, self.work, recorded)

    @property
    def spec(self) -> TargetSpec:
        return self.candidates[0].target

    @cached_property
    def simulates(self) -> bool:
        """Whether the run has a simulated user, or the earlier run whose answers are graded had one."""
        if not self.spec.is_recorded:
            return not self.spec.replay
        earlier = self.recordings.by_case.values() if self.recordings and self.recordings.of_run else ()
        return any(isinstance(each, Transcript) and each.simulation is not None for each in earlier)

    @property
    def simulator(self) -> str:
        """Who plays the user's side: `replay`, `offline`, a model, or a plug-in's."""
        return REPLAY if self.spec.replay else self.request.simulator or OFFLINE

    @property
    def simulator_sha256(self) -> str:
        if self.models.simulator is None or self.spec.replay:
            return fingerprint([self.simulator, __version__])
        version = LiveUsers(self.models.simulator).version
        return fingerprint([self.simulator, version, self.work.settings.simulator_settings])

    @property
    def target_sha256(self) -> str:
        """A hash of how the targets are asked, besides what the request says itself."""
        targets = {candidate.target.name: candidate.target for candidate in self.candidates}
        return self.models.target_sha256 + "".join(target.sha256 for target in targets.values())

    def budget_check(self, candidate: Candidate) -> Callable[[], None]:
        """A bot that is not a model of ours may cost, too: once the budget is spent, nothing is sent to it whose answer
        could not be graded. A model of ours keeps the budget itself, as what it said before costs nothing."""
        costs_elsewhere = not candidate.target.is_recorded and candidate.target.kind != CHAT
        return self.models.check_budget if costs_elsewhere else lambda: None

    def target(self, candidate: Candidate, repeat: int) -> Target:
        spec, kit = candidate.target, self.work.kit
        if spec.is_recorded:
            return RecordedTarget(self.recordings, candidate.name, repeat)
        if self.recordings is not None and not spec.replay:
            raise PlanRefused(f"--responses has the answers already; it cannot go with --target {spec.name}")
        if spec.kind == CHAT:
            block, scripts = read_chat_settings(spec.name, spec.settings)
            described = self.agent.system_prompt if self.agent else ""
            return ChatTarget(
                self.models.models[candidate.model],
                candidate.system_prompt or block.system_prompt or described,
                namespace=f"repeat {repeat}",
                documents=self.models.documents,
                offer=tool_offer(block, scripts, self.work.beside, self.agent),
                agent=block.agent,
                settings=candidate.settings,
            )
        request = TargetRequest(
            name=spec.name,
            rest=spec.rest,
            settings=spec.settings,
            folder=self.work.beside,
            environ=os.environ,
            state=self.request.state,
            agent=self.agent,
            candidate=candidate.name,
            repeat=repeat,
            guard=self.guard,
            documents=self.models.documents,
        )
        made = kit.targets[spec.kind] if spec.kind in kit.targets else kit.kinds[spec.kind].make(request)
        # One name alone is what the target is called in this run.
        several = len(targets_of(self.request)) == 1 < len(self.request.candidates) and not candidate.prompt
        if several and not spec.replay and not getattr(made, "takes_candidate", False):
            raise PlanRefused(
                f"--candidate {candidate.name}: the target {spec.name} is never told which candidate it is, so all"
                " would be the same: use {candidate} in its settings, take `candidate` in its code, or name one"
                " --target for each"
            )
        return made

    def users(self, candidate: str, repeat: int) -> UserSimulator:
        if self.spec.is_recorded:
            return SCRIPTED
        if self.spec.replay:
            return ReplayedUsers(_earlier_conversations(self.recordings, candidate, repeat))
        stops = StopRules(handoff_tools=handoff_tools(self.agent.tools)) if self.agent else StopRules()
        if self.models.simulator is not None:
            settings = self.work.settings.simulator_settings
            namespace = f"repeat {repeat}"
            return LiveUsers(self.models.simulator, self.simulator, namespace, settings=settings, stops=stops)
        if self.simulator in self.work.kit.users:
            return ScenarioUsers(self.work.kit.users[self.simulator])
        return OfflineUsers(seed=repeat, stops=stops)

    def case_flags(self, candidate: Candidate) -> Callable[[Case], Iterable[Flag]]:
        """Flags the documents of a case that cannot be read or are cut, where anybody is shown them: a live target, or
        a live judge, which is not asked about choices."""
        target, models = candidate.target, self.models
        if not target.is_recorded:
            return partial(models.documents.flags, pictures=target.kind == CHAT)
        if not models.judge_reads:
            return lambda case: ()

        def flags(case: Case) -> Iterable[Flag]:
            choice = all(isinstance(expected, CorrectChoice) for expected in case.expectations)
            return () if choice else models.documents.flags(case)

        return flags

    def limits(self, candidate: Candidate) -> TimeLimits:
        """A model has limits of its own for each attempt, and may wait for a rate limit longer than that; so has a kind
        of target that times its own calls."""
        kind, kit, settings = candidate.target.kind, self.work.kit, self.work.settings
        if candidate.target.is_recorded:
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
    found: dict[str, Transcript] = {}
    for place in reversed(preferred):
        found |= {
            case: recording
            for (case, *by), recording in recordings.by_case.items()
            if tuple(by) == place and isinstance(recording, Transcript)
        }
    return found
