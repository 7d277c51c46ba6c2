"""`make bench`: every benchmark, or those named (`python -m bench reading starting`). Each is loaded when its turn
comes, and the garbage collector is set as the program sets it, for the baselines too."""

from __future__ import annotations

import gc
import sys
from importlib import import_module

from howsure.main import GC_THRESHOLD

ALL = (
    "reading",
    "tables",
    "converting",
    "grading",
    "storing",
    "end_to_end",
    "starting",
    "calling",
    "judging",
    "chatting",
    "conversing",
    "offline_agreement",
    "comparing",
    "reporting",
    "triaging",
    "browsing",
    "serving",
)

gc.set_threshold(*GC_THRESHOLD)
named = [name for name in sys.argv[1:] if not name.startswith("-") and not name.isdigit()]
for name in named or ALL:
    print(f"\n## {name}")
    import_module(f"bench.{name}").main()
