"""How fast large files are converted, and in how much memory. `python -m bench.converting` runs this alone."""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.reading import write_large
from howsure.dialects.importers.base import ImportOptions
from howsure.kit.plugins import builtin_kit
from howsure.main import GC_THRESHOLD
from howsure.policies.verdicts import builtin_profiles
from howsure.services.convert.convert import ConversionReport, ConversionRequest, convert

ROWS = 200_000
WANTED = 20_000
MOST_MEGABYTES = 200
ROADS = (("legal", "legal"), ("legal", "simulation"), ("raw-logs", "simulation"), ("raw-logs", "golden"))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        legal, logs = Path(folder) / "large.legal_eval_v1.jsonl", Path(folder) / "logs.jsonl"
        write_large(legal)
        _write_logs(logs)
        print(f"converting {ROWS:,} rows (CPU time of one pass; json.loads ran at {_baseline(legal):,.0f} rows/s)")
        for source, target in ROADS:
            _measure(legal if source == "legal" else logs, source, target, Path(folder))


def _baseline(path: Path) -> float:
    """How fast this machine is now: the legal file, line by line."""
    began = time.process_time()
    with open(path, "rb") as file:
        for line in file:
            json.loads(line)
    return ROWS / (time.process_time() - began)


def _write_logs(path: Path) -> None:
    with open(path, "w", encoding="utf-8") as file:
        for turn in _turns():
            file.write(json.dumps(turn) + "\n")


def _turns() -> Iterator[dict[str, Any]]:
    for number in range(ROWS):
        call = {"tool_name": "lookup_order", "tool_input": {"order_id": f"A{number}"}}
        text = f"Where is my order A{number}? I have been waiting for {number % 30} days and nobody answers."
        yield {"query": text, "expected_tool_use": [call], "reference": f"Order A{number} is on its way."}


def _measure(path: Path, source: str, target: str, folder: Path) -> None:
    """In a process of its own, so that the peak of memory is this road's."""
    command = [sys.executable, "-m", "bench.converting", str(path), source, target, str(folder)]
    told = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    rate, memory = told["rate"], told["megabytes"]
    fast = "met" if rate >= WANTED else "MISSED"
    small = "met" if memory < MOST_MEGABYTES else "MISSED"
    print(f"  {source} → {target:<11}{rate:>9,.0f} rows/s, wanted {WANTED:,}: {fast}; ", end="")
    print(f"peak {memory:,.0f} MB, wanted < {MOST_MEGABYTES}: {small}")


def _convert(path: Path, source: str, target: str, folder: Path) -> ConversionReport:
    ending = ".json" if target == "golden" else ".jsonl"
    order = ConversionRequest(
        paths=(str(path),),
        to=target,
        output=folder / f"out-{source}{ending}",
        source=source,
        options=ImportOptions(per_turn=True),
        force=True,
    )
    return convert(order, builtin_kit(builtin_profiles()))


def _one(path: str, source: str, target: str, folder: str) -> None:
    gc.set_threshold(*GC_THRESHOLD)
    began = time.process_time()
    done = _convert(Path(path), source, target, Path(folder))
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rate": done.written / spent, "megabytes": peak}))


if __name__ == "__main__":
    _one(*sys.argv[1:5]) if len(sys.argv) > 1 else main()
