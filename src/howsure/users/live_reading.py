"""The reply of the model that plays the user: a message, or an ending. What cannot be read is never guessed at."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from howsure.judges.embedded import find, without_thinking
from howsure.judges.guard import is_blank
from howsure.judges.rulings import Unreadable
from howsure.model.simulation import Ending
from howsure.users.prompting import ENDINGS

_NO_ENDING = frozenset({"", "null", "none"})


class Next(Struct, frozen=True):
    """What the user does: goes on with `message`, or leaves in the state `ending`."""

    message: str
    ending: Ending | None = None
    reason: str = ""


def read_next(reply: str) -> Next:
    """The one object of the reply, whatever stands around it. Raises `Unreadable` with what was expected and found."""
    found = [value for value in find(without_thinking(reply)).values if isinstance(value, dict)]
    if len(found) != 1:
        raise Unreadable(f"expected one JSON object with message, ending and reason; found {len(found)}")
    given: dict[str, Any] = found[0]
    message, reason = _text(given, "message"), _text(given, "reason")
    ending = _ending(given.get("ending"))
    if ending is None and is_blank(message):
        raise Unreadable("the message is empty and there is no ending")
    return Next(message.strip(), ending, reason)


def _text(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise Unreadable(f"{key} should be a text, not {type(value).__name__}")
    return value or ""


def _ending(value: Any) -> Ending | None:
    if value is None or (isinstance(value, str) and value.strip().lower() in _NO_ENDING):
        return None
    named = value.strip().lower().replace(" ", "_").replace("-", "_") if isinstance(value, str) else ""
    if named not in ENDINGS:
        raise Unreadable(f"ending should be null, goal_reached or gave_up, not {value!r}")
    return Ending(named)
