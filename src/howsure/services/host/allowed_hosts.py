"""The SSRF guard: the hosts that a request may make the service call. The operator lists them by name, address or
network. An address that is not on the public internet must be listed itself: a listed name that resolves to it is not
enough."""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import suppress
from functools import partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from howsure.llm.transport import AddressGuard

Address = IPv4Address | IPv6Address
UNGUARDED = ("", "recorded")
NAT64 = IPv6Network("64:ff9b::/96")
"""IPv6 addresses that a gateway translates into the IPv4 address in their last 32 bits."""

NOT_PUBLIC = tuple(map(IPv6Network, ("64:ff9b:1::/48", "fec0::/10", "::/96", "::ffff:0:0:0/96")))
"""IPv6 networks that lead inside though they do not count as private: translation to IPv4 by a gateway of one's own,
site-local addresses, and IPv4 addresses written as IPv6 in two older ways."""


def guard_for(hosts: Sequence[str], targets: Sequence[str], blocks: Container[str]) -> AddressGuard | None:
    """The guard of targets that a request named; None for the operator's own targets, which may call any host."""
    inner = [target.removeprefix("replay:") for target in targets]
    return None if all(each in UNGUARDED or each in blocks for each in inner) else partial(may_connect, tuple(hosts))


def allows_host(hosts: Sequence[str], host: str, port: int | None = None) -> bool:
    """Whether a request may name this host. An entry with a port allows that port only; `*.x.org` every subdomain."""
    name = host.lower().rstrip(".")
    address = as_address(name)
    return any(_covers(entry, name, address, port) for entry in hosts)


def may_connect(hosts: Sequence[str], host: str, address: str, port: int | None = None) -> bool:
    """Whether the connection may be made, after the name was resolved to an address."""
    resolved = as_address(address)
    if resolved is None:
        return False
    plain = embedded_ipv4(resolved)
    if any(_covers(entry, "", plain, port) for entry in hosts):
        return True
    return is_public(plain) and allows_host(hosts, host, port)


def is_public(address: Address) -> bool:
    inside = any(address in network for network in NOT_PUBLIC if isinstance(address, IPv6Address))
    return address.is_global and not address.is_multicast and not inside


def as_address(text: str) -> Address | None:
    try:
        return ip_address(text.strip("[]"))
    except ValueError:
        return None


def embedded_ipv4(address: Address) -> Address:
    """The IPv4 address inside an IPv6 address (mapped, 6to4, Teredo or NAT64); else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
    return inner or (IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else address)


def _covers(entry: str, name: str, address: Address | None, port: int | None) -> bool:
    listed, listed_port = _split_port(entry.lower())
    if listed_port and str(port or "") != listed_port:
        return False
    # An entry that is a name is no network.
    with suppress(ValueError):
        if address is not None and embedded_ipv4(address) in ip_network(listed, strict=False):
            return True
    return bool(name) and (name == listed or (listed.startswith("*.") and name.endswith(listed[1:])))


def _split_port(entry: str) -> tuple[str, str]:
    """Host and port: `x.org:8000` and `[::1]:8000` have a port, `::1` has none."""
    if entry.startswith("["):
        host, _, port = entry[1:].partition("]")
        return host, port.removeprefix(":")
    if entry.count(":") == 1:
        host, _, port = entry.partition(":")
        return host, port
    return entry, ""
