"""`make bench`: every benchmark, or those named (`python -m bench reading starting`)."""

from __future__ import annotations

import sys

from bench import end_to_end, grading, reading, starting, storing

ALL = {
    "reading": reading.main,
    "grading": grading.main,
    "storing": storing.main,
    "end_to_end": end_to_end.main,
    "starting": starting.main,
}

for name in sys.argv[1:] or ALL:
    print(f"\n## {name}")
    ALL[name]()
