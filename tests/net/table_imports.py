"""Rows of `howsure import`, and of files of other tools in place of runs."""

from __future__ import annotations

from typing import Any

from net.rows import Row
from tool_logs import inspect_header, inspect_sample, promptfoo_output, promptfoo_row


def log(*values: Any) -> dict[str, Any]:
    samples = [inspect_sample(id, value) for id, value in enumerate(values, start=1)]
    return {**inspect_header(samples), "samples": samples}


WORSE, BETTER = log("C", "I", "I"), log("C", "C", "C")
LOGS: dict[str, Any] = {
    "worse.json": WORSE,
    "better.json": BETTER,
    "f1.json": log({"f1": 0.9}, {"f1": 0.2}),
    "spoiled.json": {**WORSE, "samples": [*WORSE["samples"], {"id": 4}]},
    # It lacks what a reader knows it by.
    "plain.json": {"eval": WORSE["eval"], "results": WORSE["results"], "samples": WORSE["samples"]},
    "weather.json": promptfoo_output([promptfoo_row(0, 0, passed=True)], successes=1, failures=0, errors=0),
}


def _row(of: str, shows: str, given: str, run: str, expect: dict[str, Any], absent: dict[str, Any], **more: Any) -> Row:
    return Row(of, shows, given, run, expect, absent, world="nothing", files=LOGS, **more)


ROWS = [
    _row("import FILES", "which files", "worse.json", "import --json", {"passed": 1, "failed": 2},
         {"passed": 3, "failed": 0}, other="better.json"),
    _row("import FILES", "several at once", "worse.json weather.json", "import --json",
         {"0.passed": 1, "1.passed": 1}, {"passed": 1}, other="worse.json"),
    _row("import --from", "a file that is not recognised", "--from inspect", "import plain.json --json",
         {"passed": 1, "failed": 2}, {"exit": 2}),
    _row("import --name", "what the run is called", "--name before", "import worse.json --json",
         {"name": "before"}, {"name": "worse.json"}),
    _row("import --mark", "what passes", "--mark f1=0.5", "import f1.json --json",
         {"passed": 1, "failed": 1, "skipped": 0}, {"passed": 0, "failed": 0, "skipped": 2}),
    _row("import --mark", "a score that is not there", "--mark f2=0.5", "import f1.json",
         {"exit": 2, "err": "no score of f1.json has this name; it has f1"}, {"no err": "f2"}),
    _row("import --strict", "a record that cannot be read refuses the file", "--strict", "import spoiled.json",
         {"exit": 2, "err": "the field 'input' is missing"}, {"exit": 3, "out": "1 errored"}),
    _row("compare RUNS", "files of another tool", "worse.json better.json", "compare --json",
         {"comparisons.0.second.run_name": "better.json"}, {"comparisons.0.second.run_name": "worse.json"},
         other="better.json worse.json"),
    _row("gate RUN", "a file of another tool", "worse.json", "gate --gate 'pass_rate >= 0.95'", {"exit": 100},
         {"exit": 101}, other="better.json"),
    _row("triage RUN", "a file of another tool", "worse.json", "triage --json", {"failed": 2}, {"failed": 0},
         other="better.json"),
    _row("report RUN", "a file of another tool", "worse.json", "report -o there.md", {"file there.md": "33.3 %"},
         {"no file there.md": "33.3 %"}, other="better.json"),
]  # fmt: skip
