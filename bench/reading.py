"""How fast a large legal file is read and validated, against plain `json.loads` in the same run, and in how much
memory. `python -m bench.reading` runs this alone.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from howsure.dialects.base import Watch
from howsure.dialects.datasets import validate
from howsure.dialects.legal import LegalDialect
from howsure.errors import Problem
from howsure.model.case import Case

ROWS = 200_000
SLICE = 2_000
TRIES = 7
WANTED = 80_000
MOST_MEGABYTES = 150
_ENGLISH = """the court held that a contract is void where its object is unlawful and neither party may rely on it
unless the claimant shows good faith; under section 2(b) the buyer who said "I agree" before the term expired is bound,
and the seller's plea of mistake fails because "error" in the sense of the rule means something else"""
_GERMAN = """der Käufer haftet gemäss Art. 97 OR für den Schaden, es sei denn, er beweise, dass ihm keinerlei
Verschulden zur Last falle; die Verjährung beginnt «mit der Fälligkeit» und beträgt nach § 195 BGB drei Jahre"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.legal_eval_v1.jsonl"
        size = write_large(path)
        print(f"reading {ROWS:,} legal rows of {size / ROWS:,.0f} bytes (CPU time, best of {TRIES} for each slice)")
        baseline, ours = _best(lambda mark: _loads(path, mark), lambda mark: _validated(path, mark))
        rate = ROWS / ours
        print(f"  json.loads, line by line {ROWS / baseline:>10,.0f} rows/s")
        print(f"  validate                 {rate:>10,.0f} rows/s = {baseline / ours:.2f} × that", end="")
        print(f", wanted {WANTED:,}: {_verdict(rate >= WANTED)}")
        memory = _peak_megabytes(path)
        print(f"  peak memory              {memory:>10,.0f} MB, wanted < {MOST_MEGABYTES}: ", end="")
        print(_verdict(memory < MOST_MEGABYTES))


def write_large(path: Path) -> int:
    """The size of the file in bytes."""
    with open(path, "w", encoding="utf-8") as file:
        for row in _rows():
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path.stat().st_size


def _rows() -> Iterator[dict[str, Any]]:
    """Prose with quotes, one row in four in a language with accents."""
    source = random.Random(20)
    english, german = (" ".join(source.choices(words.split(), k=20_000)) for words in (_ENGLISH, _GERMAN))
    for number in range(ROWS):
        prose = german if number % 4 == 3 else english
        start = source.randrange(len(prose) - 2000)
        yield _row(number, prose[start : start + 2000])


def _row(number: int, prose: str) -> dict[str, Any]:
    """The three task types in turn. Colons are as rare as in real questions (one prompt in six has one), and one row
    in five hundred holds what looks like a key inside a text. One in ten has nested metadata."""
    note = '\nHe wrote {"sum": 5} on it.' if number % 500 == 0 else "\nWhich is right:" if number % 6 == 0 else ""
    name = list(_TASKS)[number % len(_TASKS)]
    task, length = _TASKS[name](number, prose)
    more = {"source": {"page": number, "court": ["BGer"]}} if number % 10 == 0 else {}
    return {
        "schema_version": "legal_eval_v1",
        "id": f"bench:{number:07}",
        "dataset": "bench",
        "task_type": name,
        "prompt": prose[:length] + note,
        **task,
        "metadata": {"policy_id": "bench_v1", "split": "test", "area": "Private", "year": 2022, **more},
    }


def _mcq(number: int, prose: str) -> tuple[dict[str, Any], int]:
    choices = [{"id": letter, "text": prose[place * 80 : place * 80 + 70]} for place, letter in enumerate("ABCD")]
    return {"choices": choices, "correct_choice_ids": ["ABCD"[number % 4]]}, 810


def _reference_qa(_: int, prose: str) -> tuple[dict[str, Any], int]:
    return {"reference_answers": [prose[900:1300]]}, 800


def _rubric_qa(_: int, prose: str) -> tuple[dict[str, Any], int]:
    rubric = [{"id": f"c{at}", "title": prose[at * 60 : at * 60 + 50], "weight": at - 2} for at in range(8)]
    return {"rubric": rubric}, 490


_TASKS = {"mcq": _mcq, "reference_qa": _reference_qa, "rubric_qa": _rubric_qa}


def _loads(path: Path, mark: Callable[[], None]) -> None:
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            json.loads(line)
            if not number % SLICE:
                mark()


def _validated(path: Path, mark: Callable[[], None] = lambda: None) -> None:
    report = validate(path, Marked(mark))
    if report.cases != ROWS or report.problems or report.warnings:
        raise SystemExit(f"the file should be valid: {report.cases} cases, {report.problems[:3]}")


class Marked(LegalDialect):
    """The dialect, telling how far it is."""

    def __init__(self, mark: Callable[[], None]) -> None:
        self._mark = mark

    def scan(self, path: Path, watch: Watch | None = None) -> Iterator[Case | Problem | None]:
        rows = super().scan(path, watch)
        while some := list(islice(rows, SLICE)):
            yield from some
            self._mark()


def _best(*works: Callable[[Callable[[], None]], None]) -> list[float]:
    """Seconds of CPU time for each: for every slice of the file the best of several tries, summed. A shared machine has
    slow moments that are shorter than a whole try, and whole tries would all meet some. The works take turns."""
    tries = [[_slices(work) for work in works] for _ in range(TRIES)]
    return [sum(map(min, zip(*of_one, strict=True))) for of_one in zip(*tries, strict=True)]


def _slices(work: Callable[[Callable[[], None]], None]) -> list[float]:
    moments = [time.process_time()]
    work(lambda: moments.append(time.process_time()))
    return [after - before for before, after in pairwise(moments)]


def _peak_megabytes(path: Path) -> float:
    """Of a process that does nothing else."""
    command = [sys.executable, "-m", "bench.reading", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _verdict(held: bool) -> str:
    return "held" if held else "MISSED"


if __name__ == "__main__":
    if len(sys.argv) == 2:
        _validated(Path(sys.argv[1]))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    else:
        main()
