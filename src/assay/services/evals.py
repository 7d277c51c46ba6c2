"""Evals of a user's own: a YAML file of custom evals, or a definition file of the golden world."""

from __future__ import annotations

from pathlib import Path

from assay.errors import ConfigInvalid
from assay.graders.custom_evals import custom_evals
from assay.graders.definition_graders import definition_graders
from assay.kit import Kit


def add_evals(path: Path, kit: Kit) -> tuple[str, ...]:
    """Put the graders of the file into the kit; their names. A definition may take the place of a built-in one."""
    if not path.is_file():
        raise ConfigInvalid(f"{path}: no such file of evals")
    if path.suffix.lower() == ".json":
        graders = definition_graders(path)
        for grader in graders:
            kit.graders.put(grader)
    else:
        graders = custom_evals(path, kit.graders.names())
        for grader in graders:
            kit.graders.add(grader)
    return tuple(grader.name for grader in graders)
