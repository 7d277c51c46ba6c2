"""Large results of other tools: imported in bounded memory, a sample at a time, and fast enough."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from tool_logs import inspect_header, inspect_sample, promptfoo_output, promptfoo_row

SAMPLES, ROWS = 20_000, 50_000
MOST_BYTES = 250 * 1024 * 1024
LEAST_A_SECOND = 2_000


# Of this program alone: what the system counts for a child begins with the size of whoever started it.
PROGRAM = """
import atexit, pathlib, re
from howsure.main import main
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) * 1024
atexit.register(lambda: pathlib.Path("peak").write_text(str(peak())))
main()
"""


def samples() -> Iterator[dict[str, Any]]:
    for id in range(SAMPLES):
        events = [{"event": "model", "input": f"{id} {at} " * 150, "output": f"{at} {id} " * 150} for at in (1, 2, 3)]
        yield inspect_sample(id, "CI"[id % 2], events=events)


def header() -> dict[str, Any]:
    whole = inspect_header([], {"accuracy": 0.5})
    whole["eval"]["dataset"]["sample_ids"] = list(range(SAMPLES))
    whole["results"]["total_samples"] = SAMPLES
    return whole


def write_json(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(header())[:-1] + ', "samples": [')
        for place, sample in enumerate(samples()):
            file.write((", " if place else "") + json.dumps(sample, indent=1))
        file.write("]}")


def write_archive(path: Path) -> None:
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for sample in samples():
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(header()))


def write_promptfoo(path: Path) -> None:
    document = promptfoo_output([], successes=ROWS // 2, failures=ROWS // 2, errors=0)
    before, after = json.dumps(document).split('"results": []')
    with path.open("w", encoding="utf-8") as file:
        file.write(before + '"results": [')
        for at in range(ROWS):
            row = promptfoo_row(at // 2, at % 2, passed=bool(at % 2), metadata={"trace": f"{at} step " * 300})
            file.write((", " if at else "") + json.dumps(row))
        file.write(f"]{after}")


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "write", "total"), [
    ("log.json", write_json, SAMPLES),
    ("log.eval", write_archive, SAMPLES),
    ("output.json", write_promptfoo, ROWS),
])  # fmt: skip
def test_a_large_file_is_imported_in_bounded_memory(tmp_path: Path, name: str, write: Any, total: int) -> None:
    write(tmp_path / name)
    command = [sys.executable, "-c", PROGRAM, "import", name, "--json"]
    with (tmp_path / "run.json").open("wb") as out:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    run = json.loads((tmp_path / "run.json").read_bytes())
    assert (run["total"], run["passed"], run["failed"]) == (total, total // 2, total // 2)
    assert any(note.endswith("and so do its samples here.") for note in run["notes"])
    assert int((tmp_path / "peak").read_text()) <= MOST_BYTES
    # Of the processor's time: other tests may run beside this one.
    assert total / (used.ru_utime + used.ru_stime) >= LEAST_A_SECOND
