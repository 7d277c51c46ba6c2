"""What cases bring along: documents that stand beside the file they are read from."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from howsure.model.case import Case, SingleTurn


class Baggage:
    """Attachments are named by paths beside the file, so they go where it goes; back again, where it never appears."""

    def __init__(self, target: Path) -> None:
        self._target = target.resolve()
        self._brought: list[Path] = []

    def __enter__(self) -> Baggage:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        for path in reversed(self._brought) if error is not None else ():
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()

    def carrier(self, source: Path) -> Callable[[Case], None]:
        if source.resolve() == self._target:
            return lambda _: None

        def bring(case: Case) -> None:
            if type(case.input) is SingleTurn and case.input.attachments:
                for attachment in case.input.attachments:
                    self._bring(source / attachment.path, self._target / attachment.path)

        return bring

    def _bring(self, old: Path, new: Path) -> None:
        if old.is_file() and not new.exists() and new.resolve().is_relative_to(self._target):
            self._brought += [folder for folder in reversed(new.parents) if not folder.exists()]
            new.parent.mkdir(parents=True, exist_ok=True)
            self._brought.append(new)
            shutil.copyfile(old, new)
