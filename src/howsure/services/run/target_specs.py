"""What `--target` and `--simulator` name, taken apart. Making the real thing of it is in `participants`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from howsure.errors import ConfigInvalid, PlanRefused, UnknownName
from howsure.kit import Kit
from howsure.model.run_request import OFFLINE, RunRequest
from howsure.services.fingerprints import fingerprint
from howsure.targets.chat.tools import read_chat_settings

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
        return _block_target(spec, blocks[spec], kit)
    kind, _, rest = spec.partition(":")
    if kind == "https":
        kind, rest = "http", spec
    if spec in kit.targets:
        return TargetSpec(name=spec, kind=spec)
    if kind in kit.kinds or kind == CHAT:
        return TargetSpec(name=kind, kind=kind, rest=rest)
    raise UnknownName("target", spec, [*blocks, *kit.targets.names(), CHAT, *kit.kinds.names(), REPLAY])


def _block_target(name: str, block: Mapping[str, Any], kit: Kit) -> TargetSpec:
    kind = block.get("kind")
    known = [CHAT, *kit.kinds.names()]
    if kind not in known:
        found = repr(kind) if "kind" in block else "no `kind`"
        raise ConfigInvalid(f"`targets.{name}.kind`: expected one of {', '.join(known)}, found {found}")
    return TargetSpec(name=name, kind=kind, settings={key: value for key, value in block.items() if key != "kind"})


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
