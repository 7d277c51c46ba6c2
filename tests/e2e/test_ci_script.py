"""The script of the GitHub Action on two commits of a small repository: the sentence in the comment, and the exit code;
then the second job, which comments. GitHub is a server on loopback that keeps comments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from house import lines, mcq
from howsure.services.ci.forges import WRITTEN_BY

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "ci" / "check.sh"
TOKEN = "ghs_secret_of_the_job"
CASES = 60

pytestmark = pytest.mark.thorough


def wrong_below(limit: int) -> str:
    """An agent that answers the first questions wrongly."""
    return (
        "def answer(text):\n"
        f"    return 'B' if int(text.split()[1].split('?')[0]) <= {limit} else 'A'\n"
    )  # fmt: skip


def git(folder: Path, *words: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    named = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    done = subprocess.run(
        ["git", *named, *words], cwd=folder, env={**os.environ, **own}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(folder: Path, **files: str) -> None:
    for name, content in files.items():
        (folder / f"{name}.py").write_text(content, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a change")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """`main` has an agent that gets ten of sixty wrong; `change` starts from it."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    lines(folder / "cases.jsonl", *(mcq(number) for number in range(1, CASES + 1)))
    (folder / ".gitignore").write_text(".howsure\nhowsure-*\n__pycache__\n", encoding="utf-8")
    commit(folder, bot=wrong_below(10))
    git(folder, "switch", "-q", "-c", "change")
    return folder


