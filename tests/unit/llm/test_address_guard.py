"""The guard at the socket: what a name leads to at the moment of connecting decides, whatever it led to before."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientConnectorError, web
from aiohttp.abc import AbstractResolver, ResolveResult

from howsure.llm.http import GuardedResolver, HttpPool
from howsure.llm.transport import AddressGuard, AddressRefused, HttpRequest


class Names(AbstractResolver):
    """A name server that says something else every time."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0
        self.closed = False

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        self.asked += 1
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [
            ResolveResult(hostname=host, host=each, port=port, family=socket.AF_INET, proto=0, flags=0)
            for each in found
        ]

    async def close(self) -> None:
        self.closed = True


def only(*addresses: str) -> AddressGuard:
    return lambda host, address, port: address in addresses


async def answered(request: web.Request) -> web.Response:
    return web.Response(text=request.host)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    app = web.Application()
    app.router.add_get("/", answered)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


async def asked(url: str, guard: AddressGuard | None, names: AbstractResolver | None = None) -> str:
    pool = HttpPool({"ALL_PROXY": "http://127.0.0.1:9"}, guard=guard, names=names)
    try:
        response = await pool.send(HttpRequest(method="GET", url=url, headers={}), 5.0)
        return response.body.decode()
    finally:
        await pool.close()


async def test_a_listed_address_is_reached(port: int) -> None:
    said = await asked(f"http://bot.example:{port}/", only("127.0.0.1"), Names(["127.0.0.1"]))
    assert said == f"bot.example:{port}"
    assert await asked(f"http://127.0.0.1:{port}/", only("127.0.0.1"), Names([])) == f"127.0.0.1:{port}"


@pytest.mark.parametrize("url", ["http://bot.example:{}/", "http://127.0.0.1:{}/", "http://[::ffff:127.0.0.1]:{}/"])
async def test_another_is_refused_whether_it_has_a_name_or_not(port: int, url: str) -> None:
    with pytest.raises(ClientConnectorError) as raised:
        await asked(url.format(port), only("93.184.216.34"), Names(["127.0.0.1"]))
    assert isinstance(raised.value.os_error, AddressRefused)
    assert "127.0.0.1" not in str(raised.value.os_error)


@pytest.mark.parametrize("written", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost"])
async def test_other_ways_of_writing_this_machine_are_refused(port: int, written: str) -> None:
    guard: AddressGuard = lambda host, address, _: address not in ("127.0.0.1", "::1", written)  # noqa: E731
    with pytest.raises((ClientConnectorError, ValueError)):
        await asked(f"http://{written}:{port}/", guard)


async def test_of_several_addresses_those_are_used_that_are_listed(port: int) -> None:
    names = Names(["10.0.0.1", "127.0.0.1", "169.254.169.254"])
    assert await asked(f"http://bot.example:{port}/", only("127.0.0.1"), names) == f"bot.example:{port}"


async def test_a_name_that_leads_elsewhere_a_moment_later_is_refused(port: int) -> None:
    names = Names(["93.184.216.34"], ["127.0.0.1"])
    resolver = GuardedResolver(only("93.184.216.34"), names)
    found = await resolver.resolve("bot.example", port)
    assert [each["host"] for each in found] == ["93.184.216.34"]
    with pytest.raises(AddressRefused):
        await resolver.resolve("bot.example", port)
    # Whatever was found before, the socket is opened to what is connected to, or not at all.
    for address in ("127.0.0.1", "10.0.0.1"):
        with pytest.raises(AddressRefused):
            resolver.socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, port)))


async def test_an_address_is_good_for_the_port_that_it_was_found_for() -> None:
    def guard(host: str, address: str, port: int) -> bool:
        return host == "bot.example" and port == 443

    resolver = GuardedResolver(guard, Names(["93.184.216.34"]))
    await resolver.resolve("bot.example", 443)
    resolver.socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("93.184.216.34", 443))).close()
    with pytest.raises(AddressRefused):
        resolver.socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("93.184.216.34", 22)))


async def test_the_guard_is_asked_about_host_address_and_port(port: int) -> None:
    seen: list[tuple[str, str, int]] = []

    def guard(host: str, address: str, port: int) -> bool:
        seen.append((host, address, port))
        return True

    await asked(f"http://bot.example:{port}/", guard, Names(["127.0.0.1"]))
    await asked(f"http://127.0.0.1:{port}/", guard, Names([]))
    assert seen == [("bot.example", "127.0.0.1", port), ("127.0.0.1", "127.0.0.1", port)]


async def test_the_name_server_is_closed_with_the_pool() -> None:
    names = Names([])
    await GuardedResolver(only(), names).close()
    assert names.closed
