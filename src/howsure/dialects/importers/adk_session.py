"""`adk-session`: one saved session of an ADK agent (`*.session.json`), with the events of the conversation. Sessions
have no question of their own, so the case's id is a hash of what the user said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from howsure.dialects.documents import Json
from howsure.dialects.importers.adk_recordings import Conversation, Recordings, declarations
from howsure.dialects.importers.adk_shapes import text_of, told
from howsure.dialects.importers.adk_tools import declared_in
from howsure.dialects.importers.base import WithOptions, skipped
from howsure.dialects.importers.loading import load, not_this
from howsure.dialects.json_places import Spot, head_keys
from howsure.dialects.simulation_talk import objects_in
from howsure.errors import Problem
from howsure.model.case import Case

_WANTED = "an ADK session (an object with `id` and a list `events`)"


class AdkSession(WithOptions):
    """`.session.json` files."""

    name = "adk-session"

    def detect(self, path: Path, head: bytes) -> bool:
        keys = set(head_keys(head))
        named = path.name.endswith(".session.json")
        return (
            "id" in keys and (named or "events" in keys) and bool({"app_name", "appName", "events", "context"} & keys)
        )

    def read(self, path: Path) -> Iterator[Case | Problem]:
        loaded = load(path)
        yield from loaded.problems
        if loaded.problems:
            return
        session, spot = loaded.value, loaded.spot
        if not isinstance(session, dict) or not isinstance(session.get("events"), list):
            yield not_this(spot, _WANTED, session)
        else:
            yield from self._case(session, spot)

    def _case(self, session: Json, spot: Spot) -> Iterator[Case | Problem]:
        events = objects_in(session["events"])
        at = told(session, "last_update_time")
        if not any(event.get("author") == "user" and text_of(event.get("content")).strip() for event in events):
            message, hint = "nobody says anything in this session", "a state alone is no conversation"
            yield spot.below("events").problem("no-user-inputs", message, expected="a user's message", hint=hint)
            return
        if self._options.since is not None and not (isinstance(at, int | float) and at >= self._options.since):
            yield skipped(spot, "the session is older than --since")
            return
        state = told(session, "state") or session.get("context")
        declared, instruction = _asked_of_model(session)
        source = declared_in(self._options.agent_folder) if self._options.agent_folder and not declared else None
        if source is not None:
            yield from source.problems
        talk = Conversation(
            events=events,
            session=str(session.get("id") or ""),
            app=str(told(session, "app_name") or ""),
            user=str(told(session, "user_id") or ""),
            state=state if isinstance(state, dict) else None,
            at=at if isinstance(at, int | float) else None,
            declared=declared or (source.declarations if source else []),
            instruction=instruction,
        )
        yield from Recordings(self._options).read(talk, spot)


def _asked_of_model(session: Json) -> tuple[list[Json], str]:
    """The tools and instruction that the model was really given, where the session logged its requests."""
    requests = [told(log, "model_request") for log in objects_in(told(session, "event_logs"))]
    configs = objects_in([told(request, "config") for request in requests])
    instruction = told(configs[0], "system_instruction") if configs else None
    declared = declarations([told(config, "tools") for config in configs])
    return declared, instruction if isinstance(instruction, str) else ""
