"""What all tests share: how hard properties are tried (`HYPOTHESIS_PROFILE=thorough` tries them harder), and no garbage
collection while thousands of tests are collected."""

from __future__ import annotations

import atexit
import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest
from hypothesis import settings

# No deadline: the machine may be shared, and a slow moment is no failure.
settings.register_profile("quick", max_examples=25, deadline=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Tests make folders whose settings name functions and plug-ins; tests/hardening/test_trust.py takes this back. What
# `howsure init` trusts is never remembered in the configuration of whoever runs the tests.
os.environ.setdefault("HOWSURE_TRUST", "1")
if "HOWSURE_TRUST_FILE" not in os.environ:  # processes that tests start share it
    own = mkdtemp(prefix="howsure-tests-")
    atexit.register(rmtree, own, ignore_errors=True)
    os.environ["HOWSURE_TRUST_FILE"] = str(Path(own) / "trusted.json")

# A shell that starts a job in the background lets it ignore SIGINT, and `nohup` SIGHUP; so do all processes that tests
# start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


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
