"""The agents and tools a conversation passed through, against the expected ones. Names are compared exactly, but for
the prefixes that trace summaries put before them (`agent:`, `sub-agent:`, `tool:`)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from howsure.matching.alignment import Pairs, forbids_others, in_order, maximum_matching, requires_all, share
from howsure.model.expectation import MatchMode, Trajectory
from howsure.model.transcript import Step

_PREFIX = re.compile(r"(?:agent|sub[-_ ]?agent|tool)\s*:\s*", re.IGNORECASE)


class StepComparison(Struct, frozen=True, kw_only=True):
    """`value` is the share of what the mode asks for (see `alignment.share`). The other fields are names."""

    value: float
    taken: tuple[str, ...]
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.value >= 1.0


def bare_name(name: str) -> str:
    """`sub-agent:Billing` is `Billing`."""
    return _PREFIX.sub("", name.strip(), count=1)


def compare_steps(trajectory: Trajectory, steps: Iterable[Step]) -> StepComparison:
    """No step expected means that none may be taken."""
    match = trajectory.match
    only = None if match.only is None else {bare_name(name) for name in match.only}
    ignored = {bare_name(name) for name in match.ignore}

    def counting(names: Iterable[str]) -> tuple[str, ...]:
        bare = map(bare_name, names)
        return tuple(name for name in bare if (only is None or name in only) and name not in ignored)

    wanted = counting(trajectory.steps)
    taken = counting(step.name for step in steps)
    if not trajectory.steps:
        said = tuple(f"`{name}` took part, but no step was expected" for name in taken)
        return StepComparison(value=0.0 if taken else 1.0, taken=taken, unexpected=taken, reasons=said)
    if wanted == taken:
        return StepComparison(value=1.0, taken=taken)
    return _compared(wanted, taken, match.mode)


def _compared(wanted: tuple[str, ...], taken: tuple[str, ...], mode: MatchMode) -> StepComparison:
    pairs = _pairs(wanted, taken, mode)
    used = set(pairs.values())
    missing = tuple(name for place, name in enumerate(wanted) if place not in pairs)
    unexpected = tuple(name for place, name in enumerate(taken) if place not in used)
    said: list[str] = []
    if requires_all(mode):
        said += [_why_missing(name, unexpected) for name in missing]
    if forbids_others(mode):
        said += [f"`{name}` took part, but was not expected" for name in unexpected if name not in missing]
    value = share(mode, len(pairs), len(wanted), len(taken))
    return StepComparison(value=value, taken=taken, missing=missing, unexpected=unexpected, reasons=tuple(said))


def _pairs(wanted: tuple[str, ...], taken: tuple[str, ...], mode: MatchMode) -> Pairs:
    edges = [[place for place, step in enumerate(taken) if step == name] for name in wanted]
    if mode in (MatchMode.EXACT, MatchMode.IN_ORDER):
        return in_order([[place] for place in range(len(wanted))], [[place] for place in range(len(taken))], edges)
    return maximum_matching(edges)


def _why_missing(name: str, unexpected: tuple[str, ...]) -> str:
    return f"`{name}` took part, but not in the expected place" if name in unexpected else f"`{name}` did not take part"
