"""The scenario catalog of an Explain dataset: JSONL beside it, whose ids the cases refer to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from howsure.dialects.json_places import Spot
from howsure.dialects.lines import Ids, opened, read_objects
from howsure.dialects.problems import Checker, unknown_fields
from howsure.dialects.violations import NOT_BLANK
from howsure.errors import Problem

NAME = "scenario-catalog"
_TEXT = {"type": "string", "pattern": NOT_BLANK}
_COUNT = {"type": "integer", "minimum": 1}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["scenario_id"],
    "properties": {
        "scenario_id": _TEXT,
        "topic_family": _TEXT,
        "learner_level": {"enum": ["beginner", "intermediate", "advanced"]},
        "duration_profile": {"enum": ["short", "standard", "aggressive"]},
        "weekly_hours": _COUNT,
        "duration_weeks": _COUNT,
        "ambiguity": {"enum": ["clear", "underspecified", "conflicting"]},
        "noise_factor": _TEXT,
        "target_exam": _TEXT,
    },
}
_CHECKER = Checker(SCHEMA)


class Catalog(Struct, frozen=True, kw_only=True):
    """The scenario ids of a catalog file, and what is wrong with it."""

    path: Path
    ids: frozenset[str]
    problems: tuple[Problem, ...] = ()


def is_catalog(path: Path) -> bool:
    return NAME in path.name.lower() and path.suffix.lower() in (".jsonl", ".ndjson")


def find_catalogs(dataset: Path) -> list[Path]:
    """The catalogs nearest to a dataset: in its folder, in a folder `common` in or beside that, in the one above."""
    folder = dataset.resolve().parent
    for place in (folder, folder / "common", folder.parent / "common", folder.parent):
        found = sorted(path for path in place.glob("*") if is_catalog(path)) if place.is_dir() else []
        if found:
            return found
    return []


def read_catalog(path: Path) -> Catalog:
    """Strictly, and with every problem."""
    ids, known = Ids("scenario_id"), set()
    problems: list[Problem] = []
    with opened(path) as stream:
        for line, row in read_objects(stream, str(path)):
            if isinstance(row, Problem):
                problems.append(row)
                continue
            spot = Spot(str(path), line)
            problems += _CHECKER.problems(row, file=spot.file, line=line)
            problems += unknown_fields(row, SCHEMA["properties"], file=spot.file, line=line)
            id = row.get("scenario_id")
            if isinstance(id, str):
                known.add(id)
                problems += [] if ids.is_new(id, line) else [ids.repeated(id, spot)]
    return Catalog(path=path, ids=frozenset(known), problems=tuple(problems))
