"""What the tests of every framework share: a model on loopback."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from frameworks.model_mock import serving

# As in tests/conftest.py, which is not read here: the settings of tests are trusted.
os.environ.setdefault("HOWSURE_TRUST", "1")


@pytest.fixture(scope="session", autouse=True)
def model_url() -> Iterator[str]:
    """Agents find the model by this variable. Nothing else of the network is used."""
    with serving() as url:
        os.environ["SHOP_MODEL_URL"] = url
        yield url
