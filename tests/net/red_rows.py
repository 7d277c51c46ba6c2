"""Prints the rows that guard a mend of issue 17 and are red, as JSON: `python -m net.red_rows`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from net.observe import differences
from net.rows import Row
from net.runner import Runner
from net.servers import loopback
from net.table import ROWS


def is_red(row: Row, runner: Runner) -> bool:
    with_it, without = runner.sides(row)
    there = differences(row.expect, with_it) == [] and differences(row.absent, without) == []
    return not there or differences(row.expect, without) == []


if __name__ == "__main__":
    with loopback() as address, tempfile.TemporaryDirectory() as place:
        runner = Runner(Path(place), {"MODEL": address, "BOT": address, "PORT": "1"})
        guarding = [row for row in ROWS if row.guards and not row.slow]
        print(json.dumps([f"{row.of}: {row.shows}" for row in guarding if is_red(row, runner)]))
