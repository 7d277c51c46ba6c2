"""Fingerprints: hashes that show whether two runs were made with the same things."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec


def fingerprint(value: Any) -> str:
    """The SHA-256 of a value as deterministic JSON."""
    return sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()
