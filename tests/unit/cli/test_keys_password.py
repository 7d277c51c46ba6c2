"""`howsure keys password`: asked for twice, never shown, never an argument."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from howsure.main import program

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
        (("ana",), f"{GOOD}\n{GOOD}\n", "Missing option '--scope'"),
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
