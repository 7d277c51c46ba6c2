"""`make bench`: every benchmark, or those named (`python -m bench reading starting`)."""

from __future__ import annotations

import sys

from bench import calling, end_to_end, grading, judging, offline_agreement, reading, starting, storing

ALL = {
    "reading": reading.main,
    "grading": grading.main,
    "storing": storing.main,
    "end_to_end": end_to_end.main,
    "starting": starting.main,
    "calling": calling.main,
    "judging": judging.main,
    "offline_agreement": offline_agreement.main,
}

for name in sys.argv[1:] or ALL:
    print(f"\n## {name}")
    ALL[name]()
