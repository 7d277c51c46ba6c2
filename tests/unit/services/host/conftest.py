"""A place for a store, on a real file and on a real PostgreSQL."""

from __future__ import annotations

from databases import database

__all__ = ["database"]
