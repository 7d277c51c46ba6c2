"""These tests need Ray, which has an environment of its own: `make test-ray`."""

from __future__ import annotations

import os
import signal
from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("ray") else ["test_*.py"]

# As in tests/conftest.py, which is not read here: the settings of tests are trusted, and a job in the background would
# ignore this signal.
os.environ.setdefault("HOWSURE_TRUST", "1")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
