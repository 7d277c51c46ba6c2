"""Plain names: a class is a noun or noun phrase, and one name means one class in the whole package."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "howsure"
PARTICIPLES = {
    "Again", "Among", "Begun", "Beside", "Chosen", "Done", "Drawn", "Elsewhere", "Far", "Found", "Given", "Gone", "Held",
    "Kept", "Known", "Left", "Lost", "Made", "Met", "Read", "Said", "Seen", "Sent", "Shown", "Spoken", "Taken", "Told",
    "Together", "Within", "Written",
}  # fmt: skip
NOUNS = {"Unscored", "Unauthorized", "Feed", "Seed", "Speed", "Need"}
"""Words in -ed that name a thing."""
SAME_CONCEPT: dict[str, set[str]] = {}
"""The only names that occur twice: one concept in the model and on the wire."""


def classes() -> dict[str, set[str]]:
    """The modules that define a class of each name."""
    places: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].add(f"{module}:{node.lineno}")
    return places


def is_participle(name: str) -> bool:
    word = name.lstrip("_")
    return word in PARTICIPLES or (re.fullmatch(r"[A-Z][a-z]+ed", word) is not None and word not in NOUNS)


def test_no_class_is_named_by_a_bare_participle_or_adverb() -> None:
    assert {name: places for name, places in classes().items() if is_participle(name)} == {}


def test_one_name_means_one_class() -> None:
    twice = {name: places for name, places in classes().items() if len(places) > 1}
    modules = {name: {place.partition(":")[0] for place in places} for name, places in twice.items()}
    assert modules == SAME_CONCEPT


def test_no_module_is_named_by_a_gerund() -> None:
    named = [
        str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if re.search(r"(?<!str)(?<!th)ing$", path.stem)
    ]
    assert sorted(set(named) - GERUNDS_THAT_ARE_NOUNS) == []


GERUNDS_THAT_ARE_NOUNS = {"testing.py", "matching/__init__.py"}
