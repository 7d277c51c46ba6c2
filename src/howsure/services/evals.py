"""Evals of a user's own: a YAML file of custom evals, or a JSON file of definitions for the golden world."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path

from howsure.errors import ConfigInvalid, Conflict
from howsure.graders.custom_evals import custom_evals
from howsure.graders.definition_graders import definition_graders
from howsure.graders.golden_evals import GoldenJudgedGrader
from howsure.kit import Kit, Registry


def with_evals(kit: Kit, files: Sequence[str]) -> Kit:
    """A copy of the kit with the graders of these files. The kit itself does not change: another run has other
    evals."""
    if not files:
        return kit
    own = copy(kit)
    own.graders = Registry(kit.graders.kind)
    for grader in kit.graders:
        own.graders.add(grader)
    for file in files:
        add_evals(Path(file), own)
    return own


def add_evals(path: Path, kit: Kit) -> tuple[str, ...]:
    """Add the graders of the file to the kit; returns their names. A definition for the golden world may replace one of
    that world's own judged evals, and no other grader."""
    if not path.is_file():
        raise ConfigInvalid(f"{path}: no such file of evals")
    if path.suffix.lower() == ".json":
        graders = definition_graders(path)
        _check_names(path, [grader.name for grader in graders], kit)
        for grader in graders:
            kit.graders.replace(grader)
    else:
        graders = custom_evals(path, kit.graders.names())
        for grader in graders:
            kit.graders.add(grader)
    return tuple(grader.name for grader in graders)


def _check_names(path: Path, names: Sequence[str], kit: Kit) -> None:
    taken = [name for name in names if name in kit.graders and not isinstance(kit.graders[name], GoldenJudgedGrader)]
    if taken:
        others = ", ".join(f"{name!r} ({type(kit.graders[name]).__name__})" for name in taken)
        known = ", ".join(grader.name for grader in kit.graders if isinstance(grader, GoldenJudgedGrader))
        raise Conflict(
            f"{path}: there are graders of these names already: {others}. Rename the definitions; only judged evals of"
            f" the golden world can be replaced: {known}"
        )
