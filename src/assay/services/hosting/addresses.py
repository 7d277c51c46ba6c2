"""Where the service may be sent: hosts that its operator listed, by name, by address or by network. An address that is
not on the public internet must be listed as itself: a name that leads there is not enough."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

Address = IPv4Address | IPv6Address


def allows(hosts: Sequence[str], host: str, port: int | None = None) -> bool:
    """Whether a request may name this host. An entry with a port allows that port alone; `*.x.org` all below."""
    name = host.lower().rstrip(".")
    address = as_address(name)
    return any(_covers(entry, name, address, port) for entry in hosts)


def may_connect(hosts: Sequence[str], host: str, address: str) -> bool:
    """Whether the connection may be made, now that the name has become an address."""
    found = as_address(address)
    if found is None:
        return False
    plain = mapped(found)
    if plain.is_global and not plain.is_multicast:
        return allows(hosts, host) or _network_of(hosts, plain)
    return _network_of(hosts, plain)


def as_address(text: str) -> Address | None:
    try:
        return ip_address(text.strip("[]"))
    except ValueError:
        return None


def mapped(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for; itself otherwise."""
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _network_of(hosts: Sequence[str], address: Address) -> bool:
    return any(_in_network(entry, address) for entry in hosts)


def _covers(entry: str, name: str, address: Address | None, port: int | None) -> bool:
    if address is not None and _in_network(entry, mapped(address)):
        return True
    listed, _, listed_port = entry.lower().partition(":") if entry.count(":") == 1 else (entry.lower(), "", "")
    if listed_port and str(port or "") != listed_port:
        return False
    return name == listed or (listed.startswith("*.") and name.endswith(listed[1:]))


def _in_network(entry: str, address: Address) -> bool:
    bare = entry.partition(":")[0] if entry.count(":") == 1 else entry
    try:
        return address in ip_network(bare.strip("[]"), strict=False)
    except ValueError:
        return False
