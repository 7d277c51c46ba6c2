"""How fast a plain CSV of 200,000 rows is read and validated. `python -m bench tables` runs this alone."""

from __future__ import annotations

import csv
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from howsure.dialects.datasets import validate
from howsure.dialects.plain import PlainDialect

ROWS = 200_000
TRIES = 3
WANTED = 60_000
SHAPES: dict[str, Callable[[int], tuple[str, ...]]] = {
    "id, question, answer, topic": lambda n: (f"q{n}", _question(n), f"It says {n}, and more follows.", "law"),
    "question, answer, response": lambda n: (_question(n), f"It says {n}, and more follows.", f"I think it is {n}."),
    "question, answer, context, tags": lambda n: (_question(n), f"It says {n}.", f"Section {n}.", "law, civil"),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for columns, row in SHAPES.items():
            path = Path(folder) / "large.csv"
            with path.open("w", encoding="utf-8", newline="") as file:
                table = csv.writer(file)
                table.writerow(columns.split(", "))
                table.writerows(row(number) for number in range(ROWS))
            rate = ROWS / min(_seconds(path) for _ in range(TRIES))
            verdict = "ok" if rate >= WANTED else "TOO SLOW"
            print(f"  {columns:<32} {rate:>10,.0f} rows/s (CPU time), wanted {WANTED:,}: {verdict}")
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


def _question(number: int) -> str:
    return f"What does section {number} say about the matter, and how do courts apply it in practice?"


def _seconds(path: Path) -> float:
    started = time.process_time()
    report = validate(path, PlainDialect())
    assert report.cases == ROWS and report.valid
    return time.process_time() - started


if __name__ == "__main__":
    main()
