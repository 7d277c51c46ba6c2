"""`howsure keys`: a secret is shown once, and the list says which keys still open anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from howsure.main import program

Run = Callable[..., Result]


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOWSURE_DATABASE_URL", raising=False)
    return lambda *words: CliRunner().invoke(program, ("keys", *words))


def made(keys: Run, *words: str) -> dict[str, Any]:
    done = keys("create", "--json", *words)
    assert done.exit_code == 0, done.output
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_a_secret_is_shown_when_it_is_made_and_never_again(keys: Run) -> None:
    assert keys("list").stdout == "No keys yet: `howsure keys create --name me --scope admin`.\n"
    done = keys("create", "--name", "me", "--scope", "read")
    secret, *rest = done.stdout.splitlines()
    assert rest[1].startswith("This is the only time it is shown. Its id is ")
    for words in (("list",), ("list", "--json")):
        assert secret not in keys(*words).stdout
    (listed,) = json.loads(keys("list", "--json").stdout)
    assert (listed["name"], listed["scopes"], listed["organization_id"]) == ("me", ["read"], None)
    assert "secret" not in listed


def test_what_a_key_opens_is_as_narrow_as_was_asked(keys: Run) -> None:
    key = made(keys, "--name", "ci", "--scope", "read", "--scope", "run", "--organization", "acme", "--agent", "bot")
    assert (key["scopes"], key["organization_id"], key["agent_ids"]) == (["read", "run"], "acme", ["bot"])
    assert key["expires_at"] is None
    line = keys("list").stdout
    assert "read,run" in line
    assert "acme  ci" in line


def test_the_list_tells_open_keys_from_revoked_and_expired_ones(keys: Run) -> None:
    made(keys, "--name", "open", "--scope", "read", "--days", "1")
    revoked = made(keys, "--name", "gone", "--scope", "read")
    made(keys, "--name", "old", "--scope", "read", "--days", "0.0000000001")
    assert keys("revoke", revoked["id"]).stdout == f"{revoked['id']} (gone) opens nothing any more.\n"
    states = {line.split()[-1]: line.split()[2] for line in keys("list").stdout.splitlines()}
    assert states == {"open": "open", "gone": "revoked", "old": "expired"}


def test_a_name_is_shown_and_never_obeyed(keys: Run) -> None:
    made(keys, "--name", "me\x1b[31m\nadmin", "--scope", "read")
    assert keys("list").stdout.count("\n") == 1
    assert "me␛[31m admin" in keys("list").stdout


def test_a_name_of_bytes_that_are_no_text_can_be_kept(keys: Run) -> None:
    assert made(keys, "--name", "na\udcc3\udcafve", "--scope", "read", "--agent", "b\udcff")["name"] == "naïve"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("create", "--scope", "read"), "Missing option '--name'"),
        (("create", "--name", "x"), "Missing option '--scope'"),
        (("create", "--name", "x", "--scope", "root"), "'root' is not one of 'read', 'write', 'run', 'admin'"),
        (("create", "--name", "x", "--scope", "read", "--days", "0"), "--days expects a number of days, more than 0"),
        (("create", "--name", "x", "--scope", "read", "--days", "1e300"), "and up to 36500, not 1e+300"),
        (("password", "x", "--scope", "read", "--days", "nan"), "and up to 36500, not nan"),
        (("revoke", "nobody"), "nobody"),
    ],
)
def test_what_cannot_be_made_or_revoked_is_refused(keys: Run, words: tuple[str, ...], told: str) -> None:
    done = keys(*words)
    assert done.exit_code == 2
    assert told in done.stderr
