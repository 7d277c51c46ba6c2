"""What docs/results.md promises: the reader that it shows works as a plug-in, and every kind of file has its line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from howsure.dialects.tool_results import results_readers

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")


def test_the_reader_on_the_page_works_as_a_plugin(tmp_path: Path) -> None:
    (plugin,) = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    (tmp_path / "exam_results.py").write_text(plugin, encoding="utf-8")
    rows = [
        {"exam_question": "1 + 1?", "id": "sum", "answer": "2", "points": 1.0},
        {"exam_question": "2 + 2?", "id": "more", "answer": "5", "points": 0.25},
        {"exam_question": "3 + 3?", "id": "last"},
    ]
    (tmp_path / "exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = [sys.executable, "-m", "howsure", "import", "exam.jsonl", "--plugin", "exam_results.py", "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    run = json.loads(done.stdout)
    assert (run["passed"], run["failed"], run["errored"]) == (1, 1, 1)
    assert "1 of 3 records cannot be read, and is errored: line 3." in run["notes"]


def test_every_reader_has_its_line_on_the_page() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted(reader.name for reader in results_readers())
