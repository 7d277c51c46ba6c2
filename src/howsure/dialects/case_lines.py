"""Cases as they are, one a line: what Python code hands over is kept so. No file of a user is of this shape, so nothing
is ever detected as it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from howsure.dialects.lines import opened
from howsure.errors import Problem
from howsure.model.case import Case


class CaseLines:
    """Reads them."""

    name = "cases"

    def detect(self, path: Path, head: bytes) -> bool:
        return False

    def read(self, path: Path) -> Iterator[Case | Problem]:
        with opened(path) as file:
            for place, line in enumerate(file, start=1):
                try:
                    yield msgspec.json.decode(line, type=Case)
                except msgspec.DecodeError as error:
                    yield Problem(code="invalid-case", message=str(error), file=str(path), line=place)
