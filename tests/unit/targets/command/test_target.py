"""The command target: a program that answers in lines of JSON, and every way it can fail to."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from howsure.errors import ConfigInvalid, TargetFailed, TargetTimedOut
from howsure.model.case import Case, Script, SingleTurn
from howsure.model.transcript import Message, Role
from howsure.targets.base import FinishedSession, Session, TargetRequest
from howsure.targets.command.programs import ProgramStart, start_program
from howsure.targets.command.target import CommandKind, CommandTarget, plan_command
from howsure.testing import a_case
from live_targets import alive, conversed

ECHO = """
    import json, sys
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps({"answer": asked["message"], "state": asked}))
"""


def program(folder: Path, source: str, **settings: Any) -> CommandTarget:
    """A target whose bot is this Python program; it writes its process id first."""
    start = "import os\nopen('pids', 'a').write(f'{os.getpid()}\\n')\n"
    (folder / "bot.py").write_text(start + textwrap.dedent(source), encoding="utf-8")
    command = {"command": [sys.executable, "bot.py"], "turn_seconds": 20.0, **settings}
    environ = {**os.environ, "API_KEY": "sesame-open-123"}
    return CommandKind().make(TargetRequest(name="shop", settings=command, folder=folder, environ=environ))


async def opened(target: CommandTarget, case: Case | None = None) -> Session:
    session = await target.open(case or a_case())
    assert not isinstance(session, FinishedSession)
    return session


async def failure(folder: Path, source: str, kind: type[TargetFailed] = TargetFailed, **settings: Any) -> str:
    target = program(folder, source, **settings)
    with pytest.raises(kind) as caught:
        await conversed(a_case(), target)
    await target.stop()
    assert alive(folder / "pids") == []
    return str(caught.value)


async def test_the_program_is_told_all_there_is_to_know(tmp_path: Path) -> None:
    target = program(tmp_path, ECHO)
    given = SingleTurn(message="Hi", context="Page 3", history=(Message(role=Role.USER, content="Before"),))
    told = await conversed(Case(id="c1", input=given, state={"a": 1}), target)
    assert told.state is not None
    assert len(told.state.pop("session_id")) == 32
    assert told.state == {
        "message": "Page 3\n\nHi",
        "prompt": "Hi",
        "case_id": "c1",
        "turn": 1,
        "history": [{"role": "user", "content": "Before"}],
        "state": {"a": 1},
        "context": "Page 3",
        "documents": "",
        "choices": [],
        "candidate": "",
    }
    assert told.sent is not None
    assert [message.content for message in told.sent.messages] == ["Before", "Page 3\n\nHi"]
    assert alive(tmp_path / "pids") == []


async def test_one_process_serves_one_conversation(tmp_path: Path) -> None:
    source = """
        import json, sys
        for turn, line in enumerate(sys.stdin, 1):
            print(json.dumps({"answer": str(turn)}))
    """
    target = program(tmp_path, source)
    for _ in range(2):
        assert (await conversed(Case(id="1", input=Script(turns=("a", "b"))), target)).answer == "2"
    assert len((tmp_path / "pids").read_text().split()) == 2


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "input(); print('Hi there')",
            'expected one line of JSON such as {"answer": "…"}; it wrote \'Hi there\' (notes belong',
        ),
        ("import sys; sys.stdin.readline(); print()", "it wrote ''"),
        ("import sys; sys.stdin.readline(); print('\"Hi\"')", "it wrote text 'Hi'"),
        ("import sys; sys.stdin.readline(); print('[1]')", "it wrote a list [1]"),
        ("import sys; sys.stdin.readline(); print('{}')", "found the keys none"),
        ('import sys; sys.stdin.readline(); print(\'{"error": "no tokens"}\')', "answered with an error: no tokens"),
        ("import sys; sys.stdin.readline(); sys.stdout.buffer.write(b'\\xff\\xfe\\n')", "expected one line of JSON"),
        ("", "ended (exit code 0) before it answered; it said nothing on stderr"),
        ("import sys; sys.exit(3)", "ended (exit code 3) before it answered"),
        ("import os; os.kill(os.getpid(), 9)", "ended (signal SIGKILL) before it answered"),
        ("import sys; print('oh no', file=sys.stderr); sys.exit(1)", "it said on stderr:\noh no"),
        ("raise ValueError('no such order')", "ValueError: no such order"),
        ("import sys; print('half a line', end='', flush=True); sys.stdin.read()", "no answer in 0.4 s"),
        ("import os, time; os.close(1); time.sleep(30)", "closed its output"),
    ],
    ids=lambda text: text[:40],
)
async def test_every_way_not_to_answer_is_told(tmp_path: Path, source: str, told: str) -> None:
    seconds = 0.4 if "half a line" in source else 20.0
    assert told in await failure(tmp_path, source, turn_seconds=seconds, stop_seconds=2.0)


async def test_only_the_last_lines_of_stderr_are_kept(tmp_path: Path) -> None:
    source = """
        import sys
        for number in range(100):
            print(f"note {number} " + "x" * 10_000 * (number == 99), file=sys.stderr)
        sys.exit(1)
    """
    told = await failure(tmp_path, source)
    notes = told.splitlines()[1:]
    assert [note.split()[1] for note in notes] == [str(number) for number in range(80, 100)]
    assert len(notes[-1]) == 501


async def test_a_program_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    source = """
        import subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        open('pids', 'a').write(f'{child.pid}\\n')
        print("working on it", file=sys.stderr)
        time.sleep(60)
    """
    begun = time.monotonic()
    told = await failure(tmp_path, source, TargetTimedOut, turn_seconds=1.0, stop_seconds=0.2)
    assert "no answer in 1 s (does it write a whole line, and flush it?); it said on stderr:\nworking on it" in told
    assert time.monotonic() - begun < 30


async def test_a_program_that_ignores_the_end_of_its_input_is_ended(tmp_path: Path) -> None:
    source = """
        import json, signal, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.stdin.readline()
        print(json.dumps({"answer": "Hi"}))
        time.sleep(60)
    """
    target = program(tmp_path, source, stop_seconds=0.1)
    assert (await conversed(a_case(), target)).answer == "Hi"
    assert alive(tmp_path / "pids") == []


async def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    script = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    start = ProgramStart(
        arguments=[sys.executable, "-c", script], folder=tmp_path, environ=os.environ, largest=1_000_000
    )
    running = await start_program(start)
    with pytest.raises(TargetFailed, match="wrote more than 1,000,000 bytes"):
        await running.line()
    await running.stop(0.1)


async def test_a_line_that_nobody_asked_for_does_not_answer_the_next_message(tmp_path: Path) -> None:
    source = """
        import sys
        for line in sys.stdin:
            print('{"answer": "one"}\\n{"answer": "two"}')
    """
    target = program(tmp_path, source)
    session = await opened(target)
    assert (await session.send("a")).messages[0].content == "one"
    await asyncio.sleep(0.3)
    with pytest.raises(TargetFailed, match=r"wrote a line that was not asked for: '\{\"answer\": \"two\"\}'"):
        await session.send("b")
    await session.close()


async def test_large_messages_and_answers_pass(tmp_path: Path) -> None:
    target = program(tmp_path, ECHO)
    text = "ä" * 500_000
    assert (await conversed(a_case(message=text), target)).answer == text


async def test_secrets_of_the_environment_are_in_no_answer_and_no_error(tmp_path: Path) -> None:
    source = """
        import json, os, sys
        sys.stdin.readline()
        print(json.dumps({"answer": os.environ["API_KEY"]}), flush=True)
        sys.stdin.readline()
        sys.exit(os.environ["API_KEY"])
    """
    session = await opened(program(tmp_path, source, env=["API_KEY"]))
    assert (await session.send("a")).messages[0].content == "[secret]"
    with pytest.raises(TargetFailed, match=r"stderr:\n\[secret\]"):
        await session.send("b")
    await session.close()


@pytest.mark.parametrize(
    ("env", "given"),
    [(None, {}), ([], {}), (["SHOP"], {"SHOP": "Moss"}), (["SHOP=Fern", "MODE=x=y"], {"SHOP": "Fern", "MODE": "x=y"})],
    ids=["nothing said", "none", "by name", "by value"],
)
def test_a_program_gets_what_env_lists(tmp_path: Path, env: list[str] | None, given: dict[str, str]) -> None:
    environ = {"PATH": os.environ["PATH"], "SHOP": "Moss", "OPENAI_API_KEY": "sk-1", "LC_CTYPE": "C", "TZ": "UTC"}
    settings = {"command": [sys.executable], "env": env} if env is not None else {"command": [sys.executable]}
    start = plan_command(TargetRequest(name="shop", settings=settings, folder=tmp_path, environ=environ)).start
    usual = {"PATH": environ["PATH"], "LC_CTYPE": "C", "TZ": "UTC", "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
    assert start.environ == usual | given


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "`targets.shop.command`: is needed"),
        ({"command": "bot 'x"}, "`targets.shop.command`: cannot be read: No closing quotation"),
        ({"command": "no-such-program-here"}, "there is no program 'no-such-program-here' on the PATH"),
        ({"command": "./missing.py"}, "there is no file './missing.py'"),
        ({"command": "./plain.py --x"}, "'./plain.py' may not be executed: `chmod +x ./plain.py`, or write `python"),
        ({"command": "plain.py"}, "there is a file of that name: write ./plain.py"),
        ({"command": "env", "cwd": "nowhere"}, "`targets.shop.cwd`: there is no folder 'nowhere'"),
        ({"command": "env", "env": ["KEY"]}, "`targets.shop.env`: the environment variable KEY is not set"),
        ({"command": "env", "env": ["API_KEY=x"]}, "`targets.shop.env`: API_KEY: a secret may not stand in a file"),
        ({"command": "env", "mode": "fast"}, "`targets.shop.mode`: Invalid enum value 'fast'"),
        ({"command": "env", "turn_seconds": 0}, "`targets.shop.turn_seconds`: expected"),
        ({"command": "env", "shell": True}, "`targets.shop.shell`: is not a setting"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_told(tmp_path: Path, settings: dict[str, Any], told: str) -> None:
    (tmp_path / "plain.py").write_text("", encoding="utf-8")
    with pytest.raises(ConfigInvalid) as caught:
        CommandKind().make(
            TargetRequest(name="shop", settings=settings, folder=tmp_path, environ={"PATH": os.environ["PATH"]})
        )
    assert told in str(caught.value)


async def test_a_program_on_the_command_line_is_split_without_a_shell(tmp_path: Path) -> None:
    script = tmp_path / "bot.py"
    script.write_text(
        "#!/usr/bin/env python3\nimport json, sys\nsys.stdin.readline()\n"
        "print(json.dumps({'answer': str(sys.argv[1:])}))\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    wish = TargetRequest(name="shop", rest="./bot.py --name 'a b' $HOME;", folder=tmp_path, environ=os.environ)
    assert (await conversed(a_case(), CommandKind().make(wish))).answer == "['--name', 'a b', '$HOME;']"


async def test_what_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    script = tmp_path / "bot"
    script.write_bytes(b"\x00\x01 no program")
    script.chmod(0o755)
    target = CommandKind().make(TargetRequest(name="shop", rest="./bot", folder=tmp_path, environ=os.environ))
    with pytest.raises(TargetFailed, match="cannot be started: Exec format error"):
        await target.open(a_case())


async def test_it_can_be_checked(tmp_path: Path) -> None:
    assert "starts and waits for messages" in await program(tmp_path, ECHO).check()
    with pytest.raises(TargetFailed, match=r"ended \(exit code 3\)|waits"):
        await program(tmp_path, "import sys; sys.exit(3)").check()
        raise TargetFailed("it waits: the machine is slow")
    assert alive(tmp_path / "pids") == []


SERVER = """
    import json, sys
    held = []
    for line in sys.stdin:
        asked = json.loads(line)
        held.append(json.dumps({"id": asked["id"], "answer": asked["message"]}))
        if asked["message"] == "die":
            sys.exit(5)
        if asked["message"] == "stray":
            print(json.dumps({"answer": "to nobody"}))
        if len(held) == 2:
            print(held[1])
            print(held[0])
            held = []
