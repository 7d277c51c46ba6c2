"""Compares what a side left with what a row expects of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from net.rows import Expected
from net.runner import Outcome


def differences(expected: Expected, outcome: Outcome) -> list[str]:
    """A sentence for everything that is not as expected; a crash is never expected."""
    wanted = {"exit": 0, **expected} if "exit" not in expected else dict(expected)
    found = [] if outcome.code != 1 else [f"it broke: {outcome.err[-2000:]}"]
    return found or [text for name, value in wanted.items() for text in _differs(name, value, outcome)]


def _differs(name: str, value: Any, outcome: Outcome) -> Iterator[str]:
    kind, _, rest = name.removeprefix("no ").partition(" ")
    there = not name.startswith("no ")
    match kind:
        case "exit":
            if outcome.code != value:
                yield f"exit code {outcome.code}, expected {value}: {outcome.err[-1000:] or outcome.out[:200]}"
        case "out" | "err" | "file" | "has":
            text = _text(kind, rest, outcome)
            for each in [value] if isinstance(value, str) else value:
                if (text is not None and _joined(each) in _joined(text)) is not there:
                    yield f"{each!r} is {'not ' if there else ''}in {name.removeprefix('no ')}: {text and text[-3000:]}"
        case "is":
            if _is_json(outcome.out) is not value:
                yield f"stdout is {'no ' if value else ''}JSON: {outcome.out[-1000:]}"
        case "verdicts" | "scores" | "flags":
            yield from _of_cases(kind, value, outcome)
        case _:
            found = value_at(name, outcome.json)
            if not equal(found, value):
                yield f"{name} is {found!r}, expected {value!r}"


def _text(kind: str, rest: str, outcome: Outcome) -> str | None:
    """Where a text is looked for; None: a file that is not there."""
    match kind:
        case "out":
            return outcome.out
        case "err":
            return outcome.err
        case "has":
            return str(value_at(rest, outcome.json))
        case _:
            files = sorted(path for path in outcome.folder.glob(rest) if path.is_file())
            return files[0].read_bytes().decode("utf-8", "replace") if files else None


def _of_cases(kind: str, wanted: dict[str, Any], outcome: Outcome) -> Iterator[str]:
    for place, value in wanted.items():
        case, _, grader = place.rpartition(" ") if kind == "scores" else (place, "", "")
        result = outcome.results.get(case)
        if result is None:
            found: Any = "no result"
        elif kind == "verdicts":
            found = result["verdict"]
        elif kind == "flags":
            found = [flag["kind"] for flag in result.get("flags", ())]
        else:
            found = result.get("scores", {}).get(grader, {"score": "no score"})["score"]
        if not equal(found, value):
            yield f"{kind} of {place}: {found!r}, expected {value!r}"


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False


def _joined(text: str) -> str:
    """Without the breaks of lines that a narrow terminal makes."""
    return " ".join(text.split())


def value_at(path: str, value: Any) -> Any:
    for part in path.split("."):
        if part == "#":
            return len(value) if isinstance(value, list | dict) else "nothing"
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            return "nothing"
    return value


def equal(found: Any, wanted: Any) -> bool:
    if wanted is ...:
        return found not in ("nothing", None)
    if isinstance(wanted, float) and isinstance(found, int | float) and not isinstance(found, bool):
        return math.isclose(found, wanted, rel_tol=1e-6, abs_tol=1e-4 if abs(wanted) > 0.01 else 1e-9)
    return bool(found == wanted)
