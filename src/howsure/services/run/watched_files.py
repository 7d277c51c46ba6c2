"""The files that a run is made of, and whether they have changed: its data, and everything else (settings, plug-ins,
answers, rubrics, the code of the agent)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from howsure.config import FILE
from howsure.dialects.datasets import expand
from howsure.errors import InputError, PlanRefused
from howsure.model.run import targets_of
from howsure.model.run_request import RUN_PREFIX, RunRequest
from howsure.services.workspace import Workspace

RECORDED = "recorded:"
HIDDEN = ("__pycache__", "node_modules", "site-packages")

Stamp = tuple[int, int] | None
"""When a file was written, and how large it is; None: it is not there."""


class WatchedFiles(Struct, frozen=True):
    """Paths to look at."""

    data: frozenset[Path]
    others: frozenset[Path]


def watched_files(work: Workspace, request: RunRequest, written: Sequence[Path] = ()) -> WatchedFiles:
    """What the run reads; what it writes is left out, or it would never end."""
    if any(path == "-" or path.startswith(RUN_PREFIX) for path in request.datasets):
        raise PlanRefused(
            "--watch needs datasets that are files: what comes through a pipe or from a run never changes"
        )
    own = {path.resolve() for path in written}
    data = frozenset(_data(request)) - own
    return WatchedFiles(data, frozenset(path.resolve() for path in _others(work, request)) - own - data)


def _data(request: RunRequest) -> Iterator[Path]:
    """The files of folders, and the folders themselves: a new file changes them."""
    for path in map(Path, request.datasets):
        yield path.resolve()
        try:
            yield from (each.resolve() for each in expand([path]))
        except InputError:  # not there yet, or empty: it is waited for
            continue


def _others(work: Workspace, request: RunRequest) -> Iterator[Path]:
    settings, beside = work.settings, work.beside
    yield beside / FILE
    yield from (beside / name for name in (*settings.plugins, *settings.evals))
    yield from (beside / name for name in settings.contracts.values() if isinstance(name, str))
    given = (*request.responses, *request.evals, request.rubric, request.agent, request.criteria_from)
    yield from (Path(name) for name in given if name and not name.startswith(RUN_PREFIX))
    if request.judge.startswith(RECORDED):
        yield Path(request.judge.removeprefix(RECORDED))
    for spec in (target.removeprefix("replay:") for target in targets_of(request)):
        block = settings.targets.get(spec)
        for text in [str(value) for value in block.values()] if block else [spec, spec.partition(":")[2]]:
            yield from _code(text, beside)


def _code(text: str, folder: Path) -> Iterator[Path]:
    """The Python files beside the one that a spec names; the files that a command names."""
    place = text.rpartition(":")[0]
    module = folder / Path(*place.split(".")) if place and "/" not in place else folder / place
    for path in (folder / place, module.with_suffix(".py"), module / "__init__.py"):
        if place and path.suffix == ".py" and path.is_file():
            for each in path.parent.rglob("*.py"):
                parts = each.relative_to(path.parent).parts
                if not any(part.startswith(".") or part in HIDDEN for part in parts):
                    yield each
    try:
        words = shlex.split(text)
    except ValueError:
        return
    yield from (folder / word for word in words if word.endswith(".py") and (folder / word).is_file())


class Snapshot:
    """Files as they are now. A file that was only touched has not changed."""

    def __init__(self, paths: frozenset[Path]) -> None:
        self._stamps: Mapping[Path, Stamp] = {path: _stamp(path) for path in paths}
        self._hashes = {path: _hash(path) for path in paths}

    def changed(self) -> frozenset[Path]:
        """Those that hold something else now."""
        touched = [path for path, stamp in self._stamps.items() if _stamp(path) != stamp]
        return frozenset(path for path in touched if _hash(path) != self._hashes[path])


def _stamp(path: Path) -> Stamp:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _hash(path: Path) -> bytes | None:
    """Of what a file holds, or of the names in a folder."""
    try:
        if path.is_dir():
            return sha256("\n".join(sorted(each.name for each in path.iterdir())).encode()).digest()
        return sha256(path.read_bytes()).digest()
    except OSError:
        return None
