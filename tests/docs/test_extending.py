"""What docs/extending.md promises: the plug-in it shows works as it stands, from a file and by entry point."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
PLUGIN = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)[0]
COMMAND = re.findall(r"```bash\n(.+?)```", PAGE, re.DOTALL)[0].split()


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    (tmp_path / "faq.csv").write_text(
        "slug,q,a,max_words\nopening,When are you open?,At nine,5\nchatty,Tell me a very long story please,Once,3\n",
        encoding="utf-8",
    )
    return tmp_path


def assay(folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", *words]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )


def verdicts(folder: Path) -> dict[str, str]:
    printed = assay(folder, "results", "--json").stdout
    return {result["test_case_id"]: result["verdict"] for result in json.loads(printed)}


def test_the_plugin_works_from_its_file(workplace: Path) -> None:
    (workplace / "shop_plugin.py").write_text(PLUGIN, encoding="utf-8")
    assert COMMAND[0] == "assay"
    done = assay(workplace, *COMMAND[1:])
    assert done.returncode == 0, done.stderr
    assert verdicts(workplace) == {"opening": "passed", "chatty": "failed"}


def test_the_plugin_works_from_the_settings(workplace: Path) -> None:
    (workplace / "shop_plugin.py").write_text(PLUGIN, encoding="utf-8")
    yaml = next(text for text in re.findall(r"```yaml\n(.+?)```", PAGE, re.DOTALL) if "plugins" in text)
    (workplace / "assay.yaml").write_text(yaml, encoding="utf-8")
    done = assay(workplace, "run", "faq.csv", "--target", "parrot", "--graders", "word_limit")
    assert done.returncode == 0, done.stderr


def test_the_plugin_works_by_entry_point(workplace: Path) -> None:
    site = workplace / "site"
    meta = site / "shop_plugin-1.0.dist-info"
    meta.mkdir(parents=True)
    (site / "shop_plugin.py").write_text(PLUGIN, encoding="utf-8")
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-plugin\nVersion: 1.0\n", encoding="utf-8")
    (meta / "entry_points.txt").write_text("[assay.plugins]\nshop = shop_plugin:register\n", encoding="utf-8")
    done = assay(workplace, "run", "faq.csv", "--target", "parrot", "--graders", "word_limit", PYTHONPATH=str(site))
    assert done.returncode == 0, done.stderr
    assert verdicts(workplace)["opening"] == "passed"


@pytest.mark.parametrize("kind", ["FaqDialect", "Parrot", "WordLimit"])
def test_each_part_of_the_plugin_is_under_twenty_lines(kind: str) -> None:
    body = re.search(rf"class {kind}\b.+?(?=\n\n\n|\Z)", PLUGIN, re.DOTALL)
    assert body is not None
    assert len(body.group().splitlines()) < 20
