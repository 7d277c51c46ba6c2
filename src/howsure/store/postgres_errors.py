"""What the errors of a PostgreSQL mean: which go away by themselves, and what a person can do about the others."""

from __future__ import annotations

from socket import gaierror

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolEmpty

from howsure.errors import StorageFault, Unreachable
from howsure.store.database import CHECK_HINT, FULL_HINT, WRITABLE_HINT

DATABASE_ERRORS = (DBAPIError, OSError, PoolEmpty)
"""The errors of the database that a transaction can meet."""

CLASHES = ("40001", "40P01")
"""Serialization failure, deadlock: the transaction was rolled back, and may be tried again."""
STARTING = "57P03"
CROWDED = "53300"
GONE = ("08", "57P01", "57P02", "57P03", "57P05", "25P03")
LATER = ("53", "55P03", "57014")
"""Errors that pass when the operator acts, or with time; the same can be tried again then."""

MEANINGS = {
    "28": "did not let us in: check the user and the password (PGPASSWORD, or ~/.pgpass, keeps it out of files)",
    "3D000": "has no such database: `createdb NAME` makes one",
    "3F000": "has no schema to make tables in: see `search_path` in the address or on the server",
    "42501": "does not allow it: GRANT CREATE, USAGE ON SCHEMA public (or ownership of the database) to the user",
    "25006": f"cannot be written: it was opened only to be read, or the server is a standby; {WRITABLE_HINT}",
    "53100": f"cannot grow: no space left on the server's device. Nothing that was stored is lost; {FULL_HINT}",
    "53200": "cannot go on: the server is out of memory",
    CROWDED: "takes no more connections: raise max_connections, or let fewer programs use it",
    "55P03": "is locked by another program, which did not let go in time",
    "57014": "gave up a statement that took too long: see statement_timeout on the server",
    "42P01": f"lacks a table of Howsure's: {CHECK_HINT}",
    "42703": f"lacks a column of Howsure's: {CHECK_HINT}",
    "XX001": f"is damaged: {CHECK_HINT}",
    "XX002": "has a damaged index: REINDEX it",
    "22021": "cannot store a text with the character U+0000 in it: take it out of ids, names and labels",
    "22P05": "cannot store a text with a character that its encoding lacks: take it out of ids, names and labels",
    "42704": "is not set up as Howsure expects",
}


def connection_lost(error: BaseException) -> bool:
    """Whether the connection is gone, or there was none."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    return isinstance(error, OSError) or _state(error).startswith(GONE)


def is_temporary(error: BaseException, *, in_use: bool) -> bool:
    """Whether it may pass by itself. A server that was never reached is reported at once."""
    state = _state(error)
    if state in (*CLASHES, STARTING):
        return True
    return in_use and (connection_lost(error) or state == CROWDED)


def explain(error: Exception, where: str) -> Exception:
    """An InputError for what the user can fix; anything else stays what it is."""
    state = _state(error)
    meaning = next((text for code, text in MEANINGS.items() if state.startswith(code)), None)
    if meaning is not None:
        kind = Unreachable if state.startswith(LATER) else StorageFault
        return kind(f"{where} {meaning} ({_said(error)})")
    if isinstance(error, PoolEmpty):
        return Unreachable(f"{where}: all our connections were busy for too long; try again with less at once")
    if isinstance(error, gaierror):
        return Unreachable(f"{where} cannot be reached: its host name means nothing here ({_said(error)})")
    if connection_lost(error):
        return Unreachable(f"{where} cannot be reached: is the server running, and the address right? ({_said(error)})")
    return error


def _state(error: BaseException) -> str:
    """The five characters by which PostgreSQL names an error; none where it was not the server's."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlstate", None) or ""


def _said(error: BaseException) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    words = str(cause).strip() or type(cause).__name__
    # SQLAlchemy puts the class before the words.
    return words.rpartition(">: ")[2].splitlines()[0]
