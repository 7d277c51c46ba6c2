"""The log of a service or a worker: one JSON object a line, on stderr, or plain text for a person at a terminal."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
"""What every record has; the rest was said by whoever logged it."""


class JsonLines(logging.Formatter):
    """Records as JSON. What JSON cannot say is written as its repr."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "from": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in PLAIN},
        }
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(told, enc_hook=repr).decode()


def set_up(stream: TextIO = sys.stderr, *, plain: bool, level: int = logging.INFO) -> None:
    """Everything that is logged goes to `stream`."""
    writer = logging.StreamHandler(stream)
    writer.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s") if plain else JsonLines())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(writer)
    root.setLevel(level)
