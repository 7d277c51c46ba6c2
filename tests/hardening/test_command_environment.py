"""A command target got the whole environment, keys of providers included. It gets what is listed; so do the programs of
a promptfoo configuration, and the code that checks its answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from shlex import quote

import pytest
from click.testing import CliRunner

from house import lines, mcq
from howsure.main import program

BOT = """
import json, os, sys
for line in sys.stdin:
    print(json.dumps({"answer": "Answer: A", "state": dict(os.environ)}), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    lines(tmp_path / "cases.jsonl", mcq(1))
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "PGPASSWORD",
        "REGION",
    ):
        monkeypatch.setenv(name, f"value-of-{name}")
    monkeypatch.setenv("LC_CTYPE", "C.UTF-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def environment(*words: str) -> dict[str, str]:
    """What a program saw that was asked by a run."""
    done = CliRunner().invoke(program, ["run", "cases.jsonl", *words, "--quiet"])
    assert done.exit_code == 0, done.output
    (result,) = json.loads(CliRunner().invoke(program, ["results", "--json"]).stdout)
    state: dict[str, str] = result["output"]["state"]
    return state


ALWAYS = {"PATH", "HOME", "USER", "LANG", "TMPDIR", "TZ", "VIRTUAL_ENV", "SYSTEMROOT", "PYTHONUNBUFFERED", "PYTHONUTF8"}


def test_a_program_that_is_typed_gets_no_keys(folder: Path) -> None:
    seen = environment("--target", f"command:{quote(sys.executable)} bot.py")
    assert {name for name in seen if not name.startswith("LC_")} <= ALWAYS
    assert {"PATH", "LC_CTYPE"} <= set(seen)


def test_a_program_gets_what_its_settings_list(folder: Path) -> None:
    block = {"kind": "command", "command": [sys.executable, "bot.py"], "env": ["OPENAI_API_KEY", "REGION", "MODE=test"]}
    (folder / "howsure.yaml").write_text(json.dumps({"targets": {"bot": block}}), encoding="utf-8")
    seen = environment("--target", "bot")
    # What was listed is hidden in what is kept of the answer.
    assert {name: value for name, value in seen.items() if name not in ALWAYS and not name.startswith("LC_")} == {
        "OPENAI_API_KEY": "[secret]",
        "REGION": "[secret]",
        "MODE": "test",
    }


def test_a_secret_that_stands_in_the_file_is_refused(folder: Path) -> None:
    block = {"kind": "command", "command": [sys.executable, "bot.py"], "env": ["OPENAI_API_KEY=sk-1"]}
    (folder / "howsure.yaml").write_text(json.dumps({"targets": {"bot": block}}), encoding="utf-8")
    done = CliRunner().invoke(program, ["run", "cases.jsonl", "--target", "bot"])
    assert done.exit_code == 2
    assert "`targets.bot.env`: OPENAI_API_KEY: a secret may not stand in a file" in done.stderr
    assert "sk-1" not in done.output


PROMPTFOO = """prompts: ['{{v}}']
providers:
  - id: 'exec: sh say.sh'
    env: {REGION: '{{env.REGION}}', MODE: test}
tests:
  - vars: {v: x}
    assert:
      - {type: equals, value: '--value-of-REGION-test'}
      - {type: python, value: "__import__('os').environ.get('OPENAI_API_KEY') is None"}
"""


def test_programs_and_checks_of_a_promptfoo_configuration_get_no_keys(folder: Path) -> None:
    (folder / "promptfooconfig.yaml").write_text(PROMPTFOO, encoding="utf-8")
    (folder / "say.sh").write_text('echo "$OPENAI_API_KEY-$GITHUB_TOKEN-$REGION-$MODE"\n', encoding="utf-8")
    done = CliRunner().invoke(program, ["run", "promptfooconfig.yaml", "--trust", "--quiet", "--json"])
    assert done.exit_code == 0, done.output
    (result,) = json.loads(CliRunner().invoke(program, ["results", "--json"]).stdout)
    assert (result["verdict"], result["output"]["messages"][-1]["content"]) == ("passed", "--value-of-REGION-test")
