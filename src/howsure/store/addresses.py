"""Which database an address means: a file, or a PostgreSQL. Its password is never shown."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from howsure.errors import ConfigInvalid

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
        raise ConfigInvalid(f"{shown(url)}: not a database that Howsure can use; {EXPECTED}")
    return Path(url.database).expanduser().absolute()


def shown(url: URL) -> str:
    """An address as it may be seen."""
    hidden = {name: "***" if name in SECRETS else value for name, value in url.query.items()}
    text = url.set(query=hidden).render_as_string(hide_password=True)
    # Folders of sockets, and our own stars, are easier to read as they are.
    return text.replace("%2F", "/").replace("%2A", "*")


def without_password(server: Server) -> tuple[str, str]:
    """The address for another program's command line, and the password for its environment."""
    url = make_url(server.address)
    asked = url.query.get("password", "")
    kept = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query)
    kept = kept.difference_update_query(["password"])
    return kept.render_as_string(), url.password or (asked if isinstance(asked, str) else asked[-1])


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
            f"{shown(url)}: Howsure speaks to PostgreSQL by asyncpg; begin the address with postgresql://"
        )
    plain = url.set(drivername="postgresql")
    return Server(address=plain.render_as_string(hide_password=False), where=shown(plain))
