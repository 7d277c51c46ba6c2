"""HTTP by aiohttp's public session: one pool of connections, proxies from the environment, the address guard, bodies
read up to a limit. The models' transport and the HTTP targets use it. Imports aiohttp, which takes a quarter of a
second: load this module when something is really sent."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from aiohappyeyeballs import AddrInfoType
from aiohttp import (
    ClientConnectorCertificateError,
    ClientError,
    ClientSession,
    ClientSSLError,
    ClientTimeout,
    ConnectionTimeoutError,
    DummyCookieJar,
    ServerFingerprintMismatch,
    StreamReader,
    TCPConnector,
    ThreadedResolver,
)
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from howsure.llm.specs import is_loopback
from howsure.llm.transport import (
    LARGEST,
    AddressGuard,
    AddressRefused,
    HttpRequest,
    HttpResponse,
    TransportError,
    TransportFault,
)

CONNECT_SECONDS = 15.0
KEEP_ALIVE_SECONDS = 60.0
UNTRUSTED = (ClientConnectorCertificateError, ClientSSLError, ServerFingerprintMismatch)


class BodyTooLarge(ValueError):
    """The response has more bytes than are read."""


class HttpPool:
    """Connections, as many as are needed at once. Redirects are not followed: they would carry headers to another host.
    With a guard no proxy is used: it would connect where the guard cannot see it. Raises aiohttp's errors,
    `TimeoutError` and `BodyTooLarge`."""

    def __init__(
        self,
        environ: Mapping[str, str],
        keep_alive: float = KEEP_ALIVE_SECONDS,
        guard: AddressGuard | None = None,
        names: AbstractResolver | None = None,
    ) -> None:
        guarded: dict[str, Any] = {}
        if guard is not None:
            resolver = GuardedResolver(guard, names)
            guarded = {"resolver": resolver, "socket_factory": resolver.socket}
        self._session = ClientSession(
            connector=TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=keep_alive, **guarded),
            cookie_jar=DummyCookieJar(),
            skip_auto_headers=("Content-Type",),
        )
        variables = {} if guard else environ
        self._proxies = {name.lower(): value for name, value in variables.items() if name.lower().endswith("_proxy")}

    async def close(self) -> None:
        await self._session.close()

    async def send(self, request: HttpRequest, seconds: float) -> HttpResponse:
        """The response, within these seconds. Headers of the same name are kept (`headers.getall`)."""
        url = parse_url(request.url)
        async with self._session.request(
            request.method,
            url,
            data=request.body,
            headers=request.headers,
            proxy=_proxy_for(url, self._proxies) if self._proxies else None,
            timeout=_timeout(seconds),
            allow_redirects=False,
        ) as response:
            body = await response.content.readany()
            if not response.content.at_eof() or len(body) > request.largest:
                body = await _read_rest(response.content, body, request)
            return HttpResponse(response.status, response.headers, body)


@lru_cache(1024)
def parse_url(url: str) -> URL:
    return URL(url, encoded=True)


@lru_cache(16)
def _timeout(seconds: float) -> ClientTimeout:
    # Exact to the tick: aiohttp otherwise rounds limits of more than five seconds up to whole ones.
    return ClientTimeout(total=seconds, sock_connect=min(seconds, CONNECT_SECONDS), ceil_threshold=seconds + 1)


async def _read_rest(stream: StreamReader, first: bytes, request: HttpRequest) -> bytes:
    body, stop = bytearray(first), request.stop
    start = 0
    while len(body) <= request.largest:
        if stream.at_eof() or (stop and stop in body[max(0, start - len(stop)) :]):
            return bytes(body)
        start = len(body)
        body += await stream.readany()
    raise BodyTooLarge(f"more than {request.largest:,} bytes")


def _proxy_for(url: URL, variables: Mapping[str, str]) -> str | None:
    """The proxy that the environment names (`https_proxy`, `no_proxy` …, in lower case); none on this machine.
    `no_proxy` lists hosts, domains above them (a port may stand behind), or `*` for all."""
    proxy = variables.get(f"{url.scheme}_proxy") or variables.get("all_proxy")
    if not proxy or is_loopback(str(url)):
        return None
    names = [name.strip().lower().removeprefix("*.").lstrip(".") for name in variables.get("no_proxy", "").split(",")]
    hosts = (f".{url.host}", f".{url.host}:{url.port}")
    excepted = any(name == "*" or (name and any(host.endswith(f".{name}") for host in hosts)) for name in names)
    return None if excepted else proxy


class HttpTransport:
    """The `Transport` of models: one pool for a whole run, and failures by their kind.

    The pool has no size of its own: the limiters in `limits` already bound the calls in flight, and a second bound
    would let a request wait for a connection while its own time runs.
    """

    def __init__(self, environ: Mapping[str, str], largest: int = LARGEST) -> None:
        self._pool = HttpPool(environ)
        self._largest = largest

    async def close(self) -> None:
        await self._pool.close()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> HttpResponse:
        request = HttpRequest(method="POST", url=url, headers=headers, body=body, largest=self._largest)
        try:
            return await self._pool.send(request, seconds)
        except BodyTooLarge as error:
            failure = TransportError(TransportFault.TOO_LARGE, f"a response of {error}")
        except ConnectionTimeoutError:
            message = f"no connection in {min(seconds, CONNECT_SECONDS):g} s"
            failure = TransportError(TransportFault.CONNECTION, message)
        except TimeoutError:
            failure = TransportError(TransportFault.TIMEOUT, f"no answer in {seconds:g} s")
        except UNTRUSTED as error:
            failure = TransportError(TransportFault.TLS, f"{type(error).__name__}: {error}")
        except (ClientError, OSError) as error:
            failure = TransportError(TransportFault.CONNECTION, f"{type(error).__name__}: {error}")
        # Raised out here, so that aiohttp's errors, which hold the request's headers, are not in its context.
        raise failure


class GuardedResolver(AbstractResolver):
    """Finds the addresses of a host that the guard allows, and opens sockets to these and to no others: to what a name
    was resolved to, or to an address that was written out and is allowed as itself."""

    def __init__(self, guard: AddressGuard, names: AbstractResolver | None = None) -> None:
        self._guard = guard
        self._names = names or ThreadedResolver()
        self._allowed: set[tuple[str, int]] = set()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        results = await self._names.resolve(host, port, family)
        allowed = [result for result in results if self._guard(host, result["host"], port)]
        if not allowed:
            raise AddressRefused
        self._allowed |= {(result["host"], port) for result in allowed}
        return allowed

    async def close(self) -> None:
        await self._names.close()

    def socket(self, info: AddrInfoType) -> socket.socket:
        """A socket for this address, which is the one that is connected to, however it was written."""
        family, kind, protocol, _, place = info
        address, port = str(place[0]), int(place[1])
        if (address, port) not in self._allowed and not self._guard(address, address, port):
            raise AddressRefused
        return socket.socket(family, kind, protocol)
