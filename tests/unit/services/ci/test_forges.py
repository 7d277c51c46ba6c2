"""What the environment of a pipeline says of a proposed change, and the one comment that is kept there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from howsure.errors import ConfigInvalid
from howsure.services.ci.forges import Forge, GitHub, GitLab, detect_forge, post_comment

MARK = "<!-- howsure: howsure -->"
HUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_BASE_REF": "main",
    "GITHUB_HEAD_REF": "change",
    "GITHUB_REF": "refs/pull/7/merge",
    "GITHUB_REPOSITORY": "somebody/shop",
    "GITHUB_TOKEN": "secret",
}
LAB = {
    "GITLAB_CI": "true",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "change",
    "CI_MERGE_REQUEST_IID": "7",
    "CI_PROJECT_ID": "12",
    "GITLAB_TOKEN": "secret",
}


@pytest.mark.parametrize(
    ("environ", "kind"),
    [(HUB, "GitHub"), (LAB, "GitLab"), ({}, None), ({"GITHUB_ACTIONS": "false"}, None)],
    ids=["GitHub", "GitLab", "nowhere", "not there"],
)
def test_the_environment_says_where_we_are(environ: dict[str, str], kind: str | None) -> None:
    found = detect_forge(environ)
    assert (found.name if found else None) == kind
    if found:
        assert (found.base, found.head) == ("main", "change")


def test_a_push_has_no_base_and_nothing_to_comment_on() -> None:
    push = GitHub({"GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main", "GITHUB_TOKEN": "secret"})
    assert (push.base, push.head, push.comments) == ("", "main", "")
    job = GitLab({"CI_COMMIT_REF_NAME": "main", "GITLAB_TOKEN": "secret"})
    assert (job.base, job.head, job.comments) == ("", "main", "")


def test_without_a_token_there_is_nowhere_to_comment() -> None:
    assert GitHub({**HUB, "GITHUB_TOKEN": ""}).comments == ""
    assert GitLab({**LAB, "GITLAB_TOKEN": ""}).comments == ""


def test_the_addresses_of_comments() -> None:
    assert GitHub(HUB).comments == "https://api.github.com/repos/somebody/shop/issues/7/comments"
    assert GitHub(HUB).one(3) == ("PATCH", "https://api.github.com/repos/somebody/shop/issues/comments/3")
    lab = GitLab({**LAB, "CI_API_V4_URL": "https://lab.example.org/api/v4"})
    assert lab.comments == "https://lab.example.org/api/v4/projects/12/merge_requests/7/notes"
    assert lab.one(3) == ("PUT", f"{lab.comments}/3")


def test_the_event_tells_the_number_where_the_ref_does_not(tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text('{"pull_request": {"number": 9}}', encoding="utf-8")
    hub = GitHub({**HUB, "GITHUB_REF": "refs/heads/change", "GITHUB_EVENT_PATH": str(event)})
    assert hub.comments.endswith("/issues/9/comments")
    event.write_text("{}", encoding="utf-8")
    assert hub.comments == ""
    event.write_text("{", encoding="utf-8")
    with pytest.raises(ConfigInvalid, match="is not JSON"):
        _ = hub.comments


class Server(BaseHTTPRequestHandler):
    """Keeps comments, a hundred a page; says 500 where it is told to."""

    kept: dict[int, str]
    asked: list[str]
    broken = False

    def log_message(self, *_: Any) -> None:
        return None

    def do_GET(self) -> None:
        page = int(self.path.rsplit("page=", 1)[1])
        self._say([{"id": id, "body": body} for id, body in self.kept.items()][(page - 1) * 100 : page * 100])

    def do_POST(self) -> None:
        self.kept[max(self.kept, default=0) + 1] = self._body()
        self._say({})

    def do_PATCH(self) -> None:
        self.kept[int(self.path.rsplit("/", 1)[1])] = self._body()
        self._say({})

    do_PUT = do_PATCH

    def _body(self) -> str:
        body: str = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        return body

    def _say(self, value: Any) -> None:
        self.asked.append(self.command)
        body = json.dumps(value).encode()
        self.send_response(500 if self.broken else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server() -> Iterator[tuple[str, type[Server]]]:
    kind = type("Kept", (Server,), {"kept": {}, "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}", kind
        running.shutdown()
        thread.join()


@pytest.mark.parametrize("where", ["GitHub", "GitLab"])
async def test_the_comment_is_made_once_and_then_rewritten(server: tuple[str, type[Server]], where: str) -> None:
    address, kept = server
    kept.kept.update(dict.fromkeys(range(1, 151), f"by a person, quoting {MARK}"))
    forge: Forge = GitHub({**HUB, "GITHUB_API_URL": address}) if where == "GitHub" else _lab(address)
    assert await post_comment(forge, MARK, "first") == "made"
    assert await post_comment(forge, MARK, "second") == "updated"
    assert await post_comment(forge, "<!-- howsure: other -->", "another job") == "made"
    ours = {number: body for number, body in kept.kept.items() if number > 150}
    assert ours == {151: f"{MARK}\nsecond", 152: "<!-- howsure: other -->\nanother job"}


def _lab(address: str) -> GitLab:
    return GitLab({**LAB, "CI_API_V4_URL": address})


async def test_a_refusal_and_a_server_that_is_not_there_are_told_without_the_token(
    server: tuple[str, type[Server]],
) -> None:
    address, kept = server
    kept.broken = True
    with pytest.raises(ConfigInvalid) as refused:
        await post_comment(_lab(address), MARK, "text")
    assert str(refused.value) == "GitLab refused the comment: 500 Internal Server Error"
    with pytest.raises(ConfigInvalid) as gone:
        await post_comment(_lab("http://127.0.0.1:1"), MARK, "text")
    assert "GitLab could not be asked for the comment" in str(gone.value)
    with pytest.raises(ConfigInvalid, match="is no address to post a comment to"):
        await post_comment(_lab("file:///etc"), MARK, "text")
    assert "secret" not in f"{refused.value}{gone.value}"
