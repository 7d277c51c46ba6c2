"""`howsure keys`: a secret is shown once, and the list says which keys still open anything. `howsure keys password`:
asked for twice, never shown, never an argument."""

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
    assert keys("list").stdout == "No keys yet: `howsure keys create --name me --role admin`.\n"
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
    assert key["role"] == "runner"
    line = keys("list").stdout
    assert " runner " in line
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
        (("create", "--name", "x"), "Missing option '--role' (or '--scope')"),
        (("create", "--name", "x", "--scope", "root"), "'root' is not one of 'read', 'label', 'write', 'run', 'admin'"),
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


GOOD = "correct horse battery"


def run(*words: str, typed: str = "") -> tuple[int, str]:
    result = CliRunner().invoke(program, words, input=typed)
    return result.exit_code, result.output


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_password_is_given_and_listed_beside_keys() -> None:
    code, said = run("keys", "password", "ana", "--scope", "read", "--organization", "acme", typed=f"{GOOD}\n{GOOD}\n")
    assert code == 0
    assert "ana can sign in now." in said
    assert GOOD not in said
    run("keys", "create", "--name", "nightly", "--scope", "run")
    _, listed = run("keys", "list")
    assert sorted(line.split()[1] for line in listed.splitlines()) == ["key", "password"]
    (kept,) = [each for each in json.loads(run("keys", "list", "--json")[1]) if each["is_password"]]
    assert (kept["name"], kept["organization_id"], kept["scopes"]) == ("ana", "acme", ["read"])


def test_a_new_one_takes_the_place_of_the_old() -> None:
    for _ in range(2):
        assert run("keys", "password", "ana", "--scope", "read", typed=f"{GOOD}\n{GOOD}\n")[0] == 0
    states = [line.split()[2] for line in run("keys", "list")[1].splitlines()]
    assert sorted(states) == ["open", "revoked"]


@pytest.mark.parametrize(
    ("words", "typed", "said"),
    [
        (("ana", "--scope", "read"), "short\nshort\n", "10 to 1,024 characters"),
        (("ana",), f"{GOOD}\n{GOOD}\n", "Missing option '--role' (or '--scope')"),
        (("--scope", "read"), f"{GOOD}\n{GOOD}\n", "Missing argument 'NAME'"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], typed: str, said: str) -> None:
    code, output = run("keys", "password", *words, typed=typed)
    assert (code, said in output) == (2, True), output


def test_two_that_are_not_alike_are_asked_for_again() -> None:
    code, said = run("keys", "password", "ana", "--scope", "read", typed=f"{GOOD}\nsomething else\n{GOOD}\n{GOOD}\n")
    assert code == 0
    assert "do not match" in said
