"""How many cases and repeats a difference takes to be seen: what `howsure plan` says."""

from __future__ import annotations

from msgspec import Struct


class Size(Struct, frozen=True, kw_only=True):
    """With so many tries of each case, so many cases. None: not even ten million would do."""

    repeats: int
    cases: int | None

    @property
    def attempts(self) -> int | None:
        return None if self.cases is None else self.cases * self.repeats


class Sizing(Struct, frozen=True, kw_only=True):
    """What was asked, what was taken from a run or assumed, and the sizes that follow. `discordance`: the share of
    cases on which two paired runs differ; `correlation`: how alike two tries of one case are. `detectable` is the
    smallest difference that the run it was taken from would show with its own cases."""

    difference: float
    rate: float
    power: float
    paired: bool
    correlation: float
    sizes: tuple[Size, ...]
    discordance: float | None = None
    run: str = ""
    cases: int | None = None
    repeats: int = 1
    detectable: float | None = None
    assumed: tuple[str, ...] = ()