class Comments(BaseHTTPRequestHandler):
    """Enough of GitHub's API: the comments of pull request 7."""

    kept: dict[int, str]
    asked: list[tuple[str, str, str]]

    def log_message(self, *_: Any) -> None:
        return None

    def do_GET(self) -> None:
        first = "page=1" in self.path.partition("?")[2].split("&")
        self._answer(200, [{"id": id, "body": body} for id, body in self.kept.items()] if first else [])

    def do_POST(self) -> None:
        self.kept[len(self.kept) + 100] = self._body()
        self._answer(201, {})

    def do_PATCH(self) -> None:
        self.kept[int(self.path.rsplit("/", 1)[1])] = self._body()
        self._answer(200, {})

    def _body(self) -> str:
        text: str = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        return text

    def _answer(self, status: int, value: Any) -> None:
        self.asked.append((self.command, self.path.partition("?")[0], self.headers["Authorization"]))
        body = json.dumps(value).encode()
        self.send_response(status if TOKEN in self.headers["Authorization"] else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def github() -> Iterator[tuple[str, type[Comments]]]:
    kind = type("Kept", (Comments,), {"kept": {1: "a person's comment"}, "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", kind
        server.shutdown()
        thread.join()


def job_of(folder: Path, api: str = "", token: str = "") -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HOWSURE_", "GITHUB_", "CI_"))}
    return {
        **clean,
        "HOWSURE_TRUST": "1",
        "GITHUB_ACTIONS": "true",
        "GITHUB_BASE_REF": "main",
        "GITHUB_HEAD_REF": "change",
        "GITHUB_REF": "refs/pull/7/merge",
        "GITHUB_REPOSITORY": "somebody/shop",
        "GITHUB_API_URL": api,
        "GITHUB_TOKEN": token,
        "GITHUB_OUTPUT": str(folder / "howsure-outputs"),
        "GITHUB_STEP_SUMMARY": str(folder / "howsure-summary.md"),
    }


def check(folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """As the Action's step runs it, without a token."""
    given = {
        "HOWSURE_DATASETS": "cases.jsonl",
        "HOWSURE_RUN_OPTIONS": "--target\nfunction:bot.py:answer",
        "PYTHON": sys.executable,
    }
    return subprocess.run(
        ["bash", str(SCRIPT)],
        cwd=folder,
        env={**job_of(folder), **given, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
        encoding="utf-8",
    )


def post(folder: Path, api: str, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    """As the second job does it."""
    return subprocess.run(
        [sys.executable, "-I", "-m", "howsure", "comment", str(folder / "howsure-comment.md")],
        cwd=folder.parent,
        env=job_of(folder, api, token),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        encoding="utf-8",
    )


@pytest.mark.parametrize(
    ("wrong", "code", "sentence"),
    [
        pytest.param(
            0,
            0,
            "change is better than main: 100.0 % of 60 paired cases passed against 83.3 % (+16.7 points,",
            marks=pytest.mark.thorough,
        ),
        (40, 100, "change is worse than main: 33.3 % of 60 paired cases passed against 83.3 % (−50.0 points,"),
        pytest.param(
            12,
            101,
            "Cannot tell yet whether change is better or worse than main: 80.0 % of 60 paired cases passed",
            marks=pytest.mark.thorough,
        ),
    ],
    ids=["better", "worse", "cannot tell"],
)
def test_the_comment_has_the_right_sentence_and_the_exit_code_follows(
    repository: Path, github: tuple[str, type[Comments]], wrong: int, code: int, sentence: str
) -> None:
    commit(repository, bot=wrong_below(wrong))
    address, kept = github
    done = check(repository)
    assert done.returncode == code, done.stderr
    assert kept.asked == []
    posted = post(repository, address)
    assert (posted.returncode, posted.stderr) == (0, "the comment was made\n")
    comment = (repository / "howsure-comment.md").read_text(encoding="utf-8")
    assert f"**{sentence}" in comment
    assert sentence in done.stdout
    assert kept.kept == {1: "a person's comment", 101: f"<!-- howsure: howsure -->\n{comment}\n\n{WRITTEN_BY}\n"}
    assert len(comment) < 65_536
    assert (repository / "howsure-report.html").read_text(encoding="utf-8").startswith("<!")
    told = dict(line.split("=", 1) for line in (repository / "howsure-outputs").read_text("utf-8").splitlines())
    assert (told["exit-code"], told["report"]) == (str(code), "howsure-report.html")
    assert told["sentence"].startswith(sentence)
    assert sentence in (repository / "howsure-summary.md").read_text(encoding="utf-8")
    assert TOKEN not in done.stdout + done.stderr + comment


@pytest.mark.thorough
def test_a_second_push_rewrites_our_comment_and_leaves_the_repository_as_it_was(
    repository: Path, github: tuple[str, type[Comments]]
) -> None:
    commit(repository, bot=wrong_below(40))
    address, kept = github
    first = check(repository, HOWSURE_GATES="errors <= 0")
    assert first.returncode == 0, first.stderr
    assert post(repository, address).returncode == 0
    commit(repository, bot=wrong_below(0))
    assert check(repository, HOWSURE_BASE_RUN="main").returncode == 0
    assert post(repository, address).stderr == "the comment was updated\n"
    assert list(kept.kept) == [1, 101]
    assert "change is better than main" in kept.kept[101]
    assert [method for method, _, _ in kept.asked] == ["GET", "POST", "GET", "PATCH"]
    assert git(repository, "worktree", "list").count("\n") == 0
    assert git(repository, "status", "--short") == ""
    runs = subprocess.run(
        [sys.executable, "-m", "howsure", "runs"], cwd=repository, capture_output=True, text=True, check=True
    )
    # The second time the stored run of the base is taken: three runs, not four.
    assert [line.split()[1] for line in runs.stdout.splitlines()[1:] if line.strip()] == ["change", "change", "main"]


@pytest.mark.thorough
def test_inconclusive_may_be_let_pass_and_a_comment_that_is_refused_is_told(
    repository: Path, github: tuple[str, type[Comments]]
) -> None:
    commit(repository, bot=wrong_below(12))
    done = check(repository, HOWSURE_INCONCLUSIVE="pass")
    assert done.returncode == 0, done.stderr
    posted = post(repository, github[0], "wrong")
    assert (posted.returncode, posted.stderr) == (2, "error: GitHub refused the comment: 403 Forbidden\n")
    assert "inconclusive: no_regression vs main by 5%" in done.stdout
    assert "exit-code=101\n" in (repository / "howsure-outputs").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_a_base_that_cannot_be_run_is_told_and_the_change_is_still_held_to_its_gates(repository: Path) -> None:
    git(repository, "switch", "-q", "main")
    (repository / "bot.py").unlink()
    git(repository, "commit", "-q", "-a", "-m", "no agent yet")
    git(repository, "switch", "-q", "-c", "first")
    commit(repository, bot=wrong_below(0))
    done = check(repository, HOWSURE_GATES="pass_rate >= 0.9")
    assert done.returncode == 0, done.stderr
    assert "the base could not be run (it ended with 2): there is nothing to compare with" in done.stderr
    assert "All 60 passed" in done.stdout


def test_a_change_that_cannot_be_run_ends_as_its_run_did(repository: Path) -> None:
    commit(repository, bot="def answer(:\n")
    done = check(repository)
    assert done.returncode == 2
    assert "the run of change ended with 2: see above. Nothing was compared." in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"HOWSURE_INCONCLUSIVE": "maybe"}, "inconclusive: expected fail or pass, found maybe"),
        ({"HOWSURE_BASE": "nowhere"}, "there is no branch or commit 'nowhere' here"),
        ({"HOWSURE_GATES": "pass_rat >= 1"}, "did you mean pass_rate"),
    ],
)
def test_settings_that_are_wrong_are_told(repository: Path, settings: dict[str, str], told: str) -> None:
    done = check(repository, **settings)
    assert done.returncode == 2
    assert told in done.stderr


def test_what_a_contributor_writes_is_never_a_command(repository: Path) -> None:
    done = check(
        repository,
        HOWSURE_DATASETS="cases.jsonl; touch owned\n$(touch owned)",
        HOWSURE_BASE="",
    )
    assert done.returncode == 2
    assert not (repository / "owned").exists()
