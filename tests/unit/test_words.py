"""The words of the design: others stay out of the code, and the code keeps its shape."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "howsure"
BANNED = {"sample", "item", "example", "metric", "evaluator", "scorer", "experiment", "manager", "handler", "processor",
          "helper", "utils", "util", "row"}  # fmt: skip
FOREIGN = {"sample", "item", "example", "row"}  # words of the file formats, at home in dialects/ alone
ALLOWED = {
    "items",  # dict.items
    "latency_metrics", "thinking_metrics",  # names of the golden world's measures
    "contextmanager", "asynccontextmanager",
    "get_route_handler",  # the web framework's own name for it
}  # fmt: skip
FILES = sorted(path for path in SOURCE.rglob("*.py") if "migrations" not in path.parts)


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name the file defines or uses as its own: definitions, arguments, variables, attributes it sets."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr
            case ast.alias(asname=str(name)):
                yield node.lineno, name
            case _:
                continue


def words(name: str) -> set[str]:
    parts = {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    return parts | {part.removesuffix("s") for part in parts}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_banned_word_is_a_name(path: Path) -> None:
    # The shapes of the API have the fields that were published.
    banned = set() if "wire" in path.parts else BANNED - (FOREIGN if "dialects" in path.parts else set())
    found = [
        f"{path.name}:{line} {name}"
        for line, name in names(ast.parse(path.read_text(encoding="utf-8")))
        if name not in ALLOWED and words(name) & banned
    ]
    assert found == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_function_is_over_fifty_lines_and_no_import_hides_in_one(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or node.lineno) - node.lineno < 50, f"{path.name}:{node.lineno} {node.name}"
            inside = [child for child in ast.walk(node) if isinstance(child, ast.Import | ast.ImportFrom)]
            assert not inside, f"{path.name}:{node.lineno} {node.name} imports inside"


def test_the_heart_fits_one_screen() -> None:
    assert len((SOURCE / "engine" / "attempt.py").read_text(encoding="utf-8").splitlines()) <= 60


@pytest.mark.parametrize("package", ["dialects", "targets", "graders", "judges", "policies"])
def test_a_contract_is_at_most_sixty_lines(package: str) -> None:
    assert len((SOURCE / package / "base.py").read_text(encoding="utf-8").splitlines()) <= 70


def test_only_the_boundary_catches_everything() -> None:
    broad = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
    ]
    assert broad == []


def test_every_module_says_what_lives_in_it() -> None:
    silent = [
        str(path.relative_to(SOURCE))
        for path in FILES
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent in ([], ["__init__.py"])
