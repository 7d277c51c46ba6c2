"""The browser of the tests of the pages."""

from __future__ import annotations

from web.conftest import browser

__all__ = ["browser"]
