"""The log of a service or a worker: one JSON object a line, on stderr, or plain text for a person at a terminal."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
"""The fields of every log record; all others come from `extra`."""


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


def configure_logging(stream: TextIO = sys.stderr, *, plain: bool, level: int = logging.INFO) -> None:
    """Write every log record to `stream`, in place of all earlier handlers."""
    writer = logging.StreamHandler(stream)
    writer.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s") if plain else JsonLinesFormatter())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(writer)
    root.setLevel(level)
