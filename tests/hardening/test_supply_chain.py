"""Break 10: the Action gave its token to the code of the pull request. And the supply chain: what is installed, built
and run is named by its content."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from click.testing import CliRunner, Result

from house import lines, mcq
from howsure.main import program

ROOT = Path(__file__).parents[2]
CHECK, COMMENT = ((ROOT / path).read_text(encoding="utf-8") for path in ("action.yml", "ci/comment/action.yml"))
RELEASE = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
CONTAINER = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
LAB = (ROOT / "ci/gitlab/howsure.gitlab-ci.yml").read_text(encoding="utf-8")
WORKFLOWS = {name: yaml.safe_load(body) for name, body in re.findall(r"`(\S+\.yml)`:\n\n```yaml\n(.+?)```", PAGE, re.S)}
TOKEN = "ghs_of_the_second_job"
ENTRY = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?P<rest>(?:.*\\\n)?(?: +--hash=sha256:\w{64}(?: \\)?\n)+)", re.M
)


@pytest.mark.parametrize("text", [CHECK, COMMENT, RELEASE, PAGE], ids=["check", "comment", "release", "docs/ci.md"])
def test_every_action_is_named_by_its_commit(text: str) -> None:
    used = re.findall(r"^ *(?:- )?uses: (\S+)", text, re.M)
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []


def test_break_10_the_job_that_runs_the_change_has_no_token() -> None:
    assert "token" not in yaml.safe_load(CHECK)["inputs"]
    assert not re.search(r"github\.token|secrets\.|GITHUB_TOKEN", CHECK)
    checking = WORKFLOWS[".github/workflows/howsure.yml"]
    assert checking[True] == "pull_request"  # YAML reads `on` as a truth
    assert checking["permissions"] == {"contents": "read"}
    (job,) = checking["jobs"].values()
    assert "permissions" not in job and "secrets" not in str(job)
    checkout = next(step for step in job["steps"] if step["uses"].startswith("actions/checkout@"))
    assert checkout["with"]["persist-credentials"] is False


def test_the_job_that_has_a_token_runs_nothing_of_the_change() -> None:
    commenting = WORKFLOWS[".github/workflows/howsure-comment.yml"]
    assert commenting[True]["workflow_run"]["workflows"] == [WORKFLOWS[".github/workflows/howsure.yml"]["name"]]
    assert commenting["permissions"] == {"actions": "read", "pull-requests": "write"}
    (job,) = commenting["jobs"].values()
    steps = [*job["steps"], *yaml.safe_load(COMMENT)["runs"]["steps"]]
    assert [step for step in steps if step.get("uses", "").startswith("actions/checkout@")] == []
    assert [step["run"] for step in steps if "run" in step] == [
        'bash "$SCRIPT"',
        'python -I -m howsure comment "$COMMENT" --key "$KEY"',
    ]
    assert all("${{" not in step.get("run", "") for step in steps)
    lab = yaml.safe_load(LAB)
    assert "TOKEN" not in str(lab[".howsure"])
    assert lab[".howsure-comment"]["environment"] == "howsure-comment"


@pytest.mark.thorough
def test_the_runs_of_a_check_are_given_no_token(tmp_path: Path) -> None:
    """Also where somebody leaves one in the environment."""
    (tmp_path / "bot.py").write_text(
        "import os, pathlib\n\n\ndef answer(text):\n"
        "    pathlib.Path('seen').write_text(str(dict(os.environ)))\n    return 'A'\n"
    )
    lines(tmp_path / "cases.jsonl", mcq(1))
    names = ("GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "ACTIONS_RUNTIME_TOKEN")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "howsure",
            "ci",
            "cases.jsonl",
            "--target",
            "function:bot.py:answer",
            "--gate",
            "errors <= 0",
        ],
        cwd=tmp_path,
        env={**os.environ, **dict.fromkeys(names, TOKEN), "GITHUB_ACTIONS": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert TOKEN not in (tmp_path / "seen").read_text(encoding="utf-8")


class GitHubServer(BaseHTTPRequestHandler):
    """Enough of GitHub: pull requests 7 and 8 of somebody's fork, and the comments on them."""

    kept: dict[str, list[str]]

    def log_message(self, *_: Any) -> None:
        return None

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path.endswith("/pulls"):
            assert parse_qs(address.query) == {"state": ["open"], "head": ["somebody:change"]}
            heads = [{"number": 7, "head": {"sha": "new"}}, {"number": 8, "head": {"sha": "old"}}]
            self._say(heads)
        else:
            self._say([{"id": place, "body": body} for place, body in enumerate(self.kept.get(address.path, []))])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        self.kept.setdefault(self.path, []).append(body)
        self._say({})

    def _say(self, value: Any) -> None:
        assert self.headers["Authorization"] == f"Bearer {TOKEN}"
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[GitHubServer]]:
    """The second job: the event says which commit of which branch was checked, and not which pull request."""
    kind = type("Kept", (GitHubServer,), {"kept": {}})
    event = {
        "workflow_run": {
            "head_sha": "new",
            "head_branch": "change",
            "head_repository": {"owner": {"login": "somebody"}},
        }
    }
    (tmp_path / "event.json").write_text(json.dumps(event), encoding="utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        job = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_REPOSITORY": "shop/shop",
            "GITHUB_API_URL": f"http://127.0.0.1:{server.server_port}",
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        }
        for name, value in job.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield kind
        server.shutdown()
        thread.join()


def post(*words: str) -> Result:
    return CliRunner().invoke(program, ["comment", "howsure-comment.md", *words])


