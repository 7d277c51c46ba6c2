"""Fingerprints: whether two runs were made of the same things."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec


def fingerprint(value: Any) -> str:
    return sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()
