"""A guard at the place where aiohttp finds addresses and opens sockets. Imports aiohttp: load this module when
something is really asked."""

from __future__ import annotations

import socket
from typing import Any

from aiohappyeyeballs import AddrInfoType
from aiohttp import ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from howsure.llm.guard import Guard, Unlisted


class Gate(AbstractResolver):
    """Finds the addresses of a host that the guard lets through, and opens sockets to these and to no others: what was
    found for a name, or an address that was written out and is let through as itself."""

    def __init__(self, guard: Guard, names: AbstractResolver | None = None) -> None:
        self._guard = guard
        self._names = names or ThreadedResolver()
        self._fine: set[tuple[str, int]] = set()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._names.resolve(host, port, family)
        fine = [each for each in found if self._guard(host, each["host"], port)]
        if not fine:
            raise Unlisted
        self._fine |= {(each["host"], port) for each in fine}
        return fine

    async def close(self) -> None:
        await self._names.close()

    def socket(self, info: AddrInfoType) -> socket.socket:
        """A socket for this address, which is the one that is connected to, however it was written."""
        family, kind, protocol, _, place = info
        address, port = str(place[0]), int(place[1])
        if (address, port) not in self._fine and not self._guard(address, address, port):
            raise Unlisted
        return socket.socket(family, kind, protocol)


def gated(guard: Guard | None, names: AbstractResolver | None = None) -> dict[str, Any]:
    """What a TCPConnector is given so that it connects only where the guard lets it; nothing without a guard."""
    if guard is None:
        return {}
    gate = Gate(guard, names)
    return {"resolver": gate, "socket_factory": gate.socket}
