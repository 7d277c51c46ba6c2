"""The same case tried several times: pass@k (at least one of k tries passes), pass^k (all k pass), and which cases are
flaky. Unbiased: every choice of k among the tries that were made counts, none is made twice."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import comb

from msgspec import Struct

from howsure.stats.estimates import Estimate
from howsure.stats.means import for_mean
from howsure.stats.rates import for_rate

Tries = tuple[int, int]
"""Of one case: (passed, judged)."""


def pass_at_k(passed: int, judged: int, k: int) -> float | None:
    """The chance that at least one of k tries passes. None where fewer than k were judged."""
    return None if _too_few(passed, judged, k) else 1 - comb(judged - passed, k) / comb(judged, k)


def pass_hat_k(passed: int, judged: int, k: int) -> float | None:
    """pass^k: the chance that all of k tries pass. None where fewer than k were judged."""
    return None if _too_few(passed, judged, k) else comb(passed, k) / comb(judged, k)


class Reliability(Struct, frozen=True, kw_only=True):
    """Over all cases that were judged at least k times; the others are only counted. None where there is no such
    case."""

    k: int
    at: Estimate | None
    hat: Estimate | None
    cases: int
    too_few: int


def reliability(
    cases: Sequence[Tries],
    k: int,
    clusters: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Reliability:
    """pass@k and pass^k of a run, every case counting the same, with intervals over the cases (and their clusters):
    more tries of the same cases make them no surer about other cases."""
    usable = [place for place, (_, judged) in enumerate(cases) if judged >= k]
    kept = None if clusters is None else [clusters[place] for place in usable]
    tries = [cases[place] for place in usable]
    at = [pass_at_k(*each, k) or 0.0 for each in tries]
    hat = [pass_hat_k(*each, k) or 0.0 for each in tries]
    return Reliability(
        k=k,
        at=_estimate(at, kept, confidence, seed),
        hat=_estimate(hat, kept, confidence, seed),
        cases=len(tries),
        too_few=len(cases) - len(tries),
    )


class Flaky(Struct, frozen=True, kw_only=True):
    """A case whose repeats disagree. `agent`: the agent did it well once and badly once. `judge`: the judge, asked
    again about the same try, said something else. None: asked only once, so nobody knows."""

    case: Hashable
    passed: int
    judged: int
    agent: bool | None
    judge: bool | None


def flaky(cases: Mapping[Hashable, Sequence[Sequence[bool | None]]]) -> list[Flaky]:
    """The cases that do not always get the same verdict. Of each case the tries, of each try what the judge said every
    time it was asked (once, mostly); None: it could not tell."""
    found = (_flaky(case, tries) for case, tries in cases.items())
    return [each for each in found if each is not None]


def _flaky(case: Hashable, tries: Sequence[Sequence[bool | None]]) -> Flaky | None:
    known = [said for asked in tries if (said := [verdict for verdict in asked if verdict is not None])]
    if len({verdict for said in known for verdict in said}) < 2:
        return None
    majorities = [_majority(said) for said in known]
    settled = [verdict for verdict in majorities if verdict is not None]
    return Flaky(
        case=case,
        passed=sum(verdict is True for verdict in majorities),
        judged=len(known),
        agent=len(set(settled)) > 1 if len(settled) > 1 else None,
        judge=any(len(set(said)) > 1 for said in known) if any(len(said) > 1 for said in known) else None,
    )


def _majority(said: Sequence[bool]) -> bool | None:
    """What most say; None when they are split in halves."""
    passed = sum(said)
    return None if 2 * passed == len(said) else 2 * passed > len(said)


def _estimate(
    values: Sequence[float], clusters: Sequence[Hashable] | None, confidence: float, seed: int
) -> Estimate | None:
    if all(value in (0, 1) for value in values):
        return for_rate([value == 1 for value in values], clusters=clusters, confidence=confidence)
    return for_mean(values, clusters, confidence, bounds=(0.0, 1.0), seed=seed)


def _too_few(passed: int, judged: int, k: int) -> bool:
    if not 0 <= passed <= judged:
        raise ValueError(f"{passed} of {judged} is not a rate")
    if k < 1:
        raise ValueError(f"k counts tries, from 1, not {k}")
    return judged < k
