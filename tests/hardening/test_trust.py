"""Break 5: an untrusted checkout ran code on any command. What the settings of a folder would run, or send to an
address that stands in them, works only after `howsure trust`, `--trust` or HOWSURE_TRUST, only where it is needed."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from house import lines, mcq
from howsure.main import program
from howsure.services.workspace import Workspace
from net.options import all_options

RAN = "ran"
PLUGIN = f"open({RAN!r}, 'w').close()\n\n\ndef register(kit):\n    pass\n"
NEEDED = {
    "run", "resume", "retry", "serve", "worker", "ci", "judge calibrate", "judge test", "judge migrate", "judge pairs",
    "judge drift",
}  # fmt: skip
OPTIONAL = {
    "validate", "convert", "sample", "split", "merge", "schema", "report", "export", "import", "triage", "doctor",
    "judge about",
}  # fmt: skip
ALL = sorted({option.command for option in all_options() if option.longest == "--no-config"})
BAD_DATABASE = "no-database"


@pytest.fixture(autouse=True)
def nobody_trusts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("HOWSURE_TRUST", "")
    monkeypatch.setenv("HOWSURE_TRUST_FILE", str(tmp_path / "config" / "trusted.json"))
    monkeypatch.delenv("HOWSURE_DATABASE_URL", raising=False)
    paths = list(sys.path)
    yield
    sys.path[:] = paths


@pytest.fixture
def cloned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that came from somebody else, with a plug-in, a function and a dataset."""
    folder = tmp_path / "cloned"
    folder.mkdir()
    (folder / "howsure.yaml").write_text(
        "plugins: [plugin.py]\ntargets:\n  agent: {kind: function, function: 'bot.py:answer'}\n", encoding="utf-8"
    )
    (folder / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    (folder / "bot.py").write_text("def answer(text):\n    return 'A'\n", encoding="utf-8")
    (folder / BAD_DATABASE).write_text("This is no database.\n" * 100, encoding="utf-8")
    lines(folder / "cases.jsonl", mcq(1))
    monkeypatch.chdir(folder)
    return folder


def howsure(*words: str) -> Result:
    return CliRunner().invoke(program, words, input="")


def words_of(name: str, *, database: str = "") -> list[str]:
    """The command with something for everything that it must be given."""
    command: click.Command = program
    context = click.Context(program)
    for part in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(context, part)
        assert found is not None
        command = found
    words = name.split()
    for param in command.params:
        value = param.type.choices[0] if isinstance(param.type, click.Choice) else "1"
        if isinstance(param, click.Option) and param.required:
            words += [param.opts[0]] if param.is_flag else [param.opts[0], str(value)]
        elif isinstance(param, click.Argument) and param.required:
            words.append("cases.jsonl" if value == "1" else str(value))
        elif "--database" in param.opts and database:
            words += ["--database", database]
        elif name == "ci" and "--report" in param.opts:
            words += ["--report", "of.no-format"]  # told before anything is started
    return words


@pytest.mark.parametrize("name", ALL)
def test_no_config_uses_no_settings_file(cloned: Path, name: str) -> None:
    (cloned / "howsure.yaml").write_text("colour: red\n", encoding="utf-8")
    words = words_of(name, database=BAD_DATABASE)
    refused = howsure(*words)
    assert (refused.exit_code, "`colour` is not a setting" in refused.output) == (2, True)
    for other in (["--no-config"], ["--config", os.devnull]):
        assert "is not a setting" not in howsure(*words, *other).output


@pytest.mark.parametrize("name", ALL)
def test_break_5_no_command_runs_what_a_folder_brings(cloned: Path, name: str) -> None:
    words = words_of(name, database=BAD_DATABASE)
    done = howsure(*words)
    assert not (cloned / RAN).exists()
    assert ("type `howsure trust`" in done.stderr) is (name in NEEDED)
    assert ("left out, for" in done.stderr) is (name in OPTIONAL)
    if name in NEEDED:
        assert done.exit_code == 2
    if name in NEEDED | OPTIONAL:
        howsure(*words, "--trust")
        assert (cloned / RAN).exists()
    else:
        assert howsure("trust", "--yes").exit_code == 0
        howsure(*words)
        assert not (cloned / RAN).exists(), "it has no use for plug-ins"


STORING = sorted({option.command for option in all_options() if option.longest == "--database"} - {"serve", "worker"})


@pytest.mark.parametrize("name", STORING)
def test_a_database_at_an_address_of_the_folder_is_not_asked(cloned: Path, name: str) -> None:
    """Its server would be given the password of whoever asks."""
    (cloned / "howsure.yaml").write_text("database: 'postgresql://127.0.0.1:1/none'\n", encoding="utf-8")
    done = howsure(*words_of(name))
    assert done.exit_code == 2
    assert "database: keeps runs in the database at 127.0.0.1, with your password for it" in done.output
    assert "type `howsure trust`" in done.output
    assert "howsure trust" not in howsure(*words_of(name), "--trust").output
    assert "howsure trust" not in howsure(*words_of(name, database=BAD_DATABASE)).output


def test_a_shell_that_completes_runs_nothing(cloned: Path) -> None:
    asked = {"_HOWSURE_COMPLETE": "bash_complete", "COMP_WORDS": "howsure show ", "COMP_CWORD": "2"}
    done = CliRunner().invoke(program, env=asked, prog_name="howsure")
    assert (done.exit_code, done.stderr) == (0, "")
    assert not (cloned / RAN).exists()


def test_it_is_remembered_by_path_and_content_and_never_in_the_folder(cloned: Path, tmp_path: Path) -> None:
    before = {path.name for path in cloned.iterdir()}
    run = ("run", "cases.jsonl", "--target", "agent", "--quiet")
    assert howsure(*run).exit_code == 2
    shown = howsure("trust", "--yes")
    assert (
        "  plugins: loads the Python file plugin.py\n  targets.agent: runs code (function): bot.py:answer"
        in shown.output
    )
    assert {path.name for path in cloned.iterdir()} == before
    register = tmp_path / "config" / "trusted.json"
    assert (register.stat().st_mode & 0o777, register.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert howsure(*run).exit_code == 0
    assert howsure("trust", "--list").stdout == f"{cloned}/howsure.yaml\n"

    (cloned / "bot.py").write_text("def answer(text):\n    return 'B'\n", encoding="utf-8")
    done = howsure(*run)
    assert (done.exit_code, "(changed since you trusted it: bot.py)" in done.stderr) == (2, True)
    assert json.loads(howsure("trust", "--list", "--json").stdout) == [
        {"path": f"{cloned}/howsure.yaml", "changed": ["bot.py"]}
    ]
    assert howsure("trust", "--yes", str(cloned)).exit_code == 0
    assert howsure(*run).exit_code == 0
    (cloned / "bot").mkdir()
    (cloned / "bot" / "py.py").write_text("", encoding="utf-8")
    assert "(changed since you trusted it: bot/py.py)" in howsure(*run).stderr, "a file that was not there before"
    shutil.rmtree(cloned / "bot")

    assert howsure("trust", "--forget").exit_code == 0
    assert howsure("trust", "--forget").exit_code == 2
    assert howsure(*run).exit_code == 2


def test_what_the_code_of_a_folder_imports_beside_it_is_trusted_with_it(cloned: Path) -> None:
    """A colleague's change is pulled: whatever of the folder would run anew is named, and nothing else is."""
    (cloned / "bot.py").write_text(
        "import json\n\nfrom words import opening\n\n\ndef answer(text):\n    return opening.SAID\n", encoding="utf-8"
    )
    words = cloned / "words"
    words.mkdir()
    (words / "__init__.py").write_text("", encoding="utf-8")
    (words / "opening.py").write_text("from .inner import SAID\n", encoding="utf-8")
    (words / "inner.py").write_text("SAID = 'A'\n", encoding="utf-8")
    (cloned / "unused.py").write_text("", encoding="utf-8")
    (cloned / "plugin.py").write_text(
        "import sys\n\nsys.path.insert(0, __file__.rpartition('/')[0])\n\n\ndef register(kit):\n    import shared\n",
        encoding="utf-8",
    )
    (cloned / "shared.py").write_text("", encoding="utf-8")
    run = ("run", "cases.jsonl", "--target", "agent", "--quiet")
    assert howsure("trust", "--yes").exit_code == 0
    first = howsure(*run)
    assert first.exit_code == 0, first.output
    (cloned / "unused.py").write_text("1 / 0\n", encoding="utf-8")
    assert howsure(*run).exit_code == 0
    changes = {"words/inner.py": "SAID = 'B'\n", "shared.py": "1\n", "words/__init__.py": "1\n", "json.py": "1\n"}
    for name, text in changes.items():
        before = (cloned / name).read_text(encoding="utf-8") if (cloned / name).exists() else None
        (cloned / name).write_text(text, encoding="utf-8")
        done = howsure(*run)
        assert (done.exit_code, f"(changed since you trusted it: {name})" in done.stderr) == (2, True), name
        (cloned / name).unlink() if before is None else (cloned / name).write_text(before, encoding="utf-8")
    assert howsure(*run).exit_code == 0


def test_another_path_and_other_settings_are_not_trusted_with_it(
    cloned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert howsure("trust", "--yes").exit_code == 0
    shutil.copytree(cloned, tmp_path / "other")
    monkeypatch.chdir(tmp_path / "other")
    done = howsure("run", "cases.jsonl", "--target", "agent")
    assert (done.exit_code, "type `howsure trust`" in done.stderr) == (2, True)
    # Naming settings says nothing about what they run.
    monkeypatch.chdir(tmp_path)
    done = howsure("run", "cases.jsonl", "--config", "other/howsure.yaml")
    assert (done.exit_code, f"type `howsure trust {tmp_path}/other`" in done.stderr) == (2, True)


def test_a_person_at_a_terminal_is_asked_once(cloned: Path) -> None:
    """Really at one: a pseudo-terminal."""

    def typed(answer: bytes) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        os.write(ours, answer)
        done = subprocess.run(
            [sys.executable, "-m", "howsure", "run", "cases.jsonl", "--target", "agent", "--quiet"],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            check=False,
            timeout=240,
        )
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 65_536):
                seen += piece
        except OSError:
            pass
        os.close(ours)
        return done.returncode, seen.decode()

    code, seen = typed(b"n\n")
    assert (code, "Do you trust it? [y/N]" in seen, "nothing was run and nothing was sent" in seen) == (2, True, True)
    assert not (cloned / RAN).exists()
    code, seen = typed(b"y\n")
    assert (code, "Do you trust it? [y/N]" in seen) == (0, True)
    done = howsure("run", "cases.jsonl", "--target", "agent", "--quiet")
    assert (done.exit_code, "trust" in done.output) == (0, False)


@pytest.mark.parametrize(
    ("settings", "risk"),
    [
        ("plugins: [p.py]", "plugins: loads the Python file p.py"),
        ("targets: {a: {kind: function, function: 'm:f'}}", "targets.a: runs code (function): m:f"),
        ("targets: {a: {kind: command, command: [python3, b.py]}}", "targets.a: runs code (command): python3 b.py"),
        ("targets: {a: {kind: langgraph, object: 'm:graph'}}", "targets.a: runs code (langgraph): m:graph"),
        ("targets: {a: {kind: of-a-plug-in}}", "targets.a: runs code (of-a-plug-in): "),
        (
            "targets: {a: {kind: chat, model: 'openai:gpt-5', tool_functions: 'm:tools'}}",
            "targets.a: runs code (chat): m:tools",
        ),
        (
            "targets: {a: {kind: http, url: 'https://x.example', headers: {Authorization: 'Bearer ${KEY}'}}}",
            "targets.a: sends ${KEY} to https://x.example",
        ),
        (
            "targets: {a: {kind: http, url: 'https://x.example', body: {deep: ['${OTHER}']}}}",
            "targets.a: sends ${OTHER} to https://x.example",
        ),
        ("judge: 'openai:gpt-5@https://x.example/v1'", "judge: sends the key for openai:gpt-5 to https://x.example/v1"),
        ("simulator: 'openai:m@http://x.example'", "simulator: sends the key for openai:m to http://x.example"),
        ("panel: {members: ['openai:m@http://x.example']}", "panel.members: sends the key for openai:m"),
        ("candidates: {c: {model: 'openai:m@http://x.example'}}", "candidates.c.model: sends the key for openai:m"),
        ("service: {judges: ['openai:m@http://x.example']}", "service.judges: sends the key for openai:m"),
        (
            "service: {bot_service: 'https://x.example/{id}', bot_service_key: KEY}",
            "service.bot_service: sends ${KEY} to https://x.example/{id}",
        ),
        (
            "cluster: {address: 'ray://x.example', env: [KEY]}",
            "cluster: sends runs to the Ray cluster ray://x.example, w",
        ),
        (
            "service: {oidc: {issuer: 'https://x.example', client_id: us, client_secret: '${SECRET}',"
            " roles: {staff: {role: viewer}}}}",
            "service.oidc: sends ${SECRET} to https://x.example",
        ),
        ("database: 'postgresql://x.example/d'", "database: keeps runs in the database at x.example"),
    ],
)
def test_everything_that_runs_or_leaks_is_named(cloned: Path, settings: str, risk: str) -> None:
    (cloned / "howsure.yaml").write_text(settings, encoding="utf-8")
    done = howsure("trust", "--json")
    (found,) = json.loads(done.stdout)["risks"]
    assert f"{found['setting']}: {found['does']}".startswith(risk)
    assert done.exit_code == 2, "nobody said yes"
    done = howsure("run", "cases.jsonl", "--json")
    assert (done.exit_code, json.loads(done.stdout)["error"]) == (2, "NotTrusted")


@pytest.mark.parametrize(
    "settings",
    [
        "judge: openai:gpt-5",
        "targets: {a: {kind: http, url: 'https://x.example'}}",
        "prices: {m: {prompt: 1}}",
        "profiles: {strict: {marks: {choice: 1}}}",
        "database: elsewhere.db",
        "contracts: {c: {type: object}}",
    ],
)
def test_data_needs_no_trust(cloned: Path, settings: str) -> None:
    (cloned / "howsure.yaml").write_text(settings, encoding="utf-8")
    assert json.loads(howsure("trust", "--json").stdout)["risks"] == []
    assert "trust" not in howsure("run", "cases.jsonl", "--limit", "0").output


def test_what_is_typed_is_trusted_by_being_typed(cloned: Path) -> None:
    (cloned / "howsure.yaml").unlink()
    done = howsure("run", "cases.jsonl", "--target", "function:bot.py:answer", "--plugin", "plugin.py", "--quiet")
    assert done.exit_code == 0, done.stderr
    assert (cloned / RAN).exists()


def test_a_stored_run_that_would_run_code_is_not_done_again_unasked(cloned: Path) -> None:
    """A folder may bring its database along, and `function:…` in it."""
    (cloned / "howsure.yaml").unlink()
    (cloned / "bot.py").write_text("import os\n\n\ndef answer(text):\n    os.mkdir('called')\n    raise OSError\n")
    assert howsure("run", "cases.jsonl", "--target", "function:bot.py:answer", "--quiet").exit_code == 3
    (cloned / "called").rmdir()
    done = howsure("retry", "--errors")
    assert (done.exit_code, (cloned / "called").exists()) == (2, False)
    assert "  target: runs function:bot.py:answer\n" in done.stderr
    assert howsure("retry", "--errors", "--trust", "--quiet").exit_code == 3
    assert (cloned / "called").exists()


def test_init_trusts_what_it_wrote_until_it_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert howsure("init", str(tmp_path / "mine")).exit_code == 0
    monkeypatch.chdir(tmp_path / "mine")
    assert howsure("doctor", "--target", "agent").exit_code == 0
    with (tmp_path / "mine" / "support_agent.py").open("a", encoding="utf-8") as file:
        file.write("# mine\n")
    done = howsure("doctor", "--target", "agent")
    assert (done.exit_code, "changed since you trusted it: support_agent.py" in done.stderr) == (2, True)


def test_the_environment_trusts_all_or_nothing(cloned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOWSURE_TRUST", "maybe")
    assert "HOWSURE_TRUST: expected 1 or 0, found 'maybe'" in howsure("run", "cases.jsonl").stderr
    monkeypatch.setenv("HOWSURE_TRUST", "1")
    assert howsure("run", "cases.jsonl", "--target", "agent", "--quiet").exit_code == 0


def test_a_dialect_of_a_plug_in_that_is_left_out_is_not_a_riddle(cloned: Path) -> None:
    done = howsure("validate", "cases.jsonl", "--dialect", "faq")
    assert done.exit_code == 2
    assert "left out, for" in done.stderr
    assert "is not trusted (`howsure trust`): plugins" in done.stderr


def test_a_program_of_ones_own_trusts_its_folder(cloned: Path) -> None:
    Workspace.here()
    assert (cloned / RAN).exists()


def test_what_cannot_be_remembered_is_told(cloned: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("HOWSURE_TRUST_FILE", str(tmp_path / "file" / "trusted.json"))
    done = howsure("trust", "--yes")
    assert (done.exit_code, "remove this file" in done.stderr or "cannot be written" in done.stderr) == (2, True)
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    monkeypatch.setenv("HOWSURE_TRUST_FILE", str(broken))
    done = howsure("run", "cases.jsonl")
    assert (done.exit_code, f"{broken}: " in done.stderr, "remove this file" in done.stderr) == (2, True, True)
