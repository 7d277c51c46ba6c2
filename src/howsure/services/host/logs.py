"""The log of a service or a worker: one JSON object a line, on stderr, or plain text for a person at a terminal."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from typing import Any, TextIO

import msgspec

STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
"""The fields of every log record; all others come from `extra`."""

REPEAT_SECONDS = 1.0
MAX_KIND = 200
MAX_KINDS = 1_000


class JsonLinesFormatter(logging.Formatter):
    """Records as JSON. A value that JSON has no type for is written as its repr."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "from": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in STANDARD_FIELDS},
        }
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(entry, enc_hook=repr).decode()


class RepeatFilter(logging.Filter):
    """Lets one warning or error of each kind through per second, with the number of those held back. A kind is the text
    of the message before its values are filled in."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._last: dict[tuple[str, str], float] = {}
        self._held: Counter[tuple[str, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        kind, now = (record.name, str(record.msg)[:MAX_KIND]), self._clock()
        if now - self._last.get(kind, -REPEAT_SECONDS) < REPEAT_SECONDS:
            self._held[kind] += 1
            return False
        if len(self._last) >= MAX_KINDS:
            self._last.clear()
        self._last[kind] = now
        if held := self._held.pop(kind, 0):
            record.msg, record.args = f"{record.getMessage()} (and {held:,} more like it before)", None
        return True


def configure_logging(stream: TextIO = sys.stderr, *, plain: bool, level: int = logging.INFO) -> None:
    """Write every log record to `stream`, in place of all earlier handlers."""
    writer = logging.StreamHandler(stream)
    writer.addFilter(RepeatFilter())
    writer.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s") if plain else JsonLinesFormatter())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(writer)
    root.setLevel(level)
