"""What all tests share: how hard properties are tried (`HYPOTHESIS_PROFILE=thorough` tries them harder), and no garbage
collection while thousands of tests are collected."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import settings

# No deadline: the machine may be shared, and a slow moment is no failure.
settings.register_profile("quick", max_examples=25, deadline=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# A shell that starts a job in the background lets it ignore this signal, and so do all processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is collected becomes garbage before the end: looking through it again and again took a third of the
    time of collecting, and part of the time of every test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
