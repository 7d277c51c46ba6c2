"""Python objects named by a spec, `package.module:object` or `path/file.py:object`, loaded from the project's
folder."""

from __future__ import annotations

import sys
from functools import reduce
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from howsure.errors import ConfigInvalid, HowsureError, TargetFailed, boundary


def load_object(spec: str, folder: Path) -> Any:
    """Load the object; `ConfigInvalid` says what is missing. `folder` is put on the import path."""
    place, colon, name = spec.rpartition(":")
    if not (colon and place and name):
        raise ConfigInvalid(f"{spec!r}: expected `module:object` or `path/file.py:object`, such as `shop.agent:root`")
    module = _module(place, folder)
    try:
        return reduce(getattr, name.split("."), module)
    except AttributeError:
        offered = [each for each in vars(module) if not each.startswith("_")]
        raise ConfigInvalid(f"{place!r} has no {name!r}; it has: {', '.join(offered) or 'nothing'}") from None


def _module(place: str, folder: Path) -> ModuleType:
    if place.endswith(".py"):
        return _from_file((folder / place).resolve())
    _importable(folder)
    try:
        with boundary(TargetFailed, place):
            return import_module(place)
    except HowsureError as error:
        cause = error.__cause__
        if isinstance(cause, ModuleNotFoundError) and cause.name and f"{place}.".startswith(f"{cause.name}."):
            message = f"no module {cause.name!r}; looked in {folder.resolve()} and among what is installed"
            raise ConfigInvalid(message) from error
        raise ConfigInvalid(f"cannot load {error}") from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigInvalid(f"{path}: no such file")
    if (package := _package_of(path)) is not None:
        return package
    name = f"howsure_loaded_{path.stem}_{abs(hash(path)):x}"
    if name in sys.modules:
        return sys.modules[name]
    _importable(path.parent)
    spec = spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        with boundary(TargetFailed, str(path)):
            spec.loader.exec_module(module)
    except HowsureError as error:
        del sys.modules[name]
        raise ConfigInvalid(f"cannot load {error}") from error
    return module


def _package_of(path: Path) -> ModuleType | None:
    """A file of a package, imported under its full name so that it may import its neighbours relatively. None: the
    file is of no package, or there is another package of that name: an imported one, or one of Python's own."""
    folders = [path.parent]
    while (folders[-1] / "__init__.py").is_file() and folders[-1] != folders[-1].parent:
        folders.append(folders[-1].parent)
    top = folders[-2].name if len(folders) > 1 else ""
    known = sys.modules.get(top)
    if (
        not top.isidentifier()
        or top in sys.stdlib_module_names
        or (known is not None and str(folders[-2]) not in getattr(known, "__path__", ()))
    ):
        return None
    parts = [folder.name for folder in reversed(folders[:-1])]
    name = ".".join([*parts, *([] if path.stem == "__init__" else [path.stem])])
    if name.replace(".", "_").isidentifier():
        return _module(name, folders[-1])
    return None


def _importable(folder: Path) -> None:
    """Agents import modules beside them, as they do when started from the project's folder."""
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.insert(0, place)