def test_the_comment_goes_to_the_pull_request_that_github_names(tmp_path: Path, github: type[GitHubServer]) -> None:
    # What the artifact says of itself, and whom it calls, does not count.
    (tmp_path / "howsure-comment.md").write_text(
        "number: 8\n\nAll 60 passed. @maintainers merge this\n", encoding="utf-8"
    )
    done = post("--key", "nightly", "--json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"posted": "made"})
    written = (
        "<!-- howsure: nightly -->\nnumber: 8\n\nAll 60 passed. @\u200bmaintainers merge this\n\n\n"
        "*Written by a job that ran the code of this change.*\n"
    )
    assert github.kept == {"/repos/shop/shop/issues/7/comments": [written]}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"x" * 70_000, "expected a comment of 1 to 65,000 characters"),
        (b"x" * 10_000_000, "expected a comment of 1 to 65,000 characters"),
        (b"", "expected a comment of 1 to 65,000 characters"),
        (b"a\x00b", "without NUL"),
        (b"\xff\xfe", "not a text in UTF-8"),
    ],
    ids=["too long", "huge", "empty", "NUL", "no text"],
)
def test_a_comment_is_data_of_a_bounded_size(
    tmp_path: Path, github: type[GitHubServer], content: bytes, told: str
) -> None:
    (tmp_path / "howsure-comment.md").write_bytes(content)
    done = post()
    assert (done.exit_code, told in done.stderr, github.kept) == (2, True, {})


def test_a_change_that_moved_on_gets_no_comment(tmp_path: Path, github: type[GitHubServer]) -> None:
    (tmp_path / "howsure-comment.md").write_text("All passed.", encoding="utf-8")
    event = json.loads((tmp_path / "event.json").read_text(encoding="utf-8"))
    event["workflow_run"]["head_sha"] = "another"
    (tmp_path / "event.json").write_text(json.dumps(event), encoding="utf-8")
    done = post()
    assert (done.exit_code, github.kept) == (2, {})
    assert "no open pull request at its newest commit" in done.stderr


def entries(path: str) -> dict[str, set[str]]:
    """What a lock names: each package with its version, and its hashes."""
    text = (ROOT / path).read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for match in ENTRY.finditer(text):
        found.setdefault(f"{match['name']}=={match['version']}", set()).update(
            re.findall(r"sha256:(\w{64})", match["rest"])
        )
    assert len(re.findall(r"^[A-Za-z0-9]\S*==", text, re.M)) == len(ENTRY.findall(text)), "each has hashes"
    return found


def test_what_the_service_installs_is_part_of_the_whole_lock() -> None:
    whole, part = entries("requirements.lock"), entries("requirements/server.lock")
    assert {name for name in part if whole.get(name) != part[name]} == set()
    assert {"aiohttp", "fastapi", "sqlalchemy", "authlib", "google-re2"} <= {name.split("==")[0] for name in part}
    for path in ("requirements/build.lock", "requirements/release.lock"):
        assert all(entries(path).values())


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("f*.lock")), ids=lambda path: path.stem)
def test_a_lock_of_tests_has_all_that_the_package_needs(lock: Path) -> None:
    """They install the package itself without looking for what it needs: `make lock` writes them anew."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = {re.split(r"[<>=;\[ ]", each)[0].lower() for each in needed}
    assert names - set(re.findall(r"^([a-z0-9.-]+)==", lock.read_text(encoding="utf-8"), re.MULTILINE)) == set()


def test_whatever_installs_does_so_by_hash() -> None:
    for text in (CONTAINER, (ROOT / "ci/install.sh").read_text(encoding="utf-8"), RELEASE, LAB):
        joined = re.sub(r"\\\n\s*", " ", text)
        asked = [
            line for line in re.split(r"\n|&&", joined) if re.search(r'\bpip"? install |\$\{install\[@\]\}"', line)
        ]
        loose = [line for line in asked if not re.search("--require-hashes|--no-deps|^install=", line)]
        assert asked and loose == []
        assert "--hash/d" not in text


def test_the_base_of_the_container_is_named_by_its_digest() -> None:
    bases = re.findall(r"^FROM (\S+)", CONTAINER, re.M)
    assert set(bases) == {"${BASE}"}
    assert re.search(r"^ARG BASE=docker\.io/library/python:\S+@sha256:[0-9a-f]{64}$", CONTAINER, re.M)


def test_a_release_is_built_twice_audited_listed_and_signed() -> None:
    release = yaml.safe_load(RELEASE)
    assert release["permissions"] == {}
    build, sign = release["jobs"]["build"], release["jobs"]["sign"]
    assert build["permissions"] == {"contents": "read"}
    done = "\n".join(step.get("run", "") for step in build["steps"])
    for words in ("SOURCE_DATE_EPOCH", "sha256sum --check", "pip-audit --strict", "cyclonedx-py requirements"):
        assert words in done.replace('bin/pip-audit"', "bin/pip-audit").replace('bin/cyclonedx-py"', "bin/cyclonedx-py")
    assert sign["permissions"] == {"contents": "write", "id-token": "write", "attestations": "write"}
    assert any("actions/attest-build-provenance@" in step.get("uses", "") for step in sign["steps"])
    assert "pip install" not in str(sign)


def test_whoever_finds_a_fault_knows_where_to_tell() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for words in ("Supported versions", "Report a vulnerability", "docs/security.md", "gh attestation verify"):
        assert words in page
    assert "audit:" in (ROOT / "Makefile").read_text(encoding="utf-8")
