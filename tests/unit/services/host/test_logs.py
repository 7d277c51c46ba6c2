"""The log: one JSON object a line, with everything that was said, and nothing that breaks a line."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from howsure.services.host.logs import JsonLinesFormatter, configure_logging


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root of all logs, as it was before."""
    found = logging.getLogger()
    before, level = list(found.handlers), found.level
    yield found
    for each in list(found.handlers):
        found.removeHandler(each)
    for each in before:
        found.addHandler(each)
    found.setLevel(level)


def written(message: str, *args: object, level: int = logging.INFO, **fields: Any) -> dict[str, Any]:
    record = logging.LogRecord("howsure.worker", level, "", 0, message, args, fields.pop("exc_info", None))
    vars(record).update(fields)
    line = JsonLinesFormatter().format(record)
    assert "\n" not in line
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_record_is_an_object() -> None:
    told = written("run %s ended", "r1", run_id="r1", ms=1.5)
    assert {name: told[name] for name in told if name != "at"} == {
        "level": "info",
        "from": "howsure.worker",
        "message": "run r1 ended",
        "run_id": "r1",
        "ms": 1.5,
    }
    assert told["at"].endswith("Z")


@pytest.mark.parametrize(
    ("value", "shown"),
    [("a\nb\x1b[31m", "a\nb\x1b[31m"), (None, None), ([1, {"a": 2}], [1, {"a": 2}]), (complex(1, 2), "(1+2j)")],
    ids=["line breaks and colours", "nothing", "nested", "what JSON cannot say"],
)
def test_whatever_was_said_stays_on_its_line(value: object, shown: object) -> None:
    assert written("x", extra_field=value)["extra_field"] == shown


def test_what_broke_has_its_trace() -> None:
    try:
        raise RuntimeError("inside")
    except RuntimeError:
        told = written("broke", level=logging.ERROR, exc_info=sys.exc_info())
    assert told["level"] == "error"
    assert told["trace"].startswith("Traceback")
    assert "RuntimeError: inside" in told["trace"]


@pytest.mark.parametrize("plain", [True, False])
def test_everything_goes_to_one_place(root: logging.Logger, plain: bool) -> None:
    stream = io.StringIO()
    configure_logging(stream, plain=plain, level=logging.WARNING)
    configure_logging(stream, plain=plain, level=logging.WARNING)
    logging.getLogger("some.where").warning("look out", extra={"run_id": "r1"})
    logging.getLogger("some.where").info("all is well")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 1
    assert len(root.handlers) == 1
    if plain:
        assert lines[0].endswith("WARNING look out")
    else:
        assert json.loads(lines[0])["run_id"] == "r1"
