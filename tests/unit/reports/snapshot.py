"""What a report wrote before, to compare with what it writes now. `HOWSURE_UPDATE_SNAPSHOTS=1` writes it anew: read the
difference before you keep it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "snapshots"


def matches(name: str, text: str) -> None:
    """Fails where the text differs from the stored one, or none is stored."""
    path = FOLDER / name
    if os.environ.get("HOWSURE_UPDATE_SNAPSHOTS"):
        path.write_bytes(text.encode())
    assert path.exists(), f"no snapshot {name}: run with HOWSURE_UPDATE_SNAPSHOTS=1"
    assert text == path.read_bytes().decode()


def json_matches(name: str, value: Any) -> None:
    """The same for what will be JSON; the order of the keys counts."""
    matches(name, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
