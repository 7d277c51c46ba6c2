"""Where the service may be sent: hosts that its operator listed, by name, by address or by network. An address that is
not on the public internet must be listed as itself: a name that leads there is not enough."""

from __future__ import annotations

from collections.abc import Container, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from msgspec import Struct

from howsure.llm.guard import Guard

Address = IPv4Address | IPv6Address
UNGUARDED = ("", "recorded")
NAT64 = IPv6Network("64:ff9b::/96")
"""IPv6 addresses that a gateway turns into the IPv4 ones at their end."""


class Listed(Struct, frozen=True):
    """The guard of a target that a request named."""

    hosts: tuple[str, ...]

    def __call__(self, host: str, address: str, port: int) -> bool:
        return may_connect(self.hosts, host, address, port)


def guard_of(hosts: Sequence[str], target: str, blocks: Container[str]) -> Guard | None:
    """Where a target may be reached that a request named. One of the operator's own goes where its block says."""
    inner = target.removeprefix("replay:")
    return None if inner in UNGUARDED or inner in blocks else Listed(tuple(hosts))


def allows(hosts: Sequence[str], host: str, port: int | None = None) -> bool:
    """Whether a request may name this host. An entry with a port allows that port alone; `*.x.org` all below."""
    name = host.lower().rstrip(".")
    address = as_address(name)
    return any(_covers(entry, name, address, port) for entry in hosts)


def may_connect(hosts: Sequence[str], host: str, address: str, port: int | None = None) -> bool:
    """Whether the connection may be made, now that the name has become an address."""
    found = as_address(address)
    if found is None:
        return False
    plain = embedded(found)
    if any(_covers(entry, "", plain, port) for entry in hosts):
        return True
    return plain.is_global and not plain.is_multicast and allows(hosts, host, port)


def as_address(text: str) -> Address | None:
    try:
        return ip_address(text.strip("[]"))
    except ValueError:
        return None


def embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, by whatever way of writing the one in the other; else itself."""
    if isinstance(address, IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
    return inner or (IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else address)


def _covers(entry: str, name: str, address: Address | None, port: int | None) -> bool:
    listed, listed_port = _taken_apart(entry.lower())
    if listed_port and str(port or "") != listed_port:
        return False
    if address is not None and _in_network(listed, embedded(address)):
        return True
    return bool(name) and (name == listed or (listed.startswith("*.") and name.endswith(listed[1:])))


def _taken_apart(entry: str) -> tuple[str, str]:
    """`x.org:8000` and `[::1]:8000` are a host and a port; `::1` is a host."""
    if entry.startswith("["):
        host, _, port = entry[1:].partition("]")
        return host, port.removeprefix(":")
    if entry.count(":") == 1:
        host, _, port = entry.partition(":")
        return host, port
    return entry, ""


def _in_network(listed: str, address: Address) -> bool:
    try:
        return address in ip_network(listed, strict=False)
    except ValueError:
        return False
