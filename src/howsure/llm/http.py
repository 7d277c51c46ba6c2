"""The HTTP client: one pool of connections and one TLS context for a whole run, and trouble by its kind. Imports
aiohttp, which takes a quarter of a second: import it when a model is really asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

from aiohttp import (
    ClientConnectorCertificateError,
    ClientError,
    ClientSSLError,
    ConnectionTimeoutError,
    ServerFingerprintMismatch,
)
from yarl import URL

from howsure.llm.exchange import CONNECT_SECONDS, Pool, Reading, Road, TooLarge
from howsure.llm.specs import is_loopback
from howsure.llm.wire import NoResponse, Response, Trouble
from howsure.version import __version__

KEEP_ALIVE_SECONDS = 60.0
LARGEST = 32 * 1024 * 1024
HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": f"howsure/{__version__}"}
UNTRUSTED = (ClientConnectorCertificateError, ClientSSLError, ServerFingerprintMismatch)


class Http:
    """A `Transport`. Redirects are not followed: they would carry the key to another host.

    The pool has no size of its own: the gates in `limits` already bound what is in flight, and a second bound would let
    a request wait for a connection while its own time runs.
    """

    def __init__(self, environ: Mapping[str, str], largest: int = LARGEST) -> None:
        self._pool = Pool(KEEP_ALIVE_SECONDS)
        self._environ = environ
        self._reading = Reading(largest)
        self._routes: dict[str, tuple[URL, str | None]] = {}
        self._roads: dict[tuple[str, int], tuple[Mapping[str, str], Road]] = {}

    async def __aenter__(self) -> Http:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._pool.close()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Response:
        try:
            told = await self._pool.exchange(self._road(url, headers), body, seconds, self._reading)
            return Response(told.status, told.headers, told.body)
        except TooLarge as error:
            failed = NoResponse(Trouble.TOO_LARGE, f"a response of {error}")
        except ConnectionTimeoutError:
            failed = NoResponse(Trouble.CONNECTION, f"no connection in {min(seconds, CONNECT_SECONDS):g} s")
        except TimeoutError:
            failed = NoResponse(Trouble.TIMEOUT, f"no answer in {seconds:g} s")
        except UNTRUSTED as error:
            failed = NoResponse(Trouble.TLS, f"{type(error).__name__}: {error}")
        except (ClientError, OSError) as error:
            failed = NoResponse(Trouble.CONNECTION, f"{type(error).__name__}: {error}")
        # Raised out here, so that aiohttp's errors, which hold the request's headers, are not in its context.
        raise failed

    def _road(self, url: str, headers: Mapping[str, str]) -> Road:
        """Found by the very headers, which a model's line keeps: comparing them would take longer."""
        known = self._roads.get((url, id(headers)))
        if known is not None and known[0] is headers:
            return known[1]
        address, proxy = self._routes.get(url) or self._route(url)
        road = self._pool.road("POST", address, {**HEADERS, **headers}, proxy)
        self._roads[(url, id(headers))] = (headers, road)
        return road

    def _route(self, url: str) -> tuple[URL, str | None]:
        """The address, parsed once, and the proxy on the way to it."""
        parsed = URL(url, encoded=True)
        self._routes[url] = (parsed, self._proxy(parsed))
        return self._routes[url]

    def _proxy(self, url: URL) -> str | None:
        """As the environment says (`HTTPS_PROXY`, `NO_PROXY` …). Looked up once: aiohttp would do it for every call."""
        named = {name.lower(): value for name, value in self._environ.items() if name.lower().endswith("_proxy")}
        proxy = named.get(f"{url.scheme}_proxy") or named.get("all_proxy")
        if not proxy or is_loopback(str(url)) or _is_excepted(url, named.get("no_proxy", "")):
            return None
        return proxy


def _is_excepted(url: URL, excepted: str) -> bool:
    """Whether `NO_PROXY` names the host, a domain above it, or everything; a port may stand behind."""
    names = [name.strip().lower().removeprefix("*.").lstrip(".") for name in excepted.split(",")]
    hosts = [url.host or "", f"{url.host}:{url.port}"]
    return any(name == "*" or (name and any(f".{host}".endswith(f".{name}") for host in hosts)) for name in names)
