"""Opening the door with the real HTTP client. Imports aiohttp: load this module when a model is really asked."""

from __future__ import annotations

from collections.abc import Mapping

from howsure.llm.door import Door, Fittings, Habits
from howsure.llm.http import Http


def open_door(environ: Mapping[str, str], habits: Habits | None = None, fittings: Fittings | None = None) -> Door:
    """`async with open_door(environ) as door:`, inside a running event loop."""
    return Door(Http(environ), environ, habits, fittings)
