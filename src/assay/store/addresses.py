"""Which database an address means: a file, or a PostgreSQL. Its password is never shown."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from assay.errors import ConfigInvalid

EXPECTED = "expected sqlite:///path/file.db or postgresql://user@host/database"
POSTGRES = ("postgresql", "postgres")
SECRETS = ("password", "sslpassword")


class Server(Struct, frozen=True):
    """A PostgreSQL: the address its driver is given, and the one that may be shown."""

    address: str
    where: str


def place(location: str | Path) -> Path | Server:
    """What a path, a `sqlite:///` or a `postgresql://` address means."""
    if isinstance(location, Path) or "://" not in location:
        return Path(location).expanduser().absolute()
    url = _parsed(location)
    if url.get_backend_name() in POSTGRES:
        return _server(url)
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        raise ConfigInvalid(f"{shown(url)}: not a database that Assay can use; {EXPECTED}")
    return Path(url.database).expanduser().absolute()


def shown(url: URL) -> str:
    """An address as it may be seen."""
    hidden = {name: "***" if name in SECRETS else value for name, value in url.query.items()}
    # Folders of sockets are easier to read as they are.
    return url.set(query=hidden).render_as_string(hide_password=True).replace("%2F", "/")


def _parsed(location: str) -> URL:
    try:
        return make_url(location)
    except (ArgumentError, ValueError):
        # It cannot be told where in it a password is, so it is not shown.
        scheme = location.partition("://")[0]
        raise ConfigInvalid(f"{scheme}://… is not a database address; {EXPECTED}") from None


def _server(url: URL) -> Server:
    if url.drivername.partition("+")[2] not in ("", "asyncpg"):
        raise ConfigInvalid(
            f"{shown(url)}: Assay speaks to PostgreSQL by asyncpg; begin the address with postgresql://"
        )
    plain = url.set(drivername="postgresql")
    return Server(address=plain.render_as_string(hide_password=False), where=shown(plain))
