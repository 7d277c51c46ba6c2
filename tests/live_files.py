"""What the tests of live agents share: datasets written out, and servers in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Json = dict[str, Any]
TESTS = Path(__file__).parent
FASTAPI_BOT = TESTS / "fastapi_bot.py"
MODEL_SERVER = TESTS / "e2e" / "model_server.py"


TROUBLES = ("hangs", "closes", "garbage", "500")


def trouble_of(case: str, turn: int) -> str:
    """What goes wrong in one turn of five, by the numbers of case and turn: whoever asks again gets the same."""
    place = int(case.rpartition("-")[2]) + turn
    return TROUBLES[place // 5 % len(TROUBLES)] if place % 5 == 0 else ""


@contextmanager
def serving(program: Path, folder: Path, *words: str) -> Iterator[str]:
    """The address of a program that writes its port to a file; it is killed at the end."""
    port = folder / f"port-{program.stem}-{'-'.join(words)}"
    process = subprocess.Popen([sys.executable, str(program), str(port), *words])
    try:
        until = time.monotonic() + 60
        while not port.is_file() or not port.read_text(encoding="utf-8"):
            assert process.poll() is None and time.monotonic() < until, f"{program.name} did not start"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port.read_text(encoding='utf-8')}"
    finally:
        process.kill()
        process.wait()


def fetched(url: str, method: str = "GET") -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, method=method)) as answer:
        return json.load(answer)


def written(path: Path, document: Json) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def golden(path: Path, *questions: Json) -> Path:
    """A golden file; what a question does not say is empty."""
    blank: Json = {"agents_evaluated": [], "reference_data": {}}
    return written(path, {"golden_questions": [blank | one for one in questions]})


def test_set(path: Path, *entries: Json) -> Path:
    return written(path, {"name": "live", "items": list(entries)})


test_set.__test__ = False  # type: ignore[attr-defined]  # its name is no request to pytest


def scenario(id: str, opening: str, *, criteria: Sequence[str] = (), **inputs: Any) -> Json:
    """A scenario of a test set, with tools that must not be used unless it has criteria."""
    expected: Json = {"success_criteria": list(criteria)} if criteria else {"should_not_use_tools": ["refund"]}
    inputs = {"persona": "A customer who writes in short sentences.", "initial_message": opening, **inputs}
    return {"item_id": id, "type": "scenario", "inputs": inputs, "expected": expected}


def lines(path: Path, rows: Sequence[Json]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path
