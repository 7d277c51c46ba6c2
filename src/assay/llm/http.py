"""The HTTP client: one session, one TLS context, one pool of connections for a whole run. This is the only module that
imports aiohttp, which takes a quarter of a second: import it when a model is really asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

from aiohttp import (
    ClientConnectorCertificateError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientSSLError,
    ClientTimeout,
    ConnectionTimeoutError,
    DummyCookieJar,
    ServerFingerprintMismatch,
    TCPConnector,
)
from yarl import URL

from assay.llm.specs import is_loopback
from assay.llm.wire import NoResponse, Response, Trouble
from assay.version import __version__

CONNECT_SECONDS = 15.0
KEEP_ALIVE_SECONDS = 60.0
LARGEST = 32 * 1024 * 1024
HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": f"assay/{__version__}"}
UNTRUSTED = (ClientConnectorCertificateError, ClientSSLError, ServerFingerprintMismatch)


class Http:
    """A `Transport`. Redirects are not followed: they would carry the key to another host.

    The pool has no size of its own: the gates in `limits` already bound what is in flight, and a second bound would let
    a request wait for a connection while its own time runs.
    """

    def __init__(self, environ: Mapping[str, str], largest: int = LARGEST) -> None:
        connector = TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=KEEP_ALIVE_SECONDS)
        self._session = ClientSession(connector=connector, cookie_jar=DummyCookieJar(), headers=HEADERS)
        self._environ = environ
        self._largest = largest
        self._routes: dict[str, tuple[URL, str | None]] = {}
        self._timeouts: dict[float, ClientTimeout] = {}

    async def __aenter__(self) -> Http:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._session.close()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Response:
        road = self._routes.get(url) or self._route(url)
        timeout = self._timeouts.get(seconds) or self._timeout(seconds)
        try:
            async with self._session.post(
                road[0], data=body, headers=headers, timeout=timeout, proxy=road[1], allow_redirects=False
            ) as response:
                content = await self._content(response)
                return Response(response.status, response.headers, content)
        except ConnectionTimeoutError:
            failed = NoResponse(Trouble.CONNECTION, f"no connection in {timeout.sock_connect:g} s")
        except TimeoutError:
            failed = NoResponse(Trouble.TIMEOUT, f"no answer in {seconds:g} s")
        except UNTRUSTED as error:
            failed = NoResponse(Trouble.TLS, f"{type(error).__name__}: {error}")
        except (ClientError, OSError) as error:
            failed = NoResponse(Trouble.CONNECTION, f"{type(error).__name__}: {error}")
        # Raised out here, so that aiohttp's errors, which hold the request's headers, are not in its context.
        raise failed

    async def _content(self, response: ClientResponse) -> bytes:
        """The body, decompressed, as long as it is no larger than we accept."""
        stream = response.content
        content = await stream.readany()
        if stream.at_eof():
            return content
        chunks = [content]
        size = len(content)
        while not stream.at_eof():
            chunks.append(await stream.readany())
            size += len(chunks[-1])
            if size > self._largest:
                response.close()
                raise NoResponse(Trouble.TOO_LARGE, f"a response of more than {self._largest:,} bytes")
        return b"".join(chunks)

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

    def _timeout(self, seconds: float) -> ClientTimeout:
        # Exact to the tick: aiohttp otherwise rounds limits of more than five seconds up to whole ones.
        timeout = ClientTimeout(total=seconds, sock_connect=min(seconds, CONNECT_SECONDS), ceil_threshold=seconds + 1)
        self._timeouts[seconds] = timeout
        return timeout


def _is_excepted(url: URL, excepted: str) -> bool:
    """Whether `NO_PROXY` names the host, a domain above it, or everything; a port may stand behind."""
    names = [name.strip().lower().removeprefix("*.").lstrip(".") for name in excepted.split(",")]
    hosts = [url.host or "", f"{url.host}:{url.port}"]
    return any(name == "*" or (name and any(f".{host}".endswith(f".{name}") for host in hosts)) for name in names)
