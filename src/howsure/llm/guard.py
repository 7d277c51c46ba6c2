"""Where connections may go. A guard is asked about the address itself, after the name has become one and right before
it is connected to: a name that is harmless now may lead elsewhere a moment later."""

from __future__ import annotations

from collections.abc import Callable
from errno import EACCES

Guard = Callable[[str, str, int], bool]
"""Whether a connection may be made: the host that was asked for (an address stands for itself), its address, a port."""

WHY = (
    "this host leads to an address that the service may not call; whoever runs it can list the address under "
    "`service.hosts`, or name the target under `targets`"
)


class Unlisted(OSError):
    """The address is not one that may be connected to. It is not told: whoever asked may not know it."""

    def __init__(self) -> None:
        super().__init__(EACCES, WHY)
