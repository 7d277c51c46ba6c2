"""Data inside the page: JSON that cannot end the element it stands in; packed (gzip, base64) where a run is large, so
that a browser has less to read and the file can hold more."""

from __future__ import annotations

import gzip
from base64 import b64encode
from typing import Any

from markupsafe import Markup
from msgspec import json

ENCODER = json.Encoder(decimal_format="number")
SIGNS = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))


def embedded(value: Any) -> Markup:
    """A value as JSON that can stand inside a script element."""
    return inside(ENCODER.encode(value))


def inside(data: bytes) -> Markup:
    """JSON in which no `<`, `>` or `&` is left, so that nothing can end the element it stands in."""
    for sign, code in SIGNS:
        data = data.replace(sign, code)
    return Markup(data.decode())


def packed(data: bytes) -> Markup:
    """The same bytes give the same text, on any day."""
    return Markup(b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode())