"""


async def test_a_server_may_answer_out_of_order(tmp_path: Path) -> None:
    target = program(tmp_path, SERVER, mode="server")
    first, second = await opened(target), await opened(target)
    replies = await asyncio.gather(first.send("a"), second.send("b"))
    await target.stop()
    assert [reply.messages[0].content for reply in replies] == ["a", "b"]
    assert len((tmp_path / "pids").read_text().split()) == 1
    assert alive(tmp_path / "pids") == []


@pytest.mark.parametrize(
    ("message", "told"), [("die", r"ended \(exit code 5\)"), ("stray", 'expected a line of JSON with the "id"')]
)
async def test_a_server_that_breaks_fails_all_who_wait_and_is_started_anew(
    tmp_path: Path, message: str, told: str
) -> None:
    target = program(tmp_path, SERVER, mode="server")
    first, second = await opened(target), await opened(target)
    waiting = asyncio.create_task(first.send("a"))
    await asyncio.sleep(0.05)
    with pytest.raises(TargetFailed, match=told):
        await second.send(message)
    with pytest.raises(TargetFailed, match=told):
        await waiting
    with pytest.raises(TargetFailed, match=told):
        await first.send("again")
    third, fourth = await opened(target), await opened(target)
    replies = await asyncio.gather(third.send("c"), fourth.send("d"))
    await target.stop()
    assert [reply.messages[0].content for reply in replies] == ["c", "d"]
    assert alive(tmp_path / "pids") == []


async def test_an_answer_that_comes_too_late_belongs_to_nobody_else(tmp_path: Path) -> None:
    source = """
        import json, sys, time
        for line in sys.stdin:
            asked = json.loads(line)
            time.sleep(0.6 if asked["message"] == "slow" else 0)
            print(json.dumps({"id": asked["id"], "answer": asked["message"]}))
    """
    target = program(tmp_path, source, mode="server", turn_seconds=20)
    session = await opened(target)
    await session.send("warm up")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await session.send("slow")
    assert (await session.send("quick")).messages[0].content == "quick"
    await target.stop()
