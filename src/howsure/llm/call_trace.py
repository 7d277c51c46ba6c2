"""The trace of every attempt, for `--trace FILE`: bodies and outcomes, never headers, secrets removed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, Any

import msgspec

from howsure.llm.base import ModelReply
from howsure.llm.redact import Redactor
from howsure.llm.retry import FailedAttempt

TraceSink = Callable[[Mapping[str, Any]], None]
"""Receives one attempt: `model`, `purpose`, `attempt`, `seconds`, `request`, and `answer` or `failure`."""


class CallTracer:
    """Passes every attempt to a `TraceSink`."""

    def __init__(self, trace: TraceSink | None, redactor: Redactor) -> None:
        self._trace = trace
        self.redactor = redactor

    def record_attempt(
        self, model: str, purpose: str, number: int, body: bytes, outcome: ModelReply | FailedAttempt, seconds: float
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
        if isinstance(outcome, ModelReply):
            event["answer"] = self._clean(msgspec.to_builtins(outcome))
        else:
            failure = {"kind": outcome.kind.name.lower(), "status": outcome.status, "message": outcome.message}
            event["failure"] = self._clean(failure)
        self._trace(event)

    def _clean(self, value: Any) -> Any:
        """The value with every text in it cleaned. Cleaning the JSON text itself could break it."""
        if isinstance(value, str):
            return self.redactor.clean(value)
        if isinstance(value, dict):
            return {name: self._clean(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(part) for part in value]
        return value


def trace_to_file(file: IO[bytes]) -> TraceSink:
    """A `TraceSink` that writes JSON lines."""
    encoder = msgspec.json.Encoder()

    def write(event: Mapping[str, Any]) -> None:
        file.write(encoder.encode(event) + b"\n")
        file.flush()

    return write
