"""Every attempt, as it went over the wire, for `--trace FILE`: bodies and outcomes, never headers, secrets removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, Any

import msgspec

from howsure.llm.failures import Failed
from howsure.llm.redact import Redactor
from howsure.llm.wire import Answer

Trace = Callable[[Mapping[str, Any]], None]
"""Is given one attempt: `model`, `purpose`, `attempt`, `seconds`, `request`, and `answer` or `failure`."""


class Tracer:
    """Tells a `Trace` of every attempt."""

    def __init__(self, trace: Trace | None, redactor: Redactor) -> None:
        self._trace = trace
        self._redactor = redactor

    @property
    def on(self) -> bool:
        return self._trace is not None

    def attempt(
        self, model: str, purpose: str, number: int, body: bytes, outcome: Answer | Failed, seconds: float
    ) -> None:
        if self._trace is None:
            return
        event = {
            "model": model,
            "purpose": purpose,
            "attempt": number,
            "seconds": round(seconds, 6),
            "request": self._clean(msgspec.json.decode(body)),
        }
        if isinstance(outcome, Answer):
            event["answer"] = self._clean(msgspec.to_builtins(outcome))
        else:
            failure = {"kind": outcome.kind.name.lower(), "status": outcome.status, "message": outcome.message}
            event["failure"] = self._clean(failure)
        self._trace(event)

    def _clean(self, value: Any) -> Any:
        """Every text in it cleaned. The JSON itself is left alone: taking words out of it could break it."""
        if isinstance(value, str):
            return self._redactor.clean(value)
        if isinstance(value, dict):
            return {name: self._clean(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(part) for part in value]
        return value


def to_file(file: IO[bytes]) -> Trace:
    """A `Trace` that writes JSON lines."""
    encoder = msgspec.json.Encoder()

    def write(event: Mapping[str, Any]) -> None:
        file.write(encoder.encode(event) + b"\n")
        file.flush()

    return write
