"""Where connections may go (the SSRF guard). It checks the address itself, after the name was resolved and right before
the connection: a name that is harmless now may lead elsewhere a moment later. `http` puts it into the connections."""

from __future__ import annotations

from collections.abc import Callable
from errno import EACCES

AddressGuard = Callable[[str, str, int], bool]
"""Whether a connection may be made: the host as it was written, its address, and the port."""

WHY = (
    "this host leads to an address that the service may not call; whoever runs it can list the address under "
    "`service.hosts`, or name the target under `targets`"
)


class AddressRefused(OSError):
    """A connection to this address is not allowed. The message does not name it: the user may not be meant to know."""

    def __init__(self) -> None:
        super().__init__(EACCES, WHY)
