"""docs/ci.md: its commands print what it shows, its files can be read, and what it names exists."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from house import lines, mcq
from howsure.main import program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```", re.DOTALL | re.MULTILINE)
FILES = {block["file"]: block["body"] for block in BLOCK.finditer(PAGE) if block["file"]}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
COMMENT = yaml.safe_load((ROOT / "ci" / "comment" / "action.yml").read_text(encoding="utf-8"))
TEMPLATE = yaml.safe_load((ROOT / "ci" / "gitlab" / "howsure.gitlab-ci.yml").read_text(encoding="utf-8"))


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """`main` has the agent of the page, which gets ten of sixty wrong; `change` gets all right."""
    named = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    lines(tmp_path / "cases.jsonl", *(mcq(number) for number in range(1, 61)))
    (tmp_path / "bot.py").write_text(FILES["bot.py"], encoding="utf-8")
    commands = ["init -q -b main", "add -A", "commit -q -m first", "switch -q -c change"]
    for words in commands:
        subprocess.run(["git", *named, *words.split()], cwd=tmp_path, check=True)
    (tmp_path / "bot.py").write_text("def answer(message):\n    return 'A'\n", encoding="utf-8")
    subprocess.run(["git", *named, "commit", "-q", "-a", "-m", "better"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.slow
@pytest.mark.thorough
def test_each_command_prints_what_the_page_shows(repository: Path) -> None:
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("HOWSURE_", "GITHUB_", "GITLAB_"))
    }
    ran = 0
    for block in re.findall(r"```console\n(.+?)```", PAGE, re.DOTALL):
        for text in block.split("$ howsure ")[1:]:
            words, *shown = text.splitlines()
            done = subprocess.run(
                [sys.executable, "-m", "howsure", *shlex.split(words)],
                cwd=repository,
                env=clean,
                capture_output=True,
                text=True,
                check=False,
                encoding="utf-8",
            )
            assert done.returncode == 0, done.stderr
            printed = squeezed(done.stdout + done.stderr)
            assert [line for line in shown if squeezed(line) not in printed] == []
            ran += 1
    assert ran == 3


def test_every_option_of_the_command_is_told() -> None:
    command = program.get_command(click.Context(program), "ci")
    assert command is not None
    own = {opt for each in command.params for opt in each.opts if opt.startswith("--")}
    assert own - {"--json", "--database", "--config", "--no-config", "--trust", "--plugin"} == set(
        re.findall(r"^\| `(--[a-z-]+)", PAGE, re.M)
    )


def test_the_workflow_uses_inputs_that_the_action_has() -> None:
    workflow = yaml.safe_load(FILES[".github/workflows/howsure.yml"])
    used = workflow["jobs"]["howsure"]["steps"][-1]["with"]
    assert used.keys() <= ACTION["inputs"].keys()
    assert [name for name in ACTION["inputs"] if name not in PAGE] == []
    assert [name for name in ACTION["outputs"] if f"`{name}`" not in PAGE] == []


def test_the_second_action_uses_inputs_that_the_page_names() -> None:
    assert [name for name in COMMENT["inputs"] if f"`{name}`" not in PAGE] == []


def test_the_action_hands_its_inputs_over_by_the_environment_alone() -> None:
    steps = ACTION["runs"]["steps"]
    assert all("${{" not in step.get("run", "") for step in steps)
    told = "".join(str(value) for step in steps for value in (step, step.get("env", {}), step.get("with", {})))
    assert [name for name in ACTION["inputs"] if f"inputs.{name}" not in told] == []
    script = (ROOT / "ci" / "check.sh").read_text(encoding="utf-8")
    check = next(step for step in steps if step.get("id") == "check")
    given = [name for name in check["env"] if name.startswith("HOWSURE_") and name != "HOWSURE_TRUST"]
    assert [name for name in given if name not in script] == []
    assert check["env"]["SCRIPT"].endswith("/ci/check.sh")


def test_the_jobs_extend_the_templates() -> None:
    jobs = yaml.safe_load(FILES[".gitlab-ci.yml"])
    install, check, comment = (TEMPLATE[name] for name in (".howsure-install", ".howsure", ".howsure-comment"))
    for name, template in (("howsure", check), ("howsure-comment", comment)):
        assert TEMPLATE[jobs[name]["extends"]] is template
        assert jobs[name]["variables"].keys() <= {*install["variables"], *template.get("variables", {})}
    assert check["allow_failure"] == {"exit_codes": [101]}
    assert all(f"${name}" in f"{install} {check['script']}" for name in jobs["howsure"]["variables"])
    assert set(check["artifacts"]["paths"]) == {"howsure-report.html", "howsure-comment.md"}
    assert jobs["howsure-comment"]["needs"] == ["howsure"]
