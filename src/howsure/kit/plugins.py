"""Finds plug-ins: a function `register(kit)`, in an installed package (entry point) or in a Python file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from howsure.errors import CaseFailure, ConfigInvalid, HowsureError, boundary
from howsure.kit import Kit

GROUP = "howsure.plugins"

Register = Callable[[Kit], None]


class _PluginBroke(CaseFailure):
    """Carries what a plug-in raised to the error message. It never leaves this file."""


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    """Read once: looking through all installed packages takes milliseconds."""
    return tuple(entry_points(group=GROUP))


def installed_plugins() -> Iterator[Register]:
    """`register` of every installed package that has an entry point in the group `howsure.plugins`."""
    for point in _entry_points():
        yield _check_register(point.load, f"plug-in {point.name!r}")


def installed_names() -> Iterator[str]:
    """The name of every installed plug-in, with the version of its package."""
    for point in _entry_points():
        yield f"{point.name} ({point.dist.name} {point.dist.version})" if point.dist else point.name


def plugin_file(path: Path) -> Register:
    """`register` of one Python file."""
    if not path.is_file():
        raise ConfigInvalid(f"--plugin {path}: no such file")

    def load() -> object:
        spec = spec_from_file_location(f"howsure_plugin_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise ConfigInvalid(f"--plugin {path}: not a Python file")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, "register", None)

    return _check_register(load, f"--plugin {path}")


def _check_register(load: Callable[[], object], who: str) -> Register:
    try:
        with boundary(_PluginBroke, who):
            register = load()
    except _PluginBroke as error:
        raise ConfigInvalid(str(error)) from error
    if not callable(register):
        raise ConfigInvalid(f"{who}: it has no function `register(kit)`")

    def guarded(kit: Kit) -> None:
        try:
            with boundary(_PluginBroke, who):
                register(kit)
        except _PluginBroke as error:
            cause = error.__cause__
            message = f"{str(error).split(':', 1)[0]}: {cause}" if isinstance(cause, HowsureError) else str(error)
            raise ConfigInvalid(message) from error

    return guarded
