"""What errors of a PostgreSQL mean, one by one."""

from __future__ import annotations

from socket import gaierror

import pytest
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolEmpty

from howsure.errors import ConfigInvalid
from howsure.store.postgres_errors import connection_lost, explain, is_temporary


class Said(Exception):
    """As the driver raises it."""

    def __init__(self, sqlstate: str | None, words: str = "words") -> None:
        super().__init__(words)
        self.sqlstate = sqlstate


def wrapped(sqlstate: str | None, *, invalidated: bool = False) -> DBAPIError:
    return DBAPIError("SELECT 1", {}, Said(sqlstate), connection_invalidated=invalidated)


@pytest.mark.parametrize(
    ("sqlstate", "words"),
    [
        ("28P01", "did not let us in: check the user and the password"),
        ("28000", "did not let us in: check the user and the password"),
        ("3D000", "has no such database"),
        ("42501", "does not allow it: GRANT CREATE"),
        ("25006", "cannot be written: it was opened only to be read, or the server is a standby"),
        ("53100", "cannot grow: no space left on the server's device"),
        ("53300", "takes no more connections: raise max_connections"),
        ("55P03", "is locked by another program"),
        ("22021", "cannot store a text with the character U+0000"),
        ("08006", "cannot be reached: is the server running"),
        ("57P01", "cannot be reached: is the server running"),
        ("XX001", "is damaged: `howsure db check`"),
    ],
)
def test_what_a_person_can_fix_is_said_in_words(sqlstate: str, words: str) -> None:
    for error in (wrapped(sqlstate), Said(sqlstate)):
        told = explain(error, "postgresql://db/x")
        assert isinstance(told, ConfigInvalid)
        assert str(told).startswith(f"postgresql://db/x {words}")
        assert str(told).endswith("(words)")


@pytest.mark.parametrize("error", [wrapped("42601"), wrapped(None), Said("23505")])
def test_what_is_our_own_fault_stays_what_it_is(error: Exception) -> None:
    assert explain(error, "postgresql://db/x") is error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (gaierror(-2, "Name or service not known"), "its host name means nothing here"),
        (ConnectionRefusedError(111, "Connection refused"), "is the server running"),
        (TimeoutError(), "is the server running, and the address right? (TimeoutError)"),
        (PoolEmpty(), "all our connections were busy for too long"),
    ],
)
def test_what_comes_before_any_answer_is_said_in_words(error: Exception, words: str) -> None:
    assert words in str(explain(error, "postgresql://db/x"))


@pytest.mark.parametrize(
    ("error", "from_the_start", "in_use"),
    [
        (wrapped("40001"), True, True),
        (wrapped("40P01"), True, True),
        (wrapped("57P03"), True, True),
        (wrapped("57P01"), False, True),
        (wrapped("53300"), False, True),
        (wrapped(None, invalidated=True), False, True),
        (ConnectionRefusedError(), False, True),
        (wrapped("28P01"), False, False),
        (wrapped("23505"), False, False),
        (wrapped("53100"), False, False),
    ],
)
def test_some_troubles_pass(error: Exception, from_the_start: bool, in_use: bool) -> None:
    assert is_temporary(error, in_use=False) is from_the_start
    assert is_temporary(error, in_use=True) is in_use


def test_a_lost_connection_is_told_from_an_error_on_one() -> None:
    assert connection_lost(wrapped(None, invalidated=True))
    assert connection_lost(ConnectionResetError())
    assert connection_lost(Said("08003"))
    assert not connection_lost(wrapped("40001"))
