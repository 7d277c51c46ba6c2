"""GitHub and GitLab, as the environment of a pipeline describes them, and the one comment that we keep on a change:
created the first time, rewritten after that."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import msgspec
from msgspec import Struct

from howsure.dialects.datasets import readable
from howsure.errors import ConfigInvalid

PAGE = 100
MOST_PAGES = 50
SECONDS = 30.0
LARGEST_COMMENT = 65_000
"""Characters: GitHub's limit, less the text that we add."""
TOKENS = (
    "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
)  # fmt: skip
"""Variables with write access to the repository. Code of a proposed change never gets them."""
WRITTEN_BY = "*Written by a job that ran the code of this change.*"


class GitHub(Struct, frozen=True):
    """GitHub Actions. `base` and `head` are branches, empty where this is no proposed change."""

    environ: Mapping[str, str]
    name: ClassVar[str] = "GitHub"

    @property
    def base(self) -> str:
        return self.environ.get("GITHUB_BASE_REF", "")

    @property
    def head(self) -> str:
        return self.environ.get("GITHUB_HEAD_REF") or self.environ.get("GITHUB_REF_NAME", "")

    @property
    def comments(self) -> str:
        """The address of the comments of this change; empty where nothing can be posted."""
        number = self._number()
        if not number or not self.environ.get("GITHUB_TOKEN"):
            return ""
        return f"{self._repository}/issues/{number}/comments"

    @property
    def _repository(self) -> str:
        api = self.environ.get("GITHUB_API_URL", "https://api.github.com")
        return f"{api}/repos/{quote(self.environ.get('GITHUB_REPOSITORY', ''))}"

    def _number(self) -> str:
        """From `refs/pull/7/merge`; for events that run elsewhere, from the event file."""
        parts = self.environ.get("GITHUB_REF", "").split("/")
        if parts[:2] == ["refs", "pull"] and len(parts) > 2 and parts[2].isdecimal():
            return parts[2]
        event = _event(self.environ.get("GITHUB_EVENT_PATH", ""))
        if isinstance(run := event.get("workflow_run"), dict):
            return self._number_of(run)
        found = event.get("pull_request")
        return str(found.get("number", "")) if isinstance(found, dict) else ""

    def _number_of(self, run: dict[str, Any]) -> str:
        """The open pull request whose newest commit a finished workflow has checked. GitHub's API is asked, because the
        workflow's own words were written by code of the change."""
        owner = (run.get("head_repository") or {}).get("owner", {}).get("login", "")
        query = urlencode({"state": "open", "head": f"{owner}:{run.get('head_branch', '')}"})
        found = _request(self, "GET", f"{self._repository}/pulls?{query}")
        numbers = [str(each["number"]) for each in found if each["head"]["sha"] == run.get("head_sha")]
        return numbers[0] if len(numbers) == 1 else ""

    def headers(self) -> dict[str, str]:
        token = self.environ.get("GITHUB_TOKEN", "")
        return {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}

    def one(self, id: Any) -> tuple[str, str]:
        """How one comment is rewritten: the HTTP method, and its address."""
        return "PATCH", f"{self._repository}/issues/comments/{id}"


class GitLab(Struct, frozen=True):
    """GitLab CI. Its job token may not comment: a token with the scope `api` is needed in GITLAB_TOKEN."""

    environ: Mapping[str, str]
    name: ClassVar[str] = "GitLab"

    @property
    def base(self) -> str:
        return self.environ.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "")

    @property
    def head(self) -> str:
        return self.environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME") or self.environ.get("CI_COMMIT_REF_NAME", "")

    @property
    def comments(self) -> str:
        number = self.environ.get("CI_MERGE_REQUEST_IID", "")
        if not number or not self.environ.get("GITLAB_TOKEN"):
            return ""
        api, project = self.environ.get("CI_API_V4_URL", ""), self.environ.get("CI_PROJECT_ID", "")
        return f"{api}/projects/{quote(project, safe='')}/merge_requests/{number}/notes"

    def headers(self) -> dict[str, str]:
        return {"PRIVATE-TOKEN": self.environ.get("GITLAB_TOKEN", "")}

    def one(self, id: Any) -> tuple[str, str]:
        return "PUT", f"{self.comments}/{id}"


Forge = GitHub | GitLab


def detect_forge(environ: Mapping[str, str]) -> Forge | None:
    if environ.get("GITHUB_ACTIONS") == "true":
        return GitHub(environ)
    return GitLab(environ) if environ.get("GITLAB_CI") == "true" else None


def read_comment(path: Path) -> str:
    """A comment that `howsure ci` wrote. It comes from code of a proposed change: it is data, of a bounded size, and
    calls nobody by name."""
    with readable(path), path.open("rb") as file:
        raw = file.read(4 * LARGEST_COMMENT + 1)
    try:
        text = raw.decode("utf-8").replace("@", "@\u200b")
    except UnicodeDecodeError as error:
        raise ConfigInvalid(f"{path}: not a text in UTF-8: {error.reason}") from error
    if "\x00" in text or not 0 < len(text) <= LARGEST_COMMENT:
        raise ConfigInvalid(f"{path}: expected a comment of 1 to {LARGEST_COMMENT:,} characters, without NUL")
    return f"{text}\n\n{WRITTEN_BY}\n"


async def post_comment(forge: Forge, mark: str, text: str) -> str:
    """Write our comment, the one that begins with `mark`; returns what was done."""
    return await asyncio.to_thread(_post_comment, forge, mark, f"{mark}\n{text}")


def _post_comment(forge: Forge, mark: str, body: str) -> str:
    address = forge.comments
    for page in range(1, MOST_PAGES + 1):
        comments = _request(forge, "GET", f"{address}?per_page={PAGE}&page={page}")
        for each in comments:
            if str(each.get("body", "")).startswith(mark):
                method, one = forge.one(each["id"])
                _request(forge, method, one, {"body": body})
                return "updated"
        if len(comments) < PAGE:
            break
    _request(forge, "POST", address, {"body": body})
    return "made"


def _request(forge: Forge, method: str, address: str, body: dict[str, str] | None = None) -> Any:
    if not address.startswith(("https://", "http://")):
        raise ConfigInvalid(f"{forge.name}: {address!r} is no address to post a comment to")
    data = None if body is None else msgspec.json.encode(body)
    headers = {**forge.headers(), "Content-Type": "application/json", "User-Agent": "howsure"}
    try:
        with urlopen(Request(address, data, headers, method=method), timeout=SECONDS) as answer:
            return msgspec.json.decode(answer.read())
    except HTTPError as error:
        error.close()
        raise ConfigInvalid(f"{forge.name} refused the comment: {error.code} {error.reason}") from error
    except (URLError, OSError, msgspec.DecodeError) as error:
        raise ConfigInvalid(f"{forge.name} could not be asked for the comment: {error}") from error


def _event(path: str) -> dict[str, Any]:
    if not path or not Path(path).is_file():
        return {}
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ConfigInvalid(f"GITHUB_EVENT_PATH: {path} is not JSON: {error}") from error
