"""Limits of connections: how many at a time, how long a request may take to arrive, and how long an answer may stay
unread."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from howsure.api.errors import error_answer

BACKLOG = 64
"""Connections that may wait to be accepted. As many are accepted at once before one of them can be refused."""
RESERVED_FILES = BACKLOG + 128
"""Descriptors that are kept for the database, workers and files."""
_FULL = error_answer(503, "the service has as many connections as it can take: try again later")
CROWDED = b"\r\n".join(
    (
        b"HTTP/1.1 503 Service Unavailable",
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(_FULL.body),
        b"Retry-After: 5\r\nConnection: close\r\n",
        bytes(_FULL.body),
    )
)


def connection_limit(wanted: int, files: int) -> int:
    """How many connections leave enough descriptors, where a process may open so many files."""
    return max(16, min(wanted, files - RESERVED_FILES))


class TimedConnection(H11Protocol):
    """A connection that is closed when the head of a request, or the rest of a body that was refused, takes too long,
    and when an answer is not read. The server itself limits only the pause between two requests."""

    head_seconds = 10.0
    unread_seconds = 60.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            transport.write(CROWDED)
            transport.close()
        self._time_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._time_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._time_head()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in (self._head_timer, self._unread_timer):
            if timer is not None:
                timer.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._time_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread_timer is not None:
            self._unread_timer.cancel()

    def _time_head(self) -> None:
        """The clock runs while no request is being answered."""
        answering = bool(self.cycle) and not self.cycle.response_complete
        if answering and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        elif not answering and self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _time_reader(self, before: int | None = None) -> None:
        unread = self.transport.get_write_buffer_size()
        if before is not None and unread >= before:
            self.transport.abort()
        else:
            self._unread_timer = self.loop.call_later(self.unread_seconds, self._time_reader, unread)
